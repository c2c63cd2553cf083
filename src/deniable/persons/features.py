"""Public features of texts: which words and pairs of words occur, with weights that private data have no part in."""

import array
import collections
import dataclasses
import functools
import hashlib
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError
from deniable.space import Space
from deniable.text.tokens import split_tokens

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_WORDS, MAX_PAIRS = 50_000, 50_000
"""Words and pairs of words of a vocabulary, at most: the most frequent ones."""
_MIN_PAIR_COUNT = 2
"""Public texts in which a pair of words must occur."""
_RARITY_POWER = 1.5
"""Power of the inverse document frequency in a word's weight."""
_CONSTANT_FEATURE = 0.2
"""Value of the feature that every text has, next to norm 1 of the others; it carries the frequencies of the classes."""
_SHRUNK_DIRECTIONS = 4
_SHRINKAGE = 0.2
"""What is left of a heavy public direction, see `FeatureMap.condition`."""
_PAIR_SEPARATOR, _PAIR_LENGTH = " ", 2
_MAX_WEIGHT = 1e100
"""Of a feature, and of the inverse of its weight: squares of weights are added."""


@dataclasses.dataclass(frozen=True)
class FeatureMap:
    """A vocabulary of words and pairs of words with public weights; feature 0 is constant.

    Attributes:
        words: V words, as `split_tokens` spells them.
        pairs: P pairs of words that follow each other, each two words with a space between.
        weights: (1 + V + P,) weight of each feature before a text is scaled to norm 1.
        directions: (1 + V + P, k) orthonormal columns, the directions in which public texts vary most.
        source: of the vocabulary, in words.

    Raises:
        InputError: there is no word, a word or pair is listed twice, or the parts do not match.
    """

    words: tuple[str, ...]
    pairs: tuple[str, ...]
    weights: FloatArray
    directions: FloatArray
    source: str

    def __post_init__(self) -> None:
        if not self.words:
            raise InputError("A vocabulary needs at least one word: give public texts with words.")
        is_in_range = np.all((self.weights > 1 / _MAX_WEIGHT) & (self.weights < _MAX_WEIGHT))
        if self.weights.shape != (len(self),) or self.directions.shape[0] != len(self) or not is_in_range:
            raise InputError("The weights of a vocabulary do not match its words: build it anew.")
        listed = {*self.words}
        parts = [pair.split(_PAIR_SEPARATOR) for pair in self.pairs]
        are_pairs = all(len(words) == _PAIR_LENGTH and listed.issuperset(words) for words in parts)
        if len(listed) < len(self.words) or len({*self.pairs}) < len(self.pairs) or not are_pairs:
            raise InputError("A vocabulary lists a word twice, or a pair of other words: build it anew.")

    def __len__(self) -> int:
        """Return D, the number of features."""
        return 1 + len(self.words) + len(self.pairs)

    def __contains__(self, word: object) -> bool:
        """Return whether a word, as `split_tokens` spells it, is listed."""
        return word in self._word_columns

    @functools.cached_property
    def fingerprint(self) -> str:
        """Hexadecimal BLAKE2b of words, pairs and weights."""
        state = hashlib.blake2b(digest_size=16)
        for part in (self.words, self.pairs):
            state.update(repr(part).encode("utf-8", "backslashreplace"))
        state.update(self.weights.tobytes())
        return state.hexdigest()

    def extract_features(self, texts: Sequence[str]) -> "csr_array":
        """Return a sparse row (D,) of norm 1 for each text: a word or pair counts once, by its weight."""
        from scipy.sparse import csr_array

        columns, offsets = array.array("q"), array.array("q", [0])
        for text in texts:
            tokens = split_tokens(text)
            found = {self._word_columns.get(token, 0) for token in tokens}
            found.update(self._pair_columns.get(_PAIR_SEPARATOR.join(pair), 0) for pair in itertools.pairwise(tokens))
            columns.extend(sorted(found | {0}))
            offsets.append(len(columns))
        starts = np.array(offsets, dtype=np.int64)
        owners = np.repeat(np.arange(len(texts)), np.diff(starts))
        values = self.weights[np.array(columns, dtype=np.int64)]
        values[starts[:-1]] = 0.0
        norms = np.sqrt(np.bincount(owners, values**2, minlength=len(texts)))
        values[starts[:-1]] = _CONSTANT_FEATURE * np.where(norms > 0, norms, 1.0)
        norms = np.sqrt(np.bincount(owners, values**2, minlength=len(texts)))
        return csr_array((values / norms[owners], np.array(columns), starts), shape=(len(texts), len(self)))

    def condition(self, gradient: FloatArray) -> FloatArray:
        """Return a released gradient (D, C), its heavy public directions shrunk to a fifth of their size, squared.

        Words that most texts have make the gradient steep in a few directions; shrinking them allows larger steps in
        all others. It is a fixed public map, so it costs nothing of the guarantee.
        """
        heavy_part: FloatArray = self.directions @ (self.directions.T @ gradient)
        return gradient - (1 - _SHRINKAGE**2) * heavy_part

    @functools.cached_property
    def _word_columns(self) -> dict[str, int]:
        return {word: column for column, word in enumerate(self.words, 1)}

    @functools.cached_property
    def _pair_columns(self) -> dict[str, int]:
        return {pair: column for column, pair in enumerate(self.pairs, 1 + len(self.words))}


