"""The exponential mechanism, its noise calibrated to the exact epsilon."""

import dataclasses
import functools
import math
from collections.abc import Collection

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.cache import load_or_compute_facts
from deniable.core.errors import InputError
from deniable.core.guarantees import Guarantee
from deniable.core.numbers import find_root, round_down
from deniable.space.space import Space
from deniable.space.steps import StepGraph
from deniable.words.laws import ExponentialKernel, ExponentialLaw, RingLaw, make_exponential_law
from deniable.words.laws.exponential import bound_pair_epsilons
from deniable.words.laws.ring import estimate_ring_epsilon
from deniable.words.mechanism import WordMechanism

CALIBRATION_SOURCE = "exact epsilon over all pairs of words and all outputs, computed for this very space"
"""The ground of a calibrated guarantee."""
CALIBRATION_TOLERANCE = 1e-7
"""Share of epsilon that may stay unused."""
_PAIRS_PER_PROOF = 32
"""Pairs that each proof adds to those that bind the scale."""
_MAX_PROOFS = 40
_AIMED_SHARE = 1 - CALIBRATION_TOLERANCE / 2
"""Share of epsilon that the pairs which bind the scale may spend."""
_SCALE_DIGITS = 9
"""Decimal digits of a scale, beyond which no calibration is told from another."""
_SCALE_TOLERANCE = 1e-13
_FIRST_GUESS = 0.85


def load_or_calibrate(
    space: Space, epsilon: float, weights: FloatArray | None = None, guess: float = _FIRST_GUESS
) -> ExponentialKernel:
    """The kernel that `calibrate_scale` finds; its scale is remembered, and used only if it is proved to suit."""

    def make_law(scale: float) -> ExponentialLaw:
        return ExponentialLaw(space, ExponentialKernel(scale, weights=weights))

    def compute() -> dict[str, float]:
        return {"scale": calibrate_scale(space, epsilon, weights, guess).scale}

    def is_valid(stored: dict[str, float]) -> bool:
        return epsilon / 2 <= stored["scale"] <= epsilon and make_law(stored["scale"]).census.epsilon <= epsilon

    fingerprint = ExponentialKernel(1.0, weights=weights).fingerprint
    name = f"scale-{space.fingerprint}-{fingerprint}-{epsilon!r}"
    return make_law(load_or_compute_facts(name, ("scale",), compute, is_valid)["scale"]).kernel


def calibrate_steps(space: Space, graph: StepGraph, epsilon: float) -> float:
    """The largest scale found of a law on a graph whose epsilon, by its tables, is at most ``epsilon``.

    The root of a function of N_k alone, but for the least entry of tables s + max |ln Z(x) - ln Z(x')| over edges (and
    what far pairs have), is rounded down to `_SCALE_DIGITS` digits, and then further as long as the tables spend more.
    No scale above epsilon is sought: beyond 16 the least entry keeps the tables from spending all of it.

    Raises:
        InputError: epsilon is so small that rounding by itself may exceed it.
    """

    def estimate(scale: float) -> float:
        return estimate_ring_epsilon(graph, ExponentialKernel(scale)) - _AIMED_SHARE * epsilon

    low, high = epsilon / 2, epsilon
    scale = high if estimate(high) <= 0 else low
    if estimate(low) < 0 < estimate(high):
        scale = find_root(estimate, low, high, _SCALE_TOLERANCE * high)
    for step in range(_MAX_PROOFS):
        trial = max(low, round_down(scale * (1 - step * CALIBRATION_TOLERANCE / 4), _SCALE_DIGITS))
        if RingLaw(space, ExponentialKernel(trial)).exact_epsilon().epsilon <= epsilon:
            return trial
    raise _make_calibration_error(epsilon)


def calibrate_scale(
    space: Space, epsilon: float, weights: FloatArray | None = None, guess: float = _FIRST_GUESS
) -> ExponentialKernel:
    """The kernel c(y) exp(-s d) with the largest s found at which the exact epsilon is at most ``epsilon``.

    By cutting planes: the exact epsilon at a trial scale names the worst pairs; the next trial is
    the largest scale that suits all pairs named so far, which needs Z of their words alone. Scales are rounded down to
    `_SCALE_DIGITS` digits, so that the pairs that bind decide, and not the way to them.
    s = epsilon / 2 suits every pair, since ln Z is s-Lipschitz, and no s above epsilon does. The law
    returned is proved over all pairs, rounding included, and within `CALIBRATION_TOLERANCE` of epsilon.

    Args:
        space: the domain, of a metric that has a name.
        epsilon: > 0.
        weights: c (number of points,); None for c = 1.
        guess: share of epsilon to begin at. A good one saves time; the result does not rest on it.

    Raises:
        InputError: epsilon is so small that rounding by itself may exceed it.
        NotTractable: the rounding of the space's metric is unknown.
    """
    low, high = epsilon / 2, epsilon
    best: ExponentialKernel | None = None
    pairs: dict[tuple[int, int], None] = {}
    scale = guess * epsilon
    for _ in range(_MAX_PROOFS):
        law = ExponentialLaw(space, ExponentialKernel(scale, weights=weights))
        if law.census.epsilon > epsilon:
            high = scale
        else:
            low, best = scale, law.kernel
            if law.census.epsilon >= (1 - CALIBRATION_TOLERANCE) * epsilon or scale == high:
                break
        pairs |= dict.fromkeys(law.census.list_worst_pairs(_PAIRS_PER_PROOF))
        scale = _find_binding_scale(space, weights, pairs, low, high, _AIMED_SHARE * epsilon)
        if math.isnan(scale) or high - low < CALIBRATION_TOLERANCE * epsilon / 100:
            break
    if best is None:
        raise _make_calibration_error(epsilon, is_too_large=math.isinf(law.census.epsilon))
    return best


