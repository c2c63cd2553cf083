"""Where labelled spans come from: a file of spans, a list of words, or a detector."""

import json
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from deniable.core.arrays import IntArray
from deniable.core.errors import InputError, shorten_text
from deniable.core.files import open_input
from deniable.measure.entities.spans import EntitySpan, LocatedWords, SpanFit, merge_overlaps, read_span
from deniable.space.grammar import fold_word, split_words
from deniable.text.batches import DEFAULT_COLUMN
from deniable.text.escapes import Escapes, decode_escapes
from deniable.text.tables import detect_table_format

Detector = Callable[[str], Iterable[tuple[int, int, str]]]
"""Maps a text to the spans that it finds: first character, the one behind the last, kind."""

LabelledTexts = list[list[EntitySpan]]
"""The spans of each of R texts."""

LISTED_KIND = "listed"
"""Kind of the spans that a list of words gives."""

_FORM = 'write {"row": 0, "entities": [[5, 9, "PERSON"]]}'


class EntitySource:
    """Names the entities of texts. Every text of a table is asked for once, then `check_complete` is called.

    Attributes:
        needs_every_row: whether all texts of a table must be asked for, or any part of them may be.
        remarks: what the owner of the texts should know of the spans, once all were asked for.
    """

    needs_every_row = False
    remarks: Sequence[str] = ()

    def check_columns(self, columns: Sequence[str]) -> None:
        """Raise `InputError` where labels cannot be those of a table with these text columns."""

    def find_spans(self, row: int, column: str, text: str, escapes: Escapes | None = None) -> list[EntitySpan]:
        """Return the spans of a text, in characters of the text after entities of HTML are decoded.

        Args:
            row: number of its row, from 0 on.
            column: name of its column.
            text: as it stands in the table.
            escapes: see `deniable.text.escapes.decode_escapes`.

        Raises:
            InputError: a span that the text cannot have; the message shows nothing of the text.
        """
        raise NotImplementedError

    def check_complete(self) -> None:
        """Raise `InputError` where a label belongs to none of the texts that were asked for, or few fit their words."""


class ListedWords(EntitySource):
    """Finds every occurrence of listed words: whole words of the grammar, in any case.

    An entry of several words, such as "New York", is found where they follow each other; of several entries that begin
    at one word the longest counts.

    Args:
        entries: the words; blank entries are left out.
        name: of the list, for messages.

    Raises:
        InputError: no entries, or one without a word.
    """

    def __init__(self, entries: Iterable[str], name: str = "The list of words") -> None:
        self._entries: dict[str, set[tuple[str, ...]]] = {}
        for number, entry in enumerate(entries, 1):
            if isinstance(entry, str) and not entry.strip():
                continue
            words = tuple(map(fold_word, split_words(entry)[1::2])) if isinstance(entry, str) else ()
            if not words:
                raise InputError(f"{name} must hold words. Got none in entry {number}: leave it out.")
            self._entries.setdefault(words[0], set()).add(words)
        if not self._entries:
            raise InputError(f"{name} is empty: give words, one per line in a file.")

    def find_spans(self, row: int, column: str, text: str, escapes: Escapes | None = None) -> list[EntitySpan]:
        """Return where the listed words stand; no two spans share a word."""
        del row, column
        located = LocatedWords.of(split_words(decode_escapes(text, escapes)))
        words = [fold_word(spelling) for spelling in located.spellings]
        spans: list[EntitySpan] = []
        first = 0
        while first < len(words):
            lengths = [
                len(entry)
                for entry in self._entries.get(words[first], ())
                if tuple(words[first : first + len(entry)]) == entry
            ]
            if lengths:
                last = first + max(lengths) - 1
                spans.append(EntitySpan(int(located.starts[first]), int(located.ends[last]), LISTED_KIND))
            first += max(lengths, default=1)
        return spans


class DetectedEntities(EntitySource):
    """Asks a detector; where two spans of one kind overlap, as several rules may find them, they become one.

    Args:
        detector: function from a text to (start, end, kind) of each entity that it finds.
        name: of the detector, for messages.
    """

    def __init__(self, detector: Detector, name: str) -> None:
        self._detector, self._name = detector, name
        self._fit = SpanFit(f"The detector {name}")

    def find_spans(self, row: int, column: str, text: str, escapes: Escapes | None = None) -> list[EntitySpan]:
        """Return what the detector finds in the decoded text."""
        del column
        decoded = decode_escapes(text, escapes)
        location = f"The detector {self._name} on row {row + 1:,}"
        # What a detector says when it fails may quote the text: its class alone is told.
        try:
            entries = list(self._detector(decoded))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a user's code raises, SystemExit too
            raise InputError(
                f"{location} failed with {type(error).__name__}: it must take a text and return (start, end, kind) of "
                "each entity."
            ) from None
        spans = [read_span(location, entry) for entry in entries]
        self._fit.add(location, row, decoded, spans)
        return merge_overlaps(spans)

    def check_complete(self) -> None:
        """Check that what was found are words."""
        self.remarks = self._fit.judge()


class _TextLabels(NamedTuple):
    """The labels of one text: where they are given, the spans, and the text itself if the file repeats it."""

    location: str
    spans: list[EntitySpan]
    text: str | None


