"""Counts of the labelled words that come out while a table is released, for its owner only."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from deniable.core.arrays import BoolArray
from deniable.measure.entities.sources import EntitySource, SourceCell
from deniable.measure.entities.spans import EntitySpan, LocatedWords
from deniable.space.grammar import fold_word, is_clitic
from deniable.text.batches import CellBatch, PrivatizedBatch
from deniable.text.escapes import decode_escapes
from deniable.text.release import Release
from deniable.text.tokens import Lexer

_MAX_SHOWN_KINDS = 5
_MAX_CACHED_SPELLINGS = 1_000_000
_CONTEXT = "x"
"""A word before the second part of a contraction, which is none by itself."""


@dataclasses.dataclass
class EntityTally:
    """Counts the labelled words of a table that come out at their places; it changes nothing of the release.

    Attributes:
        spans: number of spans that hold a word.
        wordless: number of spans without a word.
        whole: how many of those with a word came out whole, every word at its place.
        words: number of labelled words, each counted once.
        survivors: how many of them came out.
        words_by_kind: number of words of each kind.
        survivors_by_kind: how many of those came out.
    """

    spans: int = 0
    wordless: int = 0
    whole: int = 0
    words: int = 0
    survivors: int = 0
    words_by_kind: Counter[str] = dataclasses.field(default_factory=Counter)
    survivors_by_kind: Counter[str] = dataclasses.field(default_factory=Counter)

    def count(self, located: LocatedWords, spans: Sequence[EntitySpan], survives: BoolArray) -> None:
        """Add the spans of one text.

        Args:
            located: its W words.
            spans: in it.
            survives: (W,) whether each word came out at its place.
        """
        masks: dict[str, BoolArray] = {}
        for span in spans:
            first, behind = located.find_covered(span)
            is_covered = masks.setdefault(span.kind, np.zeros(len(survives), dtype=np.bool_))
            is_covered[first:behind] = True
            self.spans += behind > first
            self.wordless += behind == first
            self.whole += bool(behind > first and survives[first:behind].all())
        for kind, is_covered in masks.items():
            self.words_by_kind[kind] += int(is_covered.sum())
            self.survivors_by_kind[kind] += int((is_covered & survives).sum())
        if masks:
            is_labelled = np.logical_or.reduce(list(masks.values()))
            self.words += int(is_labelled.sum())
            self.survivors += int((is_labelled & survives).sum())

    def summary(self) -> str:
        """Return the counts as a line for the owner of the texts only."""
        if not self.words:
            return "for you only   no labelled word in the texts"
        counts = sorted(self.words_by_kind.items(), key=lambda entry: (-entry[1], entry[0]))
        kinds = [
            f"{kind} {_format_share(self.survivors_by_kind[kind], words)} of {words:,}"
            for kind, words in counts[:_MAX_SHOWN_KINDS]
            if words
        ]
        kinds += [f"{len(counts) - _MAX_SHOWN_KINDS} more kinds"] * (len(counts) > _MAX_SHOWN_KINDS)
        wordless = f"{self.wordless:,} spans hold no word, and punctuation passes through; " if self.wordless else ""
        return (
            f"for you only   {_format_share(self.survivors, self.words)} of {self.words:,} labelled words come out at "
            f"their places ({', '.join(kinds)}), {_format_share(self.whole, self.spans)} of {self.spans:,} spans "
            f"whole; {wordless}do not publish these figures"
        )


class EntityWatcher:
    """Sees the rows of a release as they are privatized, and counts their entities.

    Args:
        source: names the entities.
        release: how the texts are released.
        columns: names of the text columns.
        has_ids: whether the record ids of cells come from the table.

    Raises:
        InputError: labels that cannot be those of such a table.
    """

    def __init__(self, source: EntitySource, release: Release, columns: Sequence[str], *, has_ids: bool) -> None:
        source.check_table(columns, has_ids=has_ids)
        self.tally = EntityTally()
        self._source, self._release, self._has_ids = source, release, has_ids
        self._rows = 0
        self._find_survivors = _make_survivor_finder(release.lexer)

    def see_rows(self, cells: CellBatch, batch: PrivatizedBatch) -> None:
        """Count the entities of rows.

        Args:
            cells: the released cells of rows, in the order of the table.
            batch: what became of them.

        Raises:
            InputError: see `EntitySource.find_spans`.
        """
        is_changed = batch.changed_mask
        rows = (cells.rows + self._rows).tolist()
        places = zip(rows, cells.record_ids, cells.columns, cells.texts.decode_all(), strict=True)
        for number, (row, record_id, column, private_text) in enumerate(places):
            source_cell = SourceCell(row, record_id if self._has_ids else None, column, private_text)
            spans = self._source.find_spans(source_cell, self._release.unescape)
            if spans:
                text = decode_escapes(private_text, self._release.unescape)
                located = LocatedWords.of(self._release.mechanism.space.split_words(text))
                start, end = batch.offsets[number : number + 2].tolist()
                self.tally.count(located, spans, self._find_survivors(located.spellings, is_changed[start:end]))
        self._rows += cells.row_count

    def finish(self) -> None:
        """Raise `InputError` where a label belongs to no text that was seen."""
        self._source.check_complete()


def _make_survivor_finder(lexer: Lexer) -> Callable[[Sequence[str], BoolArray], BoolArray]:
    """Return a function from the words of a text to whether each comes out at its place.

    The function takes the W spellings, and (V,) whether another word came out for each that was drawn, V <= W: a word
    that is masked or dropped never comes out, and one that is kept always does.
    """
    fates: dict[str, tuple[bool, bool]] = {}

    def find_fate(spelling: str) -> tuple[bool, bool]:
        """Return whether a word is kept, and whether it is drawn."""
        context = _CONTEXT if is_clitic(fold_word(spelling)) else ""
        alone, together = lexer.lex(context), lexer.lex(context + spelling)
        return together.kept_count > alone.kept_count, len(together.words) > len(alone.words)

    def find_survivors(spellings: Sequence[str], is_changed: BoolArray) -> BoolArray:
        if lexer.unknown == "draw" and not lexer.keep:
            return ~is_changed
        if len(fates) > _MAX_CACHED_SPELLINGS:
            fates.clear()
        fates.update({spelling: find_fate(spelling) for spelling in spellings if spelling not in fates})
        is_kept, is_drawn = np.array([fates[spelling] for spelling in spellings], dtype=np.bool_).reshape(-1, 2).T
        survives = is_kept.copy()
        survives[is_drawn] = ~is_changed
        return survives

    return find_survivors


def _format_share(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.1f} %"
