"""Choosing an attacker, and the odds above which it guesses, on trials that the bound does not use."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from deniable.auditing import bounds
from deniable.auditing.attackers import ATTACKERS, InputScorer, list_suitable_attackers
from deniable.auditing.games import AuditClaim, Game, Score
from deniable.auditing.outputs import Outputs
from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError

_GUESS_SHARES = np.geomspace(1.0, 0.01, 30)
"""Shares of trials with a guess among which the best is chosen; in the others the attacker abstains."""
_FOLD_COUNT = 2
_CAUTION_ERRORS = 0.5
"""Standard errors by which a share of right guesses is lowered: the highest of many shares is too optimistic."""
_MIN_IMPROVEMENT = 2.0
"""An attacker replaces an earlier one if its expected bound is larger by this share, divided by sqrt(trials)."""


@dataclasses.dataclass(frozen=True)
class FittedAttacker:
    """A fitted attacker that guesses where its odds are high enough.

    Attributes:
        name: in `ATTACKERS`.
        scores: log-likelihoods of the inputs.
        threshold: it guesses where its log-odds exceed what the claim allows by at least this much.
        bound: the lower bound that is expected of it.
    """

    name: str
    scores: InputScorer
    threshold: float
    bound: float


def choose_attacker(
    game: Game,
    claim: AuditClaim,
    outputs: Outputs,
    sets: IntArray,
    places: IntArray,
    fresh_count: int,
    allowed: Sequence[str],
) -> FittedAttacker:
    """Return the attacker and threshold that do best on these trials by cross-fitting, fitted on all of them.

    The choice uses up nothing of alpha, since the bound rests on other trials.
    """
    labels = game.sets[sets, places]
    folds = np.empty(len(labels), dtype=np.int64)
    folds[np.argsort(labels, kind="stable")] = np.arange(len(labels)) % _FOLD_COUNT  # every input in each
    names = [name for name in list_suitable_attackers(game.inputs, outputs) if name in allowed]
    if not names:
        advice = "floats as outputs, or more samples" if allowed == ["precision"] else "more samples"
        raise InputError(
            f"No attacker can be fitted to {len(outputs)} outputs of {len(game.inputs)} inputs: give {advice}. "
            f"Got {outputs.description}."
        )
    best: FittedAttacker | None = None
    for name in names:
        fit_attacker = ATTACKERS[name]
        scores = np.zeros((len(outputs), len(game.inputs)))
        for fold in range(_FOLD_COUNT):
            fitting_rows, held_out_rows = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            fold_scores = fit_attacker(game.inputs, outputs.take(fitting_rows), labels[fitting_rows])
            scores[held_out_rows] = fold_scores(outputs.take(held_out_rows))
        threshold, bound = _choose_threshold(game, claim, scores, sets, places, fresh_count)
        if best is None or bound > (1 + _MIN_IMPROVEMENT / math.sqrt(len(outputs))) * best.bound:
            best = FittedAttacker(name, fit_attacker(game.inputs, outputs, labels), threshold, bound)
    return best  # type: ignore[return-value]  # names is never empty


def _choose_threshold(
    game: Game, claim: AuditClaim, scores: FloatArray, sets: IntArray, places: IntArray, fresh_count: int
) -> tuple[float, float]:
    """Return the log-odds above which to guess, and the bound that is expected of it."""
    guessed_places, log_odds = _guess_places(game, claim, scores, sets)
    best = (-math.inf, 0.0)
    for share in _GUESS_SHARES:
        threshold = float(np.quantile(log_odds, 1 - share))
        is_guessed = log_odds >= threshold
        count = int(is_guessed.sum())
        right = int((guessed_places == places)[is_guessed].sum())
        guesses = np.zeros_like(game.sets)
        np.add.at(guesses, (sets[is_guessed], guessed_places[is_guessed]), 1)
        scaled_guesses = np.rint(guesses * (fresh_count / len(sets))).astype(np.int64)
        if scaled_guesses.sum() > 0:
            right_share = (right + 0.5) / (count + 1)
            right_share -= _CAUTION_ERRORS * math.sqrt(right_share * (1 - right_share) / count)
            bound = bounds.estimate_lower_bound(game, right_share, scaled_guesses, claim, fresh_count)
            if bound > best[1]:
                best = (threshold, bound)
    return best


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
    guessed_places, log_odds = _guess_places(game, claim, attacker.scores(outputs), sets)
    is_guessed = log_odds >= attacker.threshold
    right, guesses = np.zeros_like(game.sets), np.zeros_like(game.sets)
    np.add.at(guesses, (sets[is_guessed], guessed_places[is_guessed]), 1)
    is_right = is_guessed & (guessed_places == true_places)
    np.add.at(right, (sets[is_right], guessed_places[is_right]), 1)
    return Score(right, guesses, len(sets))
