"""``--entities``: which words of the texts are names, from a file, a list of words or a detector."""

import contextlib
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from deniable.cli.callables import import_callable
from deniable.cli.owner_remarks import warn_owner
from deniable.core.errors import InputError

if TYPE_CHECKING:
    from deniable.core.arrays import IntArray
    from deniable.measure.entities.sources import EntitySource, LabelledTexts
    from deniable.text.escapes import Escapes


def find_entity_file(argument: str | None) -> str | None:
    """Return the file that ``--entities`` names; None for a detector, or where it was not given."""
    from deniable.text.tables import detect_table_format

    if argument is None or ":" not in argument:
        return argument
    try:
        detect_table_format(argument)
    except InputError:
        return None
    return argument


def label_measured_texts(
    argument: str | None,
    texts: Sequence[str | None],
    column: str,
    *,
    escapes: "Escapes | None",
    rows: "IntArray",
) -> "LabelledTexts | None":
    """Return the entities of a table's texts, or None where none were asked for; see `label_table`.

    Raises:
        InputError: they cannot be found, or there are none in the rows that are measured.
    """
    from deniable.measure.entities.sources import DetectedEntities, label_table, read_entity_file

    if argument is None:
        return None
    source: EntitySource
    if (path := find_entity_file(argument)) is not None:
        source = read_entity_file(path)
    else:
        source = DetectedEntities(_redirect_prints(import_callable(argument)), argument)
    labelled_texts = label_table(source, texts, column, escapes=escapes, rows=rows)
    warn_owner(source.remarks)
    if not any(labelled_texts[row] for row in rows.tolist()):
        raise InputError(
            f"--entities {argument!r} matches nothing in the {len(rows):,} rows that are measured: check it, or leave "
            "it out."
        )
    return labelled_texts


def _redirect_prints(detector: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a detector that cannot write into a table on standard output: it may print the texts that it is given."""

    def detect(text: str) -> list[Any]:
        with contextlib.redirect_stdout(sys.stderr):
            return list(detector(text))

    return detect
