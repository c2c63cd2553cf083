r"""A white-box audit of training by many runs on a worst-case pair of data sets.

The adversary of Nasr et al. 2021 and 2023: both data sets are its choice, it sees every released update, and it knows
what one record does to them. Half of the runs train on D' = D and a canary, the others on D.

**What it guesses by.** Runs of their own decide, none of which is judged. First, D' and D are trained on with the same
seeds: where a run draws its noise from its seed, the noise cancels in the difference of their updates, and what is left
is the direction in which the canary moves each of them (its gradient). Other runs then choose among the statistics
below, and from which value on it names the data set, by the bound that is expected of it:

- ``updates``: the inner product of all updates and their directions, the best one for Gaussian noise of one size;
- ``largest step``: the largest of the steps' inner products with the mean direction, for a record that appears once;
- ``size``: how many numbers were released;
- ``last bits``: how fine the released floats are (Mironov 2012);
- ``score``: what the model says of the canary, the adversary of Nasr et al. 2021 who sees no more.

**Theorem.** Given the runs that decide, "the statistic is at least t" is a fixed event of what a judged run shows, and
judged runs are independent: the theorem of `deniable.auditing.training.rates` holds. Neither abstention nor the choice
of the canary after looking at other runs changes that.
"""

import dataclasses
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable.auditing.games import make_coins
from deniable.auditing.training.bounds import NoiseKind
from deniable.auditing.training.events import Event, choose_event
from deniable.auditing.training.glances import Eye, Glance, count_numbers, flatten_steps
from deniable.auditing.training.judging import TrainingClaim, describe_noise
from deniable.auditing.training.neighbours import ABSENT, NeighbourPair
from deniable.auditing.training.observation import ObservedRun, TrainFunction, observe_training
from deniable.auditing.training.one_run import MAX_SEED
from deniable.auditing.training.rates import (
    EventCounts,
    bound_epsilon_of_rates,
    find_detectable_epsilon_of_rates,
)
from deniable.core.arrays import BoolArray, FloatArray
from deniable.core.errors import InputError, check_count
from deniable.core.evidence import Verdict, Witness
from deniable.core.guarantees import Guarantee
from deniable.core.progress import get_progress_reporter

DEFAULT_RUNS = 1_000
MIN_RUNS = 40
_MAX_RUNS = 10_000_000
_PAIR_SHARE, _MAX_PAIRS = 0.05, 20
"""Share of the runs that find the directions, and how many pairs are enough."""
_CHOICE_SHARE = 0.3
"""Share of the runs that choose the statistic."""
_OWNER = "audit_training"


def audit_worst_case(
    train: TrainFunction,
    records: Sequence[Any],
    canary: Any,  # noqa: ANN401 - any record
    guarantee: Guarantee,
    *,
    other: Any = ABSENT,  # noqa: ANN401 - the same
    runs: int = DEFAULT_RUNS,
    noise: NoiseKind = "any",
    confidence: float = 0.95,
    seed: int | None = None,
) -> Verdict:
    """Train many times with and without a canary, and judge how well what is released tells both apart.

    Args:
        train: see `deniable.auditing.training.observation`. It may yield steps, or return a model.
        records: D. Records that add nothing to a sum hide least of the canary; where each record is in one batch of an
            epoch, those that all pull against it do.
        canary: the record that D' has in addition, at its end.
        guarantee: claimed for D and D'.
        other: the record that D has in the place of the canary, for claims about a record that is replaced or made
            empty; by default there is none.
        runs: all runs, those that decide what is guessed among them; at least 40.
        noise: see `deniable.auditing.training.judging.TrainingClaim`.
        confidence: of the lower bound, in (0, 1).
        seed: of the order of the runs and of each; None for fresh ones.

    Returns:
        A `Verdict`, whose ``samples`` are the runs that were judged.

    Raises:
        InputError: a parameter outside its domain, training failed, or it gave neither steps nor a model.
    """
    start = time.perf_counter()
    check_count(_OWNER, "runs", runs, MIN_RUNS, _MAX_RUNS)
    claim = TrainingClaim(guarantee, noise, confidence, takes_pair=True)
    trainer = _Trainer(train, NeighbourPair(records, canary, other), make_coins(_OWNER, seed), runs)
    get_progress_reporter()(0, runs)
    pairs = min(max(int(_PAIR_SHARE * runs / 2), 2), _MAX_PAIRS)
    choosing = int(_CHOICE_SHARE * runs)
    judged = runs - 2 * pairs - choosing
    eye = _find_directions(trainer, pairs)
    event = choose_event(claim, *trainer.run_halves(choosing, eye), judged)
    included, glances = trainer.run_halves(judged, eye)
    counts = event.count(included, np.array([event.statistic(glance) for glance in glances]))
    return _make_verdict(claim, trainer, event, counts, start)


