"""Parts of a comparison by themselves: the rows that are compared, drafts of each way, and attacks on them."""

import dataclasses
import types

import numpy as np
import pytest

import deniable as dn
from deniable.comparison.collection_releases import attack_private_classifier
from deniable.comparison.fluency import fit_fluency_judge
from deniable.comparison.inputs import ComparisonPlan, build_comparison_inputs, choose_delta
from deniable.comparison.record_releases import draft_record_releases, measure_record_release
from deniable.comparison.training import CollectionSetting, PrivateLearner
from tests.comparison.toy import CLASSES, SPACE, make_table
from tests.refusals import refuses

PLAN = ComparisonPlan(record_epsilons=(20.0, 30.0), folds=2, shadows=6, attacked=20, members=40, linked=30)
ANY_TWO = "any two texts"


def make_inputs(rows=120, plan=PLAN, persons=None):
    """Return the inputs of a comparison."""
    texts, codes = make_table(rows)
    return build_comparison_inputs(texts, [CLASSES[code] for code in codes], persons, plan)


def test_default_delta():
    """The default delta is a power of ten of at most one in ten units."""
    for units, delta in ((1, 0.1), (9, 1e-2), (10, 1e-2), (11, 1e-3), (1_000, 1e-4), (4_731, 1e-5)):
        assert choose_delta(units) == pytest.approx(delta)
        assert choose_delta(units) <= 1 / (10 * units) + 1e-15


def test_persons_and_equal_texts_stay_together():
    """No person, and no text, is both trained on and tested on."""
    texts, codes = make_table(60)
    texts[7] = texts[31]
    persons = [f"person {row % 20}" for row in range(60)]
    inputs = build_comparison_inputs(texts, codes.astype(str), persons, ComparisonPlan(folds=3))
    assert len(inputs.splits) == 3
    for split in inputs.splits:
        trained, tested = ({persons[row] for row in rows} for rows in (split.train, split.test))
        assert not trained & tested
        assert not {texts[row] for row in split.train} & {texts[row] for row in split.test}
    assert np.array_equal(np.sort(np.concatenate([split.test for split in inputs.splits])), np.arange(60))
    assert inputs.unit_count == 20


def test_rows_that_are_compared():
    """A sample holds all rows of a person or none; rows without text or label, and classes of one row, are left out."""
    plan = ComparisonPlan(folds=2, rows=31)
    inputs = make_inputs(90, plan, [row // 3 for row in range(90)])
    assert len(inputs.texts) == 30
    assert np.unique(inputs.persons, return_counts=True)[1].tolist() == [3] * 10
    assert inputs.table_rows == 90
    assert len(make_inputs(90, plan).texts) == 31
    texts, codes = make_table(30)
    labels = [str(code) for code in codes]
    texts[0], labels[1], labels[2] = " ", None, "alone"
    inputs = build_comparison_inputs(texts, labels, None, ComparisonPlan(folds=2))
    assert inputs.rows.tolist() == list(range(3, 30))
    assert inputs.classes == ("0", "1")


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: build_comparison_inputs(["a b", "c d"] * 2, ["x", "y"] * 2, None, PLAN), "at least 8 rows"),
        (lambda: build_comparison_inputs(["a"], [], None, PLAN), "1 texts"),
        (lambda: ComparisonPlan(budgets=(0.0,)), "budgets"),
        (lambda: ComparisonPlan(recoveries=(1.5,)), "1.5"),
        (lambda: ComparisonPlan(folds=1), "folds"),
        (lambda: ComparisonPlan(delta=0.5), "0.5"),
        (lambda: ComparisonPlan(rows=3), "rows"),
    ],
)
def test_refusals(call, value):
    """Too few rows, columns of other lengths and numbers outside their domains are refused."""
    with refuses(value):
        call()


@pytest.fixture(scope="module")
def collection():
    """Return what is public of a collection: the vocabulary of three hundred texts of the kind."""
    inputs, (texts, codes) = make_inputs(), make_table(300, seed=1)
    names = [CLASSES[code] for code in codes]
    fitted = dn.texts.fit_private_classifier(
        texts, names, classes=inputs.classes, epsilon=1.0, delta=0.1, public_texts=texts, seed=0
    )
    return CollectionSetting(inputs.classes, inputs.delta, "record", fitted.feature_map)


