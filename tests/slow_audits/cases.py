"""One trainer under audit: its claim, a worst-case pair of data sets, and a run of it whose sums can be seen.

Two kinds of evidence, for every trainer:

- **exact**: the trainer runs on D, and then on D less one unit with the noisy sums of the first run in the place of its
  own. So both have the same parameters at every step. Each sum before the noise may differ by its bound, and all that
  is released must be the same to the last bit: it may depend on the records through the noisy sums alone.
- **statistical**: many runs on a worst-case pair, as `deniable.audit_training` does them.
"""

import dataclasses
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from deniable.auditing.training.bounds import NoiseKind
from deniable.auditing.training.neighbours import ABSENT
from deniable.auditing.training.observation import TrainingPlan, TrainingStep
from deniable.auditing.training.worst_case import audit_worst_case
from deniable.core.arrays import FloatArray, IntArray
from deniable.core.evidence import Verdict
from deniable.core.guarantees import ApproxDP, PureDP

CONFIDENCE = 0.999
SEED = 20_261_125
WEAK_SHARE = 0.4
WEAK_RUNS = 250


@dataclasses.dataclass(frozen=True)
class MeasuredSum:
    """One sum over units, before and after its noise.

    Attributes:
        name: what is summed.
        sums: (d,) before the noise.
        noisy: (d,) after it.
        bound: l2 norm by which one unit may move the sum.
        noise: standard deviation of the noise on each coordinate.
        keys: (d,) names of the coordinates of an integer sum; None where they are the same for all data.
        batch: records of a sampled sum; None where all are summed.
    """

    name: str
    sums: FloatArray | IntArray
    noisy: FloatArray | IntArray
    bound: float
    noise: float
    keys: tuple[Hashable, ...] | None = None
    batch: IntArray | None = None


@dataclasses.dataclass
class Tape:
    """All that one run measured and released.

    Attributes:
        measured: its sums, in order.
        released: everything that it gave away, as bytes.
        shown: numbers that an adversary looks at; None for the noisy sums.
        plan: how it was accounted for; None where it is no DP-SGD.
    """

    measured: list[MeasuredSum] = dataclasses.field(default_factory=list)
    released: bytes = b""
    shown: FloatArray | None = None
    plan: TrainingPlan | None = None


class Run(Protocol):
    """Trains once; with the tape of another run, it releases the noisy sums of that one."""

    def __call__(self, units: list[Any], seed: int, *, noise_share: float = 1.0, played: Tape | None = None) -> Tape:
        """Return the tape of a run whose noise is multiplied by a share."""


@dataclasses.dataclass(frozen=True)
class TrainerAudit:
    """A trainer, its claim and the data on which it is audited.

    Attributes:
        name: of the trainer, as its registry spells it.
        setting: what is special about this run of it; "" for nothing.
        claim: what is audited.
        run: the trainer.
        units: D on which it is run many times.
        canary: the unit that is there or not.
        other: what stands in its place; `ABSENT` for nothing.
        collections: further data sets, by name, for the exact part: ordinary ones and those made to do harm.
        runs: of the statistical part; 0 for none.
        noise: of the statistical part, see `deniable.auditing.training.judging.TrainingClaim`.
        measured_as: name of the audit whose sums are the same, where there is no statistical part.
        run_on_collections: the trainer with the options that the exact part takes; None for ``run``.
        weak_share: share of its noise with which it must be refuted.
        weak_runs: runs of that.
    """

    name: str
    setting: str
    claim: ApproxDP | PureDP
    run: Run
    units: Sequence[Any]
    canary: Any
    other: Any
    collections: dict[str, list[Any]]
    runs: int = 500
    noise: NoiseKind = "gaussian"
    measured_as: str = ""
    run_on_collections: Run | None = None
    weak_share: float = WEAK_SHARE
    weak_runs: int = WEAK_RUNS

    def __str__(self) -> str:
        """Return the name of the row and of the test."""
        return f"{self.name}, {self.setting}" if self.setting else self.name

    def make_train(self, noise_share: float = 1.0) -> Callable[[list[Any], int], Iterator[Any]]:
        """Return the trainer as an audit calls it: ``train(records, seed)`` yields what is released of each sum."""

        def train(records: list[Any], seed: int) -> Iterator[Any]:
            tape = self.run(records, seed, noise_share=noise_share)
            if tape.plan is not None:
                yield tape.plan
            if tape.shown is not None:
                yield tape.shown
                return
            for one in tape.measured:
                scaled = one.noisy / one.noise
                yield TrainingStep(scaled, one.batch, np.asarray(one.sums, dtype=np.float64), noise_share * one.noise)

        return train

    def audit(self, *, noise_share: float = 1.0, runs: int | None = None) -> Verdict:
        """Return the verdict of many runs on the worst-case pair, at a share of the noise."""
        return audit_worst_case(
            self.make_train(noise_share),
            self.units,
            self.canary,
            self.claim,
            other=self.other,
            runs=self.runs if runs is None else runs,
            noise=self.noise,
            confidence=CONFIDENCE,
            seed=SEED,
        )

    def audit_with_little_noise(self) -> Verdict:
        """Return the verdict with too little noise, which must refute."""
        return self.audit(noise_share=self.weak_share, runs=self.weak_runs)

    def list_neighbours(self, units: Sequence[Any]) -> Iterator[list[Any]]:
        """Yield the data set less each of its units, or with that unit made empty."""
        for place in range(len(units)):
            replaced = [] if self.other is ABSENT else [self.other]
            yield [*units[:place], *replaced, *units[place + 1 :]]

    @property
    def all_collections(self) -> dict[str, list[Any]]:
        """The worst-case data set among the others."""
        return {"worst case": [*self.units[:8], self.canary], **self.collections}


