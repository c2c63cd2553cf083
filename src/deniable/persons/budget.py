"""How the budget of one release is divided among the noisy sums that it is made of, and what it means for groups."""

import dataclasses
import functools
import math
from fractions import Fraction

from deniable.accounting.gaussian import (
    DISCRETE_DELTA_SHARE,
    MAX_DELTA,
    MIN_DELTA,
    bound_log_delta,
    bracket_gaussian_epsilon,
    compute_continuous_epsilon,
    compute_discretization_cost,
    compute_noise_ratio,
)
from deniable.core.errors import InputError, check_count, check_number_within, check_positive
from deniable.core.guarantees import ADDED_OR_REMOVED_PERSON, ADDED_OR_REMOVED_RECORD, Guarantee, Unit, Verdict
from deniable.core.numbers import format_exact, format_lower, format_upper

NOISE_STEPS = 1 << 39
"""s, the parameter of the discrete Gaussian noise on every coordinate of every sum, in steps of its integers."""
MAX_COORDINATES = 1 << 40
"""Noisy coordinates of one release, at most: `compute_continuous_epsilon` is stated for so many."""
_MAX_EPSILON = 1e3
"""Beyond it a guarantee promises nothing, and sums of contributions no longer fit in 64 bits."""
GROUP_SIZES = (2, 5, 10)
"""Records of one person that certificates speak of."""
PUBLIC_SEED_SOURCE = "not private: public seed"
ADJACENCIES: dict[Unit, str] = {"record": ADDED_OR_REMOVED_RECORD, "person": ADDED_OR_REMOVED_PERSON}
_SOURCE = (
    "discrete Gaussian noise on integer sums of clipped contributions (Canonne, Kamath, Steinke 2020), composed "
    "exactly (Dong, Roth, Su 2022, Corollary 3.3) and calibrated analytically (Balle and Wang 2018, Theorem 8)"
)


@dataclasses.dataclass(frozen=True)
class Measurement:
    """Noisy sums of one kind.

    Attributes:
        name: what is measured, such as ``classifier``.
        weight: > 0; its part of the budget is its weight over the sum of all weights.
        coordinates: of each sum.
        sums: how many sums are released; each may depend on those released before.

    Raises:
        InputError: a number is outside its domain.
    """

    name: str
    weight: float
    coordinates: int
    sums: int = 1

    def __post_init__(self) -> None:
        check_positive(self.name, "weight", self.weight)
        check_count(self.name, "coordinates", self.coordinates)
        check_count(self.name, "sums", self.sums)


