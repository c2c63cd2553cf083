"""Surviving entities: how many labelled words, such as names, a private text still shows.

A word of a span **survives at its place** if the word that stands there in the private text is the word itself, in any
case. What a reader sees is whether a name appears in its text at all, so that this is counted too, and so are spans of
which every word survives at its place. Draws also hit a word by chance: how often is measured on the private texts of
*other* records, where nothing of this one can show.
"""

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from deniable.core.arrays import BoolArray, FloatArray, IntArray
from deniable.core.errors import InputError
from deniable.measure.entities.spans import SPAN_FIELDS, EntitySpan, LocatedWords, build_span, check_end
from deniable.measure.intervals import Estimate, estimate_clustered_mean, estimate_clustered_share
from deniable.space import Space
from deniable.text.batches import PrivatizedBatch

ALL_KINDS = "all"
"""What the figures of all spans together are called."""


@dataclasses.dataclass(frozen=True)
class EntityFigures:
    """How many words of labelled spans come out; intervals are over texts, and a word counts once.

    Attributes:
        kind: of the spans.
        spans: number of spans that hold a word.
        words: number of words in them.
        unknown: how many of those the vocabulary lacks; such a word never comes out.
        texts: number of texts with such a span.
        at_place: share of the words that come out at their place.
        chance_at_place: mean share of the places of other texts at which such a word comes out; None for a single text.
        in_text: share of the words that come out anywhere in their text.
        chance_in_text: mean share of the other texts in which such a word comes out; None for a single text.
        whole: share of the spans of which every word comes out at its place.
    """

    kind: str
    spans: int
    words: int
    unknown: int
    texts: int
    at_place: Estimate
    chance_at_place: Estimate | None
    in_text: Estimate
    chance_in_text: Estimate | None
    whole: Estimate

    @property
    def is_beyond_chance(self) -> bool:
        """Whether more words come out at their places than at places of other texts, as the intervals say."""
        return self.chance_at_place is not None and self.at_place.low > self.chance_at_place.high


@dataclasses.dataclass(frozen=True)
class EntitySurvival:
    """What comes out of labelled spans.

    Attributes:
        total: figures of all spans together.
        kinds: those of each kind that has a word, most words first.
        wordless: number of spans without a word, which are in no figure: punctuation always passes through.
    """

    total: EntityFigures
    kinds: tuple[EntityFigures, ...]
    wordless: int


def measure_entities(
    space: Space,
    texts: Sequence[str],
    batch: PrivatizedBatch,
    spans: Sequence[Iterable[EntitySpan | tuple[int, int, str]]],
) -> EntitySurvival:
    """Return how many words of labelled spans come out, all together and by kind.

    Args:
        space: the space of the mechanism.
        texts: R original texts.
        batch: the private texts, from `deniable.measure.batches.privatize_texts`.
        spans: for each of the R texts the spans in it, from `deniable.measure.label_entities`, or (start, end, kind).

    Raises:
        InputError: the texts are not those of ``batch``, a span does not lie in its text, or no span holds a word.
    """
    located_spans = _locate_spans(space, texts, batch, spans)
    outcomes = _find_outcomes(space, batch, located_spans.find_words(len(batch.words)))
    counts = {
        kind: int(located_spans.select(kind).find_words(len(batch.words)).sum()) for kind in set(located_spans.kinds)
    }
    kinds = sorted((kind for kind, count in counts.items() if count), key=lambda kind: (-counts[kind], kind))
    return EntitySurvival(
        _count_survivors(ALL_KINDS, outcomes, located_spans),
        tuple(_count_survivors(kind, outcomes, located_spans.select(kind)) for kind in kinds),
        int((~located_spans.has_words).sum()),
    )


@dataclasses.dataclass(frozen=True)
class _LocatedSpans:
    """S spans among the N words of all texts.

    Attributes:
        rows: (S,) the text of each.
        firsts: (S,) its first word.
        ends: (S,) the word behind its last; the first word itself where it has none.
        kinds: S kinds.
    """

    rows: IntArray
    firsts: IntArray
    ends: IntArray
    kinds: list[str]

    @property
    def has_words(self) -> BoolArray:
        """(S,) whether a span has a word."""
        has_words: BoolArray = self.ends > self.firsts
        return has_words

    def select(self, kind: str) -> "_LocatedSpans":
        """Return the spans of one kind."""
        places = np.flatnonzero([name == kind for name in self.kinds])
        return _LocatedSpans(self.rows[places], self.firsts[places], self.ends[places], [kind] * len(places))

    def find_words(self, count: int) -> BoolArray:
        """Return (count,) True for every word that one of the spans covers."""
        steps = np.zeros(count + 1, dtype=np.int64)
        np.add.at(steps, self.firsts, 1)
        np.add.at(steps, self.ends, -1)
        is_covered: BoolArray = np.cumsum(steps)[:-1] > 0
        return is_covered


@dataclasses.dataclass(frozen=True)
class _Outcomes:
    """What became of the N words of R texts; figures of words outside all spans are 0.

    Attributes:
        row_of_word: (N,) their texts.
        is_unknown: (N,) whether the vocabulary lacks them.
        at_place: (N,) whether they came out at their place.
        in_text: (N,) whether they came out in their text.
        chance_at_place: (N,) share of the places of other texts at which they came out; None for a single text.
        chance_in_text: (N,) share of the other texts in which they did; None for a single text.
    """

    row_of_word: IntArray
    is_unknown: BoolArray
    at_place: BoolArray
    in_text: BoolArray
    chance_at_place: FloatArray | None
    chance_in_text: FloatArray | None


