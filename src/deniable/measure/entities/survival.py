"""Surviving entities: how many labelled words, such as names, private texts and a release still show.

A word of a span **survives at its place** if the word that stands there in the private text is the word itself, in any
case. What a reader sees is whether a name appears in its text at all, so that this is counted too, and so are spans of
which every word survives at its place. Draws also hit a word by chance: how often is measured on the private texts of
*other* records, where nothing of this one can show.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from deniable.core.arrays import BoolArray, FloatArray
from deniable.core.errors import InputError
from deniable.measure.entities.spans import EntitySpan, LocatedSpans, LocatedWords, read_span
from deniable.measure.intervals import Estimate, estimate_clustered_mean, estimate_clustered_share
from deniable.space import Space
from deniable.text.batches import PrivatizedBatch

_ALL_KINDS = "all"
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
    spans: Sequence[Sequence[EntitySpan | tuple[int, int, str]]],
) -> EntitySurvival:
    """Return how many words of labelled spans come out, all together and by kind.

    Args:
        space: the space of the mechanism.
        texts: R original texts.
        batch: the private texts, from `deniable.measure.privatize_texts`.
        spans: for each of the R texts the spans in it, from `deniable.measure.label_entities`, or (start, end, kind).

    Raises:
        InputError: the texts are not those of ``batch``, a span does not lie in its text, or no span holds a word.
    """
    if not len(texts) == len(batch.texts) == len(spans):
        raise InputError(
            f"The numbers of texts, private texts and lists of spans must be equal. Got {len(texts)}, "
            f"{len(batch.texts)} and {len(spans)}: give one list of spans for each text."
        )
    located = [LocatedWords.of(space.split_words(text)) for text in texts]
    if [len(words.spellings) for words in located] != np.diff(batch.offsets).tolist():
        raise InputError(
            "The texts are not the originals of the batch: give both in the same order, without kept or dropped words."
        )
    checked_spans = [
        [read_span(f"Row {row + 1:,}", span, len(text)) for span in text_spans]
        for row, (text, text_spans) in enumerate(zip(texts, spans, strict=True))
    ]
    located_spans = LocatedSpans.of(located, checked_spans)
    if not located_spans.has_words.any():
        raise InputError(
            f"None of the {len(texts)} texts has a labelled word ({len(located_spans.kinds)} spans): label some, or "
            "measure other rows."
        )
    in_text, chances = _find_outcomes(space, batch, located_spans.find_words(len(batch.words)))
    kinds = {kind for kind, has_words in zip(located_spans.kinds, located_spans.has_words, strict=True) if has_words}
    figures = [_count_survivors(kind, batch, in_text, chances, located_spans.select(kind)) for kind in kinds]
    return EntitySurvival(
        _count_survivors(_ALL_KINDS, batch, in_text, chances, located_spans),
        tuple(sorted(figures, key=lambda figure: (-figure.words, figure.kind))),
        int((~located_spans.has_words).sum()),
    )


def _find_outcomes(
    space: Space, batch: PrivatizedBatch, is_labelled: BoolArray
) -> tuple[BoolArray, tuple[FloatArray, FloatArray] | None]:
    """Return what became of the N words of a batch; figures of words outside all spans are 0.

    Whether each came out in its text (N,), and the shares of the places of other texts (N,), and of the other texts
    (N,), at which it did; None where there is no other text.
    """
    word_count, lengths = len(batch.words), np.diff(batch.offsets)
    row_of_word = np.repeat(np.arange(len(lengths)), lengths)
    # Each word of each private text has a number of its own, the pairs (text, word) in order.
    pairs, pair_counts = np.unique(row_of_word * len(space) + batch.outputs, return_counts=True)
    is_known = is_labelled & ~batch.unknown_mask
    words, rows = batch.words[is_known], row_of_word[is_known]
    found = np.minimum(np.searchsorted(pairs, rows * len(space) + words), len(pairs) - 1)
    own_counts = np.where(pairs[found] == rows * len(space) + words, pair_counts[found], 0)
    in_text = np.zeros(word_count, dtype=np.bool_)
    in_text[is_known] = own_counts > 0
    other_texts = int((lengths > 0).sum()) - 1
    if not other_texts:
        return in_text, None
    places_of, texts_of = (
        np.bincount(numbers, minlength=len(space)) for numbers in (batch.outputs, pairs % len(space))
    )
    chance_at_place, chance_in_text = np.zeros((2, word_count))
    chance_at_place[is_known] = (places_of[words] - own_counts) / (word_count - lengths[rows])
    chance_in_text[is_known] = (texts_of[words] - (own_counts > 0)) / other_texts
    return in_text, (chance_at_place, chance_in_text)


def _count_survivors(
    kind: str,
    batch: PrivatizedBatch,
    in_text: BoolArray,
    chances: tuple[FloatArray, FloatArray] | None,
    spans: LocatedSpans,
) -> EntityFigures:
    is_labelled, has_words, is_at_place = spans.find_words(len(batch.words)), spans.has_words, ~batch.changed_mask
    rows = np.repeat(np.arange(len(batch.texts)), np.diff(batch.offsets))[is_labelled]
    counts = np.bincount(rows)

    def estimate_chance(values: FloatArray) -> Estimate:
        estimate = estimate_clustered_mean(np.bincount(rows, values[is_labelled]), counts)
        return dataclasses.replace(estimate, low=max(estimate.low, 0.0), high=min(estimate.high, 1.0))

    chance_at_place, chance_in_text = (None, None) if chances is None else map(estimate_chance, chances)
    return EntityFigures(
        kind=kind,
        spans=int(has_words.sum()),
        words=int(is_labelled.sum()),
        unknown=int(batch.unknown_mask[is_labelled].sum()),
        texts=len(np.unique(spans.rows[has_words])),
        at_place=estimate_clustered_share(np.bincount(rows, is_at_place[is_labelled]), counts),
        chance_at_place=chance_at_place,
        in_text=estimate_clustered_share(np.bincount(rows, in_text[is_labelled]), counts),
        chance_in_text=chance_in_text,
        whole=estimate_clustered_share(
            np.bincount(spans.rows[has_words], spans.find_whole(is_at_place)[has_words]),
            np.bincount(spans.rows[has_words]),
        ),
    )
