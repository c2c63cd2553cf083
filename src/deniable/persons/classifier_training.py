"""Training a private linear classifier: everything that the weights depend on is public, declared or paid for."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from randomgen import AESCounter

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError, shorten_text
from deniable.core.guarantees import Guarantee, Unit, Verdict
from deniable.persons.budget import Budget
from deniable.persons.classifier import LinearClassifier
from deniable.persons.collection import UnitRows, group_rows
from deniable.persons.features import FeatureMap
from deniable.persons.group_privacy import describe_groups
from deniable.persons.linear_training import (
    fit_private_weights,
    fit_public_weights,
    plan_linear_measurement,
    plan_linear_training,
)
from deniable.persons.nominal_count import NominalCount, find_nominal_count, plan_count_measurement
from deniable.text.release_certificate import CHOSEN_BY_OWNER, CHOSEN_FROM_DATA
from deniable.vectors.discrete_noise import make_noise_generator

PUBLIC_SEED_SOURCE = "not private: public seed"


@dataclasses.dataclass(frozen=True)
class PrivateTexts:
    """The private records: n texts with classes, and whose they are.

    Attributes:
        texts: n texts.
        labels: (n,) class numbers; a text with any other, such as -1, teaches nothing.
        units: of the rows: records or persons.

    Raises:
        InputError: the parts do not match.
    """

    texts: Sequence[str]
    labels: IntArray
    units: UnitRows

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.texts):
            raise InputError(
                f"{len(self.texts):,} texts need as many labels. Got {len(self.labels):,}: give one for each text."
            )
        if len(self.units.rows) and not 0 <= self.units.rows.min() <= self.units.rows.max() < len(self.texts):
            raise InputError(f"The units have rows outside the {len(self.texts):,} texts: group the rows of these.")


@dataclasses.dataclass(frozen=True)
class PublicTexts:
    """Public texts, and their classes where they have some.

    Attributes:
        texts: m texts.
        labels: (m,) class numbers, -1 for a text without one; None where no text has one.
    """

    texts: Sequence[str]
    labels: IntArray | None = None

    @property
    def has_labels(self) -> bool:
        """Whether any text has a label."""
        return self.labels is not None and bool((self.labels >= 0).any())


@dataclasses.dataclass(frozen=True)
class ClassifierOptions:
    """What a private classifier is trained with.

    Attributes:
        classes: K names, declared or public.
        epsilon: > 0.
        delta: in (0, 1).
        records: declared number of units; None to measure it, for about a hundredth of the budget.
        seed: for tests only: public, so that the noise hides nothing; None for fresh noise.
        chosen_from_data: whether epsilon was chosen by looking at the private records, as cards then say.

    Raises:
        InputError: fewer than two classes, equal ones, or one without a name.
    """

    classes: tuple[str, ...]
    epsilon: float
    delta: float
    records: int | None = None
    seed: int | None = None
    chosen_from_data: bool = False

    def __post_init__(self) -> None:
        if len({*self.classes}) < max(2, len(self.classes)):
            raise InputError(
                "A classifier needs at least two different classes. Got "
                f"{shorten_text(', '.join(self.classes)) or 'none'}: declare them all."
            )
        if not all(name.strip() for name in self.classes):
            raise InputError("A class has a name. Got one that is blank: give it a name, in the records too.")

    def plan_budget(self, feature_map: FeatureMap, unit: Unit) -> Budget:
        """Return the budget of the classifier, and of the number of units where that is measured."""
        classifier = plan_linear_measurement(feature_map, len(self.classes))
        return Budget(self.epsilon, self.delta, unit, (classifier, *plan_count_measurement(self.records)))


def fit_linear_classifier(
    private: PrivateTexts,
    feature_map: FeatureMap,
    options: ClassifierOptions,
    public: PublicTexts | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005 - reports nothing
) -> LinearClassifier:
    """Train a private classifier of texts.

    Args:
        private: the records that the guarantee hides.
        feature_map: public, see `deniable.persons.features`.
        options: classes, budget and declared number of units.
        public: labelled public texts to begin with; None to begin with zeros.
        progress: called with the number of steps done and the total.

    Raises:
        InputError: a parameter outside its domain.
    """
    budget = options.plan_budget(feature_map, private.units.unit)
    generator = make_noise_generator(options.seed)
    count = find_nominal_count(options.records, budget, private.units, generator)
    return fit_with_budget(private, feature_map, options, budget, count, generator, public, progress)


def fit_with_budget(
    private: PrivateTexts,
    feature_map: FeatureMap,
    options: ClassifierOptions,
    budget: Budget,
    count: NominalCount,
    generator: AESCounter,
    public: PublicTexts | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005 - reports nothing
) -> LinearClassifier:
    """Train a private classifier as one measurement of a budget that may hold others; see `fit_linear_classifier`."""
    class_count = len(options.classes)
    start = None if public is None or not public.has_labels else _fit_start(feature_map, class_count, public)
    weights = fit_private_weights(
        feature_map.extract_features(private.texts),
        private.labels,
        private.units,
        feature_map,
        class_count,
        budget,
        count.value,
        generator,
        start,
        progress,
    )
    guarantee, verdict = judge_budget(budget, options.seed)
    plan = plan_linear_training(budget, count.value)
    facts = {
        "nominal number of units": count.value,
        "nominal number": count.source,
        "measurements": budget.describe_measurements(),
        "training": dataclasses.asdict(plan),
        "features": feature_map.source,
        "feature map": feature_map.fingerprint,
        "started from": "zeros" if start is None else "weights learned from labelled public texts",
        "groups": describe_groups(budget),
        "epsilon chosen": CHOSEN_FROM_DATA if options.chosen_from_data else CHOSEN_BY_OWNER,
        "seed": options.seed,
    }
    return LinearClassifier(feature_map, options.classes, weights, guarantee, verdict, facts)


def judge_budget(budget: Budget, seed: int | None) -> tuple[Guarantee, Verdict]:
    """Return what the measurements of a budget promise, and what is known of that: false under a public seed.

    Args:
        budget: what is measured.
        seed: of the noise; None for fresh noise.
    """
    guarantee, verdict = budget.guarantee, budget.verify()
    if seed is not None:
        guarantee = dataclasses.replace(guarantee, source=PUBLIC_SEED_SOURCE, status="refuted")
        verdict = dataclasses.replace(verdict, status="refuted", guarantee=guarantee, method=PUBLIC_SEED_SOURCE)
    return guarantee, verdict


def fit_public_classifier(feature_map: FeatureMap, classes: tuple[str, ...], public: PublicTexts) -> LinearClassifier:
    """Train a classifier on public texts alone: the baseline that no private record had a part in.

    Raises:
        InputError: the public texts have no labels.
    """
    if not public.has_labels:
        raise InputError("A public classifier needs public texts with labels: name their column with --public-label.")
    weights = _fit_start(feature_map, len(classes), public)
    return LinearClassifier(feature_map, classes, weights, None, None, {"features": feature_map.source})


def _fit_start(feature_map: FeatureMap, class_count: int, public: PublicTexts) -> FloatArray:
    """Return public weights (D, K - 1), learned from the public texts that have a label."""
    labels = np.asarray(public.labels)
    labelled_rows = np.flatnonzero(labels >= 0)
    features = feature_map.extract_features([public.texts[row] for row in labelled_rows.tolist()])
    return fit_public_weights(features, labels[labelled_rows], feature_map, class_count)


def make_private_texts(
    texts: Sequence[str],
    labels: IntArray,
    persons: Sequence[Any] | None = None,
    max_records: int | None = None,
) -> PrivateTexts:
    """Return private records, each a unit by itself or the records of a person together.

    Args:
        texts: n texts.
        labels: (n,) class numbers.
        persons: (n,) to whom each record belongs; None for records as units.
        max_records: records that count of each person, the first ones; None for all.

    Raises:
        InputError: the columns differ in length.
    """
    return PrivateTexts(texts, np.asarray(labels, dtype=np.int64), group_rows(len(texts), persons, max_records))
