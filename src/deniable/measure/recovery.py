"""Recovery: the share of private words that an attacker guesses from privatized texts.

The attacker knows the mechanism with all its parameters, reads the released words and guesses the private ones. The
one of this module knows how frequent words are, and looks at one word at a time; one who also knows how people
write, and guesses whole texts, is in `deniable.measure.contextual_recovery`.
"""

import dataclasses

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, NotTractable, check_count
from deniable.measure.attackers.guesses import build_likelihood, rank_guesses
from deniable.measure.attackers.language_model import WordNumbers
from deniable.measure.attackers.surrogate import draw_from_prior
from deniable.measure.intervals import Estimate, as_exact_estimate, estimate_clustered_share, estimate_share
from deniable.text.batches import PrivatizedBatch
from deniable.words import WordMechanism, recovery
from deniable.words.prior import PriorLike, build_prior


@dataclasses.dataclass(frozen=True)
class RecoveryResult:
    """How many private words an attacker guesses.

    Attributes:
        share: share of the words of the vocabulary that the attacker guesses.
        left_out: number of words that the vocabulary lacks, which no guess can hit; they are not in the share.
        optimal: True where no attacker who sees one word at a time, and knows no more than the prior, does better on
            average; False where the share is a lower bound on what an attacker with the same knowledge can reach.
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
    """Return the share of words of privatized texts that the best guesser guesses, one word at a time.

    Args:
        mechanism: the mechanism that the attacker believes the texts were drawn by.
        batch: the texts; for the interval the words of one text are a cluster.
        prior: the word frequencies that the attacker assumes, see `deniable.recovery`; None for Zipf's law.
        seed: public; the attacker's own draws follow from it, where they need a surrogate likelihood.
        workers: number of threads.

    Raises:
        InputError: no text holds a word that the vocabulary knows, or an invalid prior.
    """
    check_attackable(mechanism, batch)
    weights = build_prior(mechanism.space, prior).weights
    word_likelihood = build_likelihood(mechanism, weights, seed=seed, workers=workers)
    best_guesses = rank_guesses(word_likelihood, weights, batch.outputs, 1, workers)
    guessed_words = best_guesses.words[best_guesses.row_of[mechanism.space.point_by_word[batch.outputs]], 0]
    return count_recovered_words(batch, guessed_words, optimal=word_likelihood.is_exact)


def simulate_recovery(
    mechanism: WordMechanism,
    *,
    prior: PriorLike = None,
    among: FloatArray | None = None,
    draws: int = 20_000,
    seed: int = 0,
    always_simulate: bool = False,
    workers: int | None = None,
) -> RecoveryResult:
    """Return an attacker's success on words that follow a prior, for every mechanism: exact where a law is known.

    Elsewhere it is simulated, with a surrogate likelihood fitted to other draws than those that are guessed.

    Args:
        mechanism: the mechanism, known to the attacker.
        prior: see `measure_recovery`.
        among: (n,) how likely each word is to be guessed at, which the attacker does not know; None for the prior.
        draws: number of guessed words, where the success is not known exactly.
        seed: public; all draws follow from it.
        always_simulate: simulate also where the exact success could be computed, which may take a minute.
        workers: number of threads.

    Raises:
        InputError: fewer than 1 draw, or an invalid prior.
    """
    check_count("simulate_recovery", "draws", draws)
    if not always_simulate and among is None:
        try:
            return RecoveryResult(as_exact_estimate(recovery(mechanism, prior, workers)), 0, optimal=True)
        except NotTractable:
            pass  # no law is known, or too many words for an exact sum
    weights = build_prior(mechanism.space, prior).weights
    word_likelihood = build_likelihood(mechanism, weights, seed=seed, workers=workers)
    words, outputs = draw_from_prior(mechanism, weights if among is None else among, draws, seed, "count", workers)
    best_guesses = rank_guesses(word_likelihood, weights, outputs, 1, workers)
    guessed_words = best_guesses.words[best_guesses.row_of[mechanism.space.point_by_word[outputs]], 0]
    return RecoveryResult(
        estimate_share(int((guessed_words == words).sum()), draws), 0, optimal=word_likelihood.is_exact
    )


def check_attackable(mechanism: WordMechanism, batch: PrivatizedBatch) -> None:
    """Check that texts hold a word of the vocabulary, and were not drawn from a larger space.

    Raises:
        InputError: they cannot be attacked.
    """
    if batch.unknown_mask.all():
        raise InputError("An attack needs texts with words of the vocabulary. Got none: give other texts.")
    if max(int(batch.words.max()), int(batch.outputs.max())) >= len(mechanism.space):
        raise InputError(
            f"The texts hold word numbers beyond the {len(mechanism.space)} words of the mechanism: give a mechanism "
            "over the space of the texts."
        )


def count_recovered_words(batch: PrivatizedBatch, guessed_words: WordNumbers, *, optimal: bool) -> RecoveryResult:
    """Return the share of words that are guessed, clustered by text, unknown words left out.

    Args:
        batch: N words of R texts.
        guessed_words: (N,) the guesses.
        optimal: see `RecoveryResult`.
    """
    is_known = ~batch.unknown_mask
    hits, counts = (
        np.diff(np.append(0, np.cumsum(mask))[batch.offsets])
        for mask in (is_known & (guessed_words == batch.words), is_known)
    )
    share = estimate_clustered_share(hits, counts)
    return RecoveryResult(share, int(batch.unknown_mask.sum()), optimal)
