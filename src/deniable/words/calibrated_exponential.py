"""The exponential mechanism, its noise calibrated to the exact epsilon."""

import functools
import math
import time

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.cache import load_or_compute_facts
from deniable.core.errors import InputError
from deniable.core.guarantees import MetricDP
from deniable.core.numbers import find_root, format_upper, round_down
from deniable.core.progress import expect_passes
from deniable.space.space import Space
from deniable.space.steps import StepGraph
from deniable.words.laws import ExponentialKernel, ExponentialLaw, RingLaw, make_exponential_law
from deniable.words.laws.exponential_proof import make_finding_name, prove_exact_epsilon, summarize_worst_pairs
from deniable.words.laws.kernel import approximate_log_normalisers, compute_log_normalisers
from deniable.words.laws.law import Finding, load_or_compute_finding
from deniable.words.laws.ring import estimate_ring_epsilon
from deniable.words.laws.worst_pairs import WorstPair, bound_pair_epsilons, find_worst_pairs
from deniable.words.mechanism import WordMechanism, check_metric_has_name
from deniable.words.search import KernelSearch

CALIBRATION_SOURCE = "exact epsilon over all pairs of words and all outputs, computed for this very space"
"""The ground of a calibrated guarantee."""
CALIBRATION_TOLERANCE = 1e-7
"""Share of epsilon that may stay unused."""
_PAIRS_PER_PROOF = 8
"""Pairs that each proof adds to those that bind the scale."""
_PAIRS_PER_SEARCH = 32
"""Pairs that the search in float32 adds."""
_MAX_PROOFS = 40
_AIMED_SHARE = 1 - CALIBRATION_TOLERANCE / 2
"""Share of epsilon that the pairs which bind the scale may spend."""
_SCALE_DIGITS = 9
"""Decimal digits of a scale, beyond which no calibration is told from another."""
_SCALE_TOLERANCE = 1e-13
_USUAL_PROOFS, _PASSES_PER_PROOF = 1, 2
"""What calibration usually takes, for the report of its progress alone."""
_FIRST_GUESS = 0.85


def load_or_calibrate(
    space: Space,
    epsilon: float,
    weights: FloatArray | None = None,
    *,
    guess: float | None = None,
    binding: "BindingPairs | None" = None,
) -> ExponentialKernel:
    """Return the kernel that `calibrate_scale` finds; scale and proof are remembered.

    A remembered scale is used only if the law it gives is proved to suit, by a remembered proof or anew.
    """
    weights_fingerprint = ExponentialKernel(1.0, weights=weights).fingerprint

    def compute() -> dict[str, float]:
        kernel, proof = calibrate_scale(space, epsilon, weights, guess=guess, binding=binding)
        # What has been proved on the way need not be proved again.
        load_or_compute_finding(make_finding_name(space, kernel), space.point_count, lambda: proof)
        return {"scale": kernel.scale}

    def is_valid_scale(stored: dict[str, float]) -> bool:
        if not epsilon / 2 <= stored["scale"] <= epsilon:
            return False
        kernel = ExponentialKernel(stored["scale"], weights=weights)
        proof = load_or_compute_finding(
            make_finding_name(space, kernel), space.point_count, lambda: prove_exact_epsilon(space, kernel)
        )
        return proof.epsilon <= epsilon

    scale = load_or_compute_facts(
        f"scale-{space.fingerprint}-{weights_fingerprint}-{epsilon!r}", ("scale",), compute, is_valid_scale
    )["scale"]
    return ExponentialKernel(scale, weights=weights)


def calibrate_steps(space: Space, graph: StepGraph, epsilon: float) -> float:
    """Return the largest scale found of a law on a graph whose epsilon, by its tables, is at most ``epsilon``.

    The root of a function of N_k alone, but for the least entry of tables s + max |ln Z(x) - ln Z(x')| over edges (and
    what far pairs have), is rounded down to `_SCALE_DIGITS` digits, and then further as long as the tables spend more.
    No scale above epsilon is sought: beyond 16 the least entry keeps the tables from spending all of it.

    Raises:
        InputError: epsilon is so small that rounding alone may exceed it.
    """

    def estimate(scale: float) -> float:
        return estimate_ring_epsilon(graph, ExponentialKernel(scale)) - _AIMED_SHARE * epsilon

    low, high = epsilon / 2, epsilon
    scale = high if estimate(high) <= 0 else low
    if estimate(low) < 0 < estimate(high):
        scale = find_root(estimate, low, high, _SCALE_TOLERANCE * high)
    for step in range(_MAX_PROOFS):
        trial = max(low, round_down(scale * (1 - step * CALIBRATION_TOLERANCE / 4), _SCALE_DIGITS))
        if RingLaw(space, ExponentialKernel(trial)).exact_epsilon().finding.epsilon <= epsilon:
            return trial
    raise InputError(
        f"The 'epsilon' parameter must be larger for this space: rounding alone may add to the loss between two words. "
        f"Got {epsilon!r}: raise it."
    )


