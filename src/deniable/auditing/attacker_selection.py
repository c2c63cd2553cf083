"""Choosing an attacker, and the odds above which it guesses, on trials that the bound does not use.

With the odds goes the share of trials that have them. The attacker that plays is fitted on more trials than those by
which it was chosen, and the highest score of a clipped or discrete law is a plateau, which may then lie just below any
score that was seen: then the surest trials are guessed, as many as were expected. Which ones these are follows from the
outputs alone. Given all outputs, the inputs of trials are independent, and each is what was guessed with a chance of at
most its cap, so that every bound holds.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from deniable.auditing import bounds
from deniable.auditing.attackers import ATTACKERS, InputScorer, list_suitable_attackers
from deniable.auditing.games import Claim, Game, Score, Trials
from deniable.core.arrays import BoolArray, FloatArray, IntArray
from deniable.core.errors import InputError

_GUESS_SHARES = np.geomspace(1.0, 0.01, 30)
"""Shares of trials with a guess among which the best is chosen; in the others the attacker abstains."""
_MAX_MISCOUNT = 1.5
"""Factor by which the number of guesses may miss the share that was chosen, before it is brought back to that share."""
_FOLD_COUNT = 2
_FOLD_SEED = 0
_CAUTIONS = ((1.5, 1.0), (0.5, 1e-3))
"""Standard errors by which a share of right guesses is lowered, and the weight of a bound that is then expected.

