"""Trigram models that write texts: words drawn exactly from an interpolated law, tilted towards chosen words.

An interpolated model gives the next word after a history h, with h' the history without its first word, as::

    P(w|h) = share(w|h) + backoff(h) P(w|h')

and below the history of no words as a table of unigrams. Tilted by the log weights v it is::

    P_v(w|h)  is proportional to  P(w|h) exp(v(w))

This too is a mixture, of the tilted shares of h and of the tilted law after h'. With Z the mass of a tilted law::

    Z(h) = sum over w of share(w|h) exp(v(w))  +  backoff(h) Z(h')

so one uniform number chooses first how long a history counts, and then a word by bisection in cumulative sums, which
are taken once for all words and all histories. A draw costs a handful of bisections, whatever the number of words.
"""

import collections
import dataclasses
import re
from collections.abc import Sequence

import numpy as np

from deniable.core.arrays import BoolArray, FloatArray, IntArray
from deniable.core.errors import InputError
from deniable.core.parallel import compile_loop
from deniable.measure.attackers.language_model import NgramTables, TrigramModel
from deniable.text.tokens import join_tokens, split_tokens

MAX_SURPLUS = 40
"""Tokens by which a text may be longer than asked for, until its sentence ends."""
MAX_LOG_WEIGHT = 30.0
"""Largest absolute log weight of a word: beyond it cumulative sums in float64 would lose the others."""
_SENTENCE_ENDS = (".", "!", "?")
_DASH, _HYPHEN, _QUOTATION = re.compile(r" -(?: -)+ "), re.compile(r"(?<=\w) - (?=\w)"), re.compile(r'" ([^"]*) "')


@dataclasses.dataclass(frozen=True, eq=False)
class InterpolatedModel:
    """A trigram model of V tokens; the number V is the end of a text, V + 1 its start.

    Attributes:
        words: V tokens.
        tables: its law: P(w), all positive, and the shares and backoff weights of pairs and triples.
    """

    words: tuple[str, ...]
    tables: NgramTables

    def write_texts(self, log_weights: FloatArray, lengths: IntArray, generator: np.random.Generator) -> list[str]:
        """Return texts of tokens drawn from the law that the log weights tilt.

        A text that ends before its length goes on with another one. Where the length is reached, it ends with the
        sentence, or `MAX_SURPLUS` tokens later.

        Args:
            log_weights: v (V,), each within `MAX_LOG_WEIGHT` of 0; the end of a text has weight 0.
            lengths: (n,) tokens of each text, >= 1.
            generator: of the draws.

        Raises:
            InputError: a log weight is too large or not a number.
        """
        if not np.all(np.abs(log_weights) <= MAX_LOG_WEIGHT):
            raise InputError(
                f"Log weights of words must lie within {MAX_LOG_WEIGHT:g} of 0. "
                f"Got up to {np.abs(log_weights).max():g}: take a smaller strength."
            )
        weights, law = np.exp(np.append(log_weights, 0.0)), self.tables
        tables = law._replace(
            unigrams=np.cumsum(law.unigrams * weights),
            bigrams=np.concatenate([[0.0], np.cumsum(law.bigrams * weights[law.bigram_words])]),
            trigrams=np.concatenate([[0.0], np.cumsum(law.trigrams * weights[law.trigram_words])]),
        )
        is_sentence_end = np.array([word in _SENTENCE_ENDS for word in self.words])
        numbers, offsets = _draw_texts(tables, is_sentence_end, lengths.astype(np.int64), generator)
        tokens = np.array(self.words, dtype=object)[numbers].tolist()
        return [
            tidy_marks(join_tokens(tokens[first:last]))
            for first, last in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        ]


