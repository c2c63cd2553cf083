"""New texts made from those of a corpus, so that a model sees the words of a small corpus in more contexts."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from deniable.core.randomness import make_generator
from deniable.learning.loop import LengthBucketSampler

TokenRows = Sequence[Sequence[int]]
"""Token ids of each text."""


class AugmentedBatches:
    """The texts of a corpus and new ones made of them, fresh in every epoch, in batches of similar lengths.

    Args:
        token_rows: of the corpus.
        count: new texts per text of the corpus, see `splice_texts`; none is longer than the longest of the corpus.
        share: share of the tokens of a new text that are exchanged, see `exchange_tokens`.
        size: texts of a batch.
        key: 32 bytes, which determine all draws.
    """

    def __init__(self, token_rows: TokenRows, count: int, share: float, size: int, key: bytes) -> None:
        self._token_rows, self._count, self._share, self._size, self._key = token_rows, count, share, size, key
        self._max_tokens = max(map(len, token_rows))
        self._start_epoch(0)
        self.batches = self._sampler.batches_per_epoch
        """Number of batches of an epoch."""

    def __call__(self, number: int) -> TokenRows:
        """Return the token ids of the texts of step ``number``, from 0."""
        epoch, place = divmod(number, self.batches)
        if epoch != self._epoch:
            self._start_epoch(epoch)
        return [self._texts[row] for row in self._sampler(place)]

    def _start_epoch(self, epoch: int) -> None:
        key = make_generator(self._key, "texts", str(epoch)).bytes(32)
        new_texts = splice_texts(self._token_rows, self._count * len(self._token_rows), key, self._max_tokens)
        self._epoch, self._texts = (
            epoch,
            [*self._token_rows, *exchange_tokens(new_texts, self._token_rows, self._share, key)],
        )
        self._sampler = LengthBucketSampler(np.array([len(text) for text in self._texts]), self._size, key)


def splice_texts(token_rows: TokenRows, count: int, key: bytes, max_tokens: int) -> list[list[int]]:
    """Return texts that begin as one text of a corpus and end as another, joined at a token that both contain.

    The first text, the position of the joint, and another occurrence of its token in the corpus are drawn uniformly:
    "flights from boston to denver" and "i go to dallas" make "flights from boston to dallas". Any two neighbouring
    tokens of a new text are neighbours somewhere in the corpus, so this is a draw from a bigram model that keeps long
    runs of words whole.

    Args:
        token_rows: of a corpus.
        count: number of texts.
        key: 32 bytes, which determine the draws.
        max_tokens: maximum number of tokens of a text; longer ones are drawn again.

    Returns:
        ``count`` texts; none where the corpus has no tokens.
    """
    rng = make_generator(key, "splices")
    usable_texts = [text for text in token_rows if 0 < len(text) <= max_tokens]
    occurrences = defaultdict(list)
    for row, text in enumerate(usable_texts):
        for place, token in enumerate(text):
            occurrences[token].append((row, place))
    new_texts: list[list[int]] = []
    while usable_texts and len(new_texts) < count:
        opening_text = usable_texts[rng.integers(len(usable_texts))]
        cut = int(rng.integers(len(opening_text)))
        matches = occurrences[opening_text[cut]]
        row, place = matches[rng.integers(len(matches))]
        joined = [*opening_text[:cut], *usable_texts[row][place:]]
        if len(joined) <= max_tokens:
            new_texts.append(joined)
    return new_texts


def exchange_tokens(token_rows: TokenRows, corpus: TokenRows, share: float, key: bytes) -> list[list[int]]:
    """Return texts in which some tokens are replaced, drawn in proportion to the square roots of corpus counts.

    Such a token cannot be guessed from its context, so a decoder has to read it from the vector.

    Args:
        token_rows: of the texts.
        corpus: whose tokens are drawn.
        share: probability of each token to be replaced, in [0, 1].
        key: 32 bytes, which determine the draws.
    """
    if not any(map(len, token_rows)) or not any(map(len, corpus)):
        return [[*text] for text in token_rows]
    rng, ends = make_generator(key, "exchanged"), np.cumsum([len(text) for text in token_rows])
    corpus_tokens, counts = np.unique(
        np.concatenate([np.asarray(text, np.int64) for text in corpus]), return_counts=True
    )
    flat_tokens = np.concatenate([np.asarray(text, np.int64) for text in token_rows])
    exchanged_places = np.flatnonzero(rng.random(len(flat_tokens)) < share)
    roots = np.sqrt(counts)
    flat_tokens[exchanged_places] = rng.choice(corpus_tokens, size=len(exchanged_places), p=roots / roots.sum())
    return [text.tolist() for text in np.split(flat_tokens, ends[:-1])]