The highest of many shares is too optimistic, the more so the fewer guesses it has. Where much caution leaves no bound
at all, in audits of few samples, less of it decides.
"""
_MIN_IMPROVEMENT = 2.0
"""An attacker replaces an earlier one if its expected bound is larger by this share, divided by sqrt(trials)."""


@dataclasses.dataclass(frozen=True)
class FittedAttacker:
    """A fitted attacker that guesses where its odds are high enough.

    Attributes:
        name: in `ATTACKERS`.
        scores: log-likelihoods of the inputs.
        threshold: it guesses where its log-odds exceed what the claim allows by at least this much.
        share: of the trials that are expected to lie there; if far more or fewer do, the surest are guessed.
        bound: the lower bound that is expected of it.
        as_numbers: whether it sees no more than the numbers of texts.
    """

    name: str
    scores: InputScorer
    threshold: float
    share: float
    bound: float
    as_numbers: bool = False


def choose_attacker(
    game: Game, claim: Claim, trials: Trials, fresh_count: int, allowed: Sequence[str]
) -> FittedAttacker:
    """The attacker and threshold that do best on these trials by cross-fitting, fitted on all of them.

    The choice uses up nothing of alpha, since the bound rests on other trials.
    """
    outputs = trials.outputs
    labels = game.sets[trials.sets, trials.places]
    # Texts that hold numbers are read as both.
    readings = {False: outputs} | (
        {True: outputs.read_as_numbers()} if outputs.is_textual and outputs.has_numbers else {}
    )
    folds = np.empty(len(labels), dtype=np.int64)
    # Every input in each, in random order: outputs that alternate must not be parted from each other.
    order = np.random.default_rng(_FOLD_SEED).permutation(len(labels))
    folds[order[np.argsort(labels[order], kind="stable")]] = np.arange(len(labels)) % _FOLD_COUNT
    candidates = [
        (name, as_numbers)
        for as_numbers, reading in readings.items()
        for name in list_suitable_attackers(game.inputs, reading)
        if name in allowed
    ]
    if not candidates:
        advice = "floats as outputs, or more samples" if allowed == ["precision"] else "more samples"
        raise InputError(
            f"No attacker can be fitted to {len(outputs)} outputs of {len(game.inputs)} inputs: give {advice}. "
            f"Got {outputs.description}."
        )
    best: FittedAttacker | None = None
    for name, as_numbers in candidates:
        fit_attacker, reading = ATTACKERS[name][0], readings[as_numbers]
        scores = np.zeros((len(outputs), len(game.inputs)))
        for fold in range(_FOLD_COUNT):
            fitting_rows, held_out_rows = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            fold_scores = fit_attacker(game.inputs, reading.take(fitting_rows), labels[fitting_rows])
            scores[held_out_rows] = fold_scores(reading.take(held_out_rows))
        threshold, share, bound = _choose_threshold(game, claim, scores, trials, fresh_count)
        if best is None or bound > (1 + _MIN_IMPROVEMENT / math.sqrt(len(outputs))) * best.bound:
            best = FittedAttacker(name, fit_attacker(game.inputs, reading, labels), threshold, share, bound, as_numbers)
    return best  # type: ignore[return-value]  # there is a candidate


def _choose_threshold(
    game: Game, claim: Claim, scores: FloatArray, trials: Trials, fresh_count: int
) -> tuple[float, float, float]:
    """The log-odds above which to guess, the share of trials above it, and the bound that is expected of it."""
    sets = trials.sets
    guessed_places, log_odds = _guess_places(game, claim, scores, sets)
    is_right = guessed_places == trials.places
    best = (-math.inf, 1.0, 0.0)
    for share in _GUESS_SHARES:
        threshold = float(np.quantile(log_odds, 1 - share))
        is_guessed = log_odds >= threshold
        count = int(is_guessed.sum())
        guesses = np.zeros_like(game.sets)
        np.add.at(guesses, (sets[is_guessed], guessed_places[is_guessed]), 1)
        scaled_guesses = np.rint(guesses * (fresh_count / len(sets))).astype(np.int64)
        if scaled_guesses.sum() > 0:
            bound = _estimate_bound(game, claim, int(is_right[is_guessed].sum()), count, scaled_guesses, fresh_count)
            if bound > best[2]:
                best = (threshold, count / len(sets), bound)
    return best


def _estimate_bound(
    game: Game, claim: Claim, right: int, count: int, scaled_guesses: IntArray, fresh_count: int
) -> float:
    """The bound to expect where so many of ``count`` guesses were right, see `_CAUTIONS`."""
    right_share = (right + 0.5) / (count + 1)
    error = math.sqrt(right_share * (1 - right_share) / count)
    for caution, weight in _CAUTIONS:
        share = right_share - caution * error
        bound = bounds.estimate_lower_bound(game, share, scaled_guesses, claim, fresh_count)
        if bound > 0:
            return weight * bound
    return 0.0


def _select_surest(log_odds: FloatArray, share: float) -> BoolArray:
    """Which trials are guessed: the surest, as nearly a share of all as their ties allow.

    Of two numbers of guesses the one is taken whose ratio to that share is nearer 1, none among them.
    """
    levels, level_counts = np.unique(-log_odds, return_counts=True)
    counts = np.append(0, np.cumsum(level_counts))
    gaps = np.abs(np.log((counts + 0.5) / (share * len(log_odds) + 0.5)))
    is_guessed: BoolArray = -log_odds <= np.append(-math.inf, levels)[gaps.argmin()]
    return is_guessed


def _guess_places(game: Game, claim: Claim, scores: FloatArray, sets: IntArray) -> tuple[IntArray, FloatArray]:
    """The likeliest place of each trial's set, and how far its log-odds exceed what the claim allows."""
    posterior = game.posterior(scores, sets)
    guessed_places = posterior.argmax(axis=1)
    chance = np.clip(posterior[np.arange(len(guessed_places)), guessed_places], 1e-300, 1 - 1e-15)
    cap = np.clip(game.caps(claim.epsilon)[sets, guessed_places], 1e-300, 1 - 1e-15)
    log_odds: FloatArray = np.log(chance / (1 - chance)) - np.log(cap / (1 - cap))
    return guessed_places, log_odds


def score_trials(game: Game, claim: Claim, attacker: FittedAttacker, trials: Trials) -> Score:
    """The score of fresh trials."""
    sets, seen = trials.sets, trials.outputs.read_as_numbers() if attacker.as_numbers else trials.outputs
    guessed_places, log_odds = _guess_places(game, claim, attacker.scores(seen), sets)
    is_guessed = log_odds >= attacker.threshold
    expected_guesses = attacker.share * len(sets)
    if not expected_guesses / _MAX_MISCOUNT <= is_guessed.sum() <= expected_guesses * _MAX_MISCOUNT:
        is_guessed = _select_surest(log_odds, attacker.share)
    right, guesses = np.zeros_like(game.sets), np.zeros_like(game.sets)
    np.add.at(guesses, (sets[is_guessed], guessed_places[is_guessed]), 1)
    is_right = is_guessed & (guessed_places == trials.places)
    np.add.at(right, (sets[is_right], guessed_places[is_right]), 1)
    return Score(right, guesses, len(sets))
