"""Black-box audits: what a mechanism's outputs, and nothing else, say against its claim.

Running a mechanism under audit: calls that are counted, timed and checked.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from deniable.auditing import bounds
from deniable.auditing.attacker_selection import FittedAttacker, choose_attacker, score_trials
from deniable.auditing.attackers import ATTACKERS
from deniable.auditing.calls import call_user_function, copy_value, refuse_printing
from deniable.auditing.games import Claim, Game, Score, Trials, build_game, make_coins, state_guarantee
from deniable.auditing.outputs import Outputs, abbreviate, choose_grid_exponent, parse_outputs
from deniable.core.arrays import IntArray
from deniable.core.errors import InputError, check_count, check_positive, make_parameter_error
from deniable.core.guarantees import Verdict, Witness
from deniable.core.parallel import get_progress_reporter

Sampler = Callable[[Any], Any]


class OutOfTimeError(InputError):
    """The budget of seconds is spent before all samples are drawn."""


@dataclasses.dataclass
class SamplerRunner:
    """The runs of one audit.

    Attributes:
        sampler: what is run.
        inputs: by number.
        batched: whether it takes many of them at once.
        seconds: that all runs may take; None for any time.
        calls: outputs drawn so far.
        columns: how many numbers texts hold; None while that is not known.
        start: clock reading when the audit began.
    """

    sampler: Sampler
    inputs: Sequence[Any]
    batched: bool
    seconds: float | None
    calls: int = 0
    columns: int | None = None
    start: float = dataclasses.field(default_factory=time.perf_counter)

    @property
    def elapsed(self) -> float:
        """Seconds since the audit began."""
        return time.perf_counter() - self.start

    def collect_outputs(self, numbers: IntArray) -> Outputs:
        """One output for each input, given by number.

        Raises:
            InputError: the sampler raises, prints, or returns what cannot be audited.
            OutOfTimeError: the budget of seconds is spent.
        """
        inputs = [self.inputs[number] for number in numbers]
        with refuse_printing("The sampler"):
            raw_outputs = self._call_batch(inputs) if self.batched else self._call_each(inputs)
        outputs = parse_outputs(raw_outputs, self.columns)
        if outputs.is_textual:
            self.columns = outputs.values.shape[1]
        return outputs

    def _call_each(self, inputs: Sequence[Any]) -> list[Any]:
        report = get_progress_reporter()
        report(0, len(inputs))
        outputs = []
        for value in inputs:
            self._check_time()
            # A copy: some samplers return the same array every time.
            outputs.append(copy_value(call_user_function(self.sampler, "The sampler", value)))
            self.calls += 1
            report(len(outputs), len(inputs))
        return outputs

    def _call_batch(self, inputs: Sequence[Any]) -> list[Any]:
        self._check_time()
        outputs = copy_value(call_user_function(self.sampler, "The sampler", _stack_inputs(inputs)))
        is_sequence = isinstance(outputs, Sequence | np.ndarray) and not isinstance(outputs, str)
        is_sequence &= getattr(outputs, "ndim", 1) > 0
        if not is_sequence or len(outputs) != len(inputs):
            size = f"{len(outputs)}" if is_sequence else abbreviate(outputs)
            raise InputError(f"A batched sampler must return one output for each input. Got {size} for {len(inputs)}.")
        self.calls += len(inputs)
        return list(outputs)

    def _check_time(self) -> None:
        if self.seconds is not None and self.elapsed > self.seconds:
            raise OutOfTimeError(
                f"The sampler made {self.calls:,} calls in {self.seconds:g} seconds, fewer than asked for: ask for "
                "fewer samples, give it more seconds, or choose the method anytime, which stops with what it has."
            )


def _stack_inputs(inputs: Sequence[Any]) -> Any:  # noqa: ANN401 - an array or a list
    """Inputs for a batched sampler: numbers of one shape stacked in the first axis, others as a list."""
    # Stacked, a masked array would lose its mask, and any other kind of array what it adds.
    if not all(type(value) is np.ndarray or isinstance(value, (float, int)) for value in inputs):
        return list(inputs)
    shapes = {np.shape(value) for value in inputs}
    return np.stack(inputs) if len(shapes) == 1 else list(inputs)


AuditMethod = Literal["auto", "coin", "candidates", "pooled", "anytime", "precision"]
MIN_SAMPLES = 20
"""With fewer samples an audit could show next to nothing."""
_MAX_SAMPLES = 100_000_000
"""More samples would not fit in memory."""
_FITTING_SHARE = 1 / 3
"""Share of the samples that the attacker is fitted on."""
_FIRST_ROUND_TRIALS = 32
"""Trials before the first guess of an anytime audit; each later round is as large as all before it."""
_ROUNDED_ALPHA_SHARE = 0.1
"""Share of alpha for a second bound, on rounded outputs, where last bits are read: both bounds hold at level alpha."""
_ROUNDING_DEFEATS = {
    "precision": " by the last bits of its floats and not by their values (the float-precision event, Mironov 2012)",
    "form": " by how the output is given: its type, or how it is written",
}
"""Attackers that look at how numbers are given: beside their verdict stands that on rounded numbers."""


@dataclasses.dataclass(frozen=True)
class AuditOptions:
    """How a black box is audited.

    Attributes:
        candidates: K >= 2 inputs, in place of x and x_prime.
        pairs: pairs of inputs, in place of x and x_prime.
        distance: between x and x_prime; one for each pair; an array (K, K) for candidates; or a
            function of two inputs. The claim between them is a loss of at most claim * distance.
        confidence: of the lower bound, in (0, 1).
        samples: calls of the sampler, a third of them for fitting.
        method: ``auto`` plays the game that the inputs make, with every attacker; ``coin``,
            ``pooled`` or ``candidates`` name that game, and leave out the last bits of floats; ``precision``
            uses those bits only; ``anytime`` is ``auto`` that stops as soon as the
            claim is refuted, or at ``samples`` or ``seconds``. Where last bits are what refutes, or how numbers are
            given, the verdict on numbers rounded to a grid is reported too, by the same samples: not by ``anytime``.
        batched: the sampler takes m inputs (a list, or an array with numbers stacked in its first
            axis) and returns m outputs, each with randomness of its own.
        seconds: budget of time, looked at between calls. It ends an anytime audit with a verdict, and
            others with an error.
        seed: of the audit's own coins; None for fresh ones.
    """

    candidates: Sequence[Any] | None = None
    pairs: Sequence[tuple[Any, Any]] | None = None
    distance: "float | Sequence[float] | npt.ArrayLike | Callable[[Any, Any], float]" = 1.0
    confidence: float = 0.95
    samples: int = 10_000
    method: AuditMethod = "auto"
    batched: bool = False
    seconds: float | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        check_count("audit", "samples", self.samples, MIN_SAMPLES, _MAX_SAMPLES)
        if self.seconds is not None:
            check_positive("audit", "seconds", self.seconds)
        if self.method not in get_args(AuditMethod):
            raise make_parameter_error("audit", "method", f"one of {', '.join(get_args(AuditMethod))}", self.method)
        fitting = "candidates" if self.candidates is not None else "pooled" if self.pairs is not None else "coin"
        if self.method in {"coin", "candidates", "pooled"} and self.method != fitting:
            raise InputError(f"The method {self.method!r} does not fit the inputs given: take {fitting!r}.")

    @property
    def attackers(self) -> Sequence[str]:
        """The attackers that the method allows: those that read last bits, values, or both."""
        if self.method == "precision":
            return ["precision"]
        return [name for name in ATTACKERS if name != "precision" or self.method in {"auto", "anytime"}]


def audit(
    sampler: Sampler,
    x: Any = None,  # noqa: ANN401 - whatever the sampler takes
    x_prime: Any = None,  # noqa: ANN401 - the same
    *,
    claim: float,
    delta: float = 0.0,
    **options: Any,  # noqa: ANN401 - the fields of `AuditOptions`
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
        delta: of an (epsilon, delta) claim, in [0, 1).
        **options: the fields of `AuditOptions`: ``candidates``, ``distance``, ``samples`` and others.

    Returns:
        A `Verdict`: ``lower_bound`` on epsilon per unit of distance at the given confidence,
        ``samples`` used, the ``witness`` event, ``detectable_epsilon``, and ``rounded_verdict`` where what
        refutes is how numbers are given, such as their last bits (Mironov 2012). Both bounds together hold at
        the given confidence.

    Raises:
        InputError: a parameter out of its domain; a sampler that raises, returns NaN, or
            changes the shape of its outputs; out of time.
        TypeError: an unknown option.
    """
    how = AuditOptions(**options)
    if not callable(sampler):
        raise make_parameter_error("audit", "sampler", "a callable that takes an input and returns one output", sampler)
    game = build_game((x, x_prime), how.candidates, how.pairs, how.distance)
    tested = Claim(state_guarantee(claim, delta, game), how.confidence)
    if delta > 0 and (how.method == "anytime" or game.sets.shape[1] > 2):  # noqa: PLR2004 - a coin
        raise InputError("A claim with delta > 0 is audited on two inputs or pairs, with a fixed number of samples.")
    runner = SamplerRunner(sampler, game.inputs, batched=how.batched, seconds=how.seconds)
    playing = _Play(game, tested, runner, make_coins("audit", how.seed), how.attackers)
    return playing.play_anytime(how.samples) if how.method == "anytime" else playing.play_once(how.samples)


