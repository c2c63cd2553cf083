"""The rows and sizes of a comparison, checked before anything is measured."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable.core.arrays import IntArray
from deniable.core.errors import InputError, check_count, check_number_within, check_positive
from deniable.measure.labels import ClassCodes, TrainTestSplit, encode_labels, is_blank, stratified_folds
from deniable.measure.membership import MIN_RECORDS
from deniable.text.columns import require_identities

_TRAINING_FACTOR = 10
"""The default delta is below one in so many units."""


@dataclasses.dataclass(frozen=True)
class ComparisonPlan:
    """Sizes, budgets and seed of a comparison.

    Attributes:
        budgets: epsilons of the ways that hide a unit of the collection as a whole.
        delta: of these; None for 1 / (10 n) rounded down to a power of ten.
        recoveries: shares of words that an attacker may guess, for which epsilons of words are found.
        record_epsilons: of the ways that hide each text by itself.
        classifier: a name from `deniable.measure.classifiers.CLASSIFIERS`, trained on every release.
        folds: number of folds.
        shadows: number of models for each attack on membership, even and at least 6.
        attacked: maximum number of texts whose words are attacked.
        members: maximum number of records whose membership is attacked.
        linked: maximum number of released texts that are linked to their records.
        synthetic_rows: number of synthetic texts, which costs no privacy.
        rows: maximum number of rows of the table that are used.
        seed: public; everything follows from it.

    Raises:
        InputError: a number is outside its domain.
    """

    budgets: tuple[float, ...] = (1.0, 4.0, 8.0)
    delta: float | None = None
    recoveries: tuple[float, ...] = (0.1, 0.2, 0.5)
    record_epsilons: tuple[float, ...] = (10.0, 100.0, 1000.0)
    classifier: str = "tfidf"
    folds: int = 5
    shadows: int = 16
    attacked: int = 80
    members: int = 1_000
    linked: int = 500
    synthetic_rows: int = 4_000
    rows: int = 5_000
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("budgets", "record_epsilons"):
            for epsilon in getattr(self, name):
                check_positive("a comparison", name, epsilon)
        for share in self.recoveries:
            check_positive("a comparison", "recoveries", share, upper=1.0)
        if self.delta is not None:
            check_number_within("a comparison", "delta", self.delta, 1e-18, 0.1)
        minimums = {"folds": 2, "attacked": 2, "members": MIN_RECORDS, "linked": 1, "rows": MIN_RECORDS, "seed": 0}
        minimums["synthetic_rows"] = 2
        for name, minimum in minimums.items():
            check_count("a comparison", name, getattr(self, name), minimum=minimum)


@dataclasses.dataclass(frozen=True, eq=False)
class ComparisonInputs:
    """The rows that are compared.

    Attributes:
        texts: n private texts.
        codes: (n,) their classes, from 0 on.
        classes: names of the classes.
        persons: (n,) identities of whom each row belongs to; None where each record is a unit.
        splits: rows to train and to test on; the rows of a person, and equal texts, are in one fold.
        delta: of the budgets.
        table_rows: usable rows of the table.
        rows: (n,) which of the usable rows these are.
    """

    texts: list[str]
    codes: ClassCodes
    classes: tuple[str, ...]
    persons: list[str] | None
    splits: list[TrainTestSplit]
    delta: float
    table_rows: int
    rows: IntArray

    @property
    def unit_count(self) -> int:
        """Number of units: records, or persons."""
        return len(self.texts) if self.persons is None else len({*self.persons})

    @property
    def tested_codes(self) -> ClassCodes:
        """(n,) classes of the tested rows, split after split."""
        tested_codes: ClassCodes = self.codes[np.concatenate([split.test for split in self.splits])]
        return tested_codes

    def sample(self, limit: int, seed: int) -> IntArray:
        """Return at most ``limit`` rows, drawn at random, in their order."""
        if len(self.texts) <= limit:
            return np.arange(len(self.texts))
        return np.sort(np.random.default_rng(seed).choice(len(self.texts), limit, replace=False))


def build_comparison_inputs(
    texts: Sequence[str | None],
    labels: Sequence[str | None],
    persons: Sequence[Any] | None,
    plan: ComparisonPlan,
) -> ComparisonInputs:
    """Return the rows that have a text and a class with another row, or a sample of them.

    Args:
        texts: (n,) private texts.
        labels: (n,) names of classes.
        persons: (n,) to whom each row belongs, by their identities, see `deniable.core.identity`; None where each
            record is a unit.
        plan: sizes and seed.

    Raises:
        InputError: the columns do not match, or too few rows are left.
    """
    if len(labels) != len(texts) or (persons is not None and len(persons) != len(texts)):
        raise InputError(f"{len(texts):,} texts need as many labels and persons: give one of each for every text.")
    persons = None if persons is None else require_identities("Persons", persons)
    codes = encode_labels(labels).codes
    usable = np.array([row for row, text in enumerate(texts) if not is_blank(text) and codes[row] >= 0], dtype=np.int64)
    rows = _sample_units(usable, persons, plan)
    rows = rows[np.bincount(codes[rows], minlength=int(codes.max()) + 1)[codes[rows]] > 1]
    class_numbers, new_codes = np.unique(codes[rows], return_inverse=True)
    if len(class_numbers) < 2 or len(rows) < MIN_RECORDS:  # noqa: PLR2004 - one class leaves nothing to learn
        raise InputError(
            f"A comparison needs at least {MIN_RECORDS} rows with a text, of 2 classes with 2 rows each. Got "
            f"{len(rows)} such rows of {len(class_numbers)} classes: give more rows, or name other columns."
        )
    names = encode_labels(labels).names
    chosen_texts = [str(texts[row]) for row in rows.tolist()]
    chosen_persons = None if persons is None else [persons[row] for row in rows.tolist()]
    unit_count = len(rows) if chosen_persons is None else len({*chosen_persons})
    groups = [str(group) for group in _group_dependent_rows(chosen_texts, chosen_persons).tolist()]
    return ComparisonInputs(
        chosen_texts,
        new_codes.astype(np.int64),
        tuple(names[number] for number in class_numbers.tolist()),
        chosen_persons,
        stratified_folds(new_codes.astype(np.int64), plan.folds, plan.seed, groups),
        plan.delta if plan.delta is not None else choose_delta(unit_count),
        len(usable),
        rows,
    )


def choose_delta(units: int) -> float:
    """Return 1 / (10 n) for n units, rounded down to a power of ten: it says no more of n than its magnitude."""
    return 10.0 ** math.floor(-math.log10(_TRAINING_FACTOR * units) + 1e-12)


def _sample_units(usable: IntArray, persons: Sequence[str] | None, plan: ComparisonPlan) -> IntArray:
    """Return at most as many rows as the plan allows: whole persons, or records."""
    if len(usable) <= plan.rows:
        return usable
    generator = np.random.default_rng(plan.seed)
    if persons is None:
        return np.sort(generator.choice(usable, plan.rows, replace=False))
    rows_by_person: dict[str, list[int]] = {}
    for row in usable.tolist():
        rows_by_person.setdefault(persons[row], []).append(row)
    groups = list(rows_by_person.values())
    chosen: list[int] = []
    for number in generator.permutation(len(groups)).tolist():
        if len(chosen) + len(groups[number]) <= plan.rows:
            chosen += groups[number]
    return np.sort(np.array(chosen, dtype=np.int64))


def _group_dependent_rows(texts: Sequence[str], persons: Sequence[str] | None) -> IntArray:
    """Return (n,) group numbers: rows of one person, and rows with equal texts, are in one group."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    keys: list[Sequence[str]] = [texts] if persons is None else [texts, persons]
    count, edges = len(texts), []
    for column in keys:
        first_rows: dict[str, int] = {}
        edges += [(row, first_rows.setdefault(cell, row)) for row, cell in enumerate(column)]
    starts, ends = np.array(edges).T
    graph = sparse.coo_array((np.ones(len(edges)), (starts, ends)), shape=(count, count))
    groups: IntArray = connected_components(graph, directed=False)[1].astype(np.int64)
    return groups
