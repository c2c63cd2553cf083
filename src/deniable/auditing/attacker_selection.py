"""Choosing an attacker, and the share of trials in which it guesses, on trials that the bound does not use.

A share, and not a score above which to guess: the attacker that plays is fitted on more trials than those by which it
was chosen, and the highest score of a clipped or discrete law is a plateau, which may then lie just below any score
that was seen. Which trials are guessed is decided by their outputs alone. Given all outputs the inputs of trials are
independent, and each is what was guessed with a chance of at most its cap, so that every bound holds.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from deniable.auditing import bounds
from deniable.auditing.attackers import ATTACKERS, InputScorer, list_suitable_attackers
from deniable.auditing.games import AuditClaim, Game, Score
from deniable.auditing.outputs import Outputs
from deniable.core.arrays import BoolArray, FloatArray, IntArray
from deniable.core.errors import InputError

_GUESS_SHARES = np.geomspace(1.0, 0.01, 30)
"""Shares of trials with a guess among which the best is chosen; in the others the attacker abstains."""
_FOLD_COUNT = 2
_FOLD_SEED = 0
_CAUTION_ERRORS = 1.0
"""Standard errors by which a share of right guesses is lowered: the highest of many shares is too optimistic."""
_MIN_IMPROVEMENT = 2.0
"""An attacker replaces an earlier one if its expected bound is larger by this share, divided by sqrt(trials)."""


@dataclasses.dataclass(frozen=True)
class FittedAttacker:
    """A fitted attacker that guesses where its odds are high enough.

    Attributes:
        name: in `ATTACKERS`.
        scores: log-likelihoods of the inputs.
        share: of the trials in which it guesses: those where its log-odds exceed what the claim allows by most.
        bound: the lower bound that is expected of it.
        as_numbers: whether it sees no more than the numbers of texts.
    """

    name: str
    scores: InputScorer
    share: float
    bound: float
    as_numbers: bool = False


def choose_attacker(
    game: Game,
    claim: AuditClaim,
    outputs: Outputs,
    sets: IntArray,
    places: IntArray,
    fresh_count: int,
    allowed: Sequence[str],
) -> FittedAttacker:
    """Return the attacker and share of guesses that do best on these trials by cross-fitting, fitted on all of them.

    The choice uses up nothing of alpha, since the bound rests on other trials.
    """
    labels = game.sets[sets, places]
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
        fit_attacker, reading = ATTACKERS[name], readings[as_numbers]
        scores = np.zeros((len(outputs), len(game.inputs)))
        for fold in range(_FOLD_COUNT):
            fitting_rows, held_out_rows = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            fold_scores = fit_attacker(game.inputs, reading.take(fitting_rows), labels[fitting_rows])
            scores[held_out_rows] = fold_scores(reading.take(held_out_rows))
        share, bound = _choose_share(game, claim, scores, folds, sets, places, fresh_count)
        if best is None or bound > (1 + _MIN_IMPROVEMENT / math.sqrt(len(outputs))) * best.bound:
            best = FittedAttacker(name, fit_attacker(game.inputs, reading, labels), share, bound, as_numbers)
    return best  # type: ignore[return-value]  # there is a candidate


def _choose_share(
    game: Game,
    claim: AuditClaim,
    scores: FloatArray,
    folds: IntArray,
    sets: IntArray,
    places: IntArray,
    fresh_count: int,
) -> tuple[float, float]:
    """Return the share of trials to guess, and the bound that is expected of it.

    The surest trials are taken of each fold by itself: the scores of two models are not on one scale.
    """
    guessed_places, log_odds = _guess_places(game, claim, scores, sets)
    rows_by_fold = [np.flatnonzero(folds == fold) for fold in range(_FOLD_COUNT)]
    ranks_by_fold = [_rank_trials(log_odds[rows]) for rows in rows_by_fold]
    is_right = guessed_places == places
    best = (1.0, 0.0)
    for share in _GUESS_SHARES:
        is_guessed = np.zeros(len(sets), dtype=np.bool_)
        for rows, ranks in zip(rows_by_fold, ranks_by_fold, strict=True):
            is_guessed[rows] = _select_surest(ranks, share)
        count = int(is_guessed.sum())
        guesses = np.zeros_like(game.sets)
        np.add.at(guesses, (sets[is_guessed], guessed_places[is_guessed]), 1)
        scaled_guesses = np.rint(guesses * (fresh_count / len(sets))).astype(np.int64)
        if scaled_guesses.sum() > 0:
            right_share = (int(is_right[is_guessed].sum()) + 0.5) / (count + 1)
            right_share -= _CAUTION_ERRORS * math.sqrt(right_share * (1 - right_share) / count)
            bound = bounds.estimate_lower_bound(game, right_share, scaled_guesses, claim, fresh_count)
            if bound > best[1]:
                best = (float(share), bound)
    # Of fresh trials so many are as sure, on average, as the least sure of k in n trials: k / (n + 1).
    return best[0] * len(sets) / (len(sets) + 1), best[1]


def _rank_trials(log_odds: FloatArray) -> IntArray:
    """Return how many trials are at least as sure as each; trials of equal log-odds have one rank."""
    ranks: IntArray = len(log_odds) - np.searchsorted(np.sort(log_odds), log_odds, side="left")
    return ranks


def _select_surest(ranks: IntArray, share: float) -> BoolArray:
    """Return which trials are guessed: the surest, as nearly a share of all as their ties allow.

    Of two numbers of guesses the one is taken whose ratio to that share is nearer 1, none among them.
    """
    counts = np.append(0, np.unique(ranks))
    gaps = np.abs(np.log((counts + 0.5) / (share * len(ranks) + 0.5)))
    is_guessed: BoolArray = ranks <= counts[gaps.argmin()]
    return is_guessed


def _guess_places(game: Game, claim: AuditClaim, scores: FloatArray, sets: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the likeliest place of each trial's set, and how far its log-odds exceed what the claim allows."""
    posterior = game.posterior(scores, sets)
    guessed_places = posterior.argmax(axis=1)
    chance = np.clip(posterior[np.arange(len(guessed_places)), guessed_places], 1e-300, 1 - 1e-15)
    cap = np.clip(game.caps(claim.epsilon)[sets, guessed_places], 1e-300, 1 - 1e-15)
    log_odds: FloatArray = np.log(chance / (1 - chance)) - np.log(cap / (1 - cap))
    return guessed_places, log_odds


def score_trials(
    game: Game, claim: AuditClaim, attacker: FittedAttacker, outputs: Outputs, sets: IntArray, true_places: IntArray
) -> Score:
    """Return the score of fresh trials."""
    seen = outputs.read_as_numbers() if attacker.as_numbers else outputs
    guessed_places, log_odds = _guess_places(game, claim, attacker.scores(seen), sets)
    is_guessed = _select_surest(_rank_trials(log_odds), attacker.share)
    right, guesses = np.zeros_like(game.sets), np.zeros_like(game.sets)
    np.add.at(guesses, (sets[is_guessed], guessed_places[is_guessed]), 1)
    is_right = is_guessed & (guessed_places == true_places)
    np.add.at(right, (sets[is_right], guessed_places[is_right]), 1)
    return Score(right, guesses, len(sets))