@dataclasses.dataclass
class _Trainer:
    """Runs training on either data set, and reports how many runs are done."""

    train: TrainFunction
    pair: NeighbourPair
    random: np.random.Generator
    runs: int
    done: int = 0
    names: set[str] = dataclasses.field(default_factory=set)

    def run(self, *, has_canary: bool, seed: int) -> ObservedRun:
        records = self.pair.with_canary if has_canary else self.pair.without_canary
        run = observe_training(self.train, records, seed)
        self.done += 1
        get_progress_reporter()(self.done, self.runs)
        return run

    def run_halves(self, count: int, eye: Eye) -> tuple[BoolArray, list[Glance]]:
        """Return which of so many runs have the canary, half of them in random order, and what was seen of each."""
        included = self.random.permutation(count) < (count + 1) // 2
        seeds = self.random.integers(MAX_SEED, size=count).tolist()
        glances = [
            eye.look(self.run(has_canary=bool(coin), seed=run_seed), self.pair.canary)
            for coin, run_seed in zip(included, seeds, strict=True)
        ]
        self.names = self.names or set(glances[0].values)
        if any(set(glance.values) != self.names for glance in glances):
            raise InputError(
                "train(records, seed) returned a model in some runs only: return one in every run, or in none."
            )
        return included, glances


def _find_directions(trainer: _Trainer, pairs: int) -> Eye:
    """Return the mean difference of runs with the same seed."""
    total: FloatArray | None = None
    shapes = set()
    for run_seed in trainer.random.integers(MAX_SEED, size=pairs).tolist():
        ours, theirs = (trainer.run(has_canary=has_canary, seed=run_seed) for has_canary in (True, False))
        sizes = [count_numbers(run) for run in (ours, theirs)]
        shapes |= set(zip((len(ours.steps), len(theirs.steps)), sizes, strict=True))
        length = min(*sizes, *(() if total is None else (len(total),)))
        difference = flatten_steps(ours, length) - flatten_steps(theirs, length)
        total = difference if total is None else total[:length] + difference
    (steps, numbers), is_regular = next(iter(shapes)), len(shapes) == 1
    mean = np.empty(0) if total is None else total / pairs
    return Eye(mean, steps if is_regular and steps and numbers % steps == 0 else 0)


def _make_verdict(claim: TrainingClaim, trainer: _Trainer, event: Event, counts: EventCounts, start: float) -> Verdict:
    runs = counts.runs_with, counts.runs_without
    epsilon = claim.guarantee.epsilon
    lower_bound = bound_epsilon_of_rates(claim.noise, counts, claim.delta, claim.alpha)
    names = ("with the canary", "without it" if trainer.pair.is_removal else "with the other record")
    ours, theirs = names if event.is_above else names[::-1]
    right, wrong = int(counts.with_record), int(counts.without_record)
    witness = Witness(
        input=f"the records {ours}",
        other=f"those {theirs}",
        output=f"{event.name!r} {'at least' if event.is_above else 'at most'} {event.threshold:.4g}",
        distance=1.0,
        loss=lower_bound,
        correct_guesses=right,
        guesses=right + wrong,
    )
    judged = sum(runs)
    return Verdict(
        guarantee=claim.guarantee,
        status="refuted" if lower_bound > epsilon else "not refuted",
        epsilon=math.inf,
        lower_bound=lower_bound,
        confidence=claim.confidence,
        samples=judged,
        witness=witness,
        method=f"{trainer.runs:,} training runs on two data sets that differ in one record: an event that "
        f"{trainer.runs - judged:,} of them chose happened in {right:,} of {runs[0]:,} and in {wrong:,} of "
        f"{runs[1]:,} others; tested against {describe_noise(claim.noise)}",
        seconds=time.perf_counter() - start,
        detectable_epsilon=find_detectable_epsilon_of_rates(claim.noise, runs, epsilon, claim.delta, claim.alpha),
    )
