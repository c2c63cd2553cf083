"""The exponential family of laws: P(y|w) = c(y) exp(-s min(d(w, y), gamma)) / Z(w), whose proof is a closed form."""

import functools
from collections.abc import Callable

from deniable.core.arrays import FloatArray
from deniable.core.classes import WriteOnce
from deniable.core.parallel import Result
from deniable.core.progress import expect_passes
from deniable.core.randomness import Streams
from deniable.space.space import PointNumbers, Space
from deniable.words.laws.block_sampling import BlockSampler
from deniable.words.laws.divergence import (
    MAX_EXACT_POINTS,
    bound_divergence,
    compute_input_losses,
    compute_loss_extremes,
)
from deniable.words.laws.exponential_proof import make_finding_name, prove_exact_epsilon
from deniable.words.laws.kernel import ExponentialKernel, compute_log_normalisers
from deniable.words.laws.law import (
    ExactEpsilon,
    IntegerTable,
    PointIndices,
    RenyiBound,
    WordShares,
    get_part_fingerprint,
    load_or_compute_finding,
)
from deniable.words.laws.outcomes import compute_exponential_outcomes
from deniable.words.laws.ring import RingLaw
from deniable.words.laws.tabulated import TabulatedLaw


class ExponentialLaw(WriteOnce):
    """A law of the exponential family; see `deniable.words.laws.law.Law` for its methods.

    Draws come from its integer tables. Its epsilon is proved in O(n^2), at any size, where the rounding of the metric
    is known and the kernel is no subclass, whose rows could be anything: else it is verified as a `TabulatedLaw`.

    Args:
        space: the domain, of n points.
        kernel: scale, cutoff and weights.
    """

    is_tabulated = True
    has_rows = True

    def __init__(self, space: Space, kernel: ExponentialKernel) -> None:
        self.space, self.kernel = space, kernel
        self._table = TabulatedLaw(space, _KernelRows(space, kernel))

    @property
    def is_closed_form(self) -> bool:
        """Whether the kernel alone tells the law, so that the proofs of the family hold."""
        return type(self.kernel) is ExponentialKernel

    @property
    def _is_provable(self) -> bool:
        return self.is_closed_form and self.space.metric.is_builtin

    @property
    def fingerprint(self) -> str | None:
        """Those of space and kernel."""
        return self._table.fingerprint

    def rows(self, points: PointIndices) -> FloatArray:
        """Return the probabilities (k, n) of k input points."""
        return self._table.rows(points)

    def map_rows(
        self, visit: Callable[[int, FloatArray], Result], points: PointIndices, workers: int | None = None
    ) -> list[Result]:
        """Return ``visit(first, rows)`` for blocks of the rows of many points (N,)."""
        return self._table.map_rows(visit, points, workers)

    def tables(self, points: PointIndices) -> IntegerTable:
        """Return the entries (k, n) of the integer tables, which sum to 2^62."""
        return self._table.tables(points)

    def sample(self, points: PointNumbers, streams: Streams, workers: int | None = None) -> PointNumbers:
        """Return one output point for each input point (N,)."""
        if self._block_sampler is None:
            return self._table.sample(points, streams, workers)
        return self._block_sampler.sample(points, streams.bits(), workers)

    def prepare_draws(self, workers: int | None = None) -> None:
        """Compute the block sums of all points, where the metric is Euclidean."""
        if self._block_sampler is not None:
            self._block_sampler.prepare(workers)

    @functools.cached_property
    def _block_sampler(self) -> BlockSampler | None:
        panels = self.space.panels
        if panels is None or not self._is_provable:
            return None
        return BlockSampler(self.space, panels, self.kernel, _KernelRows(self.space, self.kernel))

    def exact_epsilon(self, workers: int | None = None) -> ExactEpsilon:
        """Return the exact epsilon over all pairs and all outputs, in closed form."""
        if not self._is_provable:
            return self._table.exact_epsilon(workers)
        count = self.space.point_count
        finding = load_or_compute_finding(
            make_finding_name(self.space, self.kernel),
            count,
            lambda: prove_exact_epsilon(self.space, self.kernel, workers),
        )
        method = f"exact over all {count * (count - 1):,} pairs and all outputs, closed form of the exponential family"
        return ExactEpsilon(finding, method)

    def outcomes(self, prior: FloatArray, workers: int | None = None) -> WordShares:
        """Return how often each word is released unchanged, and how often it is guessed."""
        if not self.is_closed_form:
            return self._table.outcomes(prior, workers)
        with expect_passes(1):
            logs = compute_log_normalisers(self.space, self.kernel, workers)
        (shares,) = compute_exponential_outcomes(self.space, [self.kernel], [logs], prior, workers)
        return shares

    def worst_loss(self, workers: int | None = None) -> float | None:
        """Return the largest loss in nats of any pair, all rounding in it."""
        if not self._is_provable:
            return None
        return compute_loss_extremes(self.space, self.kernel, workers)["loss"]

    def input_losses(self, points: PointIndices, workers: int | None = None) -> FloatArray | None:
        """Return the largest loss (k,) in nats of each of k input points against any other, all rounding in it."""
        if not self._is_provable:
            return None
        return compute_input_losses(self.space, self.kernel, points, workers)

    def renyi(self, order: float, workers: int | None = None) -> RenyiBound | None:
        """Return the largest D_order of any two tables up to 10,000 points, beyond them a bound of the family."""
        if self.space.point_count <= MAX_EXACT_POINTS or not self._is_provable:
            return self._table.renyi(order, workers)
        return RenyiBound(bound_divergence(self.space, self.kernel, order, workers), is_exact=False)


class _KernelRows:
    """The rows of a kernel over a space."""

    def __init__(self, space: Space, kernel: ExponentialKernel) -> None:
        self.space, self._kernel = space, kernel

    @property
    def fingerprint(self) -> str | None:
        """Those of space and kernel; None for a subclass of the kernel, which may compute anything."""
        kernel_fingerprint = get_part_fingerprint(self.space, self._kernel)
        return None if kernel_fingerprint is None else f"{self.space.fingerprint}-{kernel_fingerprint}"

    def __call__(self, points: PointIndices, distances: FloatArray) -> FloatArray:
        del points
        return self._kernel.rows(distances)


def make_exponential_law(space: Space, kernel: ExponentialKernel) -> ExponentialLaw | RingLaw:
    """Return the law of a kernel: ring by ring where the metric counts steps and no point has a weight of its own."""
    return (
        ExponentialLaw(space, kernel) if space.graph is None or kernel.weights is not None else RingLaw(space, kernel)
    )