class LabelledSpans(EntitySource):
    """Finds the spans of JSON lines, one object for each text.

    Such as::

        {"row": 0, "entities": [[5, 9, "PERSON"], [20, 26, "CITY"]]}

    A table of several text columns needs ``column``. ``text``, where given, must be the cell. Other keys are not read.
    Positions are those in the cell as it stands in the table, before entities are decoded. Two spans of one kind that
    overlap become one.

    Args:
        name: of the file, for messages.
        lines: its lines.

    Raises:
        InputError: a line that is no such object, two lines for one text, or no span at all.
    """

    needs_every_row = True

    def __init__(self, name: str, lines: Sequence[str]) -> None:
        self._name, self._fit = name, SpanFit(name)
        self._labels: dict[tuple[int, str | None], _TextLabels] = {}
        for number, line in enumerate(lines, 1):
            if line.strip():
                self._add_line(f"{name} line {number}", line)
        if not any(labels.spans for labels in self._labels.values()):
            raise InputError(f"{name} labels nothing: {_FORM}.")

    def check_columns(self, columns: Sequence[str]) -> None:
        """Check that labels name text columns."""
        known_names = ", ".join(map(repr, columns))
        for (_, column), labels in self._labels.items():
            if column is None and len(columns) > 1:
                raise InputError(f'{labels.location} names no column: add "column", one of {known_names}.')
            if column is not None and column not in columns:
                raise InputError(
                    f"{labels.location} names the column {shorten_text(repr(column))}, which is not a text column of "
                    f"this run: its text columns are {known_names}."
                )

    def find_spans(self, row: int, column: str, text: str, escapes: Escapes | None = None) -> list[EntitySpan]:
        """Return the labels of a cell, checked against its text."""
        labels = self._labels.pop((row, column), None) or self._labels.pop((row, None), None)
        if labels is None:
            return []
        if labels.text not in (None, text):
            raise InputError(
                f"{labels.location} has a different text than row {row} of the table, counted from 0: label the table "
                "that is read here."
            )
        self._fit.add(labels.location, row, text, labels.spans)
        return merge_overlaps(
            EntitySpan(
                len(decode_escapes(text[: span.start], escapes)),
                len(decode_escapes(text[: span.end], escapes)),
                span.kind,
            )
            for span in labels.spans
        )

    def check_complete(self) -> None:
        """Check that every label was asked for, and that labels are of words."""
        for (row, _), labels in self._labels.items():
            if labels.spans:
                raise InputError(
                    f"{labels.location} labels row {row}, which has no text in the table: rows count from 0."
                )
        self.remarks = self._fit.judge()

    def _add_line(self, location: str, line: str) -> None:
        """Keep the labels of a line."""
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{location} is not JSON ({shorten_text(str(error))}): {_FORM}.") from None
        if not isinstance(fields, dict) or not isinstance(fields.get("entities"), list):
            raise InputError(f'{location} is not an object with a list of "entities": {_FORM}.')
        row, column, text = (fields.get(name) for name in ("row", "column", "text"))
        if not isinstance(row, int) or isinstance(row, bool) or row < 0:
            raise InputError(f'{location}: "row" must be an integer from 0 on. Got {shorten_text(repr(row))}: {_FORM}.')
        for key, value in (("column", column), ("text", text)):
            if not isinstance(value, str | None):
                raise InputError(f'{location}: "{key}" must be a text. Got {type(value).__name__}.')
        if (row, column) in self._labels:
            raise InputError(
                f"{location} labels the row {row} again, after {self._labels[row, column].location}: give all spans of "
                "a text in one line."
            )
        spans = [read_span(location, entry) for entry in fields["entities"]]
        self._labels[row, column] = _TextLabels(location, spans, text)


def read_entity_file(path: str) -> EntitySource:
    """Return the entities that a file names.

    Args:
        path: JSON lines of spans (``.jsonl``, ``.ndjson``), or words, one a line (``.txt``); also ``.gz`` or ``.zst``.

    Raises:
        InputError: another ending, a file that cannot be read, or a line that is no label.
    """
    try:
        file_format = detect_table_format(path)
    except InputError:
        file_format = ""
    if file_format not in ("jsonl", "txt"):
        raise InputError(
            f"The entities {path!r} must be a .jsonl file of spans, a .txt file of words, or a detector as "
            "package.module:callable."
        )
    if not Path(path).is_file():
        raise InputError(f"The entities {path!r} are not a file: give the path of one.")
    with open_input(path, lambda _: None) as stream:
        content = stream.read()
    try:
        lines = [line.removesuffix("\r") for line in content.decode("utf-8-sig").split("\n")]
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(f"{path} line {line} is not UTF-8: convert the file.") from None
    return LabelledSpans(path, lines) if file_format == "jsonl" else ListedWords(lines, path)


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


def label_entities(
    source: str | os.PathLike[str] | Collection[str] | Detector, texts: Sequence[str | None]
) -> LabelledTexts:
    """Return the entities of texts, such as the names in them.

    Args:
        source: path of a file, ``.jsonl`` with labelled spans or ``.txt`` with words; a list of words; or a detector, a
            function from a text to (start, end, kind) of each entity.
        texts: R texts; None has no entities.

    Raises:
        InputError: a file or list that cannot be used, a span that its text cannot have, or a detector that fails.
    """
    return label_table(build_entity_source(source), texts, DEFAULT_COLUMN)


def label_table(
    source: EntitySource,
    texts: Sequence[str | None],
    column: str,
    *,
    escapes: Escapes | None = None,
    rows: IntArray | None = None,
) -> LabelledTexts:
    """Return the entities of one column of a table, in characters of the decoded texts.

    Args:
        source: names them.
        texts: R cells as they stand in the table.
        column: its name.
        escapes: see `deniable.text.escapes.decode_escapes`.
        rows: those that are needed; a source that needs not every row is asked for them alone. None: all.

    Raises:
        InputError: see `label_entities`.
    """
    source.check_columns([column])
    labelled_texts: LabelledTexts = [[] for _ in texts]
    for row in range(len(texts)) if rows is None or source.needs_every_row else rows.tolist():
        text = texts[row]
        if text is not None:
            labelled_texts[row] = source.find_spans(row, column, text, escapes)
    source.check_complete()
    return labelled_texts