@dataclasses.dataclass(frozen=True)
class ExactFindings:
    """What neighbours at the same noisy sums showed.

    Attributes:
        ratio: the largest movement of any sum by one unit, in bounds.
        ratios: the same by name of the sum.
        neighbours: data sets compared.
        differing: data sets whose release differed although all noisy sums were the same.
    """

    ratio: float
    ratios: dict[str, float]
    neighbours: int
    differing: tuple[str, ...]


def compare_neighbours(audit: TrainerAudit, collections: dict[str, list[Any]] | None = None) -> ExactFindings:
    """Return what each unit of each collection does to each sum, and to all else that is released."""
    ratios: dict[str, float] = {}
    differing: list[str] = []
    count = 0
    run = audit.run_on_collections or audit.run
    for name, units in (audit.all_collections if collections is None else collections).items():
        whole = run(list(units), SEED)
        for place, neighbour in enumerate(audit.list_neighbours(units)):
            less = run(neighbour, SEED, played=whole)
            count += 1
            if less.released != whole.released:
                differing.append(f"{name}, less unit {place}")
            for one, other in zip(whole.measured, less.measured, strict=True):
                ratios[one.name] = max(ratios.get(one.name, 0.0), compute_ratio(one, other))
    return ExactFindings(max(ratios.values()), ratios, count, tuple(differing))


def compute_ratio(one: MeasuredSum, other: MeasuredSum) -> float:
    """Return how far apart two sums are, in bounds of the first; integers are subtracted before they are rounded."""
    first, second = align_sums(one, other)
    gaps = (first - second).tolist()
    return math.sqrt(sum(gap * gap for gap in gaps)) / one.bound


def align_sums(one: MeasuredSum, other: MeasuredSum) -> tuple[FloatArray | IntArray, FloatArray | IntArray]:
    """Return two sums over the coordinates of both; what one of them lacks is 0 there."""
    if one.keys is None or other.keys is None:
        return one.sums, other.sums
    places = {key: place for place, key in enumerate(dict.fromkeys([*one.keys, *other.keys]))}
    aligned = []
    for measured in (one, other):
        values = np.zeros(len(places), dtype=np.int64)
        values[[places[key] for key in measured.keys or ()]] = measured.sums
        aligned.append(values)
    return aligned[0], aligned[1]


def measure_noise(tape: Tape) -> tuple[float, int]:
    """Return the sum of the squared noise of a run, in squared standard deviations, and of how many draws."""
    deviations = [(np.asarray(one.noisy, np.float64) - one.sums) / one.noise for one in tape.measured]
    return float(sum(np.square(values).sum() for values in deviations)), sum(map(len, deviations))