def _locate_spans(
    space: Space,
    texts: Sequence[str],
    batch: PrivatizedBatch,
    spans: Sequence[Iterable[EntitySpan | tuple[int, int, str]]],
) -> _LocatedSpans:
    if not len(texts) == len(batch.texts) == len(spans):
        raise InputError(
            f"Texts, private texts and lists of spans must be as many. Got {len(texts)}, {len(batch.texts)} and "
            f"{len(spans)}: give one list of spans for each text."
        )
    rows, firsts, ends, kinds = [], [], [], []
    for row, (text, row_spans) in enumerate(zip(texts, spans, strict=True)):
        checked_spans = [_check_span(f"Row {row + 1:,}", span, len(text)) for span in row_spans]
        if not checked_spans:
            continue
        located = LocatedWords.of(space.split_words(text))
        start, end = batch.offsets[row : row + 2].tolist()
        if len(located.spellings) != end - start:
            raise InputError(
                "The texts are not the originals of the batch: give both in the same order, without kept or dropped "
                "words."
            )
        for span in checked_spans:
            first, behind = located.find_covered(span)
            rows.append(row)
            firsts.append(start + first)
            ends.append(start + behind)
            kinds.append(span.kind)
    located_spans = _LocatedSpans(np.array(rows, np.int64), np.array(firsts, np.int64), np.array(ends, np.int64), kinds)
    if not located_spans.has_words.any():
        raise InputError(
            f"None of the {len(texts)} texts has a labelled word ({len(kinds)} spans): label some, or measure other "
            "rows."
        )
    return located_spans


def _check_span(location: str, span: EntitySpan | tuple[int, int, str], characters: int) -> EntitySpan:
    if not isinstance(span, EntitySpan):
        if not isinstance(span, tuple | list) or len(span) != SPAN_FIELDS:
            raise InputError(f"{location}: a span must be (start, end, kind). Got {type(span).__name__}.")
        span = build_span(location, *span)
    check_end(location, span, characters)
    return span


def _find_outcomes(space: Space, batch: PrivatizedBatch, is_labelled: BoolArray) -> _Outcomes:
    """Return what became of each word, and how often labelled ones come out in other texts."""
    word_count, lengths = len(batch.words), np.diff(batch.offsets)
    row_of_word = np.repeat(np.arange(len(lengths)), lengths)
    # Each word of each private text has a number of its own, the pairs (text, word) in order.
    pairs, pair_counts = np.unique(row_of_word * len(space) + batch.outputs, return_counts=True)
    places_of = np.bincount(batch.outputs, minlength=len(space))
    texts_of = np.bincount(pairs % len(space), minlength=len(space))
    is_known = is_labelled & ~batch.unknown_mask
    words, rows = batch.words[is_known], row_of_word[is_known]
    found = np.searchsorted(pairs, rows * len(space) + words)
    own_counts = np.where(
        pairs[np.minimum(found, len(pairs) - 1)] == rows * len(space) + words,
        pair_counts[np.minimum(found, len(pairs) - 1)],
        0,
    )
    in_text = np.zeros(word_count, dtype=np.bool_)
    in_text[is_known] = own_counts > 0
    chance_at_place = chance_in_text = None
    other_texts = int((lengths > 0).sum()) - 1
    if other_texts:
        chance_at_place, chance_in_text = np.zeros(word_count), np.zeros(word_count)
        chance_at_place[is_known] = (places_of[words] - own_counts) / (word_count - lengths[rows])
        chance_in_text[is_known] = (texts_of[words] - (own_counts > 0)) / other_texts
    return _Outcomes(row_of_word, batch.unknown_mask, ~batch.changed_mask, in_text, chance_at_place, chance_in_text)


def _count_survivors(kind: str, outcomes: _Outcomes, spans: _LocatedSpans) -> EntityFigures:
    is_labelled = spans.find_words(len(outcomes.at_place))
    rows = outcomes.row_of_word[is_labelled]

    def sum_by_text(values: BoolArray | FloatArray) -> tuple[FloatArray, FloatArray]:
        sums = np.bincount(rows, values[is_labelled].astype(np.float64))
        return sums.astype(np.float64), np.bincount(rows).astype(np.float64)

    def estimate_chance(values: FloatArray | None) -> Estimate | None:
        if values is None:
            return None
        estimate = estimate_clustered_mean(*sum_by_text(values))
        return dataclasses.replace(estimate, low=max(estimate.low, 0.0), high=min(estimate.high, 1.0))

    survivors_before = np.append(0, np.cumsum(outcomes.at_place))
    has_words = spans.has_words
    is_whole = survivors_before[spans.ends] - survivors_before[spans.firsts] == spans.ends - spans.firsts
    return EntityFigures(
        kind=kind,
        spans=int(has_words.sum()),
        words=int(is_labelled.sum()),
        unknown=int(outcomes.is_unknown[is_labelled].sum()),
        texts=len(np.unique(spans.rows[has_words])),
        at_place=estimate_clustered_share(*sum_by_text(outcomes.at_place)),
        chance_at_place=estimate_chance(outcomes.chance_at_place),
        in_text=estimate_clustered_share(*sum_by_text(outcomes.in_text)),
        chance_in_text=estimate_chance(outcomes.chance_in_text),
        whole=estimate_clustered_share(
            np.bincount(spans.rows[has_words], is_whole[has_words].astype(np.float64)),
            np.bincount(spans.rows[has_words]),
        ),
    )
