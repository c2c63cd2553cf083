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

from deniable.auditing.exact_vectors import verify_vectors
from deniable.auditing.matrix import MOST, worst_triple
from deniable.cache import bypassed
from deniable.errors import InputError, NotTractable, bad_parameter, positive
from deniable.guarantees import MetricDP
from deniable.parallel import each
from deniable.space import Space
from deniable.space.metrics import Array
from deniable.status import Status
from deniable.vectors import VectorMechanism
from deniable.verdict import Verdict, Witness
from deniable.words import WordMechanism, law
from deniable.words.exponential import Exponential, finding_name, prove
from deniable.words.law import Finding, remember_finding

SUBSET = 16
"""Inputs whose laws are compared where all of them would take too long."""
_ROUNDING = 1e-12
"""Relative error allowed for in the probabilities of a matrix."""
_LOGARITHMS = 2.0**-44
"""Nats that logarithms of table entries, and their difference, may err by."""
_WITNESSES = 8
"""Worst pairs, and as many nearest ones, that are compared at all outputs where others are at one alone."""
_STOCHASTIC = 1e-9
_PER_SECOND = 2e9
_TINY = 1e-300


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
        return verify_vectors(subject, dimension)
    if dimension is not None:
        raise InputError("verify takes dimension with a vector mechanism only.")
    if isinstance(subject, WordMechanism):
        with contextlib.nullcontext() if cache else bypassed():
            return _mechanism(subject, workers)
    if not isinstance(space, Space):
        raise bad_parameter("verify", "space", "the Space of the matrix", space)
    return _matrix(subject, space, positive("verify", "epsilon", epsilon), workers)


def _mechanism(mechanism: WordMechanism, workers: int | None) -> Verdict:
    space = mechanism.space
    claim = mechanism.guarantee
    if not isinstance(claim, MetricDP) or claim.metric != space.metric.name:
        raise InputError(
            f"The guarantee of {type(mechanism).__name__} must be a MetricDP about the metric of its space, "
            f"{space.metric}, so that it can be verified. Got {claim}."
        )
    family = mechanism.closed_form
    if family is not None and space.metric.builtin:
        return _family(mechanism, family, workers)
    if not mechanism.has_law:
        return _theorem(mechanism)
    points = np.arange(len(space.points), dtype=np.int64)
    if len(points) <= MOST:
        return _all_outputs(mechanism, points, workers)
    if mechanism.tabulated:
        return _own_output(mechanism, workers)
    frequent = np.unique(space.point_of[:SUBSET]).astype(np.int64)
    return _all_outputs(mechanism, frequent, workers)


def _theorem(mechanism: WordMechanism) -> Verdict:
    guarantee = mechanism.guarantee
    proved = guarantee.standing in {"proved", "proved for ideal arithmetic"} and mechanism.own
    return Verdict(
        status=guarantee.standing if proved else "undecided",
        claim=guarantee.epsilon,
        epsilon=guarantee.epsilon if proved else math.inf,
        lower_bound=0.0,
        confidence=1.0,
        samples=0,
        witness=None,
        method=f"{'by theorem, nothing computed' if proved else 'nothing computed'}: {guarantee.source}",
        seconds=0.0,
    )


def _family(mechanism: WordMechanism, family: Exponential, workers: int | None) -> Verdict:
    space = mechanism.space
    count = len(space.points)
    found = remember_finding(finding_name(space, family), count, lambda: prove(space, family, workers))
    how = f"exact over all {count * (count - 1):,} pairs and all outputs, closed form of the exponential family"
    return _verdict(mechanism.guarantee.epsilon, found, space, how)


