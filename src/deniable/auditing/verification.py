"""Exact verification: the epsilon that a mechanism spends in truth, over pairs of words and outputs."""

import contextlib
import heapq
import itertools
import math
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deniable.auditing.vector_verification import verify_vector_mechanism
from deniable.core.arrays import FloatArray
from deniable.core.cache import bypass_cache
from deniable.core.errors import InputError, NotTractable, check_positive, make_parameter_error
from deniable.core.evidence import Verdict, Witness
from deniable.core.guarantees import MetricDP, Status
from deniable.core.parallel import parallel_map
from deniable.space import Space
from deniable.vectors import VectorMechanism
from deniable.words import WordMechanism
from deniable.words.laws import tabulated
from deniable.words.laws.exponential import ExponentialLaw, make_finding_name, prove_exact_epsilon
from deniable.words.laws.matrix import MAX_MATRIX_INPUTS, find_worst_triple
from deniable.words.laws.tabulated import Finding, load_or_compute_finding

SUBSET_SIZE = 16
"""Inputs whose laws are compared where all of them would take too long."""
_MATRIX_ROUNDING = 1e-12
"""Relative error allowed for in the probabilities of a matrix."""
_LOGARITHM_ERROR = 2.0**-44
"""Nats that logarithms of table entries, and their difference, may err by."""
_WITNESS_COUNT = 8
"""Worst pairs, and as many nearest ones, that are compared at all outputs where others are at one alone."""
_ROW_SUM_TOLERANCE = 1e-9
_COMPARISONS_PER_SECOND = 2e9
_MIN_DISTANCE = 1e-300


def verify(
    subject: "WordMechanism | VectorMechanism | npt.ArrayLike",
    *,
    space: Space | None = None,
    epsilon: float | None = None,
    dimension: int | None = None,
    cache: bool = True,
    workers: int | None = None,
) -> Verdict:
    """Return the exact epsilon of a mechanism, or of anybody's probability matrix, as a verdict.

    - A law of the exponential family: all pairs and outputs, in O(n^2), at any size.
    - Another known law, or a matrix: all pairs and outputs, in O(n^3), up to 3,000 inputs. Beyond
      that a mechanism's verdict says which inputs and outputs were compared; a matrix is refused.
    - A vector mechanism: all inputs and outputs of a dimension, from the law of its noise.
    - No known law: the theorem that the mechanism's guarantee cites.

    The status is never above the arithmetic of the draws: where they are simulated in floating point, and the law
    or the theorem is about real numbers, it is at best ``proved for ideal arithmetic``.

    Args:
        subject: a word or a vector mechanism; or P (n, n), P[w, y] the probability that word w of the space
            gives word y, in the order of ``space.words``.
        space: the matrix's space.
        epsilon: the matrix's claim, per unit of distance.
        dimension: n, of a vector mechanism's inputs (n,).
        cache: use, and keep, results in the cache, where fingerprints of the space and of the very
            law tell them apart; False computes all anew, calibration included unless it was used.
        workers: threads.

    Raises:
        InputError: the subject is neither, or is no probability matrix over the space.
        NotTractable: a matrix of more than 3,000 words; the message says the cost.
    """
    if isinstance(subject, (VectorMechanism, WordMechanism)) and (space is not None or epsilon is not None):
        raise InputError("verify takes space and epsilon with a matrix only: a mechanism has its own.")
    if isinstance(subject, VectorMechanism):
        return verify_vector_mechanism(subject, dimension)
    if dimension is not None:
        raise InputError("verify takes dimension with a vector mechanism only.")
    if isinstance(subject, WordMechanism):
        with contextlib.nullcontext() if cache else bypass_cache():
            return _verify_mechanism(subject, workers)
    if not isinstance(space, Space):
        raise make_parameter_error("verify", "space", "the Space of the matrix", space)
    return _verify_matrix(subject, space, check_positive("verify", "epsilon", epsilon), workers)


