"""Players: an attacker fitted on some trials, with the odds from which on it guesses on others."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.auditing import bounds
from deniable.auditing.attackers import ATTACKERS, Scores, suitable
from deniable.auditing.games import Claim, Game, Score
from deniable.auditing.outputs import Outputs
from deniable.errors import InputError

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

_SHARES = np.geomspace(1.0, 0.01, 30)
"""Shares of trials with a guess among which the best is chosen; in the others the attacker abstains."""
_FOLDS = 2
_CAUTION = 0.5
"""Standard errors that a share of right guesses is taken to be lower than seen: the highest of many flatters."""
_BETTER = 2.0
"""How much more than those before it an attacker must promise, times the root of the trials fitted on."""


@dataclasses.dataclass(frozen=True)
class Player:
    """A fitted attacker who guesses where it is sure enough.

    Attributes:
        name: in `ATTACKERS`.
        scores: log-likelihoods of the inputs.
        threshold: log-odds beyond what the claim allows, from which on it guesses.
        bound: the lower bound to expect of it.
    """

    name: str
    scores: Scores
    threshold: float
    bound: float


def choose(
    game: Game,
    claim: Claim,
    outputs: Outputs,
    sets: Numbers,
    places: Numbers,
    ahead: int,
    allowed: Sequence[str],
) -> Player:
    """Return the attacker, and its threshold, that do best on these trials by cross-fitting, fitted on all.

    The choice spends nothing of alpha: other trials decide.
    """
    labels = game.sets[sets, places]
    folds = np.empty(len(labels), dtype=np.int64)
    folds[np.argsort(labels, kind="stable")] = np.arange(len(labels)) % _FOLDS  # every input in each
    names = [name for name in suitable(game.inputs, outputs) if name in allowed]
    if not names:
        need = "floats as outputs, or more samples" if allowed == ["precision"] else "more samples"
        raise InputError(
            f"No attacker can be fitted to {len(outputs)} outputs of {len(game.inputs)} inputs: give {need}. "
            f"Got {outputs.form}."
        )
    best: Player | None = None
    for name in names:
        fit = ATTACKERS[name]
        scores = np.zeros((len(outputs), len(game.inputs)))
        for fold in range(_FOLDS):
            rest, own = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            fitted = fit(game.inputs, outputs.take(rest), labels[rest])
            scores[own] = fitted(outputs.take(own))
        threshold, bound = _threshold(game, claim, scores, sets, places, ahead)
        if best is None or bound > (1 + _BETTER / math.sqrt(len(outputs))) * best.bound:
            best = Player(name, fit(game.inputs, outputs, labels), threshold, bound)
    return best  # type: ignore[return-value]  # names is never empty


def _threshold(
    game: Game, claim: Claim, scores: Array, sets: Numbers, places: Numbers, ahead: int
) -> tuple[float, float]:
    """Return from which log-odds on to guess, and the bound to expect from it."""
    named, sure = _guess(game, claim, scores, sets)
    best = (-math.inf, 0.0)
    for share in _SHARES:
        least = float(np.quantile(sure, 1 - share))
        chosen = sure >= least
        count = int(chosen.sum())
        right = int((named == places)[chosen].sum())
        guesses = np.zeros_like(game.sets)
        np.add.at(guesses, (sets[chosen], named[chosen]), 1)
        scaled = np.rint(guesses * (ahead / len(sets))).astype(np.int64)
        if scaled.sum() > 0:
            share_right = (right + 0.5) / (count + 1)
            share_right -= _CAUTION * math.sqrt(share_right * (1 - share_right) / count)
            bound = bounds.rough_bound(game, share_right, scaled, claim, ahead)
            if bound > best[1]:
                best = (least, bound)
    return best


def _guess(game: Game, claim: Claim, scores: Array, sets: Numbers) -> tuple[Numbers, Array]:
    """Return the likeliest place of each trial's set, and how far its log-odds exceed what the claim allows."""
    posterior = game.posterior(scores, sets)
    named = posterior.argmax(axis=1)
    chance = np.clip(posterior[np.arange(len(named)), named], 1e-300, 1 - 1e-15)
    cap = np.clip(game.caps(claim.epsilon)[sets, named], 1e-300, 1 - 1e-15)
    odds: Array = np.log(chance / (1 - chance)) - np.log(cap / (1 - cap))
    return named, odds


def play(game: Game, claim: Claim, player: Player, seen: Outputs, sets: Numbers, truths: Numbers) -> Score:
    """Return the score of fresh trials."""
    named, sure = _guess(game, claim, player.scores(seen), sets)
    chosen = sure >= player.threshold
    right, guesses = np.zeros_like(game.sets), np.zeros_like(game.sets)
    np.add.at(guesses, (sets[chosen], named[chosen]), 1)
    hits = chosen & (named == truths)
    np.add.at(right, (sets[hits], named[hits]), 1)
    return Score(right, guesses, len(sets))