def _all_outputs(mechanism: WordMechanism, inputs: npt.NDArray[np.int64], workers: int | None) -> Verdict:
    """Compare the laws of the given input points with each other at every output."""
    space, start = mechanism.space, time.perf_counter()

    def compute() -> Finding:
        upper, lower = _laws(mechanism, inputs, workers)
        return _compare(upper, lower, space.distances(inputs)[:, inputs], inputs, space, start, workers, _LOGARITHMS)

    fingerprint = mechanism.law_fingerprint
    count = len(space.points)
    found = remember_finding(f"outputs-{len(inputs)}-{fingerprint}", count, compute) if fingerprint else compute()
    how = "of the integer tables" if mechanism.tabulated else "of the ideal law, its estimated error in the bounds"
    if len(inputs) == count:
        how = f"exact over all {count * (count - 1):,} pairs and all outputs {how}"
        if mechanism.tabulated:
            return _verdict(mechanism.guarantee.epsilon, found, space, how)
        if mechanism.own:
            how += "; the draws are simulated in floating point"
            return _verdict(mechanism.guarantee.epsilon, found, space, how, proof="proved for ideal arithmetic")
        how += "; the draws are another's simulation, and were not compared with it"
        return _verdict(mechanism.guarantee.epsilon, found, space, how, whole=False)
    how = (
        f"exact over all pairs of the {len(inputs)} most frequent of {count:,} inputs and all outputs {how}; "
        "other inputs are not covered"
    )
    return _verdict(mechanism.guarantee.epsilon, found, space, how, whole=False)


def _laws(mechanism: WordMechanism, inputs: npt.NDArray[np.int64], workers: int | None) -> tuple[Array, Array]:
    """Return upper and lower bounds (k, n) on the probabilities of k inputs."""
    distances = mechanism.space.distances(inputs)
    if mechanism.tabulated:
        exact = law.entries(mechanism.rows(distances)).astype(float)
        return exact, exact
    bounded = each(lambda i: mechanism.bounded_rows(distances[i : i + 1]), range(len(inputs)), workers)
    values = np.concatenate([row for row, _ in bounded])
    errors = np.concatenate([error for _, error in bounded])
    return values + errors, np.maximum(values - errors, 0.0)


def _compare(
    upper: Array,
    lower: Array,
    apart: Array,
    inputs: npt.NDArray[np.int64],
    space: Space,
    start: float,
    workers: int | None,
    slack: float,
) -> Finding:
    """Return what the laws of k inputs, between bounds (k, n), spend at distances (k, k)."""
    blur = space.distance_error if space.metric.builtin else 0.0
    nearer = np.where(apart > 0, np.maximum(apart - blur, _TINY), 0.0)
    farther = np.where(apart > 0, apart + blur, 0.0)
    epsilon, *_ = worst_triple(upper, lower, nearer, slack=slack, workers=workers)
    least, w, other, output = worst_triple(lower, upper, farther, slack=-slack, workers=workers)
    with np.errstate(divide="ignore"):
        loss = float(np.log(lower[w, output]) - np.log(upper[other, output]))
    return Finding(
        epsilon=epsilon,
        lower_bound=max(least, 0.0),
        input=int(inputs[w]),
        other=int(inputs[other]),
        output=output,
        distance=float(apart[w, other]),
        loss=loss,
        seconds=time.perf_counter() - start,
    )


class _Pair(NamedTuple):
    """Two inputs, and what they spend at the output y = w by the tables."""

    spent: float
    distance: float
    input: int
    other: int


