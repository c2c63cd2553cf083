"""A small table of two classes, public texts of the same kind, and a rewriting method that needs no model."""

import dataclasses
import types

import numpy as np

from deniable.comparison.comparison import ComparisonSetting
from deniable.comparison.inputs import ComparisonPlan, build_comparison_inputs
from deniable.comparison.training import CollectionSetting, get_unit
from deniable.core.evidence import Verdict
from deniable.core.guarantees import ANY_TWO_TEXTS, PureDP
from deniable.persons.classifier_training import PublicTexts
from deniable.persons.features import build_feature_map
from tests.text.helpers import SPACE

FILLER = ("the", "and", "was", "food", "dog", "cat", "london", "paris")
TELLING = (("good", "great", "blue"), ("bad", "red", "tokyo"))
CLASSES = ("fine", "poor")
PLAN = ComparisonPlan(
    budgets=(50.0,),
    recoveries=(0.45, 0.7),
    record_epsilons=(20.0,),
    folds=2,
    shadows=6,
    attacked=20,
    members=40,
    linked=30,
    synthetic_rows=200,
)


def make_table(rows, seed=0, telling=3):
    """Return texts of 12 words, of which some tell the class, and the codes of their classes."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(rows) % 2)
    texts = [
        " ".join(rng.permutation([*rng.choice(FILLER, 12 - telling), *rng.choice(TELLING[code], telling)]))
        for code in codes
    ]
    return texts, codes


def make_inputs(rows=120, plan=PLAN, persons=None, telling=3):
    """Return the inputs of a comparison."""
    texts, codes = make_table(rows, telling=telling)
    return build_comparison_inputs(texts, [CLASSES[code] for code in codes], persons, plan)


def make_collection(inputs, *, has_labels=True, **settings):
    """Return what is public of a collection: three hundred texts of the kind."""
    texts, codes = make_table(300, seed=1)
    public = PublicTexts(texts, codes if has_labels else None)
    return CollectionSetting(
        inputs.classes,
        inputs.delta,
        get_unit(inputs.persons),
        build_feature_map(texts),
        public,
        **settings,
    )


def make_setting(inputs, **settings):
    """Return what is public of a comparison."""
    return ComparisonSetting(SPACE, make_collection(inputs), **settings)


@dataclasses.dataclass(frozen=True)
class CopyingMethod:
    """Returns every text as it is, and claims an epsilon."""

    epsilon: float
    seed: int | None = None
    name: str = "copying"
    model: object = dataclasses.field(default_factory=lambda: types.SimpleNamespace(limit=8))

    @property
    def guarantee(self):
        """The claim."""
        return PureDP(self.epsilon, "a test", "claimed", adjacency=ANY_TWO_TEXTS)

    def verify(self):
        """Nothing was verified."""
        return Verdict(self.guarantee, "refuted", float("inf"), 0.0, 1.0, 0, None, "a test", 0.0)

    def rewrite(self, texts):
        """Return the texts."""
        return list(texts)