def test_a_private_learner(collection):
    """With a large epsilon it learns the classes, and equal seeds give equal classifiers."""
    texts, codes = make_table(200, seed=2)
    first, second = (PrivateLearner(collection, 900.0, 3).fit(texts[:150], codes[:150], 2) for _ in range(2))
    found = first.probabilities(texts[150:])
    assert np.mean(found.argmax(axis=1) == codes[150:]) > 0.8
    assert np.array_equal(found, second.probabilities(texts[150:]))


def test_units(collection):
    """Rows are records, or at most so many rows of persons; a text alone is a unit of the kind that is hidden."""
    inputs = make_inputs(persons=[row // 4 for row in range(120)])
    setting = dataclasses.replace(collection, unit="person", max_records=3)
    units = setting.group_texts(inputs.texts, inputs.codes, inputs.persons).units
    assert (units.unit, len(units), len(units.rows)) == ("person", 30, 90)
    alone = setting.group_texts(inputs.texts, inputs.codes, None).units
    assert (alone.unit, len(alone)) == ("person", 120)


def test_the_attack_knows_the_budget(collection):
    """Membership is told better at a vast budget than at a tiny one, and equal seeds give equal attacks."""
    inputs = make_inputs()
    vast, again, tiny = (
        attack_private_classifier(collection, inputs, epsilon, PLAN) for epsilon in (900.0, 900.0, 0.1)
    )
    assert vast == again
    assert vast.auc.value > tiny.auc.value


def test_fluency():
    """The judge reads one half of the texts and is asked about the other; of unknown words it says nothing."""
    texts, _ = make_table(40)
    judge = fit_fluency_judge(SPACE, texts, 0)
    assert len(judge.other_rows) == judge.measure_rows(texts).count == 20
    assert judge.measure_texts(texts).value < judge.measure_rows(texts).value
    assert judge.measure_texts(["zork"]) is None
    assert fit_fluency_judge(SPACE, ["zork"] * 4, 0).measure_texts(["the food"]) is None


@dataclasses.dataclass(frozen=True)
class CopyingMethod:
    """Returns every text as it is, and claims an epsilon, which is refuted."""

    epsilon: float
    seed: int | None = None
    name: str = "copying"
    model: object = dataclasses.field(default_factory=lambda: types.SimpleNamespace(limit=11))
    status: str = "refuted"

    @property
    def guarantee(self):
        """The claim."""
        return dn.Guarantee(self.epsilon, "a test", "claimed", delta=1e-6, adjacency=ANY_TWO)

    def verify(self):
        """Return the verdict."""
        return dn.Verdict(self.guarantee, self.status, "a test", self.epsilon)

    def rewrite(self, texts):
        """Return the texts."""
        return list(texts)


@dataclasses.dataclass(frozen=True)
class BlankMethod(CopyingMethod):
    """Returns the same text for every one, which is proved to show nothing."""

    status: str = "proved"

    @property
    def guarantee(self):
        """Of every text."""
        return dataclasses.replace(super().guarantee, status="proved")

    def rewrite(self, texts):
        """Return the word "the"."""
        return ["the"] * len(texts)


@pytest.mark.parametrize(("method", "whole"), [(CopyingMethod, None), (BlankMethod, 20.0)])
def test_a_draft_of_records(method, whole):
    """A record has the epsilon that is claimed unless that is refuted; copies are linked more than by chance."""
    inputs = make_inputs()
    draft, other = draft_record_releases(method, inputs, PLAN)
    assert (draft.name, other.name, draft.method.seed) == ("records, epsilon 20", "records, epsilon 30", None)
    if method is CopyingMethod:  # of texts that are cut to what the model reads
        assert [text.split() for text in draft.texts] == [text.split()[:11] for text in inputs.texts]
    right = np.ones(len(inputs.texts), dtype=bool)
    release = measure_record_release(draft, inputs, (right, ~right), fit_fluency_judge(SPACE, inputs.texts, 0), PLAN)
    assert (release.way, release.epsilon, release.delta, release.promise.whole) == ("records", 20.0, 1e-6, whole)
    assert release.promise.adjacency == ANY_TWO
    assert (release.use.score.original.value, release.use.score.private.value) == (1.0, 0.0)
    assert (release.attacks.linked.low > 1 / len(inputs.texts)) is (method is CopyingMethod)