def calibrate_scale(
    space: Space,
    epsilon: float,
    weights: FloatArray | None = None,
    *,
    guess: float | None = None,
    binding: "BindingPairs | None" = None,
    workers: int | None = None,
) -> tuple[ExponentialKernel, Finding]:
    """Return the kernel c(y) exp(-s d) with the largest s found at which the exact epsilon is at most ``epsilon``.

    By cutting planes: the exact epsilon at a trial scale names the worst pairs; the next trial is
    the largest scale that suits all pairs named so far, which needs Z of their words alone. The first pairs are named
    by a search in float32. Scales are rounded down to `_SCALE_DIGITS` digits, so that the pairs that bind decide, and
    not the way to them.
    s = epsilon / 2 suits every pair, since ln Z is s-Lipschitz, and no s above epsilon does. The law
    returned is proved over all pairs, rounding included, and within `CALIBRATION_TOLERANCE` of epsilon.

    Args:
        space: the domain, of a metric that has a name.
        epsilon: > 0.
        weights: c (number of points,); None for c = 1.
        guess: a scale to begin at. A good one saves time; the result does not rest on it.
        binding: pairs that bind a scale near the guess, of the same space and weights; None to search for them.
        workers: threads.

    Raises:
        InputError: epsilon is so small that rounding alone may exceed it.
        NotTractable: the rounding of the space's metric is unknown.
    """
    low, high = epsilon / 2, epsilon
    best: tuple[ExponentialKernel, Finding] | None = None
    scale = _FIRST_GUESS * epsilon if guess is None else min(max(guess, low), high)
    if binding is None:
        binding = BindingPairs(space, weights)
        if weights is None and space.square_bounds is not None:  # weights even ln Z out: float32 sees nothing of it
            with expect_passes(_PASSES_PER_PROOF * _USUAL_PROOFS):
                binding.search(scale, workers)
    scale = binding.find_scale(low, high, _AIMED_SHARE * epsilon) if binding.has_pairs else scale
    scale = low if math.isnan(scale) else scale  # which the proof then refuses
    for number in range(1, _MAX_PROOFS + 1):
        kernel = ExponentialKernel(scale, weights=weights)
        start = time.perf_counter()
        with expect_passes(_PASSES_PER_PROOF * max(0, _USUAL_PROOFS - number)):
            with expect_passes(1):
                logs = compute_log_normalisers(space, kernel, workers, recompute=True)
            worst_pairs = find_worst_pairs(space, kernel, logs, workers)
        if worst_pairs[0].epsilon > epsilon:
            high = scale
        else:
            low, best = scale, (kernel, summarize_worst_pairs(space, kernel, worst_pairs, start))
            if worst_pairs[0].epsilon >= (1 - CALIBRATION_TOLERANCE) * epsilon or scale == high:
                break
        binding.add(worst_pairs[:_PAIRS_PER_PROOF])
        scale = binding.find_scale(low, high, _AIMED_SHARE * epsilon)
        if math.isnan(scale) or high - low < CALIBRATION_TOLERANCE * epsilon / 100:
            break
    if best is None:
        raise _make_calibration_error(space, epsilon, worst_pairs[0])
    return best


def _make_calibration_error(space: Space, epsilon: float, pair: WorstPair) -> InputError:
    """Return what to say of an epsilon that no scale reaches, because of a pair of words."""
    words = " and ".join(repr(space.first_word_at(point)) for point in (pair.input, pair.other))
    if math.isinf(pair.epsilon):
        return InputError(
            f"The 'epsilon' parameter must be smaller for this space: the loss between {words} is too large for a "
            f"float. Got {epsilon!r}: lower it."
        )
    return InputError(
        "The 'epsilon' parameter must be larger for this space: rounding alone may add "
        f"{format_upper(pair.epsilon, 2)} between "
        f"{words}. Got {epsilon!r}: raise it, or leave one of the two words out."
    )


