"""Releases of the collection as a whole: a private classifier, and synthetic texts with labels."""

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.errors import check_count
from deniable.core.guarantees import is_proved, limit_status
from deniable.core.numbers import format_exact, format_upper
from deniable.core.parallel import get_progress_reporter, hide_progress
from deniable.language.model import LanguageModel
from deniable.language.options import WritingOptions
from deniable.measure.classifiers import build_classifier
from deniable.measure.labels import BooleanMask, ClassCodes, FoldRunner, TrainTestSplit
from deniable.measure.roc import MembershipResult
from deniable.persons.budget import bound_group_epsilon
from deniable.persons.classifier import LinearClassifier, fit_public_classifier
from deniable.persons.collection import PERSON, Collection, PublicKnowledge
from deniable.persons.generators.language_model import Writing
from deniable.persons.options import ClassifierOptions, GeneratorName, SynthesisOptions
from deniable.persons.planning import plan_budget
from deniable.persons.release import Release, SyntheticTable
from deniable.survey.results import Promise, Result
from deniable.survey.survey import Bench
from deniable.survey.table import Table

Predictor = Callable[[Sequence[str]], FloatArray]
"""Returns the probabilities (n, classes) of n texts."""
_TRAINING_FACTOR = 10
"""The default delta is below one in so many units."""
_SHORT_FIT = WritingOptions(rounds=2, round_texts=128)
"""Two batches of texts before those that are judged, in place of twelve."""
_GROUP = 10
"""Records of one person that the guarantee of a record is spelled out for."""


@dataclasses.dataclass(frozen=True, eq=False)
class CollectionSetting:
    """What is public or declared of releases of a collection.

    Attributes:
        table: private; of its rows those with a class are the collection.
        delta: of every budget.
        public: features, and texts where there are some.
        max_records: rows that count of each person; None for all.
        generator: of synthetic texts.
    """

    table: Table
    delta: float
    public: PublicKnowledge
    max_records: int | None = None
    generator: GeneratorName = "tilted"

    @functools.cached_property
    def private(self) -> Collection:
        """The rows with a class."""
        table = self.table
        persons = None if table.persons is None else [table.persons[row] for row in table.learned.tolist()]
        return Collection(table.select_learned(table.texts), table.codes, persons)

    def list_options(self, epsilon: float, seed: int) -> dict[str, Any]:
        """Return the options of any release; the number of units is measured, as it is by default."""
        return {
            "epsilon": epsilon,
            "delta": self.delta,
            "max_records": self.max_records,
            "classes": self.table.classes,
            "seed": seed,
        }

    def fit_classifier(self, private: Collection, epsilon: float, seed: int) -> LinearClassifier:
        """Return a private classifier, drawn with a public seed."""
        options = ClassifierOptions(**self.list_options(epsilon, seed))
        return Release(private, options, self.public).measure().classifier

    def describe_promise(self, epsilon: float) -> Promise:
        """Return the guarantee of a unit; where that is a record, also that of a person with several."""
        unit = self.table.unit
        options = ClassifierOptions(**self.list_options(epsilon, 0))
        budget = plan_budget(options, len(self.public.feature_map), unit)
        # Drafts are drawn with a public seed; a release is not, and has the status of its theorem.
        guarantee = limit_status(budget.guarantee, budget.verify())
        statement = (
            f"epsilon {format_exact(guarantee.epsilon)}, delta {format_exact(guarantee.delta)} for everything that one "
            f"{unit} has in the table"
        )
        if unit != PERSON:
            group = format_upper(bound_group_epsilon(budget, _GROUP))
            statement += f"; a person with {_GROUP} records: epsilon {group}"
        proven = guarantee.epsilon if is_proved(guarantee.status) else None
        adjacency, status = guarantee.adjacency, guarantee.status
        return Promise(statement, unit, adjacency, status, proven, whole=proven, whole_unit=f"a {unit}")

    def make_runner(self, epsilon: float, seed: int, train: Callable[[Collection, int], Predictor]) -> FoldRunner:
        """Return what trains on the training rows of a split, with a seed of its own, and tests on the others."""

        def run_fold(split: TrainTestSplit) -> list[BooleanMask]:
            fold_seed = np.random.default_rng((seed, round(1e6 * epsilon), *split.test[:4])).integers(2**31)
            texts = self.private.take(split.test.tolist()).texts
            return [
                train(self.private.take(split.train.tolist()), int(fold_seed))(texts).argmax(axis=1)
                == self.table.codes[split.test]
            ]

        return run_fold


