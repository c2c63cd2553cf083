"""Black-box audits: what a mechanism's outputs, and nothing else, say against its claim."""

import contextlib
import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.auditing import bounds
from deniable.auditing.attacker_selection import FittedAttacker, choose_attacker, score_trials
from deniable.auditing.attackers import ATTACKER_DESCRIPTIONS, ATTACKERS
from deniable.auditing.float_precision import choose_grid_exponent
from deniable.auditing.forms import abbreviate
from deniable.auditing.games import (
    AuditClaim,
    AuditMethod,
    Game,
    Score,
    build_claim,
    build_game,
    check_method,
    make_coins,
)
from deniable.auditing.outputs import Outputs
from deniable.auditing.samplers import OutOfTimeError, Sampler, SamplerRunner
from deniable.core.arguments import refuse_wrong_calls
from deniable.core.arrays import IntArray
from deniable.core.errors import check_count, check_positive, make_parameter_error
from deniable.core.evidence import Verdict, Witness

MIN_SAMPLES = 20
"""With fewer samples an audit could show next to nothing."""
MAX_SAMPLES = 100_000_000
"""More samples would not fit in memory."""
_FITTING_SHARE = 1 / 3
"""Share of the samples that the attacker is fitted on."""
_FIRST_ROUND_TRIALS = 32
"""Trials before the first guess of an anytime audit; each later round is as large as all before it."""
_ROUNDED_ALPHA_SHARE = 0.1
"""Share of alpha for a second bound, on rounded outputs, where last bits are read: both bounds hold at level alpha."""
_ROUNDING_DEFEATS = {"precision", "form"}
"""Attackers that look at how numbers are given: beside their verdict stands that on rounded numbers."""
_EVENTS = {
    "precision": " by the last bits of its floats and not by their values (the float-precision event, Mironov 2012)",
    "form": " by how the output is given: its type, or how it is written",
}


