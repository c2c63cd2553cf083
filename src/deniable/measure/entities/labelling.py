"""Texts labelled by whatever names their entities: a file, a list of words or a detector."""

import os
from collections.abc import Collection, Sequence

from deniable.core.arrays import IntArray
from deniable.core.errors import InputError
from deniable.measure.entities.sources import DetectedEntities, Detector, EntitySource, ListedWords, SourceCell
from deniable.measure.entities.span_files import read_entity_file
from deniable.measure.entities.spans import EntitySpan
from deniable.text.batches import DEFAULT_COLUMN, check_record_ids
from deniable.text.escapes import Escapes

LabelledTexts = list[list[EntitySpan]]
"""The spans of each of R texts."""


def label_entities(
    source: str | os.PathLike[str] | Collection[str] | Detector,
    texts: Sequence[str | None],
    *,
    ids: Sequence[str] | None = None,
    column: str = DEFAULT_COLUMN,
) -> LabelledTexts:
    """Return the entities of texts, such as the names in them.

    Args:
        source: path of a file, ``.jsonl`` with labelled spans or ``.txt`` with words; a list of words; or a detector, a
            function from a text to (start, end, kind) of each entity.
        texts: R texts; None has no entities.
        ids: R record ids, where a file names records by them.
        column: name of the column that the texts are from, where a file names one.

    Raises:
        InputError: a file or list that cannot be used, a span that its text cannot have, or a detector that fails.
    """
    record_ids = None if ids is None else check_record_ids(ids, len(texts))
    return label_table(build_entity_source(source), texts, record_ids, column)


def label_table(
    source: EntitySource,
    texts: Sequence[str | None],
    record_ids: Sequence[str | None] | None,
    column: str,
    *,
    escapes: Escapes | None = None,
    rows: IntArray | None = None,
) -> LabelledTexts:
    """Return the entities of one column of a table, in characters of the decoded texts.

    Args:
        source: names them.
        texts: R cells as they stand in the table.
        record_ids: R ids, or None.
        column: its name.
        escapes: see `deniable.text.escapes.decode_escapes`.
        rows: those that are needed; a source that needs not every row is asked for them alone. None: all.

    Raises:
        InputError: see `label_entities`.
    """
    source.check_table([column], has_ids=record_ids is not None)
    needed_rows = range(len(texts)) if rows is None or source.needs_every_row else rows.tolist()
    labelled_texts: LabelledTexts = [[] for _ in texts]
    for row in needed_rows:
        text = texts[row]
        if text is not None:
            cell = SourceCell(row, None if record_ids is None else record_ids[row], column, text)
            labelled_texts[row] = source.find_spans(cell, escapes)
    source.check_complete()
    return labelled_texts


def build_entity_source(source: str | os.PathLike[str] | Collection[str] | Detector) -> EntitySource:
    """Return where entities come from; see `label_entities`.

    Raises:
        InputError: the file cannot be used, or it is no such source.
    """
    if isinstance(source, str | os.PathLike):
        return read_entity_file(os.fspath(source))
    if callable(source):
        name = getattr(source, "__qualname__", type(source).__name__)
        return DetectedEntities(source, f"{getattr(source, '__module__', '')}:{name}")
    if isinstance(source, Collection) and not isinstance(source, bytes | bytearray):
        return ListedWords(source)
    raise InputError(
        "Entities come from a file (.jsonl with spans, .txt with words), a list of words or a detector. Got "
        f"{type(source).__name__}."
    )
