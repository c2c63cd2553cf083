"""What an attacker recovers who knows the mechanism and how frequent words are in public text."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError, NotTractable
from deniable.space.grammar import fold
from deniable.space.metrics import Array
from deniable.space.space import Space
from deniable.words import law
from deniable.words.mechanism import WordMechanism

SLOW = 3_000
"""Points up to which a law by quadrature is computed for every input."""

Prior = Mapping[str, float] | npt.ArrayLike | None


def recovery(mechanism: WordMechanism, prior: Prior = None, workers: int | None = None) -> float:
    """Return the Bayes success of an attacker: the share of words that the best guess names.

    With the public prior pi the sum over outputs y of max over w of pi(w) P(y|w), from the exact law.
    That is optimal for who sees one output word at a time; who knows language, and sees the words
    around it, does better. Without any output the success is max pi.

    Args:
        mechanism: with a known law.
        prior: how frequent words are, declared public: counts by word (words that the space lacks are
            left out), or n numbers in the order of ``space.words``; None for Zipf's law by rank.
        workers: threads.

    Raises:
        InputError: counts that are negative, not finite, all zero, or not one for each word.
        NotTractable: no law is known, or computing it for every word would take hours.
    """
    if not mechanism.tabulated and mechanism.has_law and len(mechanism.space.points) > SLOW:
        raise NotTractable(
            f"The law of {type(mechanism).__name__} takes too long for {len(mechanism.space.points):,} words. "
            f"Take at most {SLOW:,}, or another mechanism."
        )
    return mechanism.outcomes(public_prior(mechanism.space, prior), workers)[1]


def public_prior(space: Space, prior: Prior) -> Array:
    """Return the prior (n,) over the words of the space, which sums to 1."""
    if prior is None:
        return law.zipf(len(space))
    counts = np.zeros(len(space))
    try:
        if isinstance(prior, Mapping):
            for word, count in prior.items():
                number = space.index.get(fold(word))
                if number is not None:
                    counts[number] += count
        else:
            counts = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"The prior must hold numbers: {error}.") from None
    if counts.shape != (len(space),):
        raise InputError(f"The prior must hold one number for each of {len(space)} words. Got shape {counts.shape}.")
    if not np.isfinite(counts).all() or counts.min() < 0 or counts.sum() <= 0:
        raise InputError(
            f"The prior must hold finite counts of at least 0, not all 0. Got a least of {counts.min():g} "
            f"and a sum of {counts.sum():g}."
        )
    shares: Array = counts / counts.sum()
    return shares