@refuse_wrong_calls
def audit(
    sampler: Sampler,
    x: Any = None,  # noqa: ANN401 - whatever the sampler takes
    x_prime: Any = None,  # noqa: ANN401 - the same
    *,
    claim: float,
    candidates: Sequence[Any] | None = None,
    pairs: Sequence[tuple[Any, Any]] | None = None,
    distance: "float | Sequence[float] | npt.ArrayLike | Callable[[Any, Any], float]" = 1.0,
    delta: float = 0.0,
    confidence: float = 0.95,
    samples: int = 10_000,
    method: AuditMethod = "auto",
    batched: bool = False,
    seconds: float | None = None,
    seed: int | None = None,
) -> Verdict:
    """Audit a mechanism that can only be run: a lower confidence bound on its privacy loss.

    Inputs are drawn by fair chance, the sampler is run on each, and an attacker who was fitted on
    other runs guesses which input it was, or abstains. Too many right guesses refute the claim
    (`deniable.auditing.games`). No audit can show that a mechanism is private: the verdict is
    ``refuted`` or ``not refuted``, the latter with ``detectable_epsilon``,
    the violation it would have seen.

    Give two inputs ``x`` and ``x_prime``, or several ``pairs`` (their trials pool, each pair with its
    own distance), or ``candidates`` among which the input is to be identified: two inputs show
    no loss beyond about ln(samples), and K candidates show larger ones the more they are.

    Args:
        sampler: takes an input, returns one output: a number, an array, a word, a text or a list of
            words. It must be the whole mechanism, with fresh randomness in every call. Outputs are compared as they
            come, their types included: 3 and 3.0 are two outputs.
        x: an input.
        x_prime: another.
        claim: epsilon >= 0, per unit of distance.
        candidates: K >= 2 inputs.
        pairs: pairs of inputs.
        distance: between x and x_prime; one for each pair; an array (K, K) for candidates; or a
            function of two inputs. The claim between them is a loss of at most claim * distance.
        delta: of an (epsilon, delta) claim, in [0, 1).
        confidence: of the lower bound, in (0, 1).
        samples: calls of the sampler, a third of them for fitting.
        method: ``auto`` plays the game that the inputs make, with every attacker; ``coin``,
            ``pooled`` or ``candidates`` name that game, and leave out the last bits of floats; ``precision``
            uses those bits only; ``anytime`` is ``auto`` that stops as soon as the
            claim is refuted, or at ``samples`` or ``seconds``. Where last bits are what refutes, or how numbers are
            given, the verdict on numbers rounded to a grid is reported too: by the same samples, or
            by those that are left.
        batched: the sampler takes m inputs (a list, or an array with numbers stacked in its first
            axis) and returns m outputs, each with randomness of its own.
        seconds: budget of time, looked at between calls. It ends an anytime audit with a verdict, and
            others with an error.
        seed: of the audit's own coins; None for fresh ones.

    Returns:
        A `Verdict`: ``lower_bound`` on epsilon per unit of distance at the given confidence,
        ``samples`` used, the ``witness`` event, ``detectable_epsilon``, and ``rounded_verdict`` where what
        refutes is how numbers are given, such as their last bits (Mironov 2012). Both bounds together hold at
        the given confidence.

    Raises:
        InputError: a parameter out of its domain; a sampler that raises, prints, returns NaN, or
            changes the shape of its outputs; out of time.
    """
    if not callable(sampler):
        raise make_parameter_error("audit", "sampler", "a callable that takes an input and returns one output", sampler)
    game = build_game(x, x_prime, candidates, pairs, distance)
    audit_claim = build_claim(claim, delta, confidence, game)
    check_method(method, game, audit_claim, candidates is not None, pairs is not None)
    check_count("audit", "samples", samples, MIN_SAMPLES, MAX_SAMPLES)
    if seconds is not None:
        check_positive("audit", "seconds", seconds)
    runner = SamplerRunner(sampler, game.inputs, batched=batched, seconds=seconds)
    run_audit = _audit_anytime if method == "anytime" else _audit_fixed
    return run_audit(
        game, audit_claim, runner, int(samples), make_coins("audit", seed), _list_allowed_attackers(method)
    )


def _list_allowed_attackers(method: AuditMethod) -> Sequence[str]:
    """Return the names of the attackers that a method allows: those that read last bits, values, or both."""
    if method == "precision":
        return ["precision"]
    return [name for name in ATTACKERS if name != "precision" or method in {"auto", "anytime"}]


@dataclasses.dataclass(frozen=True)
class _Trials:
    """Trials of a game: outputs, the set of each, and the place of its input in the set."""

    outputs: Outputs
    sets: IntArray
    places: IntArray

    def append(self, later: "_Trials") -> "_Trials":
        return _Trials(
            self.outputs.append(later.outputs), np.append(self.sets, later.sets), np.append(self.places, later.places)
        )

    def round_outputs(self, exponent: int) -> "_Trials":
        return dataclasses.replace(self, outputs=self.outputs.round(exponent))