def _make_calibration_error(epsilon: float, *, is_too_large: bool = False) -> InputError:
    demand, remedy = "larger for this space, where rounding would decide what near words lose", "raise"
    if is_too_large:
        demand, remedy = "smaller for this space, where a loss is too large for a float", "lower"
    return InputError(f"The 'epsilon' parameter must be {demand}. Got {epsilon!r}: {remedy} it.")


def _find_binding_scale(
    space: Space,
    weights: FloatArray | None,
    pairs: Collection[tuple[int, int]],
    low: float,
    high: float,
    epsilon: float,
) -> float:
    """The largest scale in [low, high] at which some pairs spend epsilon at most, rounded down; nan where low does not.

    Args:
        space: the domain.
        weights: c (number of points,); None for c = 1.
        pairs: of points, which bind the scale.
        low: least scale.
        high: largest scale.
        epsilon: that the pairs may spend.
    """
    points = np.unique([*pairs])
    rows = space.distances(points)
    first, other = np.searchsorted(points, np.array([*pairs])).T
    pair_distances = rows[first, points[other]]
    factors = np.ones(space.point_count) if weights is None else weights

    def compute_excess(scale: float) -> float:
        kernel = ExponentialKernel(scale, weights=weights)
        logs = np.log((kernel.decay(rows.copy()) * factors).sum(axis=1))
        return (
            float(bound_pair_epsilons(space, kernel, pair_distances, np.abs(logs[first] - logs[other])).max()) - epsilon
        )

    if compute_excess(low) > 0:
        return math.nan
    if compute_excess(high) <= 0:
        return high
    return max(low, round_down(find_root(compute_excess, low, high, _SCALE_TOLERANCE * high), _SCALE_DIGITS))


@dataclasses.dataclass(frozen=True, repr=False)
class CalibratedExponential(WordMechanism):
    """Draws near words by the exponential mechanism, with the least noise that epsilon allows.

    For the input word w::

        P(y|w)  is proportional to  exp(-s d(w, y))

    The general proof (McSherry and Talwar 2007; Carvalho et al. 2021, Theorem 2) takes s = epsilon / 2, half of
    it for the normalizer, which varies with w. How much it varies can be computed: s is the largest
    scale found whose exact epsilon, over all pairs of words and all outputs, is at most epsilon.

    Args:
        space: any metric that has a name. Distances must be exact.
        epsilon: privacy parameter per unit of distance, > 0. The scale is found at first use, by
            passes over all pairs of words, and kept in the cache.
    """

    name = "calibrated"
    metrics = "named"

    @property
    def guarantee(self) -> Guarantee:
        """The exact epsilon over all pairs of words."""
        return Guarantee.of_words(self.epsilon, self.space.metric_name, CALIBRATION_SOURCE)

    def build_law(self) -> ExponentialLaw | RingLaw:
        """Return the calibrated law.

        Raises:
            InputError: epsilon is so small that rounding by itself may exceed it.
        """
        return make_exponential_law(self.space, self.kernel)

    @functools.cached_property
    def kernel(self) -> ExponentialKernel:
        """The calibrated kernel, see `build_law`."""
        return ExponentialKernel(self.scale)

    @functools.cached_property
    def scale(self) -> float:
        """s, per unit of distance."""
        if self.space.graph is not None:
            return calibrate_steps(self.space, self.space.graph, self.epsilon)
        return load_or_calibrate(self.space, self.epsilon).scale

    @property
    def derived_parameters(self) -> dict[str, float | str]:
        """The scale that was found."""
        return {"scale": self.scale}

    def __getstate__(self) -> dict[str, object]:
        """Return what pickles: the calibrated scale too, so that no other processor calibrates another one."""
        return {**super().__getstate__(), "scale": self.scale}
