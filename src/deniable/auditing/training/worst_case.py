r"""A white-box audit of training by many runs on a worst-case pair of data sets.

The adversary of Nasr et al. 2021 and 2023: both data sets are its choice, it sees every released update, and it knows
what one record does to them. A fair coin decides of every run whether it trains on D' = D and a canary, or on D.

**What it guesses by.** Runs of their own decide, none of which is judged. First, D' and D are trained on with the same
seeds: where a run draws its noise from its seed, the noise cancels in the difference of their updates, and what is left
is the direction in which the canary moves each of them (its gradient). Other runs then choose one number of a run, and
how many coins are guessed by its highest and its lowest values, by the bound that is expected of it:

- ``updates``: the inner product of all updates and their directions, the best one for Gaussian noise of one size;
- ``largest step``: the largest of the steps' inner products with the mean direction, for a record that appears once;
- ``size``: how many numbers were released;
- ``last bits``: how fine the released floats are (Mironov 2012);
- ``score``: what the model says of the canary, the adversary of Nasr et al. 2021 who sees no more.

**Theorem.** Given the runs that decide, heads are guessed where the number is at least one threshold, tails where it is
at most another, and judged runs are independent: they are the trials of a coin-flip game (`deniable.auditing.games`).
With E and E' what is guessed to be heads and tails, a guess is right with the chance p = (P[E | D'] + P[E' | D]) / 2
and wrong with q = (P[E | D] + P[E' | D']) / 2, so that p <= F(q) for a claim with the trade-off curve F, which is
concave. The choice of the canary after looking at other runs changes nothing.
"""

import dataclasses
import itertools
import math

import numpy as np
from scipy import special

from deniable.accounting.gaussian import compute_gaussian_epsilon
from deniable.auditing import bounds
from deniable.auditing.games import Claim, Score, make_pooled_game
from deniable.auditing.outputs import count_fractional_bits
from deniable.auditing.training.bounds import bound_gaussian_mu, find_detectable_epsilon_of_runs, make_verdict
from deniable.auditing.training.observation import MAX_SEED, NeighbourPair, ObservedRun, TrainFunction, observe_training
from deniable.core.arrays import BoolArray, FloatArray
from deniable.core.errors import InputError
from deniable.core.guarantees import Verdict
from deniable.core.parallel import get_progress_reporter

_PAIR_SHARE, _MAX_PAIRS = 0.05, 20
"""Share of the runs that find the directions, and how many pairs are enough."""
_CHOICE_SHARE = 0.3
"""Share of the runs that choose what is guessed by."""
_GUESS_SHARES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.45)
"""Shares of the runs that are guessed at either end, among which the best is chosen."""
_MAX_BITS = 256
"""Numbers of a run whose last bits are looked at: the first ones."""