@dataclasses.dataclass(frozen=True)
class _Play:
    """A game that is played with a sampler, by the allowed attackers."""

    game: Game
    claim: Claim
    runner: SamplerRunner
    coins: np.random.Generator
    allowed: Sequence[str]

    def play_once(self, samples: int) -> Verdict:
        """Fit on a third of the samples, guess on the others, and bound the loss once.

        Where that refutes by how numbers are given, the same trials are judged with rounded outputs too.
        """
        fitting_count = max(int(samples * _FITTING_SHARE), MIN_SAMPLES // 2)
        fitting = self.run_balanced_trials(fitting_count)
        attacker = self.choose_attacker(fitting, samples - fitting_count)
        fresh = self.run_random_trials(samples - fitting_count)
        fitting.outputs.append(fresh.outputs)  # which refuses outputs of two kinds
        can_round = attacker.name in _ROUNDING_DEFEATS and fresh.outputs.has_numbers and len(self.allowed) > 1
        alpha = (1 - _ROUNDED_ALPHA_SHARE if can_round else 1.0) * self.claim.alpha
        verdict = self.judge_trials(attacker, fresh, "fixed number of samples", alpha)
        if not can_round or verdict.status != "refuted":
            return verdict
        # The grid and the attacker are chosen on the fitting trials alone; the bound rests on the fresh ones.
        exponent = choose_grid_exponent(fitting.outputs.values)
        fitting, fresh = (
            dataclasses.replace(trials, outputs=trials.outputs.round(exponent)) for trials in (fitting, fresh)
        )
        attacker = self.choose_attacker(fitting, len(fresh.outputs))
        design = f"outputs rounded to multiples of 2^{exponent}, fixed number of samples"
        rounded = self.judge_trials(attacker, fresh, design, _ROUNDED_ALPHA_SHARE * self.claim.alpha)
        return dataclasses.replace(verdict, rounded_verdict=rounded)

    def play_anytime(self, samples: int) -> Verdict:
        """Play rounds, each with an attacker fitted on all earlier ones, until they refute or all is spent."""
        game, claim, runner = self.game, self.claim, self.runner
        score = Score(np.zeros_like(game.sets), np.zeros_like(game.sets), 0)
        lower_bound, attacker_name, stop_reason = 0.0, "none", "budget of samples spent"
        first_count = min(max(_FIRST_ROUND_TRIALS, 4 * len(game.inputs)), samples // 2)
        try:
            fitting = self.run_balanced_trials(first_count)
            while runner.calls < samples:
                attacker = self.choose_attacker(fitting, samples - first_count)
                fresh = self.run_random_trials(min(len(fitting.outputs), samples - runner.calls))
                score += score_trials(game, claim, attacker, fresh)
                attacker_name = attacker.name
                lower_bound = max(lower_bound, bounds.compute_anytime_bound(game, score, claim.alpha))
                fitting = fitting.append(fresh)
                if bounds.compute_log_e_value(game, score, claim.epsilon) >= math.log(1 / claim.alpha):
                    stop_reason = "stopped when convinced"
                    break
        except OutOfTimeError:
            stop_reason = "budget of time spent"
        detectable = bounds.compute_anytime_detectable_epsilon(game, score.guesses, claim.epsilon, claim.alpha)
        return self.make_verdict(score, (lower_bound, detectable), attacker_name, f"anytime-valid, {stop_reason}")

    def run_balanced_trials(self, count: int) -> Trials:
        """Trials to fit on: all inputs equally often, in random order."""
        order = self.coins.permutation(np.arange(count) % self.game.sets.size)
        return self.run_trials(order // self.game.sets.shape[1], order % self.game.sets.shape[1])

    def run_random_trials(self, count: int) -> Trials:
        """Trials to guess: each drawn afresh, which is what the bounds rest on."""
        sets = self.coins.integers(len(self.game.sets), size=count)
        return self.run_trials(sets, self.coins.integers(self.game.sets.shape[1], size=count))

    def run_trials(self, sets: IntArray, places: IntArray) -> Trials:
        """One output for each of these inputs."""
        return Trials(self.runner.collect_outputs(self.game.sets[sets, places]), sets, places)

    def choose_attacker(self, fitting: Trials, fresh_count: int) -> FittedAttacker:
        """The best attacker on these trials."""
        return choose_attacker(self.game, self.claim, fitting, fresh_count, self.allowed)

    def judge_trials(self, attacker: FittedAttacker, trials: Trials, design: str, alpha: float) -> Verdict:
        """The verdict of an attacker's guesses on fresh trials, false with a chance of at most alpha."""
        claim, score = self.claim, score_trials(self.game, self.claim, attacker, trials)
        lower_bound = bounds.compute_lower_bound(self.game, score, alpha, claim.delta)
        detectable = bounds.compute_detectable_epsilon(
            self.game, score.guesses, claim.epsilon, alpha, claim.delta, score.trials
        )
        return self.make_verdict(score, (lower_bound, detectable), attacker.name, design)

    def make_verdict(self, score: Score, limits: tuple[float, float], attacker: str, design: str) -> Verdict:
        """The verdict of a score, from a lower bound and the detectable epsilon."""
        game, claim, (lower_bound, detectable) = self.game, self.claim, limits
        right, guesses = int(score.right.sum()), int(score.guesses.sum())
        best_set, best_place = np.unravel_index(np.argmax(score.right), score.right.shape)
        members, distances = game.sets[best_set], game.distances[best_set, best_place]
        other_place = int(np.argmin(np.where(np.arange(len(members)) == best_place, np.inf, distances)))
        distance = float(distances[other_place])
        witness = Witness(
            input=abbreviate(game.inputs[members[best_place]]),
            other=abbreviate(game.inputs[members[other_place]]),
            output=f"attacker {attacker!r} names the input{_ROUNDING_DEFEATS.get(attacker, '')}",
            distance=distance,
            loss=lower_bound * distance,
            correct_guesses=right,
            guesses=guesses,
        )
        game_name = "coin-flip game" if len(game.inputs) == 2 else f"{len(game.sets)} pooled pairs"  # noqa: PLR2004 - a coin
        if game.sets.shape[1] > 2:  # noqa: PLR2004 - a coin
            game_name = f"identification among {game.sets.shape[1]} candidates"
        description = ATTACKERS[attacker][1] if attacker in ATTACKERS else "never played"
        return Verdict(
            guarantee=claim.guarantee,
            status="refuted" if lower_bound > claim.epsilon else "not refuted",
            lower_bound=lower_bound,
            confidence=claim.confidence,
            samples=self.runner.calls,
            witness=witness if guesses else None,
            method=f"{game_name}, {design}, attacker {attacker!r} ({description}) chosen and fitted on other samples",
            seconds=self.runner.elapsed,
            detectable_epsilon=detectable,
        )