def choose_delta(units: int) -> float:
    """Return 1 / (10 n) for n units, rounded down to a power of ten: it says no more of n than its magnitude."""
    return 10.0 ** math.floor(-math.log10(_TRAINING_FACTOR * units) + 1e-12)


@functools.lru_cache(maxsize=1)
def attack_private_classifier(setting: CollectionSetting, bench: Bench, epsilon: float) -> dict[str, MembershipResult]:
    """Return the attack on members of the training set of a private classifier; every attacked record is a unit.

    The last one is kept: it counts for synthetic texts of the same budget too.
    """
    return bench.attack_membership(classifier=functools.partial(PrivateLearner, setting, epsilon))


class PrivateLearner:
    """A private classifier in the form of `deniable.measure.classifiers.TextClassifier`.

    Args:
        setting: what is public.
        epsilon: of the budget.
        seed: public.
    """

    def __init__(self, setting: CollectionSetting, epsilon: float, seed: int) -> None:
        self._setting, self._epsilon, self._seed = setting, epsilon, seed

    def fit(self, texts: Sequence[str], codes: ClassCodes, classes: int) -> Self:
        """See `TextClassifier`; every text is a unit by itself."""
        del classes  # those of the table
        persons = None if self._setting.table.persons is None else [str(row) for row in range(len(texts))]
        private = Collection(texts, np.asarray(codes, dtype=np.int64), persons)
        self._classifier = self._setting.fit_classifier(private, self._epsilon, self._seed)
        return self

    def probabilities(self, texts: Sequence[str]) -> FloatArray:
        """See `TextClassifier`."""
        return self._classifier.predict_probabilities(texts)


@dataclasses.dataclass(frozen=True, eq=False)
class PrivateClassifier:
    """A classifier trained with noise, see `deniable.survey.survey.Way`.

    Attributes:
        setting: what is public.
        epsilon: of its budget.
    """

    setting: CollectionSetting
    epsilon: float

    @property
    def name(self) -> str:
        """Name of the row."""
        return f"classifier, epsilon {format_exact(self.epsilon)}"

    def measure(self, bench: Bench) -> Result:
        """Return the figures."""
        setting, epsilon, seed = self.setting, self.epsilon, bench.plan.seed

        def train(private: Collection, fold_seed: int) -> Predictor:
            return setting.fit_classifier(private, epsilon, fold_seed).predict_probabilities

        start = time.perf_counter()
        with hide_progress():
            setting.fit_classifier(setting.private, epsilon, seed)
        seconds = time.perf_counter() - start
        return Result(
            kind="classifier",
            name=self.name,
            epsilon=epsilon,
            delta=setting.delta,
            promise=setting.describe_promise(epsilon),
            seconds=seconds,
            note=f"only the classifier is released, no text; features of {setting.public.feature_map.source}",
            utility=bench.test_classifier(setting.make_runner(epsilon, seed, train)),
            membership=attack_private_classifier(setting, bench, epsilon),
        )


@dataclasses.dataclass(frozen=True, eq=False)
class SyntheticTexts:
    """Texts with labels, written from noisy sums, see `deniable.survey.survey.Way`.

    Attributes:
        setting: what is public.
        epsilon: of their budget.
        rows: number of texts, which costs no privacy.
    """

    setting: CollectionSetting
    epsilon: float
    rows: int = 4_000

    def __post_init__(self) -> None:
        check_count("a survey", "rows", self.rows, minimum=2)

    @property
    def name(self) -> str:
        """Name of the row."""
        return f"synthetic texts, epsilon {format_exact(self.epsilon)}"

    def measure(self, bench: Bench) -> Result:
        """Return the figures."""
        setting, epsilon, plan = self.setting, self.epsilon, bench.plan
        numbers = {name: number for number, name in enumerate(setting.table.classes)}

        def train(private: Collection, fold_seed: int) -> Predictor:
            synthetic = self._synthesize(private, fold_seed + 1)
            codes = np.array([numbers[label] for label in synthetic.labels], dtype=np.int64)
            return build_classifier(plan.classifier, plan.seed).fit(synthetic.texts, codes, len(numbers)).probabilities

        utility = bench.test_classifier(setting.make_runner(epsilon, plan.seed, train))
        start = time.perf_counter()
        with hide_progress():
            synthetic = self._synthesize(setting.private, plan.seed)
        seconds = time.perf_counter() - start
        return Result(
            kind="synthetic texts",
            name=self.name,
            epsilon=epsilon,
            delta=setting.delta,
            promise=setting.describe_promise(epsilon),
            seconds=seconds,
            note=f"{self.rows:,} texts of the generator {setting.generator}; the membership attack is on the "
            "classifier of the same budget, which reveals more than the texts written from it",
            utility=utility,
            membership=attack_private_classifier(setting, bench, epsilon),
            perplexity=bench.measure_perplexity(synthetic.texts, is_by_row=False),
        )

    def _synthesize(self, private: Collection, seed: int) -> SyntheticTable:
        """Return synthetic texts, drawn with a public seed."""
        setting = self.setting
        options = SynthesisOptions(
            **setting.list_options(self.epsilon, seed), rows=self.rows, generator=setting.generator
        )
        release = Release(private, options, setting.public)
        return release.write(release.measure())


