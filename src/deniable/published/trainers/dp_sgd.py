"""What the trainers of this room share: clipping, noise for a claim, the loop of DP-SGD, and what audits say of it."""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.accounting.gaussian import DISCRETE_DELTA_SHARE, compute_noise_ratio
from deniable.accounting.training import TrainingPlan
from deniable.auditing.games import NoiseKind
from deniable.auditing.training.audit import audit_training
from deniable.auditing.training.facts import collect_training_facts
from deniable.auditing.training.observation import ABSENT, TrainFunction, TrainingStep
from deniable.core.arrays import FloatArray
from deniable.core.guarantees import ADDED_OR_REMOVED_RECORD, EMPTY_RECORD, Status, Verdict
from deniable.core.numbers import format_exact
from deniable.published.entry import ZOO_CONFIDENCE, ZooEntry
from deniable.vectors.discrete_noise import make_noise_generator, sample_discrete_gaussian

EPSILON, DELTA = 2.0, 1e-5
"""The claim, unless a trainer says otherwise."""
_HELD_BACK = 1e-9
"""Of epsilon, for the grid."""
GRID_STEP = 2.0**-39
"""Gradients and noise are multiples of it, so that sums are exact and last bits show nothing."""
Steps = Iterator[TrainingPlan | TrainingStep]


def clip_rows(gradients: FloatArray, norm: float = 1.0) -> FloatArray:
    """Return the rows (n, d), or one row (d,), each scaled down to an l2 norm, and rounded toward zero to the grid."""
    lengths = np.linalg.norm(gradients, axis=-1, keepdims=True)
    steps = np.trunc(gradients * (norm / np.maximum(lengths, norm)) / GRID_STEP)
    return np.asarray(steps * GRID_STEP, dtype=np.float64)


def sum_clipped(gradients: FloatArray) -> FloatArray:
    """Return the sum (d,) that DP-SGD releases with noise: of each gradient clipped to norm 1."""
    total: FloatArray = clip_rows(gradients).sum(axis=0)
    return total


def draw_noise(seed: int, scale: float, shape: tuple[int, ...]) -> FloatArray:
    """Return Gaussian noise as exact draws on the grid (Canonne, Kamath and Steinke 2020)."""
    steps = sample_discrete_gaussian(make_noise_generator(seed), math.ceil(scale / GRID_STEP), shape)
    noise: FloatArray = steps.astype(np.float64) * GRID_STEP
    return noise


def calibrate_plan(records: int, steps: int, epsilon: float = EPSILON) -> TrainingPlan:
    """Return steps with all records, whose noise gives (epsilon, 1e-5)-DP for one record more or less.

    T sums that a record moves by 1 are one sum that it moves by sqrt(T) (Dong, Roth and Su 2022), for which the noise
    is that of Balle and Wang 2018, Theorem 8. What is held back is more than the grid costs, see
    `deniable.accounting.gaussian.compute_discretization_cost`.
    """
    ratio = compute_noise_ratio(epsilon - _HELD_BACK, DELTA * DISCRETE_DELTA_SHARE)
    return TrainingPlan("all", records, records, steps, math.sqrt(steps) * ratio, 1.0)


PLAN = calibrate_plan(16, 1)
"""One step with all of sixteen records."""


def train_on_all(
    records: list[Any],
    seed: int,
    *,
    plan: TrainingPlan = PLAN,
    sum_gradients: Callable[[npt.NDArray[Any]], FloatArray] = sum_clipped,
    draw: Callable[[int, float, tuple[int, ...]], FloatArray] = draw_noise,
) -> Steps:
    """Release at each step the sum over all records with the noise of the plan."""
    total = sum_gradients(np.stack(records))  # the same at every step, see `deniable.published.trainers`
    yield plan
    for noise in draw(seed, plan.noise_multiplier, (plan.steps, *total.shape)):
        yield TrainingStep(total + noise, np.arange(len(records)), total, plan.noise_multiplier)


def release_once(sum_gradients: Callable[[npt.NDArray[Any]], FloatArray]) -> TrainFunction:
    """Return the trainer that releases one sum over all records with the noise of `PLAN`."""
    return functools.partial(train_on_all, sum_gradients=sum_gradients)


@dataclasses.dataclass(frozen=True)
class BrokenTrainer:
    """A trainer with a flaw, its mended twin, and the data and the claim that both are audited on.

    Attributes:
        name: of the trainer; its twin is called ``name-mended``.
        source: the publication or program.
        flaw: why the claim is false.
        train: the trainer.
        mended: its twin, which neither facts nor samples refute.
        records: what is there in any case; they pull against the canary where that shows more of it.
        canary: the record in question.
        other: what stands in its place, an empty record; by default there is none.
        epsilon: claimed.
        delta: claimed.
        noise: ``gaussian`` where the claim is that of Gaussian noise without sampling.
        runs: of the audit in the worst case.
        facts_seed: of the runs that show facts.
        facts_status: what facts say of the trainer.
    """

    name: str
    source: str
    flaw: str
    train: TrainFunction
    mended: TrainFunction
    records: tuple[Any, ...]
    canary: Any
    other: Any = ABSENT
    epsilon: float = EPSILON
    delta: float = DELTA
    noise: NoiseKind = "gaussian"
    runs: int = 4_000
    facts_seed: int = 0
    facts_status: Status = "refuted"

    @property
    def neighbours(self) -> dict[str, Any]:
        """The claim and its two data sets, as options of `audit_training` and `collect_training_facts`."""
        is_emptied = self.other is not ABSENT
        return {"claim": self.epsilon, "delta": self.delta, "other": self.other, "other_is_empty": is_emptied}

    @property
    def entries(self) -> tuple[ZooEntry, ZooEntry]:
        """The entries of the trainer and of its twin."""
        twin_source = f"control: {self.name} mended"
        return (
            self._make_entry(self.name, self.source, self.flaw, self.train, self.facts_status),
            self._make_entry(f"{self.name}-mended", twin_source, "", self.mended, "not refuted"),
        )

    def audit_samples(self, train: TrainFunction, seed: int, runs: int | None = None) -> Verdict:
        """Return what many runs on both data sets show."""
        options = self.neighbours | {"noise": self.noise, "confidence": ZOO_CONFIDENCE, "runs": runs or self.runs}
        return audit_training(train, self.records, [self.canary], **options, seed=seed)

    def _judge_facts(self, train: TrainFunction) -> Verdict:
        """Return what facts say: of the step if its sum moves too far, else of the whole accounting."""
        facts = collect_training_facts(train, self.records, self.canary, **self.neighbours, seed=self.facts_seed)
        verdicts = list(facts.verdicts.values())
        refuted = [verdict for verdict in verdicts if verdict.status == "refuted"]
        return (refuted or verdicts[::-1])[0]

    def _make_entry(self, name: str, source: str, flaw: str, train: TrainFunction, facts: Status) -> ZooEntry:
        adjacency = ADDED_OR_REMOVED_RECORD if self.other is ABSENT else EMPTY_RECORD.split(":")[0]
        return ZooEntry(
            name=name,
            source=source,
            claim=f"({format_exact(self.epsilon)}, {format_exact(self.delta)})-DP, {adjacency}",
            flaw=flaw,
            audit_samples=functools.partial(self.audit_samples, train),
            verify_law=functools.partial(self._judge_facts, train),
            expected_of_law=facts,
        )


def list_entries(*trainers: BrokenTrainer) -> tuple[ZooEntry, ...]:
    """Return the entries of some trainers, each before its twin."""
    return tuple(entry for trainer in trainers for entry in trainer.entries)