def build_text_model(texts: Sequence[str]) -> InterpolatedModel:
    """Return the interpolated Kneser-Ney model of public texts (see `TrigramModel`), of the tokens of `split_tokens`.

    Args:
        texts: those without a token are left out.

    Raises:
        InputError: no text has a token.
    """
    token_lists = [tokens for tokens in map(split_tokens, texts) if tokens]
    counts = collections.Counter(token for tokens in token_lists for token in tokens)
    if not counts:
        raise InputError("A model of texts needs words to learn from. Got none: give public texts with words.")
    words = tuple(sorted(counts, key=lambda word: (-counts[word], word)))
    numbers = {word: number for number, word in enumerate(words)}
    end = len(words)
    tables = TrigramModel.fit([[*map(numbers.__getitem__, tokens), end] for tokens in token_lists], end).tables.temper(
        1.0
    )
    first_words = np.repeat(np.arange(end + 2), np.diff(tables.bigram_starts))
    pairs = np.repeat(np.arange(len(tables.bigrams)), np.diff(tables.trigram_starts))
    # Every trigram's last two words are a bigram that was seen, with its own probability.
    suffixes = np.searchsorted(
        first_words * (end + 2) + tables.bigram_words,
        tables.bigram_words[pairs] * np.int64(end + 2) + tables.trigram_words,
    )
    shorter = tables.bigram_backoffs[first_words] * tables.unigrams[tables.bigram_words]
    bigrams = np.maximum(tables.bigrams - shorter, 0.0)
    trigrams = np.maximum(tables.trigrams - tables.trigram_backoffs[pairs] * tables.bigrams[suffixes], 0.0)
    return InterpolatedModel(words, tables._replace(bigrams=bigrams, trigrams=trigrams))


def tidy_marks(text: str) -> str:
    """Return a text with dashes, hyphens and quotation marks spaced as people write them; its tokens stay the same.

    Tokens do not say whether they touched: one hyphen between two words joins them, several are a dash, and quotation
    marks enclose what stands between an odd and an even one.
    """
    return _QUOTATION.sub(r'"\1"', _HYPHEN.sub("-", _DASH.sub(" -- ", text)))


@compile_loop
def _draw_texts(
    tables: NgramTables, is_sentence_end: BoolArray, lengths: IntArray, generator: np.random.Generator
) -> tuple[IntArray, IntArray]:  # pragma: no cover - compiled
    """Return the words of all texts end to end, and (n + 1,) where each begins."""
    start = len(tables.bigram_starts) - 2
    words = np.empty(lengths.sum() + MAX_SURPLUS * len(lengths), dtype=np.int64)
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    place = 0
    for text in range(len(lengths)):
        previous, pair, first_place = start, -1, place
        while place - first_place < lengths[text] + MAX_SURPLUS:
            word = _draw_word(tables, previous, pair, generator.random())
            is_long_enough = place - first_place >= lengths[text]
            if word == start - 1:
                if is_long_enough:
                    break
                previous, pair = start, -1
                continue
            words[place] = word
            place += 1
            if place - first_place >= lengths[text] and is_sentence_end[word]:
                break
            pair = _find_entry(tables.bigram_starts, tables.bigram_words, previous, word)
            previous = word
        offsets[text + 1] = place
    return words[:place].copy(), offsets


@compile_loop
def _draw_word(tables: NgramTables, previous: int, pair: int, uniform: float) -> int:  # pragma: no cover - compiled
    """Return the word that a uniform number in [0, 1) stands for, after a word and the pair that it ends (-1: none)."""
    first, last = tables.bigram_starts[previous], tables.bigram_starts[previous + 1]
    bigram_mass = tables.bigrams[last] - tables.bigrams[first]
    backoff = tables.bigram_backoffs[previous]
    mass = bigram_mass + backoff * tables.unigrams[-1]
    if pair >= 0:
        first_triple, last_triple = tables.trigram_starts[pair], tables.trigram_starts[pair + 1]
        trigram_mass = tables.trigrams[last_triple] - tables.trigrams[first_triple]
        rest = uniform * (trigram_mass + tables.trigram_backoffs[pair] * mass)
        if rest < trigram_mass:
            return int(tables.trigram_words[_find_place(tables.trigrams, first_triple, last_triple, rest)])
        rest = (rest - trigram_mass) / tables.trigram_backoffs[pair]
    else:
        rest = uniform * mass
    if rest < bigram_mass:
        return int(tables.bigram_words[_find_place(tables.bigrams, first, last, rest)])
    place = int(np.searchsorted(tables.unigrams, (rest - bigram_mass) / backoff, side="right"))
    return min(place, len(tables.unigrams) - 1)


@compile_loop
def _find_place(cumulative: FloatArray, first: int, last: int, rest: float) -> int:  # pragma: no cover - compiled
    """Return the entry from ``first`` to ``last`` - 1 in whose part of the cumulative sums ``rest`` falls."""
    return first + int(np.searchsorted(cumulative[first + 1 : last], cumulative[first] + rest, side="right"))


@compile_loop
def _find_entry(starts: IntArray, words: IntArray, history: int, word: int) -> int:  # pragma: no cover - compiled
    """Return the entry of a word in the run of a history, -1 where it has none."""
    place = int(starts[history] + np.searchsorted(words[starts[history] : starts[history + 1]], word))
    return place if place < starts[history + 1] and words[place] == word else -1
