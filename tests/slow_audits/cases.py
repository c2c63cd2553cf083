"""One trainer under audit: its claim, a worst-case pair of data sets, and a run of it whose sums can be seen.

Exact: the trainer runs on D, and then on D less one unit with the noisy sums of the first run in the place of its own,
so that both have the same parameters. Each sum before the noise may differ by its bound, and all else that is released
must be the same to the last bit. Statistical: many runs on a worst-case pair, as `deniable.audit_training` does them.
"""

import dataclasses
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

import deniable as dn

Numbers = np.ndarray
ABSENT = object()
"""Nothing stands in the place of the canary."""
CONFIDENCE = 0.999
SEED = 20_261_125
WEAK_SHARE = 0.4
WEAK_RUNS = 250


@dataclasses.dataclass(frozen=True)
class MeasuredSum:
    """One sum (d,) over units, before and after its noise."""

    name: str
    sums: Numbers
    noisy: Numbers
    bound: float  # l2 norm by which one unit may move the sum
    noise: float  # standard deviation on each coordinate
    keys: tuple[Hashable, ...] | None = None  # (d,) names of coordinates, where they are not the same for all data
    batch: Numbers | None = None  # records of a sampled sum


@dataclasses.dataclass
class Tape:
    """All that one run measured and released, in order."""

    measured: list[MeasuredSum] = dataclasses.field(default_factory=list)
    released: bytes = b""  # everything that it gave away
    shown: Numbers | None = None  # what an adversary looks at; None for the noisy sums
    plan: dn.TrainingPlan | None = None  # how it was accounted for; None where it is no DP-SGD


class Run(Protocol):
    """Trains once; with the tape of another run, it releases the noisy sums of that one."""

    def __call__(self, units: list[Any], seed: int, *, noise_share: float = 1.0, played: Tape | None = None) -> Tape:
        """Return the tape of a run whose noise is multiplied by a share."""


@dataclasses.dataclass(frozen=True)
class TrainerAudit:
    """A trainer, its claim and the data on which it is audited."""

    name: str  # as its registry spells it
    setting: str  # what is special about this run of it
    claim: dn.Guarantee
    run: Run
    units: Sequence[Any]  # D on which it is run many times
    canary: Any  # the unit that is there or not
    other: Any  # what stands in its place; `ABSENT` for nothing
    collections: dict[str, list[Any]]  # for the exact part: ordinary ones and those made to do harm
    runs: int = 500  # of the statistical part; 0 for none
    noise: str = "gaussian"  # see `deniable.audit_training`
    measured_as: str = ""  # the audit whose sums are the same, where there is no statistical part
    run_on_collections: Run | None = None  # with the options that the exact part takes; None for ``run``
    weak_share: float = WEAK_SHARE  # of its noise, with which it must be refuted
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
                yield dn.TrainingStep(
                    scaled, one.batch, np.asarray(one.sums, dtype=np.float64), noise_share * one.noise
                )

        return train

    def audit(self, *, noise_share: float = 1.0, runs: int | None = None) -> dn.Verdict:
        """Return the verdict of many runs on the worst-case pair, at a share of the noise."""
        return dn.audit_training(
            self.make_train(noise_share),
            self.units,
            [self.canary],
            runs=self.runs if runs is None else runs,
            noise=self.noise,
            confidence=CONFIDENCE,
            seed=SEED,
            **self.options,
        )

    @property
    def options(self) -> dict[str, Any]:
        """What an audit is told of the claim and of the other data set."""
        claim = {"claim": self.claim.epsilon, "delta": self.claim.delta}
        is_empty = "empty" in self.claim.adjacency
        return claim if self.other is ABSENT else claim | {"other": self.other, "other_is_empty": is_empty}

    def collect_facts(self, noise_share: float = 1.0) -> Any:
        """Return what the steps of a run on the worst-case pair show without statistics."""
        train = self.make_train(noise_share)
        return dn.collect_training_facts(train, self.units, self.canary, **self.options, seed=SEED)

    def audit_with_little_noise(self) -> dn.Verdict:
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
    """What neighbours at the same noisy sums showed."""

    ratio: float  # the largest movement of any sum by one unit, in bounds
    ratios: dict[str, float]  # the same by name of the sum
    neighbours: int  # data sets compared
    differing: tuple[str, ...]  # those whose release differed although all noisy sums were the same


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


def align_sums(one: MeasuredSum, other: MeasuredSum) -> tuple[Numbers, Numbers]:
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
