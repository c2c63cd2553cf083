"""Attackers that undo a word mechanism on privatized texts, and the share of words that they recover.

They know the mechanism with all its parameters, read the released words and guess the private ones. The one
here knows how frequent words are and looks at one word at a time; one who knows how people write as well, and
guesses whole texts, is in `deniable.measure.context`.
"""

import dataclasses

import numpy as np

from deniable.errors import InputError, NotTractable, bad_parameter
from deniable.measure import estimate
from deniable.measure.attackers.guesses import guesses, likelihood
from deniable.measure.attackers.language import Words
from deniable.measure.attackers.surrogate import sample
from deniable.measure.estimate import Estimate
from deniable.text.release import Drawn
from deniable.words import WordMechanism, recovery
from deniable.words.prior import Frequencies, build_prior


@dataclasses.dataclass(frozen=True)
class Recovered:
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


def recovery_of(
    mechanism: WordMechanism, drawn: Drawn, *, prior: Frequencies = None, seed: int = 0, workers: int | None = None
) -> Recovered:
    """Return the share of words of privatized texts that the best guess names, one word at a time.

    Args:
        mechanism: what the attacker takes the texts to be drawn by.
        drawn: the texts; the interval takes their words as clusters.
        prior: how frequent words are to the attacker, see `deniable.recovery`; None for Zipf's law.
        seed: public, of the attacker's own draws where he needs a surrogate.
        workers: threads.

    Raises:
        InputError: no text holds a word that the vocabulary knows, or a prior that is none.
    """
    check(mechanism, drawn)
    weights = build_prior(mechanism.space, prior).weights
    likely = likelihood(mechanism, weights, seed=seed, workers=workers)
    best = guesses(likely, weights, drawn.outputs, 1, workers)
    named = best.words[best.row_of[mechanism.space.point_of[drawn.outputs]], 0]
    return counted(drawn, named, optimal=likely.optimal)


def simulated_recovery(
    mechanism: WordMechanism,
    *,
    prior: Frequencies = None,
    draws: int = 20_000,
    seed: int = 0,
    always: bool = False,
    workers: int | None = None,
) -> Recovered:
    """Return an attacker's success on words that follow a prior, for every mechanism: exact where that is known.

    Else it is the success of a surrogate, fitted to other draws than those it is counted on.

    Args:
        mechanism: known to the attacker.
        prior: see `recovery_of`.
        draws: words guessed, where the success is not known exactly.
        seed: public, of all draws.
        always: simulate even where the success is known, which for truncated Gumbel takes a minute to compute.
        workers: threads.

    Raises:
        InputError: fewer than 1 draw, or a prior that is none.
    """
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < 1:
        raise bad_parameter("simulated_recovery", "draws", "an int of at least 1", draws)
    if mechanism.has_law and not always:
        try:
            return Recovered(estimate.exact(recovery(mechanism, prior, workers)), 0, optimal=True)
        except NotTractable:
            pass  # too many words for an exact sum
    weights = build_prior(mechanism.space, prior).weights
    likely = likelihood(mechanism, weights, seed=seed, workers=workers)
    words, outputs = sample(mechanism, weights, draws, seed, "count", workers)
    best = guesses(likely, weights, outputs, 1, workers)
    named = best.words[best.row_of[mechanism.space.point_of[outputs]], 0]
    return Recovered(estimate.share(int((named == words).sum()), draws), 0, optimal=likely.optimal)


def check(mechanism: WordMechanism, drawn: Drawn) -> None:
    """Refuse texts without a word that the vocabulary knows, and those of a larger space.

    Raises:
        InputError: see above.
    """
    if drawn.stand_ins.all():
        raise InputError("An attack needs texts with words that the vocabulary knows. Got none: give other texts.")
    if max(int(drawn.words.max()), int(drawn.outputs.max())) >= len(mechanism.space):
        raise InputError(
            f"The texts hold word numbers beyond the {len(mechanism.space)} words of the mechanism: give a mechanism "
            "over the space that they were drawn from."
        )


def counted(drawn: Drawn, named: Words, *, optimal: bool) -> Recovered:
    """Return the share of words named, clustered by text, words unknown to the vocabulary left out."""
    known = ~drawn.stand_ins
    hits, counts = (
        np.diff(np.append(0, np.cumsum(trials))[drawn.offsets]) for trials in (known & (named == drawn.words), known)
    )
    found = estimate.clustered_share(hits, counts)
    return Recovered(found, int(drawn.stand_ins.sum()), optimal)