def _own_output(mechanism: WordMechanism, workers: int | None) -> Verdict:
    """Compare all pairs of inputs at the output y = w, where most laws lose most, and the worst at all outputs."""
    start = time.perf_counter()
    space = mechanism.space
    everything = range(len(space.points))

    def own(first: int, distances: Array) -> Array:
        kept: Array = np.diagonal(law.entries(mechanism.rows(distances)), offset=first).astype(float)
        return kept

    kept = np.log(np.concatenate(space.sweep(own, everything, workers)))
    blur = space.distance_error if space.metric.builtin else 0.0

    def visit(first: int, distances: Array) -> list[_Pair]:
        apart = distances.copy()
        apart[np.arange(len(apart)), first + np.arange(len(apart))] = np.inf
        losses = kept - np.log(law.entries(mechanism.rows(distances)).astype(float)) - _LOGARITHMS
        ratios = losses / (apart + blur)
        pairs = []
        for i, candidates in enumerate(zip(ratios.argmax(axis=1).tolist(), apart.argmin(axis=1).tolist(), strict=True)):
            pairs += [_Pair(float(ratios[i, w]), float(apart[i, w]), w, first + i) for w in candidates]
        return pairs

    def spent(pair: _Pair) -> Finding:
        apart = pair.distance
        loss = law.worst_output(space, mechanism.rows, pair.input, pair.other)
        least = max(loss.nats - _LOGARITHMS, 0.0) / (apart + blur)
        return Finding(
            math.inf, least, loss.input, loss.other, loss.output, apart, loss.nats, time.perf_counter() - start
        )

    pairs = list(itertools.chain.from_iterable(space.sweep(visit, everything, workers)))
    # Where rounding is most of a loss, near pairs lose most, and not at y = w.
    worst = heapq.nlargest(_WITNESSES, pairs, key=lambda pair: pair.spent)
    near = heapq.nsmallest(_WITNESSES, pairs, key=lambda pair: pair.distance)
    found = max(map(spent, worst + near), key=lambda one: one.lower_bound)
    count = len(space.points)
    how = (
        f"all {count * (count - 1):,} pairs at the output y = w, and the worst and the nearest of them at all outputs, "
        "by integer tables"
    )
    return _verdict(mechanism.guarantee.epsilon, found, space, how, whole=False)


def _matrix(matrix: "npt.ArrayLike", space: Space, claim: float, workers: int | None) -> Verdict:
    start = time.perf_counter()
    count = len(space)
    try:
        given = np.asarray(matrix)
    except ValueError as error:
        raise InputError(f"The matrix must be an array (n, n) of numbers: {error}.") from None
    if given.dtype.kind not in "biuf":
        raise InputError(f"The matrix must be an array (n, n) of real numbers. Got entries of type {given.dtype}.")
    if given.shape != (count, count):
        raise InputError(f"The matrix must have shape ({count}, {count}), a row for each word. Got {given.shape}.")
    if count > MOST:
        raise NotTractable(
            f"A matrix of {count:,} words takes {count**3:.1e} comparisons, about {count**3 / _PER_SECOND:,.0f} "
            f"seconds. Verify at most {MOST:,} words, or a mechanism of a known family."
        )
    given = given.astype(np.float64)
    with np.errstate(invalid="ignore"):
        sums = given.sum(axis=1)
    wrong = ~(np.isfinite(given) & (given >= 0)).all(axis=1) | ~(np.abs(sums - 1) <= _STOCHASTIC)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"Row {row} of the matrix, for {space.words[row]!r}, is no distribution: entries must be at least 0 "
            f"and sum to 1. Got a sum of {sums[row]:.12g} and a least entry of {given[row].min():g}."
        )
    apart = space.distances(range(len(space.points)))[np.ix_(space.point_of, space.point_of)]
    found = _compare(given, given, apart, np.arange(count), space, start, workers, _ROUNDING)
    how = f"exact over all {count * (count - 1):,} pairs and all outputs of the matrix"
    return _verdict(claim, found, space, how, words=space.words)


def _verdict(
    claim: float,
    found: Finding,
    space: Space,
    how: str,
    *,
    whole: bool = True,
    proof: Status = "proved",
    words: Sequence[str] = (),
) -> Verdict:
    """Return what a finding says of a claim.

    Args:
        claim: epsilon.
        found: numbers points of the space, or of ``words`` if given.
        space: the domain.
        how: the method.
        whole: whether the finding is about all inputs and outputs.
        proof: the status of a claim that the finding bears out.
        words: what the finding numbers.
    """
    status: Status = "undecided" if whole else "not refuted"
    if found.lower_bound > claim:
        status = "refuted"
    elif whole and found.epsilon <= claim:
        status = proof
    word, other, output = (words[i] if words else space.word_at(i) for i in (found.input, found.other, found.output))
    return Verdict(
        status=status,
        claim=claim,
        epsilon=found.epsilon if whole else math.inf,
        lower_bound=found.lower_bound,
        confidence=1.0,
        samples=0,
        witness=Witness(word, other, output, found.distance, found.loss) if found.loss > -math.inf else None,
        method=how,
        seconds=found.seconds,
    )
