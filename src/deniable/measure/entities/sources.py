"""Where labelled spans come from: a list of words, or a detector; a file of spans is in `span_files`."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence

from deniable.core.errors import InputError
from deniable.measure.entities.fit import SpanFit
from deniable.measure.entities.spans import SPAN_FIELDS, EntitySpan, LocatedWords, build_span, check_end, merge_overlaps
from deniable.space.grammar import fold_word, split_words
from deniable.text.escapes import Escapes, decode_escapes

Detector = Callable[[str], Iterable[tuple[int, int, str]]]
"""Maps a text to the spans that it finds: first character, the one behind the last, kind."""

LISTED_KIND = "listed"
"""Kind of the spans that a list of words gives."""


@dataclasses.dataclass(frozen=True, slots=True)
class SourceCell:
    """One cell of a private table, as it stands there.

    Attributes:
        row: number of its row, from 0 on.
        record_id: of its row; None where the table names none.
        column: its name.
        text: the text, before entities of HTML are decoded.
    """

    row: int
    record_id: str | None
    column: str
    text: str


class EntitySource:
    """Names the entities of texts. Every text of a table is asked for once, then `check_complete` is called.

    Attributes:
        needs_every_row: whether all texts of a table must be asked for, or any part of them may be.
        remarks: what the owner of the texts should know of the spans, once all were asked for.
    """

    needs_every_row = False
    remarks: Sequence[str] = ()

    def check_table(self, columns: Sequence[str], *, has_ids: bool) -> None:
        """Raise `InputError` where a table cannot be the labelled one.

        Args:
            columns: names of its text columns.
            has_ids: whether its records have ids.
        """

    def find_spans(self, cell: SourceCell, escapes: Escapes | None = None) -> list[EntitySpan]:
        """Return the spans of a cell, in characters of its text after entities of HTML are decoded.

        Raises:
            InputError: a span that its text cannot have; the message shows nothing of the text.
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
            raise InputError(f"{name} is empty: give words, one a line in a file.")

    def find_spans(self, cell: SourceCell, escapes: Escapes | None = None) -> list[EntitySpan]:
        """Return where the listed words stand; no two spans share a word."""
        located = LocatedWords.of(split_words(decode_escapes(cell.text, escapes)))
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

    def find_spans(self, cell: SourceCell, escapes: Escapes | None = None) -> list[EntitySpan]:
        """Return what the detector finds in the decoded text."""
        text = decode_escapes(cell.text, escapes)
        location = f"The detector {self._name} on row {cell.row + 1:,}"
        # What a detector says when it fails may quote the text: its class alone is told.
        try:
            entries = list(self._detector(text))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a user's code raises, SystemExit too
            raise InputError(
                f"{location} failed with {type(error).__name__}: it must take a text and return (start, end, kind) of "
                "each entity."
            ) from None
        spans = []
        for entry in entries:
            if not isinstance(entry, tuple | list) or len(entry) != SPAN_FIELDS:
                shown = f"{len(entry)} values" if isinstance(entry, tuple | list) else type(entry).__name__
                raise InputError(f"{location} must return (start, end, kind) of each entity. Got {shown}.")
            span = build_span(location, *entry)
            spans.append(span)
        for span in spans:
            check_end(location, span, len(text), self._fit.describe_unit(text, spans))
        self._fit.add(cell.row, text, spans)
        return merge_overlaps(spans)

    def check_complete(self) -> None:
        """Check that what was found are words."""
        self.remarks = self._fit.judge()
