"""What words become, beside an average: the frequent and the rare, and the word that is exposed most.

An average over running words is mostly about the most frequent ones. It is no promise to anybody else, so each figure
here is also given for bands of words by their frequency, and for the one word that is worst off.
"""

import dataclasses
import itertools
from typing import Literal

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import BoolArray, FloatArray
from deniable.core.numbers import format_upper, format_upper_percent
from deniable.space.space import Space
from deniable.words.laws.law import WordShares

GuessedWords = Literal["average", "rare", "every"]
"""About which words an attacker's success is: all running words, the rare ones, or each that is not hidden."""
_BAND_ENDS = (100, 1_000, 5_000, 20_000)
_RARE_RANK = 1_000
NOT_KNOWN = "not known, because the exact probabilities of this mechanism are not known"
"""What is said of single words where draws are all that there is."""


@dataclasses.dataclass(frozen=True)
class KeptShare:
    """A share of words and where the figure comes from.

    Attributes:
        value: between 0 and 1.
        draws: number of simulated draws behind it; 0 where it is exact.
    """

    value: float
    draws: int = 0

    def __str__(self) -> str:
        """Return the share in percent, with a 95% interval where it is simulated."""
        if not self.draws:
            return f"{100 * self.value:.1f}%"
        margin = 196 * np.sqrt(max(self.value * (1 - self.value), 1 / self.draws) / self.draws)
        return f"{100 * self.value:.1f}% (+- {format_upper(margin, decimals=1)}, {self.draws:,} simulated draws)"


@dataclasses.dataclass(frozen=True)
class Band:
    """Words of about the same frequency, without those of hidden classes.

    Attributes:
        name: such as "to rank 1,000".
        first_rank: of the words by descending weight, from 1; words of equal weight in the order of the space.
        last_rank: of the last word.
        kept: the share of its running words that are released unchanged.
        guessed: the share of them that an attacker guesses; see `Outcomes`.
    """

    name: str
    first_rank: int
    last_rank: int
    kept: float
    guessed: float


@dataclasses.dataclass(frozen=True)
class Outcomes:
    """What words become that follow a prior; an attacker knows it and the law, and sees one output at a time.

    The guess that is best on the average says little of rare words: it names frequent ones. An attacker who is after
    rare words does better, for whom all words are equally likely: under a law of P(y|w) = c r^d(w, y) / Z(w) their best
    guess is the output itself, right about each word as often as it is released unchanged, since ln Z is Lipschitz. So
    what is said of a band, and of the rare words, is the larger of the two shares.

    Attributes:
        kept: the share of running words that are released unchanged, hidden ones too.
        guessed: the share of them that the best guess is right about: the attacker's Bayes success.
        bands: of the most frequent words to the rarest, those that exist and have any weight.
        rare_rank: words beyond this rank are rare: 1,000, or half of the words that have any weight if they are fewer
            than 2,000.
        rare_guessed: the share that is guessed of the running words that are rare and not hidden; None without such.
        exposed_word: of the words that are not hidden the one that is released unchanged most often; None without such.
        exposed_share: how often it is, and so the largest share that the second attacker guesses of any word, but of
            words that share their vector with others.
    """

    kept: float
    guessed: float
    bands: tuple[Band, ...]
    rare_rank: int
    rare_guessed: float | None
    exposed_word: str | None
    exposed_share: float

    def get_success(self, words: GuessedWords) -> float | None:
        """Return the attacker's success on some words; None where the prior has none of them."""
        return {"average": self.guessed, "rare": self.rare_guessed, "every": self.exposed_share}[words]

    def find_band(self, rank: int) -> Band | None:
        """Return the band of the words about a rank; None where only hidden words are there, or none with weight."""
        return next((band for band in self.bands if band.first_rank <= rank <= band.last_rank), None)

    def list_shares(self) -> list[tuple[str, str]]:
        """Return how often words of each band are guessed, and all rare ones together: names and percentages."""
        shares = [(band.name, band.guessed) for band in self.bands]
        if self.rare_guessed is not None:
            shares.append((f"all beyond rank {self.rare_rank:,}", self.rare_guessed))
        return [(name, format_upper_percent(share)) for name, share in shares]

    def describe_bands(self) -> str:
        """Return how often words of each band are guessed, and all rare ones together, in one line."""
        return ", ".join(f"{name} {percent}" for name, percent in self.list_shares()) or "all words are hidden"

    def describe_exposed(self) -> str:
        """Return which word comes out unchanged most often, and how often."""
        if self.exposed_word is None:
            return "no word: all are hidden"
        return (
            f"{self.exposed_word!r} stays unchanged in {format_upper_percent(self.exposed_share)} of draws, and no "
            "other word that is not hidden does more often"
        )