def _audit_fixed(
    game: Game,
    claim: AuditClaim,
    runner: SamplerRunner,
    samples: int,
    coins: np.random.Generator,
    allowed: Sequence[str],
) -> Verdict:
    """Fit on a third of the samples, guess on the others, and bound the loss once."""
    fitting_count = max(int(samples * _FITTING_SHARE), MIN_SAMPLES // 2)
    fitting_trials = _run_trials(game, runner, *_draw_balanced_trials(game, fitting_count, coins))
    attacker = _choose_attacker(game, claim, fitting_trials, samples - fitting_count, allowed)
    fresh_trials = _run_trials(game, runner, *_draw_random_trials(game, samples - fitting_count, coins))
    fitting_trials.outputs.append(fresh_trials.outputs)
    can_round = attacker.name in _ROUNDING_DEFEATS and fresh_trials.outputs.has_numbers and len(allowed) > 1
    verdict = _judge_guesses(
        game,
        claim,
        runner,
        attacker,
        fresh_trials,
        "fixed number of samples",
        alpha_share=1 - _ROUNDED_ALPHA_SHARE if can_round else 1.0,
    )
    return (
        _add_rounded_verdict(verdict, game, claim, runner, fitting_trials, fresh_trials, allowed)
        if can_round
        else verdict
    )


def _judge_guesses(
    game: Game,
    claim: AuditClaim,
    runner: SamplerRunner,
    attacker: FittedAttacker,
    trials: _Trials,
    design: str,
    *,
    alpha_share: float = 1.0,
) -> Verdict:
    """Return the verdict of an attacker's guesses on fresh trials, at a share of alpha."""
    score = score_trials(game, claim, attacker, trials.outputs, trials.sets, trials.places)
    alpha = alpha_share * claim.alpha
    lower_bound = bounds.compute_lower_bound(game, score, alpha, claim.delta)
    detectable = bounds.compute_detectable_epsilon(game, score.guesses, claim.epsilon, alpha, claim.delta, score.trials)
    return _make_verdict(game, claim, runner, score, lower_bound, detectable, attacker.name, design)


def _add_rounded_verdict(
    verdict: Verdict,
    game: Game,
    claim: AuditClaim,
    runner: SamplerRunner,
    fitting_trials: _Trials,
    fresh_trials: _Trials,
    allowed: Sequence[str],
) -> Verdict:
    """Return a verdict and, where it refutes, with it that of the same game on rounded outputs.

    The grid and the attacker are chosen on the fitting trials alone; the bound rests on the fresh ones.
    """
    if verdict.status != "refuted":
        return verdict
    exponent = choose_grid_exponent(fitting_trials.outputs.values)
    fitting_trials, fresh_trials = fitting_trials.round_outputs(exponent), fresh_trials.round_outputs(exponent)
    attacker = _choose_attacker(game, claim, fitting_trials, len(fresh_trials.outputs), allowed)
    design = f"outputs rounded to multiples of 2^{exponent}, fixed number of samples"
    return dataclasses.replace(
        verdict,
        rounded_verdict=_judge_guesses(
            game, claim, runner, attacker, fresh_trials, design, alpha_share=_ROUNDED_ALPHA_SHARE
        ),
    )


def _audit_anytime(
    game: Game,
    claim: AuditClaim,
    runner: SamplerRunner,
    samples: int,
    coins: np.random.Generator,
    allowed: Sequence[str],
) -> Verdict:
    """Play rounds, each with an attacker fitted on all earlier ones, until the claim is refuted or the budget spent."""
    score = Score(np.zeros_like(game.sets), np.zeros_like(game.sets), 0)
    lower_bound, attacker_name, stop_reason, alpha = 0.0, "none", "budget of samples spent", claim.alpha
    sets, places = _draw_balanced_trials(game, min(max(_FIRST_ROUND_TRIALS, 4 * len(game.inputs)), samples // 2), coins)
    fitting_trials = None
    try:
        fitting_trials = _run_trials(game, runner, sets, places)
        alpha *= 1 - _ROUNDED_ALPHA_SHARE if fitting_trials.outputs.has_numbers and len(allowed) > 1 else 1.0
        while runner.calls < samples:
            attacker = _choose_attacker(game, claim, fitting_trials, samples - len(sets), allowed)
            fresh_trials = _run_trials(
                game,
                runner,
                *_draw_random_trials(game, min(len(fitting_trials.outputs), samples - runner.calls), coins),
            )
            score += score_trials(game, claim, attacker, fresh_trials.outputs, fresh_trials.sets, fresh_trials.places)
            lower_bound, attacker_name = (
                max(lower_bound, bounds.compute_anytime_bound(game, score, alpha)),
                attacker.name,
            )
            fitting_trials = fitting_trials.append(fresh_trials)
            if bounds.compute_log_e_value(game, score, claim.epsilon) >= math.log(1 / alpha):
                stop_reason = "stopped when convinced"
                break
    except OutOfTimeError:
        stop_reason = "budget of time spent"
    detectable = bounds.compute_anytime_detectable_epsilon(game, score.guesses, claim.epsilon, alpha)
    verdict = _make_verdict(
        game, claim, runner, score, lower_bound, detectable, attacker_name, f"anytime-valid, {stop_reason}"
    )
    remaining = samples - runner.calls
    can_round = attacker_name in _ROUNDING_DEFEATS and len(allowed) > 1 and remaining >= MIN_SAMPLES
    if fitting_trials is None or not can_round or not fitting_trials.outputs.has_numbers:
        return verdict
    with contextlib.suppress(OutOfTimeError):
        fresh_trials = _run_trials(game, runner, *_draw_random_trials(game, remaining, coins))
        fitting_trials.outputs.append(fresh_trials.outputs)
        return _add_rounded_verdict(verdict, game, claim, runner, fitting_trials, fresh_trials, allowed)
    return verdict


def _run_trials(game: Game, runner: SamplerRunner, sets: IntArray, places: IntArray) -> _Trials:
    return _Trials(runner.collect_outputs(game.sets[sets, places]), sets, places)


def _choose_attacker(
    game: Game, claim: AuditClaim, fitting_trials: _Trials, fresh_count: int, allowed: Sequence[str]
) -> FittedAttacker:
    return choose_attacker(
        game, claim, fitting_trials.outputs, fitting_trials.sets, fitting_trials.places, fresh_count, allowed
    )


def _draw_balanced_trials(game: Game, count: int, coins: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Return sets and places of trials to fit on: all equally often, in random order."""
    order = coins.permutation(np.arange(count) % game.sets.size)
    return order // game.sets.shape[1], order % game.sets.shape[1]


def _draw_random_trials(game: Game, count: int, coins: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Return sets and places of trials to guess: each drawn afresh, which is what the bounds rest on."""
    return coins.integers(len(game.sets), size=count), coins.integers(game.sets.shape[1], size=count)


def _make_verdict(
    game: Game,
    claim: AuditClaim,
    runner: SamplerRunner,
    score: Score,
    lower_bound: float,
    detectable: float,
    attacker: str,
    design: str,
) -> Verdict:
    right, guesses = int(score.right.sum()), int(score.guesses.sum())
    best_place = np.unravel_index(np.argmax(score.right), score.right.shape)
    members = game.sets[best_place[0]]
    other_place = int(
        np.argmin(game.distances[best_place] + np.where(np.arange(len(members)) == best_place[1], np.inf, 0))
    )
    distance = float(game.distances[best_place][other_place])
    witness = Witness(
        input=abbreviate(game.inputs[members[best_place[1]]]),
        other=abbreviate(game.inputs[members[other_place]]),
        output=f"attacker {attacker!r} names the input{_EVENTS.get(attacker, '')}",
        distance=distance,
        loss=lower_bound * distance,
        correct_guesses=right,
        guesses=guesses,
    )
    game_name = "coin-flip game" if len(game.inputs) == 2 else f"{len(game.sets)} pooled pairs"  # noqa: PLR2004 - a coin
    if game.sets.shape[1] > 2:  # noqa: PLR2004 - a coin
        game_name = f"identification among {game.sets.shape[1]} candidates"
    return Verdict(
        guarantee=claim.guarantee,
        status="refuted" if lower_bound > claim.epsilon else "not refuted",
        epsilon=math.inf,
        lower_bound=lower_bound,
        confidence=1 - claim.alpha,
        samples=runner.calls,
        witness=witness if guesses else None,
        method=f"{game_name}, {design}, attacker {attacker!r} ({ATTACKER_DESCRIPTIONS[attacker]}) chosen and fitted on "
        "other samples",
        seconds=runner.elapsed,
        detectable_epsilon=detectable,
    )