def _verify_mechanism(mechanism: WordMechanism, workers: int | None) -> Verdict:
    space = mechanism.space
    guarantee = mechanism.guarantee
    if not isinstance(guarantee, MetricDP) or guarantee.metric != space.metric.name:
        raise InputError(
            f"The guarantee of {type(mechanism).__name__} must be a MetricDP about the metric of its space, "
            f"{space.metric}, so that it can be verified. Got {guarantee}."
        )
    family = mechanism.sampled_exponential_law
    if family is not None and space.metric.is_builtin:
        return _verify_exponential(mechanism, family, workers)
    if not mechanism.has_law:
        return _verify_by_theorem(mechanism)
    points = np.arange(len(space.points), dtype=np.int64)
    if len(points) <= MAX_MATRIX_INPUTS:
        return _verify_all_outputs(mechanism, points, workers)
    if mechanism.is_tabulated:
        return _verify_at_own_outputs(mechanism, workers)
    frequent_points = np.unique(space.point_by_word[:SUBSET_SIZE]).astype(np.int64)
    return _verify_all_outputs(mechanism, frequent_points, workers)


def _verify_by_theorem(mechanism: WordMechanism) -> Verdict:
    guarantee = mechanism.guarantee
    is_theorem_proved = guarantee.status in {"proved", "proved for ideal arithmetic"} and mechanism.is_builtin
    return Verdict(
        guarantee=guarantee,
        status=guarantee.status if is_theorem_proved else "undecided",
        epsilon=guarantee.epsilon if is_theorem_proved else math.inf,
        lower_bound=0.0,
        confidence=1.0,
        samples=0,
        witness=None,
        method=f"{'by theorem, nothing computed' if is_theorem_proved else 'nothing computed'}: {guarantee.source}",
        seconds=0.0,
    )


def _verify_exponential(mechanism: WordMechanism, family: ExponentialLaw, workers: int | None) -> Verdict:
    space = mechanism.space
    count = len(space.points)
    finding = load_or_compute_finding(
        make_finding_name(space, family), count, lambda: prove_exact_epsilon(space, family, workers)
    )
    method = f"exact over all {count * (count - 1):,} pairs and all outputs, closed form of the exponential family"
    return _make_verdict(mechanism.guarantee, finding, space, method)


def _verify_all_outputs(mechanism: WordMechanism, inputs: npt.NDArray[np.int64], workers: int | None) -> Verdict:
    """Compare the laws of the given input points with each other at every output."""
    space, start = mechanism.space, time.perf_counter()

    def compute_finding() -> Finding:
        upper, lower = _bound_laws(mechanism, inputs, workers)
        return _compare_laws(
            upper, lower, space.distances(inputs)[:, inputs], inputs, space, start, workers, _LOGARITHM_ERROR
        )

    fingerprint = mechanism.law_fingerprint
    count = len(space.points)
    finding = (
        load_or_compute_finding(f"outputs-{len(inputs)}-{fingerprint}", count, compute_finding)
        if fingerprint
        else compute_finding()
    )
    method = (
        "of the integer tables" if mechanism.is_tabulated else "of the ideal law, its estimated error in the bounds"
    )
    if len(inputs) == count:
        method = f"exact over all {count * (count - 1):,} pairs and all outputs {method}"
        if mechanism.is_tabulated:
            return _make_verdict(mechanism.guarantee, finding, space, method)
        if mechanism.is_builtin:
            method += "; the draws are simulated in floating point"
            return _make_verdict(
                mechanism.guarantee, finding, space, method, proved_status="proved for ideal arithmetic"
            )
        method += "; the draws are another's simulation, and were not compared with it"
        return _make_verdict(mechanism.guarantee, finding, space, method, is_exhaustive=False)
    method = (
        f"exact over all pairs of the {len(inputs)} most frequent of {count:,} inputs and all outputs {method}; "
        "other inputs are not covered"
    )
    return _make_verdict(mechanism.guarantee, finding, space, method, is_exhaustive=False)


