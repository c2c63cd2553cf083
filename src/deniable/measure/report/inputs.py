"""The columns that a survey measures, checked before any work is done."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError, bad_parameter
from deniable.measure.authorship import attackable
from deniable.measure.classifiers import CLASSIFIERS
from deniable.measure.folds import deal
from deniable.measure.labels import Codes, Labels, labels

Rows = npt.NDArray[np.int64]

_FEWEST_MODELS, _FEWEST_RECORDS = 6, 8
"""What a membership attack by likelihood ratios needs."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much is measured, and with what.

    Attributes:
        classifier: a name from `deniable.measure.classifiers.CLASSIFIERS`.
        folds: of the cross-validations.
        shadows: models trained for a membership attack, an even number of at least 6.
        examples: rows shown as they were and as they became.
        attacked: texts, at most, whose words are attacked.
        members: records, at most, whose membership is attacked.
        rows: of the table, at most, that are measured at all.
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
class Inputs:
    """Checked columns of n rows, all or a sample.

    Attributes:
        rows: (n,) where they stand in the table, from 0 on.
        whole: rows of the table.
        texts: n texts; the empty text where there was none.
        learned: rows whose class has another row; none without labels.
        codes: (rows learned,) their classes, numbered from 0 on.
        authors: (n,), or None.
        seed: public, of samples of rows.
    """

    rows: Rows
    whole: int
    texts: list[str]
    learned: Rows
    codes: Codes
    authors: list[str | None] | None
    seed: int

    @property
    def classes(self) -> int:
        """Number of classes; 0 without labels."""
        return int(self.codes.max()) + 1 if len(self.codes) else 0

    def sample(self, rows: Rows, most: int) -> Rows:
        """Return at most so many of the rows, drawn at random, in their order."""
        return _sample(rows, most, self.seed)


def _sample(rows: Rows, most: int, seed: int) -> Rows:
    if len(rows) <= most:
        return rows
    chosen: Rows = np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))
    return chosen


def prepared(
    texts: Sequence[str | None],
    classes: Sequence[str | None] | Labels | None,
    authors: Sequence[str | None] | None,
    plan: Plan,
) -> Inputs:
    """Return the columns, checked.

    Args:
        texts: (n,) private texts.
        classes: (n,) labels, or None.
        authors: (n,), or None.
        plan: sizes and classifier.

    Raises:
        InputError: the plan or a column cannot be used.
    """
    check_plan(plan)
    count = len(texts)
    if not any(text and text.strip() for text in texts):
        empty = f"all of its {count} texts are empty" if count else "it has no rows"
        raise InputError(f"There is nothing to measure in the table, {empty}: give one with texts.")
    for name, column in (("labels", classes.codes if isinstance(classes, Labels) else classes), ("authors", authors)):
        if column is not None and len(column) != count:
            raise InputError(f"{count} texts need as many {name}. Got {len(column)}: give one for each text.")
    rows = _sample(np.arange(count), plan.rows, plan.seed)
    learned, codes = _classes(classes, [texts[row] or "" for row in rows], rows, plan)
    written = None if authors is None else [authors[row] for row in rows]
    if written is not None:
        known, numbers = attackable(written)
        deal(numbers, plan.folds, plan.seed, [texts[rows[place]] or "" for place in known.tolist()])
    return Inputs(rows, count, [texts[row] or "" for row in rows], learned, codes, written, plan.seed)


def check_plan(plan: Plan) -> None:
    """Raise `InputError` where a size or name of a plan cannot be used."""
    if plan.classifier not in CLASSIFIERS:
        raise InputError(f"Unknown classifier {plan.classifier!r}. Known: {', '.join(CLASSIFIERS)}.")
    CLASSIFIERS[plan.classifier](plan.seed)  # says what is missing, if its library is
    least = {
        "folds": 2,
        "examples": 0,
        "attacked": 2,
        "members": _FEWEST_RECORDS,
        "rows": 1,
        "shadows": _FEWEST_MODELS,
        "seed": 0,
    }
    for name, bound in least.items():
        value = getattr(plan, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < bound or (name == "shadows" and value % 2):
            raise bad_parameter(
                "the measures", name, f"an {'even ' * (name == 'shadows')}int of at least {bound}", value
            )


def _classes(
    given: Sequence[str | None] | Labels | None, texts: Sequence[str], rows: Rows, plan: Plan
) -> tuple[Rows, Codes]:
    """Return which of the rows have a class with another row, and their classes numbered anew."""
    if given is None:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    found = (given if isinstance(given, Labels) else labels(given)).codes[rows]
    kept = np.flatnonzero((found >= 0) & (np.bincount(found + 1)[found + 1] > 1)).astype(np.int64)  # from -1 on
    codes = np.unique(found[kept], return_inverse=True)[1].astype(np.int64)
    if not len(codes) or codes.max() < 1:
        raise InputError("The labels must have at least 2 classes with 2 rows each: give more rows.")
    deal(codes, plan.folds, plan.seed, [texts[row] for row in kept.tolist()])
    if len(kept) < _FEWEST_RECORDS:
        raise InputError(f"Classifiers need at least {_FEWEST_RECORDS} labelled rows. Got {len(kept)}: give more rows.")
    return kept, codes
