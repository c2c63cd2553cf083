"""``--entities``: which words of the texts are names, from a file, a list of words or a detector."""

import contextlib
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from deniable.cli.callables import import_callable
from deniable.cli.options import DATA_PANEL, make_option
from deniable.cli.owner_remarks import warn_owner
from deniable.core.errors import InputError

if TYPE_CHECKING:
    from deniable.core.arrays import IntArray
    from deniable.measure.entities.labelling import LabelledTexts
    from deniable.measure.entities.sources import EntitySource
    from deniable.text.escapes import Escapes

EntitiesOption = Annotated[
    str | None,
    make_option(
        DATA_PANEL,
        "--entities",
        "Names to count in the output: .jsonl, .txt or PKG.MOD:DETECTOR.",
        metavar="SOURCE",
    ),
]


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


def open_entity_source(argument: str) -> "EntitySource":
    """Return what ``--entities`` names.

    Raises:
        InputError: a file that cannot be used, or a detector that cannot be imported.
    """
    from deniable.measure.entities.sources import DetectedEntities
    from deniable.measure.entities.span_files import read_entity_file

    path = find_entity_file(argument)
    if path is not None:
        return read_entity_file(path)
    return DetectedEntities(_redirect_prints(import_callable(argument)), argument)


def label_measured_texts(
    argument: str | None,
    texts: Sequence[str | None],
    record_ids: Sequence[str | None] | None,
    column: str,
    *,
    escapes: "Escapes | None",
    rows: "IntArray",
) -> "LabelledTexts | None":
    """Return the entities of a table's texts, or None where none were asked for; see `label_table`.

    Raises:
        InputError: they cannot be found, or there are none in the rows that are measured.
    """
    from deniable.measure.entities.labelling import label_table

    if argument is None:
        return None
    source = open_entity_source(argument)
    labelled_texts = label_table(source, texts, record_ids, column, escapes=escapes, rows=rows)
    warn_owner(source.remarks)
    if not any(labelled_texts[row] for row in rows.tolist()):
        raise InputError(
            f"--entities {argument!r} names nothing in the {len(rows):,} rows that are measured: check it, or leave it "
            "out."
        )
    return labelled_texts


def _redirect_prints(detector: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a detector that cannot write into a table on standard output: it may print the texts that it is given."""

    def detect(text: str) -> list[Any]:
        with contextlib.redirect_stdout(sys.stderr):
            return list(detector(text))

    return detect