def _bound_laws(
    mechanism: WordMechanism, inputs: npt.NDArray[np.int64], workers: int | None
) -> tuple[FloatArray, FloatArray]:
    """Return upper and lower bounds (k, n) on the probabilities of k inputs."""
    distances = mechanism.space.distances(inputs)
    if mechanism.is_tabulated:
        exact_entries = tabulated.compute_table_entries(mechanism.rows(distances)).astype(float)
        return exact_entries, exact_entries
    bounded_rows = parallel_map(lambda i: mechanism.rows_with_errors(distances[i : i + 1]), range(len(inputs)), workers)
    values = np.concatenate([row for row, _ in bounded_rows])
    errors = np.concatenate([error for _, error in bounded_rows])
    return values + errors, np.maximum(values - errors, 0.0)


def _compare_laws(
    upper: FloatArray,
    lower: FloatArray,
    distances: FloatArray,
    inputs: npt.NDArray[np.int64],
    space: Space,
    start: float,
    workers: int | None,
    slack: float,
) -> Finding:
    """Return what the laws of k inputs, between bounds (k, n), spend at distances (k, k)."""
    distance_error = space.distance_error if space.metric.is_builtin else 0.0
    distances_low = np.where(distances > 0, np.maximum(distances - distance_error, _MIN_DISTANCE), 0.0)
    distances_high = np.where(distances > 0, distances + distance_error, 0.0)
    epsilon, *_ = find_worst_triple(upper, lower, distances_low, slack=slack, workers=workers)
    lower_bound, first, other, output = find_worst_triple(lower, upper, distances_high, slack=-slack, workers=workers)
    with np.errstate(divide="ignore"):
        loss = float(np.log(lower[first, output]) - np.log(upper[other, output]))
    return Finding(
        epsilon=epsilon,
        lower_bound=max(lower_bound, 0.0),
        input=int(inputs[first]),
        other=int(inputs[other]),
        output=output,
        distance=float(distances[first, other]),
        loss=loss,
        seconds=time.perf_counter() - start,
    )


class _InputPair(NamedTuple):
    """Two inputs, and what they spend at the output y = w by the tables."""

    epsilon: float
    distance: float
    input: int
    other: int


def _verify_at_own_outputs(mechanism: WordMechanism, workers: int | None) -> Verdict:
    """Compare all pairs of inputs at the output y = w, where most laws lose most, and the worst at all outputs."""
    start = time.perf_counter()
    space = mechanism.space
    all_points = range(len(space.points))

    def compute_own_entries(first: int, distances: FloatArray) -> FloatArray:
        own_entries: FloatArray = np.diagonal(
            tabulated.compute_table_entries(mechanism.rows(distances)), offset=first
        ).astype(float)
        return own_entries

    own_entries = np.log(np.concatenate(space.map_row_blocks(compute_own_entries, all_points, workers)))
    distance_error = space.distance_error if space.metric.is_builtin else 0.0

    def compare_strip(first: int, distances: FloatArray) -> list[_InputPair]:
        separation = distances.copy()
        separation[np.arange(len(separation)), first + np.arange(len(separation))] = np.inf
        losses = (
            own_entries
            - np.log(tabulated.compute_table_entries(mechanism.rows(distances)).astype(float))
            - _LOGARITHM_ERROR
        )
        ratios = losses / (separation + distance_error)
        pairs = []
        for i, candidates in enumerate(
            zip(ratios.argmax(axis=1).tolist(), separation.argmin(axis=1).tolist(), strict=True)
        ):
            pairs += [_InputPair(float(ratios[i, w]), float(separation[i, w]), w, first + i) for w in candidates]
        return pairs

    def compare_outputs(pair: _InputPair) -> Finding:
        separation = pair.distance
        loss = tabulated.find_worst_output(space, mechanism.rows, pair.input, pair.other)
        lower_bound = max(loss.nats - _LOGARITHM_ERROR, 0.0) / (separation + distance_error)
        return Finding(
            math.inf,
            lower_bound,
            loss.input,
            loss.other,
            loss.output,
            separation,
            loss.nats,
            time.perf_counter() - start,
        )

    pairs = list(itertools.chain.from_iterable(space.map_row_blocks(compare_strip, all_points, workers)))
    # Where rounding is most of a loss, near pairs lose most, and not at y = w.
    worst_pairs = heapq.nlargest(_WITNESS_COUNT, pairs, key=lambda pair: pair.epsilon)
    nearest_pairs = heapq.nsmallest(_WITNESS_COUNT, pairs, key=lambda pair: pair.distance)
    finding = max(map(compare_outputs, worst_pairs + nearest_pairs), key=lambda candidate: candidate.lower_bound)
    count = len(space.points)
    method = (
        f"all {count * (count - 1):,} pairs at the output y = w, and the worst and the nearest of them at all outputs, "
        "by integer tables"
    )
    return _make_verdict(mechanism.guarantee, finding, space, method, is_exhaustive=False)