def summarize_outcomes(space: Space, weights: FloatArray, shares: WordShares) -> Outcomes:
    """Return the averages of what becomes of each word, and what they conceal.

    Args:
        space: of n words.
        weights: (n,) how likely each word is, sums to 1.
        shares: of each word under a law.
    """
    is_open = _find_open_words(space)
    open_weights, open_kept = np.where(is_open, weights, 0.0), np.where(is_open, shares.kept, -1.0)
    ranks = rank_words(weights)
    bands = []
    for name, first, last in list_band_ranks(len(weights)):
        band_weights = np.where((ranks > first) & (ranks <= last), open_weights, 0.0)
        if band_weights.any():
            kept, guessed = _average(shares, band_weights)
            bands.append(Band(name, first + 1, last, kept, max(kept, guessed)))
    rare_weights = weigh_rare_words(space, weights)
    exposed = int(open_kept.argmax())
    return Outcomes(
        kept=float(weights @ shares.kept),
        guessed=float(weights @ shares.guessed),
        bands=tuple(bands),
        rare_rank=find_rare_rank(weights),
        rare_guessed=max(_average(shares, rare_weights)) if rare_weights.any() else None,
        exposed_word=space.words[exposed] if is_open.any() else None,
        exposed_share=float(open_kept[exposed]) if is_open.any() else 0.0,
    )


def list_band_ranks(count: int) -> list[tuple[str, int, int]]:
    """Return the bands of the frequency of ``count`` words: name, and the ranks after and up to which they are."""
    ends = [0, *(end for end in _BAND_ENDS if end < count), count]
    return [(_name_band(first, last), first, last) for first, last in itertools.pairwise(ends)]


def weigh_rare_words(space: Space, weights: FloatArray) -> FloatArray:
    """Return how likely each word (n,) is among the rare ones that are not hidden; zeros where there are none.

    Args:
        space: of n words.
        weights: (n,) how likely each word is, sums to 1.
    """
    is_rare = _find_open_words(space) & (rank_words(weights) > find_rare_rank(weights))
    rare_weights: FloatArray = np.where(is_rare, weights, 0.0)
    return rare_weights / rare_weights.sum() if rare_weights.any() else rare_weights


def find_rare_rank(weights: FloatArray) -> int:
    """Return the rank beyond which words are rare; see `Outcomes`."""
    return min(_RARE_RANK, int((weights > 0).sum()) // 2)


def _find_open_words(space: Space) -> BoolArray:
    """Return which words (n,) are not hidden."""
    is_open = np.ones(len(space), dtype=bool)
    for hidden in space.hidden_classes:
        is_open[hidden.members] = False
    return is_open


def rank_words(weights: FloatArray) -> npt.NDArray[np.int64]:
    """Return the rank (n,) of each word by descending weight, from 1; words of equal weight keep their order."""
    ranks = np.empty(len(weights), dtype=np.int64)
    ranks[np.argsort(-weights, kind="stable")] = np.arange(1, len(weights) + 1)
    return ranks


def _average(shares: WordShares, weights: FloatArray) -> tuple[float, float]:
    """Return the averages of what is kept and what is guessed, by weights (n,) that need not sum to 1."""
    total = weights.sum()
    return float(weights @ shares.kept / total), float(weights @ shares.guessed / total)


def _name_band(first: int, last: int) -> str:
    if first == 0:
        return f"the {last:,} most frequent"
    return f"beyond rank {first:,}" if first == _BAND_ENDS[-1] else f"to rank {last:,}"
