"""What an attacker recovers who knows the mechanism and how frequent words are in public text."""

from deniable.core.errors import NotTractable
from deniable.words.mechanism import WordMechanism
from deniable.words.prior import PriorLike

MAX_QUADRATURE_POINTS = 3_000
"""Points up to which a law by quadrature is computed for every input."""


def recovery(mechanism: WordMechanism, prior: PriorLike = None, workers: int | None = None) -> float:
    """Return the Bayes success of an attacker: the share of words that the best guess names.

    With the public prior pi the sum over outputs y of max over w of pi(w) P(y|w), from the exact law.
    That is optimal for who sees one output word at a time; who knows language, and sees the words
    around it, does better. Without any output the success is max pi.

    Args:
        mechanism: with a known law.
        prior: how frequent words are, declared public: what `read_prior` returns, counts by word (words that the
            space lacks are left out), or n numbers in the order of ``space.words``; None for Zipf's law by rank.
        workers: threads.

    Raises:
        InputError: counts that are negative, not finite, all zero, or not one for each word.
        NotTractable: no law is known, or computing it for every word would take hours.
    """
    if not mechanism.is_tabulated and mechanism.has_law and len(mechanism.space.points) > MAX_QUADRATURE_POINTS:
        raise NotTractable(
            f"The law of {type(mechanism).__name__} takes too long for {len(mechanism.space.points):,} words. "
            f"Take at most {MAX_QUADRATURE_POINTS:,}, or another mechanism."
        )
    return mechanism.outcomes(prior, workers)[1]