def _verify_matrix(matrix: "npt.ArrayLike", space: Space, claim: float, workers: int | None) -> Verdict:
    start = time.perf_counter()
    count = len(space)
    try:
        probabilities = np.asarray(matrix)
    except ValueError as error:
        raise InputError(f"The matrix must be an array (n, n) of numbers: {error}.") from None
    if probabilities.dtype.kind not in "biuf":
        raise InputError(
            f"The matrix must be an array (n, n) of real numbers. Got entries of type {probabilities.dtype}."
        )
    if probabilities.shape != (count, count):
        raise InputError(
            f"The matrix must have shape ({count}, {count}), a row for each word. Got {probabilities.shape}."
        )
    if count > MAX_MATRIX_INPUTS:
        raise NotTractable(
            f"A matrix of {count:,} words takes {count**3:.1e} comparisons, about {count**3 / _COMPARISONS_PER_SECOND:,.0f} "
            f"seconds. Verify at most {MAX_MATRIX_INPUTS:,} words, or a mechanism of a known family."
        )
    probabilities = probabilities.astype(np.float64)
    with np.errstate(invalid="ignore"):
        sums = probabilities.sum(axis=1)
    invalid_rows = ~(np.isfinite(probabilities) & (probabilities >= 0)).all(axis=1) | ~(
        np.abs(sums - 1) <= _ROW_SUM_TOLERANCE
    )
    if invalid_rows.any():
        row = int(np.argmax(invalid_rows))
        raise InputError(
            f"Row {row} of the matrix, for {space.words[row]!r}, is no distribution: entries must be at least 0 "
            f"and sum to 1. Got a sum of {sums[row]:.12g} and a least entry of {probabilities[row].min():g}."
        )
    distances = space.distances(range(len(space.points)))[np.ix_(space.point_by_word, space.point_by_word)]
    finding = _compare_laws(
        probabilities, probabilities, distances, np.arange(count), space, start, workers, _MATRIX_ROUNDING
    )
    method = f"exact over all {count * (count - 1):,} pairs and all outputs of the matrix"
    guarantee = MetricDP(claim, space.metric.name, "claimed of the matrix", "claimed")
    return _make_verdict(guarantee, finding, space, method, words=space.words)


def _make_verdict(
    guarantee: MetricDP,
    finding: Finding,
    space: Space,
    method: str,
    *,
    is_exhaustive: bool = True,
    proved_status: Status = "proved",
    words: Sequence[str] = (),
) -> Verdict:
    """Return what a finding says of a guarantee.

    Args:
        guarantee: as claimed.
        finding: numbers points of the space, or of ``words`` if given.
        space: the domain.
        method: the method.
        is_exhaustive: whether the finding is about all inputs and outputs.
        proved_status: the status of a claim that the finding bears out.
        words: what the finding numbers.
    """
    status: Status = "undecided" if is_exhaustive else "not refuted"
    if finding.lower_bound > guarantee.epsilon:
        status = "refuted"
    elif is_exhaustive and finding.epsilon <= guarantee.epsilon:
        status = proved_status
    word, other, output = (
        words[i] if words else space.first_word_at(i) for i in (finding.input, finding.other, finding.output)
    )
    return Verdict(
        guarantee=guarantee,
        status=status,
        epsilon=finding.epsilon if is_exhaustive else math.inf,
        lower_bound=finding.lower_bound,
        confidence=1.0,
        samples=0,
        witness=Witness(word, other, output, finding.distance, finding.loss) if finding.loss > -math.inf else None,
        method=method,
        seconds=finding.seconds,
    )
