"""Attackers that undo a word mechanism on privatized texts, and the share of words that they recover.

They know the mechanism with all its parameters, read the released words and guess the private ones. The one
here knows how frequent words are and looks at one word at a time; one who knows how people write as well, and
guesses whole texts, is in `deniable.measure.contextual_recovery`.
"""

import dataclasses

import numpy as np

from deniable.core import intervals
from deniable.core.errors import InputError, NotTractable, make_parameter_error
from deniable.core.intervals import Estimate
from deniable.measure.attackers.guesses import build_likelihood, draw_from_prior, rank_guesses
from deniable.measure.attackers.language_model import WordNumbers
from deniable.text.batches import PrivatizedBatch
from deniable.words import WordMechanism, recovery
from deniable.words.prior import PriorLike, build_prior


@dataclasses.dataclass(frozen=True)
class RecoveryResult:
    """How many private words an attacker names.

    Attributes:
        share: of the words that the vocabulary knows.
        left_out: words that it does not know, whose spelling no guess can name; they are not in the share.
        optimal: True where nobody who sees one word at a time, and knows no more than the prior, does better on
            average; False where the share is a lower bound on what an attacker with the same means can reach.
    """

    share: Estimate
    left_out: int
    optimal: bool


def measure_recovery(
    mechanism: WordMechanism,
    batch: PrivatizedBatch,
    *,
    prior: PriorLike = None,
    seed: int = 0,
    workers: int | None = None,
) -> RecoveryResult:
    """Return the share of words of privatized texts that the best guess names, one word at a time.

    Args:
        mechanism: what the attacker takes the texts to be drawn by.
        batch: the texts; the interval takes their words as clusters.
        prior: how frequent words are to the attacker, see `deniable.recovery`; None for Zipf's law.
        seed: public, of the attacker's own draws where he needs a surrogate.
        workers: threads.

    Raises:
        InputError: no text holds a word that the vocabulary knows, or a prior that is none.
    """
    check_attackable(mechanism, batch)
    weights = build_prior(mechanism.space, prior).weights
    word_likelihood = build_likelihood(mechanism, weights, seed=seed, workers=workers)
    best_guesses = rank_guesses(word_likelihood, weights, batch.outputs, 1, workers)
    named_words = best_guesses.words[best_guesses.row_of[mechanism.space.point_by_word[batch.outputs]], 0]
    return count_recovered_words(batch, named_words, optimal=word_likelihood.is_exact)


def simulate_recovery(
    mechanism: WordMechanism,
    *,
    prior: PriorLike = None,
    draws: int = 20_000,
    seed: int = 0,
    always_simulate: bool = False,
    workers: int | None = None,
) -> RecoveryResult:
    """Return an attacker's success on words that follow a prior, for every mechanism: exact where that is known.

    Else it is the success of a surrogate, fitted to other draws than those it is counted on.

    Args:
        mechanism: known to the attacker.
        prior: see `measure_recovery`.
        draws: words guessed, where the success is not known exactly.
        seed: public, of all draws.
        always_simulate: simulate even where the success is known, which for truncated Gumbel takes a minute to compute.
        workers: threads.

    Raises:
        InputError: fewer than 1 draw, or a prior that is none.
    """
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < 1:
        raise make_parameter_error("simulated_recovery", "draws", "an int of at least 1", draws)
    if not always_simulate:
        try:
            return RecoveryResult(intervals.as_exact_estimate(recovery(mechanism, prior, workers)), 0, optimal=True)
        except NotTractable:
            pass  # no law is known, or too many words for an exact sum
    weights = build_prior(mechanism.space, prior).weights
    word_likelihood = build_likelihood(mechanism, weights, seed=seed, workers=workers)
    words, outputs = draw_from_prior(mechanism, weights, draws, seed, "count", workers)
    best_guesses = rank_guesses(word_likelihood, weights, outputs, 1, workers)
    named_words = best_guesses.words[best_guesses.row_of[mechanism.space.point_by_word[outputs]], 0]
    return RecoveryResult(
        intervals.estimate_share(int((named_words == words).sum()), draws), 0, optimal=word_likelihood.is_exact
    )


def check_attackable(mechanism: WordMechanism, batch: PrivatizedBatch) -> None:
    """Refuse texts without a word that the vocabulary knows, and those of a larger space.

    Raises:
        InputError: see above.
    """
    if batch.unknown_mask.all():
        raise InputError("An attack needs texts with words that the vocabulary knows. Got none: give other texts.")
    if max(int(batch.words.max()), int(batch.outputs.max())) >= len(mechanism.space):
        raise InputError(
            f"The texts hold word numbers beyond the {len(mechanism.space)} words of the mechanism: give a mechanism "
            "over the space that they were drawn from."
        )


def count_recovered_words(batch: PrivatizedBatch, named_words: WordNumbers, *, optimal: bool) -> RecoveryResult:
    """Return the share of words named, clustered by text, words unknown to the vocabulary left out."""
    is_known = ~batch.unknown_mask
    hits, counts = (
        np.diff(np.append(0, np.cumsum(mask))[batch.offsets])
        for mask in (is_known & (named_words == batch.words), is_known)
    )
    share = intervals.estimate_clustered_share(hits, counts)
    return RecoveryResult(share, int(batch.unknown_mask.sum()), optimal)