def build_feature_map(texts: Sequence[str], source: str = "public texts") -> FeatureMap:
    """Return the vocabulary of public texts: words weighted by rarity, pairs of words that occur more than once.

    A feature that f of N texts have weighs ln((N + 1) / (f + 1/2)) to the power 1.5.

    Args:
        texts: public; N of them.
        source: of the texts, for cards and certificates.

    Raises:
        InputError: no text holds a word.
    """
    word_counts, pair_counts = collections.Counter[str](), collections.Counter[str]()
    for text in texts:
        tokens = split_tokens(text)
        word_counts.update({*tokens})
        pair_counts.update({_PAIR_SEPARATOR.join(pair) for pair in itertools.pairwise(tokens)})
    words = [word for word, _ in _sort_by_count(word_counts)[:MAX_WORDS]]
    listed = {*words}
    pairs = [
        pair
        for pair, count in _sort_by_count(pair_counts)
        if count >= _MIN_PAIR_COUNT and listed.issuperset(pair.split(_PAIR_SEPARATOR))
    ][:MAX_PAIRS]
    if not words:
        raise InputError(f"The {source} hold no word: give texts with words, or leave them out.")
    counts = [word_counts[word] for word in words] + [pair_counts[pair] for pair in pairs]
    rarity = np.log((len(texts) + 1) / (np.array(counts) + 0.5)) ** _RARITY_POWER
    weights = np.concatenate([[1.0], np.maximum(rarity, 1e-3)])
    bare = FeatureMap(tuple(words), tuple(pairs), weights, np.zeros((len(weights), 0)), source)
    return dataclasses.replace(bare, directions=_find_heavy_directions(bare.extract_features(texts)))


def build_space_feature_map(space: Space) -> FeatureMap:
    """Return the words of a space as a vocabulary, weighted by rank as if their frequencies followed Zipf's law.

    The word of rank r weighs ln(1 + r) to the power 1.5, which is what its rarity would give.
    """
    words = [word for word in dict.fromkeys(space.words) if split_tokens(word) == [word]][:MAX_WORDS]
    ranks = np.arange(1, len(words) + 1)
    weights = np.concatenate([[1.0], np.log(1 + ranks) ** _RARITY_POWER])
    # The mean of Zipf texts is the one heavy direction that is known without texts.
    mean = np.concatenate([[_CONSTANT_FEATURE * np.sqrt(len(words))], weights[1:] / (1 + ranks)])
    directions = (mean / np.linalg.norm(mean))[:, None]
    return FeatureMap(tuple(words), (), weights, directions, f"the words of {space.source}, by rank")


def _sort_by_count(counts: collections.Counter[str]) -> list[tuple[str, int]]:
    """Return what was counted, the most frequent first, equals by the alphabet."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _find_heavy_directions(rows: "csr_array") -> FloatArray:
    """Return (D, k) the first right singular vectors of public rows; fewer where there are too few rows."""
    count = min(_SHRUNK_DIRECTIONS, min(rows.shape) - 1)
    if count < 1:
        return np.zeros((rows.shape[1], 0))
    from scipy.sparse.linalg import svds

    start = np.ones(min(rows.shape)) / np.sqrt(min(rows.shape))  # the same directions in every run
    directions: FloatArray = svds(rows, k=count, v0=start)[2].T.copy()
    return directions
