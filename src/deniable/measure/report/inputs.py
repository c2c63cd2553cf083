"""The options and the columns of a survey, checked before anything is measured."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from deniable.core.errors import InputError, import_extra, make_parameter_error
from deniable.measure.authorship import select_attackable_rows
from deniable.measure.classifiers import build_classifier
from deniable.measure.labels import ClassCodes, ClassLabels, RowNumbers, encode_labels, stratified_folds
from deniable.measure.membership import MIN_MODELS, MIN_RECORDS


@dataclasses.dataclass(frozen=True)
class SurveyPlan:
    """Sizes, classifier and seed of a survey.

    Attributes:
        classifier: a name from `deniable.measure.classifiers.CLASSIFIERS`.
        folds: number of folds of the cross-validations.
        shadows: number of models trained for a membership attack, even and at least 6.
        examples: number of rows shown before and after.
        attacked: maximum number of texts whose words are attacked.
        members: maximum number of records whose membership is attacked.
        rows: maximum number of rows of the table that are measured.
        seed: public; everything follows from it.
    """

    classifier: str = "tfidf"
    folds: int = 5
    shadows: int = 16
    examples: int = 10
    attacked: int = 80
    members: int = 500
    rows: int = 5_000
    seed: int = 0


@dataclasses.dataclass(frozen=True)
class SurveyInputs:
    """Checked columns of n rows, all or a sample.

    Attributes:
        rows: (n,) their row numbers in the table, from 0 on.
        table_rows: number of rows of the table.
        texts: n texts; the empty text where the cell is empty.
        learned_rows: rows whose class has another row; empty without labels.
        codes: (learned rows,) their classes, numbered from 0 on.
        unlabelled_count: number of rows without a label; 0 where no labels were given.
        authors: (n,) authors, or None.
        seed: public; samples of rows follow from it.
    """

    rows: RowNumbers
    table_rows: int
    texts: list[str]
    learned_rows: RowNumbers
    codes: ClassCodes
    unlabelled_count: int
    authors: list[str | None] | None
    seed: int

    @property
    def class_count(self) -> int:
        """Number of classes; 0 without labels."""
        return int(self.codes.max()) + 1 if len(self.codes) else 0

    def sample(self, rows: RowNumbers, limit: int) -> RowNumbers:
        """Return at most ``limit`` of the rows, drawn at random, in their order."""
        return _sample_rows(rows, limit, self.seed)


def _sample_rows(rows: RowNumbers, limit: int, seed: int) -> RowNumbers:
    if len(rows) <= limit:
        return rows
    sampled_rows: RowNumbers = np.sort(np.random.default_rng(seed).choice(rows, limit, replace=False))
    return sampled_rows


def build_survey_inputs(
    texts: Sequence[str | None],
    label_column: Sequence[str | None] | ClassLabels | None,
    authors: Sequence[str | None] | None,
    plan: SurveyPlan,
) -> SurveyInputs:
    """Return the columns, checked.

    Args:
        texts: (n,) private texts.
        label_column: (n,) labels, or None.
        authors: (n,) authors, or None.
        plan: sizes and classifier.

    Raises:
        InputError: the plan or a column cannot be used.
    """
    check_survey_plan(plan)
    count = len(texts)
    if not any(text and text.strip() for text in texts):
        reason = f"all of its {count} texts are empty" if count else "it has no rows"
        raise InputError(f"The table has nothing to measure, since {reason}: give one with texts.")
    for name, column in (
        ("labels", label_column.codes if isinstance(label_column, ClassLabels) else label_column),
        ("authors", authors),
    ):
        if column is not None and len(column) != count:
            raise InputError(f"{count} texts need as many {name}. Got {len(column)}: give one for each text.")
    rows = _sample_rows(np.arange(count), plan.rows, plan.seed)
    sampled_codes = None if label_column is None else _get_codes(label_column)[rows]
    learned_rows, codes = _select_labelled_rows(sampled_codes, [texts[row] or "" for row in rows], plan)
    sampled_authors = None if authors is None else [authors[row] for row in rows]
    if sampled_authors is not None:
        attackable_rows, author_codes = select_attackable_rows(sampled_authors)
        stratified_folds(
            author_codes, plan.folds, plan.seed, [texts[rows[place]] or "" for place in attackable_rows.tolist()]
        )
    return SurveyInputs(
        rows,
        count,
        [texts[row] or "" for row in rows],
        learned_rows,
        codes,
        0 if sampled_codes is None else int((sampled_codes < 0).sum()),
        sampled_authors,
        plan.seed,
    )


def check_survey_plan(plan: SurveyPlan) -> None:
    """Check the sizes and names of a plan.

    Raises:
        InputError: one of them cannot be used, or a library is not installed.
    """
    import_extra("sklearn", "A survey", "measure")
    build_classifier(plan.classifier, plan.seed)  # refuses an unknown name and a missing library
    minimums = {
        "folds": 2,
        "examples": 0,
        "attacked": 2,
        "members": MIN_RECORDS,
        "rows": 1,
        "shadows": MIN_MODELS["lira"],
        "seed": 0,
    }
    for name, minimum in minimums.items():
        value = getattr(plan, name)
        if (
            isinstance(value, bool)
            or not isinstance(value, int)
            or value < minimum
            or (name == "shadows" and value % 2)
        ):
            raise make_parameter_error(
                "a survey", name, f"an {'even ' * (name == 'shadows')}int of at least {minimum}", value
            )


def _get_codes(label_column: Sequence[str | None] | ClassLabels) -> ClassCodes:
    return (label_column if isinstance(label_column, ClassLabels) else encode_labels(label_column)).codes


def _select_labelled_rows(
    sampled_codes: ClassCodes | None, texts: Sequence[str], plan: SurveyPlan
) -> tuple[RowNumbers, ClassCodes]:
    """Return which of the rows have a class with another row, and their classes numbered anew."""
    if sampled_codes is None:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    learned_rows = np.flatnonzero(
        (sampled_codes >= 0) & (np.bincount(sampled_codes + 1)[sampled_codes + 1] > 1)
    ).astype(np.int64)  # from -1 on
    codes = np.unique(sampled_codes[learned_rows], return_inverse=True)[1].astype(np.int64)
    if not len(codes) or codes.max() < 1:
        raise InputError("The labels must have at least 2 classes with 2 rows each: give more rows.")
    stratified_folds(codes, plan.folds, plan.seed, [texts[row] for row in learned_rows.tolist()])
    if len(learned_rows) < MIN_RECORDS:
        raise InputError(
            f"Classifiers need at least {MIN_RECORDS} labelled rows. Got {len(learned_rows)}: give more rows."
        )
    return learned_rows, codes
