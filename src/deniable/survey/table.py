"""The rows and sizes of a survey, checked before anything is measured."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable.core.arrays import IntArray
from deniable.core.errors import InputError, check_count, import_extra, make_parameter_error
from deniable.core.guarantees import Unit
from deniable.measure.authorship import select_attackable_rows
from deniable.measure.classifiers import build_classifier
from deniable.measure.entities.sources import LabelledTexts
from deniable.measure.labels import ClassCodes, ClassLabels, RowNumbers, TrainTestSplit, encode_labels, stratified_folds
from deniable.measure.membership import MIN_MODELS, MIN_RECORDS
from deniable.persons.collection import PERSON, RECORD
from deniable.text.columns import require_identities

OWNER = "a survey"


@dataclasses.dataclass(frozen=True)
class Plan:
    """Sizes, classifier and seed of a survey.

    Attributes:
        classifier: a name from `deniable.measure.classifiers.CLASSIFIERS`, trained on every release.
        folds: number of folds of the cross-validations.
        shadows: number of models trained for each attack on membership, even and at least 6.
        examples: number of rows shown before and after.
        attacked: maximum number of texts whose words are attacked.
        members: maximum number of records whose membership is attacked.
        linked: maximum number of released texts that are linked to their records.
        rows: maximum number of rows of the table that are used.
        seed: public; everything follows from it.

    Raises:
        InputError: a number is outside its domain.
    """

    classifier: str = "tfidf"
    folds: int = 5
    shadows: int = 16
    examples: int = 10
    attacked: int = 80
    members: int = 500
    linked: int = 500
    rows: int = 5_000
    seed: int = 0

    def __post_init__(self) -> None:
        minimums = {"folds": 2, "shadows": MIN_MODELS["lira"], "examples": 0, "attacked": 2, "members": MIN_RECORDS}
        for name, minimum in (minimums | {"linked": 1, "rows": 1, "seed": 0}).items():
            check_count(OWNER, name, getattr(self, name), minimum=minimum)
        if self.shadows % 2:
            raise make_parameter_error(OWNER, "shadows", "an even int", self.shadows)


DEFAULT_PLAN = Plan()


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
    """The n rows that are surveyed, all of a table or a sample.

    Attributes:
        rows: (n,) their numbers in the table, from 0 on.
        table_rows: number of rows of the table.
        texts: n texts; the empty text where the cell is empty.
        learned: rows whose class has another row; none without labels.
        codes: (learned rows,) their classes, from 0 on.
        classes: names of the classes.
        unlabelled: number of rows without a label; 0 where no labels were given.
        splits: learned rows, by their places among them, to train and to test on; the rows of a person, and equal
            texts, are in one fold.
        persons: (n,) identities of whom each row belongs to; None where each record is a unit.
        authors: (n,) authors to be named by an attacker; None for none.
        known: texts that an attacker has read; None for the rows that are not attacked.
        entities: (n,) labelled spans to look for; None for none.
    """

    rows: RowNumbers
    table_rows: int
    texts: list[str]
    learned: RowNumbers
    codes: ClassCodes
    classes: tuple[str, ...]
    unlabelled: int
    splits: list[TrainTestSplit]
    persons: list[str] | None = None
    authors: list[str | None] | None = None
    known: Sequence[str | None] | None = None
    entities: LabelledTexts | None = None

    @property
    def unit(self) -> Unit:
        """What ways that hide a unit of the collection hide."""
        return RECORD if self.persons is None else PERSON

    @property
    def units(self) -> int:
        """Number of units."""
        return len(self.texts) if self.persons is None else len({*self.persons})

    @property
    def tested_codes(self) -> ClassCodes:
        """Classes of the tested rows, split after split."""
        tested_codes: ClassCodes = self.codes[np.concatenate([split.test for split in self.splits])]
        return tested_codes

    def select_learned(self, texts: Sequence[str]) -> list[str]:
        """Return the texts of the learned rows."""
        return [texts[row] for row in self.learned.tolist()]


def build_table(
    texts: Sequence[str | None],
    labels: Sequence[str | None] | ClassLabels | None = None,
    plan: Plan = DEFAULT_PLAN,
    *,
    persons: Sequence[Any] | None = None,
    authors: Sequence[str | None] | None = None,
    known: Sequence[str | None] | None = None,
) -> Table:
    """Return the rows of a table that are surveyed, checked.

    Args:
        texts: (n,) private texts; None counts as the empty text.
        labels: (n,) classes, for the accuracy of classifiers and for membership attacks.
        plan: sizes and seed.
        persons: (n,) to whom each row belongs, by their identities, see `deniable.core.identity`.
        authors: (n,) authors, for attacks on authorship.
        known: texts that the attacker on words trains a language model on.

    Raises:
        InputError: the columns do not match, have nothing to measure, or too few or too uniform rows to train on.
    """
    import_extra("sklearn", "A survey", "measure")
    build_classifier(plan.classifier, plan.seed)  # refuses an unknown name and a missing library
    count = len(texts)
    if not any(text and text.strip() for text in texts):
        reason = f"all of its {count} texts are empty" if count else "it has no rows"
        raise InputError(f"The table has nothing to measure, since {reason}: give one with texts.")
    given_codes = labels.codes if isinstance(labels, ClassLabels) else labels
    for name, column in (("labels", given_codes), ("persons", persons), ("authors", authors)):
        if column is not None and len(column) != count:
            raise InputError(f"{count} texts need as many {name}. Got {len(column)}: give one for each text.")
    identities = None if persons is None else require_identities("Persons", persons)
    rows = _sample_units(count, identities, plan)
    chosen_texts = [texts[row] or "" for row in rows.tolist()]
    chosen_persons = None if identities is None else [identities[row] for row in rows.tolist()]
    chosen_authors = None if authors is None else [authors[row] for row in rows.tolist()]
    if chosen_authors is not None:  # refuses early what cannot be attacked
        places, author_codes = select_attackable_rows(chosen_authors)
        stratified_folds(author_codes, plan.folds, plan.seed, [chosen_texts[place] for place in places.tolist()])
    none = np.empty(0, dtype=np.int64)
    table = Table(rows, count, chosen_texts, none, none, (), 0, [], chosen_persons, chosen_authors, known)
    return table if labels is None else _add_classes(table, labels, plan)


def _add_classes(table: Table, labels: Sequence[str | None] | ClassLabels, plan: Plan) -> Table:
    """Return a table with the rows whose class has another row, their classes numbered anew, and folds."""
    encoded = labels if isinstance(labels, ClassLabels) else encode_labels(labels)
    codes = encoded.codes[table.rows]
    # Counted from -1 on, which stands for no label.
    learned = np.flatnonzero((codes >= 0) & (np.bincount(codes + 1)[codes + 1] > 1)).astype(np.int64)
    numbers, new_codes = np.unique(codes[learned], return_inverse=True)
    if len(numbers) < 2 or len(learned) < MIN_RECORDS:  # noqa: PLR2004 - one class leaves nothing to learn
        raise InputError(
            f"Classifiers need at least {MIN_RECORDS} labelled rows, of 2 classes with 2 rows each. Got {len(learned)} "
            f"such rows of {len(numbers)} classes: give more rows, or name other columns."
        )
    texts = [table.texts[row] for row in learned.tolist()]
    persons = None if table.persons is None else [table.persons[row] for row in learned.tolist()]
    new_codes = new_codes.astype(np.int64)
    return dataclasses.replace(
        table,
        learned=learned,
        codes=new_codes,
        classes=tuple(encoded.names[number] for number in numbers.tolist()),
        unlabelled=int((codes < 0).sum()),
        splits=stratified_folds(new_codes, plan.folds, plan.seed, _group_dependent_rows(texts, persons)),
    )


def sample_rows(rows: IntArray, limit: int, seed: int) -> IntArray:
    """Return at most ``limit`` of the rows, drawn at random, in their order."""
    return rows if len(rows) <= limit else np.sort(np.random.default_rng(seed).choice(rows, limit, replace=False))


def _sample_units(count: int, persons: Sequence[str] | None, plan: Plan) -> IntArray:
    """Return at most as many rows as the plan allows: whole persons, or records."""
    if persons is None or count <= plan.rows:
        return sample_rows(np.arange(count), plan.rows, plan.seed)
    rows_by_person: dict[str, list[int]] = {}
    for row, person in enumerate(persons):
        rows_by_person.setdefault(person, []).append(row)
    groups, chosen = list(rows_by_person.values()), list[int]()
    for number in np.random.default_rng(plan.seed).permutation(len(groups)).tolist():
        if len(chosen) + len(groups[number]) <= plan.rows:
            chosen += groups[number]
    return np.sort(np.array(chosen, dtype=np.int64))


def _group_dependent_rows(texts: list[str], persons: Sequence[str] | None) -> list[str]:
    """Return (n,) names of groups: rows of one person, and rows with equal texts, are in one group."""
    if persons is None:
        return texts
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    # Empty texts teach nothing, and need not share a fold.
    distinct_texts = [text or f"row {row}" for row, text in enumerate(texts)]
    nodes = [np.unique(column, return_inverse=True)[1] for column in (distinct_texts, persons)]
    starts, ends = nodes[0], nodes[1] + nodes[0].max() + 1
    size = int(ends.max()) + 1
    graph = sparse.coo_array((np.ones(len(texts)), (starts, ends)), shape=(size, size))
    return [str(group) for group in connected_components(graph, directed=False)[1][starts].tolist()]