@dataclasses.dataclass(frozen=True, eq=False)
class ReadableTexts:
    """Texts that people can read: of a language model, or public sentences, see `deniable.survey.survey.Way`.

    A language model writes some texts a second. So one short table is written, from the training rows of the first
    fold and with a short fit, and what is learned from it is tested on that fold alone; public sentences are judged
    alike, to compare both.

    Attributes:
        setting: what is public.
        epsilon: of their budget.
        model: that writes them; None for public sentences.
        prompt: of the model.
        rows: number of texts.

    Raises:
        InputError: the model cannot be asked for such texts.
    """

    setting: CollectionSetting
    epsilon: float
    model: LanguageModel | None = None
    prompt: str | None = None
    rows: int = 200

    def __post_init__(self) -> None:
        self._build_options(0)

    @property
    def generator(self) -> GeneratorName:
        """How they are written."""
        return "recombined" if self.model is None else "language-model"

    @property
    def name(self) -> str:
        """Name of the row."""
        return f"synthetic, {self.generator.replace('-', ' ')}, epsilon {format_exact(self.epsilon)}"

    def measure(self, bench: Bench) -> Result:
        """Return the figures."""
        setting, plan = self.setting, bench.plan
        numbers = {name: number for number, name in enumerate(setting.table.classes)}
        start = time.perf_counter()
        synthetic = self._synthesize(setting.private.take(setting.table.splits[0].train.tolist()), plan.seed)
        seconds = time.perf_counter() - start
        codes = np.array([numbers[label] for label in synthetic.labels], dtype=np.int64)

        def run_fold(split: TrainTestSplit) -> list[BooleanMask]:
            student = build_classifier(plan.classifier, plan.seed).fit(synthetic.texts, codes, len(numbers))
            tested = setting.private.take(split.test.tolist()).texts
            return [student.probabilities(tested).argmax(axis=1) == setting.table.codes[split.test]]

        writer = "public sentences" if self.model is None else self.model.card.name
        return Result(
            kind="synthetic texts",
            name=self.name,
            epsilon=self.epsilon,
            delta=setting.delta,
            promise=setting.describe_promise(self.epsilon),
            seconds=seconds,
            note=f"{self.rows:,} texts of {writer}, made from the training rows of one fold and judged on that fold; "
            "the membership attack is on the classifier of the same budget",
            utility=bench.test_classifier(run_fold, folds=1),
            membership=attack_private_classifier(setting, bench, self.epsilon),
            perplexity=bench.measure_perplexity(synthetic.texts, is_by_row=False),
        )

    def _build_options(self, seed: int) -> SynthesisOptions:
        options = SynthesisOptions(
            **self.setting.list_options(self.epsilon, seed),
            rows=self.rows,
            generator=self.generator,
            model=self.model,
            prompt=self.prompt,
            writing=_SHORT_FIT,
        )
        return options.choose_generator(has_public=bool(self.setting.public.texts))

    def _synthesize(self, private: Collection, seed: int) -> SyntheticTable:
        """Return synthetic texts, drawn with a public seed; the time left is shown where a model writes them."""
        release = Release(private, self._build_options(seed), self.setting.public)
        with hide_progress():
            measured = release.measure()
        report = get_progress_reporter()
        report(0, self.rows)
        return release.write(measured, Writing(report=report))


@dataclasses.dataclass(frozen=True, eq=False)
class PublicClassifier:
    """A classifier of labelled public texts only, which costs no privacy: what releases must be better than.

    Attributes:
        setting: with labelled public texts.
    """

    setting: CollectionSetting
    name: str = "public texts only"

    def measure(self, bench: Bench) -> Result:
        """Return its scores."""
        setting = self.setting
        trained = fit_public_classifier(setting.public, setting.table.classes)
        runner = setting.make_runner(0, 0, lambda *_: trained.predict_probabilities)
        return Result(kind="public texts", name=self.name, utility=bench.test_classifier(runner))