@dataclasses.dataclass(frozen=True)
class GuessRule:
    """By which number of a run its coin is guessed.

    Attributes:
        name: of the number.
        sign: by which it is multiplied.
        low: tails are guessed up to it; -inf for never.
        high: heads are guessed from it on; inf for never.
    """

    name: str
    sign: float
    low: float
    high: float

    def count(self, included: BoolArray, numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Right and wrong guesses (2,) of coins (m,), and the runs (2,) that could be guessed right, and wrong."""
        heads, tails = self.sign * numbers >= self.high, self.sign * numbers <= self.low
        right, wrong = ((heads & coins).sum() + (tails & ~coins).sum() for coins in (included, ~included))
        runs, canaries = len(included), int(included.sum())
        if math.isfinite(self.low) and math.isfinite(self.high):
            trials = runs, runs
        else:
            trials = (canaries, runs - canaries) if self.low == -math.inf else (runs - canaries, canaries)
        return np.array([right, wrong], dtype=float), np.array(trials, dtype=float)


@dataclasses.dataclass
class PairTrainer:
    """Trains on either data set of a pair, and reports how many runs are done."""

    train: TrainFunction
    pair: NeighbourPair
    random: np.random.Generator
    runs: int
    done: int = 0

    def run(self, *, has_canary: bool, seed: int) -> ObservedRun:
        """Train once."""
        records = self.pair.with_canary if has_canary else self.pair.without_canary
        run = observe_training(self.train, records, seed)
        self.done += 1
        get_progress_reporter()(self.done, self.runs)
        return run

    def run_coins(self, included: BoolArray, directions: FloatArray, steps: int) -> dict[str, FloatArray]:
        """Train with the canary where its coin says so; the numbers (m,) of the runs by name."""
        seeds = self.random.integers(MAX_SEED, size=len(included)).tolist()
        numbers = [
            self._extract(self.run(has_canary=has_canary, seed=seed), directions, steps)
            for has_canary, seed in zip(included.tolist(), seeds, strict=True)
        ]
        if len({tuple(each) for each in numbers}) > 1:
            raise InputError(
                "train(records, seed) returned a model in some runs only: return one in every run, or in none."
            )
        return {name: np.array([each[name] for each in numbers]) for name in numbers[0]}

    def _extract(self, run: ObservedRun, directions: FloatArray, steps: int) -> dict[str, float]:
        """What a run is compared by, and forget the run."""
        released = _flatten_steps(run, len(directions))
        values = {}
        if len(released):
            values["updates"] = float(released @ directions)
            values["last bits"] = float(count_fractional_bits(released[:_MAX_BITS]).max())
        if steps > 1:
            mean = directions.reshape(steps, -1).mean(axis=0)
            values["largest step"] = float((released.reshape(steps, -1) @ mean).max())
        if run.result is not None or (run.plan is None and not run.steps):
            values["score"] = float(run.score([self.pair.canary])[0])
        return values | {"size": float(_count_numbers(run))}


def judge_worst_case(trainer: PairTrainer, claim: Claim) -> Verdict:
    """Train with the canary and without it, by coins, and judge the guesses of the coins of runs that choose nothing.

    Raises:
        InputError: training failed, or it gave neither steps nor a model.
    """
    get_progress_reporter()(0, trainer.runs)
    pairs = min(max(int(_PAIR_SHARE * trainer.runs / 2), 2), _MAX_PAIRS)
    choosing = int(_CHOICE_SHARE * trainer.runs)
    judged = trainer.runs - 2 * pairs - choosing
    directions, steps = _find_directions(trainer, pairs)
    shown = trainer.random.permutation(choosing) < (choosing + 1) // 2
    rule = _choose_rule(shown, trainer.run_coins(shown, directions, steps), judged, claim)
    included = trainer.random.random(judged) < 0.5  # noqa: PLR2004 - fair coins
    hits, trials = rule.count(included, trainer.run_coins(included, directions, steps)[rule.name])
    right, guesses = int(hits[0]), int(hits.sum())
    if claim.noise == "gaussian":
        mu = _bound_strength(claim, hits, trials)
        lower_bound = compute_gaussian_epsilon(mu, claim.delta) if mu > 0 else 0.0
        detectable = find_detectable_epsilon_of_runs(judged, claim.epsilon, claim.delta, claim.alpha)
    else:
        game = make_pooled_game(("without", "with"), [(0, 1)], np.ones(1))
        score = Score(np.array([[0, right]]), np.array([[0, guesses]]), judged)
        lower_bound = bounds.compute_lower_bound(game, score, claim.alpha, claim.delta)
        detectable = bounds.compute_detectable_epsilon(
            game, score.guesses, claim.epsilon, claim.alpha, claim.delta, judged
        )
    design = (
        f"{trainer.runs:,} training runs on two data sets that differ in one record: {trainer.runs - judged:,} of them "
        f"chose what is guessed by, and the data of {judged:,} others was chosen"
    )
    return make_verdict(claim, design, f"{rule.name!r}", judged, (right, guesses), (lower_bound, detectable))


def _find_directions(trainer: PairTrainer, pairs: int) -> tuple[FloatArray, int]:
    """The mean difference (N,) of runs with the same seed, and T where all have T steps of one size, else 0."""
    total, shapes = None, set()
    for seed in trainer.random.integers(MAX_SEED, size=pairs).tolist():
        ours, theirs = (trainer.run(has_canary=has_canary, seed=seed) for has_canary in (True, False))
        shapes |= {(len(run.steps), _count_numbers(run)) for run in (ours, theirs)}
        length = min(_count_numbers(ours), _count_numbers(theirs), *(() if total is None else (len(total),)))
        difference = _flatten_steps(ours, length) - _flatten_steps(theirs, length)
        total = difference if total is None else total[:length] + difference
    steps, numbers = shapes.pop()
    is_regular = not shapes and steps and numbers % steps == 0
    return np.asarray(total) / pairs, steps if is_regular else 0


def _choose_rule(included: BoolArray, values: dict[str, FloatArray], judged: int, claim: Claim) -> GuessRule:
    """The rule of which most is expected among the judged runs, by others."""
    best, best_strength = GuessRule("size", 1.0, math.inf, math.inf), -math.inf
    for (name, numbers), sign in itertools.product(values.items(), (1.0, -1.0)):
        for share, ends in itertools.product(_GUESS_SHARES, ("both", "high", "low")):
            low, high = np.quantile(sign * numbers, [share, 1 - share], method="nearest")
            rule = GuessRule(name, sign, -math.inf if ends == "high" else low, math.inf if ends == "low" else high)
            strength = _estimate_strength(claim, *rule.count(included, numbers), judged / len(included))
            if low < high and strength > best_strength:
                best, best_strength = rule, strength
    return best


def _estimate_strength(claim: Claim, hits: FloatArray, trials: FloatArray, growth: float) -> float:
    """What is expected of so many times these runs: both chances are moved by their standard error, for caution."""
    chances = (hits + 0.5) / (trials + 1)
    chances += np.array([-1, 1]) * np.sqrt(chances * (1 - chances) / np.maximum(trials, 1))
    return _bound_strength(claim, np.clip(chances, 0, 1) * trials * growth, trials * growth)


def _bound_strength(claim: Claim, hits: FloatArray, trials: FloatArray) -> float:
    """Epsilon at no delta, or mu of Gaussian noise, that guesses bound from below; -inf for nothing."""
    right, wrong = hits.tolist()
    if claim.noise == "gaussian":
        return bound_gaussian_mu(right, wrong, tuple(trials.tolist()), claim.alpha)
    return float(special.logit(special.betaincinv(right, wrong + 1, claim.alpha))) if right > 0 else -math.inf


def _count_numbers(run: ObservedRun) -> int:
    return sum(step.released.size for step in run.steps)


def _flatten_steps(run: ObservedRun, length: int) -> FloatArray:
    """The first numbers (length,) that a run released, followed by zeros where it released fewer."""
    numbers = np.concatenate([np.empty(0), *(step.released.ravel() for step in run.steps)])[:length]
    return np.pad(numbers, (0, length - len(numbers)))
