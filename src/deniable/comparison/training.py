"""Classifiers trained on releases of a collection as a whole, in the form in which measures train any classifier."""

import dataclasses
from collections.abc import Sequence
from typing import Self

import numpy as np

from deniable.comparison.inputs import ComparisonPlan
from deniable.core.arrays import FloatArray
from deniable.core.guarantees import Unit
from deniable.measure.classifiers import TextClassifier, build_classifier
from deniable.measure.labels import BooleanMask, ClassCodes, FoldRunner, TrainTestSplit
from deniable.persons.budget import Budget
from deniable.persons.classifier import LinearClassifier
from deniable.persons.classifier_training import (
    ClassifierOptions,
    PrivateTexts,
    PublicTexts,
    fit_linear_classifier,
)
from deniable.persons.collection import PERSON, RECORD, UnitRows, group_rows
from deniable.persons.features import FeatureMap
from deniable.persons.synthesis import (
    GeneratorName,
    SynthesisOptions,
    SyntheticTable,
    measure_collection,
    write_table,
)


@dataclasses.dataclass(frozen=True, eq=False)
class CollectionSetting:
    """What is public or declared of a release of a collection.

    Attributes:
        classes: names of the classes.
        delta: of every budget.
        unit: what is hidden: record or person.
        feature_map: public.
        public: public texts; None for none.
        max_records: rows that count of each person; None for all.
        generator: of synthetic texts.
    """

    classes: tuple[str, ...]
    delta: float
    unit: Unit
    feature_map: FeatureMap
    public: PublicTexts | None = None
    max_records: int | None = None
    generator: GeneratorName = "tilted"

    def build_options(self, epsilon: float, seed: int) -> ClassifierOptions:
        """Return the options of a classifier; the number of units is measured, as it is by default."""
        return ClassifierOptions(self.classes, epsilon, self.delta, None, seed)

    def plan_training_budget(self, epsilon: float) -> Budget:
        """Return the budget of a classifier."""
        return self.build_options(epsilon, 0).plan_budget(self.feature_map, self.unit)

    def group_texts(self, texts: Sequence[str], codes: ClassCodes, persons: Sequence[str] | None) -> PrivateTexts:
        """Return texts as units; without persons each record is one, of the kind of this setting."""
        units = group_rows(len(texts), persons, self.max_records)
        if persons is None and self.unit == PERSON:
            units = UnitRows(PERSON, units.rows, units.offsets)
        return PrivateTexts(texts, np.asarray(codes, dtype=np.int64), units)

    def fit_classifier(self, private: PrivateTexts, epsilon: float, seed: int) -> LinearClassifier:
        """Return a private classifier, drawn with a public seed."""
        public = self.public if self.public is not None and self.public.has_labels else None
        return fit_linear_classifier(private, self.feature_map, self.build_options(epsilon, seed), public)

    def synthesize(self, private: PrivateTexts, epsilon: float, rows: int, seed: int) -> SyntheticTable:
        """Return synthetic texts, drawn with a public seed."""
        options = SynthesisOptions(self.build_options(epsilon, seed), rows, self.generator)
        return write_table(
            measure_collection(private, {}, self.feature_map, self.public, options), self.public, options
        )


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
        del classes  # those of the setting
        private = self._setting.group_texts(texts, codes, None)
        self._classifier = self._setting.fit_classifier(private, self._epsilon, self._seed)
        return self

    def probabilities(self, texts: Sequence[str]) -> FloatArray:
        """See `TextClassifier`."""
        return self._classifier.predict_probabilities(texts)


def build_collection_runner(
    setting: CollectionSetting,
    columns: tuple[Sequence[str], ClassCodes, Sequence[str] | None],
    epsilon: float,
    plan: ComparisonPlan,
    *,
    has_texts: bool,
) -> FoldRunner:
    """Return the runner that trains a private classifier and, on synthetic texts, another classifier.

    Args:
        setting: what is public.
        columns: n texts, their classes, and to whom they belong, or None.
        epsilon: of either release.
        plan: names the classifier that learns from synthetic texts, and has the seed; every fold draws anew.
        has_texts: whether synthetic texts are written; else the private classifier alone is tested.
    """
    texts, codes, persons = columns

    def run_fold(split: TrainTestSplit) -> list[BooleanMask]:
        fold_seed = int(np.random.default_rng((plan.seed, round(1e6 * epsilon), *split.test[:4])).integers(2**31))
        rows = split.train.tolist()
        private = setting.group_texts(
            [texts[row] for row in rows],
            codes[split.train],
            None if persons is None else [persons[row] for row in rows],
        )
        tested_texts, tested_codes = [texts[row] for row in split.test], codes[split.test]
        released = setting.fit_classifier(private, epsilon, fold_seed)
        hits = [released.predict_probabilities(tested_texts).argmax(axis=1) == tested_codes]
        if has_texts:
            synthetic = setting.synthesize(private, epsilon, plan.synthetic_rows, fold_seed + 1)
            student = train_student(setting, synthetic, plan.classifier, plan.seed)
            hits.append(student.probabilities(tested_texts).argmax(axis=1) == tested_codes)
        return hits

    return run_fold


def train_student(setting: CollectionSetting, table: SyntheticTable, classifier: str, seed: int) -> TextClassifier:
    """Return a classifier that has learned from a synthetic table alone."""
    numbers = {name: number for number, name in enumerate(setting.classes)}
    codes = np.array([numbers[label] for label in table.labels], dtype=np.int64)
    return build_classifier(classifier, seed).fit(table.texts, codes, len(setting.classes))


def get_unit(persons: Sequence[str] | None) -> Unit:
    """Return what is hidden as a whole: a person's records where there are persons."""
    return RECORD if persons is None else PERSON