class BindingPairs:
    """The pairs of words that bind the scale, with the distances of their words to all points.

    Args:
        space: the domain.
        weights: c (number of points,); None for c = 1.
    """

    def __init__(self, space: Space, weights: FloatArray | None) -> None:
        self.space, self._weights = space, weights
        self._distances: dict[int, FloatArray] = {}
        self._pairs: dict[tuple[int, int], None] = {}

    @property
    def has_pairs(self) -> bool:
        """Whether any have been added."""
        return bool(self._pairs)

    def search(self, scale: float, workers: int | None = None) -> None:
        """Add the worst pairs at a scale, by normalisers that need not be exact."""
        kernel = ExponentialKernel(scale, weights=self._weights)
        with expect_passes(1):
            (logs,) = approximate_log_normalisers(self.space, [kernel], workers)
        self.add(find_worst_pairs(self.space, kernel, logs, workers)[:_PAIRS_PER_SEARCH])

    def add(self, worst_pairs: list[WorstPair]) -> None:
        """Add pairs, the distances of whose words are computed and kept."""
        self._pairs |= {(worst_pair.input, worst_pair.other): None for worst_pair in worst_pairs}
        missing = sorted({point for pair in self._pairs for point in pair} - {*self._distances})
        self._distances.update(zip(missing, self.space.distances(missing), strict=True))

    def exact_epsilon(self, scale: float) -> float:
        """Return the exact epsilon over these pairs alone."""
        kernel = ExponentialKernel(scale, weights=self._weights)
        points = [*self._distances]
        decay = kernel.decay(np.array([self._distances[point] for point in points]))
        sums = decay.sum(axis=1) if self._weights is None else decay @ self._weights
        logs = dict(zip(points, np.log(sums), strict=True))
        pair_distances = np.array([self._distances[w][other] for w, other in self._pairs])
        log_ratios = np.array([abs(logs[other] - logs[w]) for w, other in self._pairs])
        return float(bound_pair_epsilons(self.space, kernel, pair_distances, log_ratios).max())

    def find_scale(self, low: float, high: float, epsilon: float) -> float:
        """Return the largest scale in [low, high] of epsilon at most, rounded down; nan where low exceeds it."""
        if self.exact_epsilon(low) > epsilon:
            return math.nan
        if self.exact_epsilon(high) <= epsilon:
            return high
        scale = find_root(lambda trial: self.exact_epsilon(trial) - epsilon, low, high, _SCALE_TOLERANCE * high)
        return max(low, round_down(scale, _SCALE_DIGITS))


class CalibratedExponential(WordMechanism):
    """Draws near words by the exponential mechanism, with the least noise that epsilon allows.

    For the input word w::

        P(y|w)  is proportional to  exp(-s d(w, y))

    The general proof (McSherry and Talwar 2007; Carvalho et al. 2021, Theorem 2) takes s = epsilon / 2, half of
    it for the normaliser, which varies with w. How much it varies can be computed: s is the largest
    scale found whose exact epsilon, over all pairs of words and all outputs, is at most epsilon.

    Args:
        space: any metric that has a name. Distances must be exact.
        epsilon: privacy parameter per unit of distance, > 0. The scale is found at first use, by
            passes over all pairs of words, and kept in the cache.
    """

    name = "calibrated"

    def __init__(self, space: Space, *, epsilon: float) -> None:
        super().__init__(space, epsilon=epsilon)
        check_metric_has_name(self)

    @property
    def guarantee(self) -> MetricDP:
        """The exact epsilon over all pairs of words."""
        return MetricDP(self.epsilon, self.space.metric_name, CALIBRATION_SOURCE)

    def build_law(self) -> ExponentialLaw | RingLaw:
        """Return the calibrated law.

        Raises:
            InputError: epsilon is so small that rounding alone may exceed it.
        """
        return make_exponential_law(self.space, self.kernel)

    @functools.cached_property
    def kernel(self) -> ExponentialKernel:
        """The calibrated kernel, see `build_law`."""
        return ExponentialKernel(self.scale)

    @classmethod
    def kernel_search(cls, space: Space) -> KernelSearch:
        """Return the kernels by scale: calibration waits until one is chosen, and begins there."""
        graph = space.graph
        if graph is not None:
            return KernelSearch(ExponentialKernel, lambda scale: estimate_ring_epsilon(graph, ExponentialKernel(scale)))
        binding = BindingPairs(space, None)

        def compute_epsilon(scale: float) -> float:
            binding.search(scale)
            return binding.exact_epsilon(scale)

        def prepare(scale: float, epsilon: float) -> None:
            load_or_calibrate(space, epsilon, guess=scale, binding=binding if binding.has_pairs else None)

        return KernelSearch(ExponentialKernel, compute_epsilon, prepare)

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
