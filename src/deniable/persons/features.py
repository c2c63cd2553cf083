"""Public features of texts: which words and pairs of words occur, with weights that private data have no part in."""

import array
import collections
import dataclasses
import functools
import hashlib
import itertools
from collections.abc import Sequence

import numpy as np

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError
from deniable.core.parallel import compile_loop
from deniable.space import Space
from deniable.text.tokens import split_tokens

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
class FeatureRows:
    """Features of n texts as sparse rows: text i has the values ``values[offsets[i] : offsets[i + 1]]``.

    Attributes:
        offsets: (n + 1,) where each text begins.
        columns: (nnz,) numbers of the features.
        values: (nnz,) values; each text's have norm 1.
    """

    offsets: IntArray
    columns: IntArray
    values: FloatArray

    def __len__(self) -> int:
        """Return n."""
        return len(self.offsets) - 1


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
        return word in self._word_numbers

    @functools.cached_property
    def fingerprint(self) -> str:
        """Hexadecimal BLAKE2b of words, pairs and weights."""
        state = hashlib.blake2b(digest_size=16)
        for part in (self.words, self.pairs):
            state.update(repr(part).encode("utf-8", "backslashreplace"))
        state.update(self.weights.tobytes())
        return state.hexdigest()

    def extract_features(self, texts: Sequence[str]) -> FeatureRows:
        """Return the features of texts: a word or pair counts once, weighted, and a text is scaled to norm 1."""
        token_ids, token_offsets = self._look_up_words(texts)
        offsets = np.zeros(len(texts) + 1, dtype=np.int64)
        columns = np.empty(2 * len(token_ids) + len(texts), dtype=np.int64)  # as many as there can be
        _list_columns(token_ids, token_offsets, self._pair_offsets, *self._sorted_pairs, len(self), columns, offsets)
        return self._weigh_features(offsets, columns[: offsets[-1]].copy())

    def condition(self, gradient: FloatArray) -> FloatArray:
        """Return a released gradient (D, C), its heavy public directions shrunk to a fifth of their size, squared.

        Words that most texts have make the gradient steep in a few directions; shrinking them allows larger steps in
        all others. It is a fixed public map, so it costs nothing of the guarantee.
        """
        heavy_part: FloatArray = self.directions @ (self.directions.T @ gradient)
        return gradient - (1 - _SHRINKAGE**2) * heavy_part

    @functools.cached_property
    def _word_numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    @functools.cached_property
    def _pair_words(self) -> IntArray:
        """(P, 2) the numbers of the two words of each pair."""
        numbers = self._word_numbers
        pairs = [pair.split(_PAIR_SEPARATOR) for pair in self.pairs]
        return np.array([(numbers[first], numbers[second]) for first, second in pairs], np.int64).reshape(-1, 2)

    @functools.cached_property
    def _sorted_pairs(self) -> tuple[IntArray, IntArray]:
        """The second word of each pair and its feature, by first and second word."""
        order = np.lexsort(self._pair_words.T[::-1])
        return self._pair_words[order, 1], 1 + len(self.words) + order

    @functools.cached_property
    def _pair_offsets(self) -> IntArray:
        """(V + 1,) where the pairs with each first word begin."""
        counts = np.bincount(self._pair_words[:, 0], minlength=len(self.words))
        return np.concatenate([[0], np.cumsum(counts)])

    def _look_up_words(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        """Return the word numbers of all texts (N,), -1 for unlisted words, and where each begins (n + 1,)."""
        numbers = self._word_numbers
        token_ids, offsets = array.array("q"), array.array("q", [0])
        for text in texts:
            token_ids.extend([numbers.get(token, -1) for token in split_tokens(text)])
            offsets.append(len(token_ids))
        return np.array(token_ids, dtype=np.int64), np.array(offsets, dtype=np.int64)

    def _weigh_features(self, offsets: IntArray, columns: IntArray) -> FeatureRows:
        """Return rows of norm 1, given which features each text has; the constant one comes first."""
        owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        values = self.weights[columns]
        values[offsets[:-1]] = 0.0
        norms = np.sqrt(np.bincount(owners, values**2, minlength=len(offsets) - 1))
        values[offsets[:-1]] = _CONSTANT_FEATURE * np.where(norms > 0, norms, 1.0)
        norms = np.sqrt(np.bincount(owners, values**2, minlength=len(offsets) - 1))
        return FeatureRows(offsets, columns, values / norms[owners])


@compile_loop
def _list_columns(
    token_ids: IntArray,
    token_offsets: IntArray,
    pair_offsets: IntArray,
    second_words: IntArray,
    pair_columns: IntArray,
    dimensions: int,
    columns: IntArray,
    offsets: IntArray,
) -> None:
    """Write the features that each text has, ascending, to ``columns``, and where each text begins to ``offsets``."""
    last_text = np.full(dimensions, -1, dtype=np.int64)  # that has a feature
    place = 0
    for text in range(len(token_offsets) - 1):
        columns[place] = 0
        place += 1
        for token in range(token_offsets[text], token_offsets[text + 1]):
            word = token_ids[token]
            if word < 0:
                continue
            if last_text[1 + word] != text:
                last_text[1 + word] = text
                columns[place] = 1 + word
                place += 1
            if token + 1 == token_offsets[text + 1]:
                continue
            # An unlisted second word, -1, comes before all others.
            low, high = pair_offsets[word], pair_offsets[word + 1]
            while low < high:
                middle = (low + high) // 2
                low, high = (middle + 1, high) if second_words[middle] < token_ids[token + 1] else (low, middle)
            if low < pair_offsets[word + 1] and second_words[low] == token_ids[token + 1]:
                column = pair_columns[low]
                if last_text[column] != text:
                    last_text[column] = text
                    columns[place] = column
                    place += 1
        columns[offsets[text] : place].sort()
        offsets[text + 1] = place


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
    return dataclasses.replace(bare, directions=_find_heavy_directions(bare.extract_features(texts), len(bare)))


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


def _find_heavy_directions(rows: FeatureRows, dimensions: int) -> FloatArray:
    """Return (D, k) the first right singular vectors of public rows; fewer where there are too few rows."""
    from scipy import sparse

    matrix = sparse.csr_matrix((rows.values, rows.columns, rows.offsets), shape=(len(rows), dimensions))
    count = min(_SHRUNK_DIRECTIONS, min(matrix.shape) - 1)
    if count < 1:
        return np.zeros((dimensions, 0))
    from scipy.sparse.linalg import svds

    start = np.ones(min(matrix.shape)) / np.sqrt(min(matrix.shape))  # the same directions in every run
    directions: FloatArray = svds(matrix, k=count, v0=start)[2].T.copy()
    return directions