@dataclasses.dataclass(frozen=True)
class Budget:
    r"""Epsilon and delta of one release, and the sums that they are spent on.

    A sum is that of an integer vector for each unit (a record or a person), whose l2 norm is at most B, plus discrete
    Gaussian noise of parameter s on each coordinate. One unit more or less moves a sum by at most B, so continuous
    noise N(0, s^2 I) would make it Gaussian DP with mu = B / s; releases compose to the root of the sum of mu^2, also
    where later contributions depend on earlier sums (Dong, Roth, Su 2022, Corollary 3.3). The whole is
    (epsilon', delta')-DP if and only if total mu <= 1 / r(epsilon', delta'), with r of `compute_noise_ratio`; what
    discrete noise costs beyond that is taken from epsilon and delta once, for all coordinates
    (`compute_continuous_epsilon`). A measurement with the share a of the weights and k sums gets::

        B = floor(s sqrt(a / k) / r(epsilon', delta'))

    in exact arithmetic, so that the sum of k (B / s)^2 over all measurements is at most 1 / r^2.

    Attributes:
        epsilon: > 0.
        delta: in (0, 1).
        unit: ``record`` or ``person``.
        measurements: with different names.
        selection_delta: part of delta that the selection of keys gets (`deniable.persons.ngram_counts`); 0 where
            nothing is selected.

    Raises:
        InputError: a parameter outside its domain, names that are equal, or more coordinates than can be served.
    """

    epsilon: float
    delta: float
    unit: Unit
    measurements: tuple[Measurement, ...]
    selection_delta: float = 0.0

    def __post_init__(self) -> None:
        check_positive("the release", "epsilon", self.epsilon, upper=_MAX_EPSILON)
        check_number_within("the release", "delta", self.delta, MIN_DELTA, MAX_DELTA)
        if not 0 <= self.selection_delta < self.delta:
            raise InputError(
                f"The delta of a selection must be below the whole delta {format_exact(self.delta)}. Got "
                f"{format_exact(self.selection_delta)}."
            )
        names = [measurement.name for measurement in self.measurements]
        if not names or len({*names}) < len(names):
            raise InputError(f"The measurements of a release need different names. Got {names}: rename one.")
        if self.coordinates > MAX_COORDINATES:
            raise InputError(
                f"A release has at most {MAX_COORDINATES:,} noisy coordinates. Got {self.coordinates:,}: take a "
                "smaller vocabulary."
            )
        if self._remaining_epsilon <= 0:
            raise InputError(
                f"So many coordinates cannot be released at epsilon {format_exact(self.epsilon)}: take a larger one."
            )
        for name in names:
            if self.compute_norm_bound(name) < 1:
                raise InputError(
                    f"Nothing of {name!r} is left at epsilon {format_exact(self.epsilon)}, delta "
                    f"{format_exact(self.delta)} and its share "
                    f"{format_lower(self.compute_share(name))} of the budget: take larger ones."
                )

    @property
    def coordinates(self) -> int:
        """Noisy coordinates of all sums."""
        return sum(measurement.coordinates * measurement.sums for measurement in self.measurements)

    @functools.cached_property
    def noise_ratio(self) -> float:
        """r, the least noise per unit of sensitivity at which one Gaussian sum would spend the whole budget."""
        return compute_noise_ratio(self._remaining_epsilon, self.noise_delta)

    @property
    def noise_delta(self) -> float:
        """What of delta is left for continuous noise."""
        return math.nextafter((self.delta - self.selection_delta) * DISCRETE_DELTA_SHARE, 0)

    @property
    def guarantee(self) -> Guarantee:
        """What all sums together promise, and whatever is computed from them alone."""
        return Guarantee(
            self.epsilon, _SOURCE, "proved", delta=self.delta, unit=self.unit, adjacency=ADJACENCIES[self.unit]
        )

    def get_measurement(self, name: str) -> Measurement:
        """Return the measurement of a name."""
        return next(measurement for measurement in self.measurements if measurement.name == name)

    def compute_share(self, name: str) -> float:
        """Return which share of the squared mu a measurement has."""
        return float(self._compute_exact_share(name))

    def compute_norm_bound(self, name: str) -> int:
        """Return B, the largest l2 norm of a unit's contribution to each sum of a measurement."""
        share = self._compute_exact_share(name) / self.get_measurement(name).sums
        return math.isqrt(math.floor(share * NOISE_STEPS**2 / Fraction(self.noise_ratio) ** 2))

    @property
    def squared_mu(self) -> Fraction:
        """The sum of (B / s)^2 over all sums, from the integers that are used."""
        squares = (one.sums * self.compute_norm_bound(one.name) ** 2 for one in self.measurements)
        return Fraction(sum(squares), NOISE_STEPS**2)

    def verify(self) -> Verdict:
        """Return what the sums compose to, from the integers that are used: their bounds, numbers and noise."""
        # The largest total mu that the calibration allows; a float64 ratio just below is a weaker condition.
        is_within = self.squared_mu * Fraction(self.noise_ratio) ** 2 <= 1
        log_delta = bound_log_delta(self._remaining_epsilon, self.noise_ratio)
        is_within = is_within and log_delta <= math.log(self.noise_delta)
        return Verdict(
            guarantee=self.guarantee,
            status="proved" if is_within else "undecided",
            epsilon=self.epsilon if is_within else math.inf,
            method=f"by theorem: {len(self.measurements)} measurement{'s' * (len(self.measurements) > 1)} of integer "
            "contributions composed; every contribution is checked against its bound before it is added; noise from "
            "AES-128-CTR",
        )

    def describe_measurements(self) -> list[dict[str, object]]:
        """Return every measurement as certificates list it: share of the squared mu, sums, bound and noise."""
        return [
            {
                "name": measurement.name,
                "share": self.compute_share(measurement.name),
                "sums": measurement.sums,
                "coordinates": measurement.coordinates,
                "norm bound of a unit": self.compute_norm_bound(measurement.name),
                "noise": NOISE_STEPS,
            }
            for measurement in self.measurements
        ]

    @property
    def _remaining_epsilon(self) -> float:
        return compute_continuous_epsilon(self.epsilon, self.coordinates)

    def _compute_exact_share(self, name: str) -> Fraction:
        total = sum((Fraction(measurement.weight) for measurement in self.measurements), Fraction(0))
        return Fraction(self.get_measurement(name).weight) / total


def judge_budget(budget: Budget, seed: int | None) -> tuple[Guarantee, Verdict]:
    """Return what the measurements of a budget promise, and what is known of that: false under a public seed.

    Args:
        budget: what is measured.
        seed: of the noise; None for fresh noise.
    """
    guarantee, verdict = budget.guarantee, budget.verify()
    if seed is not None:
        guarantee = dataclasses.replace(guarantee, source=PUBLIC_SEED_SOURCE, status="refuted")
        verdict = dataclasses.replace(verdict, status="refuted", guarantee=guarantee, method=PUBLIC_SEED_SOURCE)
    return guarantee, verdict


def bound_group_epsilon(budget: Budget, size: int) -> float:
    r"""Return an epsilon at which k units together are (epsilon, delta)-DP, with the delta of the budget.

    k units move every sum by at most k B: Gaussian noise with k times the sensitivity. The least epsilon with
    delta(epsilon) <= delta is that of the ratio r / k, from above. It is far below what group privacy
    gives, (k epsilon, k e^((k-1) epsilon) delta), since delta stays.

    Args:
        budget: of the release.
        size: k >= 1.
    """
    _, epsilon = bracket_gaussian_epsilon(budget.noise_ratio / size, math.log(budget.noise_delta))
    return epsilon + compute_discretization_cost(epsilon, budget.coordinates)


def describe_groups(budget: Budget) -> list[str]:
    """Return what a person with 2, 5 or 10 records has, a line each; nothing where persons are the units."""
    if budget.unit == "person":
        return []
    promises = []
    for size in GROUP_SIZES:
        if not budget.selection_delta:
            epsilon = format_upper(bound_group_epsilon(budget, size))
            promises.append(f"epsilon {epsilon} at delta {format_exact(budget.delta)}")
            continue
        # What group privacy gives: several units together may pass a threshold that one of them does not.
        log_delta = math.log(size * budget.delta) + (size - 1) * budget.epsilon
        epsilon, delta = format_upper(size * budget.epsilon), format_upper(math.exp(min(log_delta, 0.0)))
        promises.append(f"epsilon {epsilon} at delta {delta}" if log_delta < 0 else "nothing")
    return [f"a person with {size} records: {one}" for size, one in zip(GROUP_SIZES, promises, strict=True)]
