"""Exact verification: the true epsilon of a mechanism, over pairs of words and outputs."""

import contextlib
import dataclasses
import math
import sys
import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.auditing.outputs import abbreviate
from deniable.core.cache import bypass_cache
from deniable.core.errors import (
    InputError,
    NotTractable,
    check_count,
    check_number_within,
    check_positive,
    make_parameter_error,
)
from deniable.core.guarantees import ANY_TWO_VALUES, ANY_TWO_WORDS, Guarantee, Status, Verdict, Witness, is_proved
from deniable.space import Space
from deniable.vectors import VectorMechanism
from deniable.vectors.mechanism import has_builtin_sampler, is_builtin_mechanism
from deniable.words import WordMechanism
from deniable.words.laws.law import ExactEpsilon
from deniable.words.laws.tabulated import MAX_MATRIX_INPUTS, compare_laws
from deniable.words.mechanism import check_draws

_MATRIX_ROUNDING = 1e-12
"""Relative error allowed for in the probabilities of a matrix."""
_ROW_SUM_TOLERANCE = 1e-9


def verify(
    subject: "WordMechanism | VectorMechanism | npt.ArrayLike",
    *,
    space: Space | None = None,
    epsilon: float | None = None,
    dimension: int | None = None,
    cache: bool = True,
    workers: int | None = None,
) -> Verdict:
    """The exact epsilon of a mechanism, or of any probability matrix, as a verdict.

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
            law distinguish them; False computes all anew, calibration included unless it was used.
        workers: threads.

    Raises:
        InputError: the subject is neither, or is not a probability matrix over the space; or the guarantee of a word
            mechanism is not of any two words, over the metric of its space, or that of a vector mechanism not of any
            two values.
        NotTractable: a matrix of more than 3,000 words; the message says the cost.
        TypeError: the draws of a word mechanism are not those of its law.
    """
    if isinstance(subject, (VectorMechanism, WordMechanism)) and (space is not None or epsilon is not None):
        raise InputError("verify takes space and epsilon with a matrix only: a mechanism has its own.")
    if isinstance(subject, VectorMechanism):
        return _verify_vector_mechanism(subject, dimension)
    if dimension is not None:
        raise InputError("verify takes dimension with a vector mechanism only.")
    if isinstance(subject, WordMechanism):
        with contextlib.nullcontext() if cache else bypass_cache():
            return _verify_mechanism(subject, workers)
    if type(subject) not in {np.ndarray, list, tuple}:  # labels and masks would be lost
        expected = "a mechanism, or an array (n, n) of probabilities, as of a table P.loc[words, words].to_numpy()"
        raise make_parameter_error("verify", "subject", expected, subject)
    if not isinstance(space, Space):
        raise make_parameter_error("verify", "space", "the Space of the matrix", space)
    return _verify_matrix(subject, space, check_positive("verify", "epsilon", epsilon), workers)


def _verify_mechanism(mechanism: WordMechanism, workers: int | None) -> Verdict:
    check_draws(mechanism)
    start, space = time.perf_counter(), mechanism.space
    guarantee = _check_guarantee(mechanism)
    try:
        spent = mechanism.law.exact_epsilon(workers)
    except NotTractable:
        if mechanism.law.has_rows:  # an integral that two grids disagree about
            raise
        return _verify_by_theorem(mechanism.guarantee, is_builtin=mechanism.is_builtin)
    if not spent.is_ideal:
        return _make_verdict(guarantee, spent, start, space)
    if not mechanism.is_builtin:
        compared = f"{spent.method}; the draws are another's simulation, and were not compared with it"
        spent = dataclasses.replace(spent, method=compared, is_exhaustive=False)
    elif spent.is_exhaustive:
        spent = dataclasses.replace(spent, method=f"{spent.method}; the draws are simulated in floating point")
    return _make_verdict(guarantee, spent, start, space)


def _check_guarantee(mechanism: WordMechanism) -> Guarantee:
    """The guarantee of a mechanism, if it is of the kind that its law is compared with: of any two words.

    Raises:
        InputError: it is of another kind, metric, unit or adjacency, or its epsilon is no number.
    """
    owner, guarantee, metric = type(mechanism).__name__, mechanism.guarantee, mechanism.space.metric_name
    if guarantee != Guarantee.of_words(guarantee.epsilon, metric, guarantee.source, guarantee.status):
        raise InputError(
            f"The guarantee of {owner} must be that of one word, for {ANY_TWO_WORDS}, so that it can be verified: give "
            f"Guarantee.of_words(epsilon, {metric!r}, source). Got {guarantee} for {guarantee.adjacency}."
        )
    epsilon = check_number_within(owner, "guarantee.epsilon", guarantee.epsilon, 0.0, sys.float_info.max)
    return dataclasses.replace(guarantee, epsilon=epsilon)


def _verify_by_theorem(guarantee: Guarantee, *, is_builtin: bool) -> Verdict:
    """The theorem that a guarantee cites, of which nothing is computed; another's class may cite any."""
    if is_builtin and is_proved(guarantee.status):
        method = f"by theorem, nothing computed: {guarantee.source}"
        return Verdict(guarantee, guarantee.status, method, epsilon=guarantee.epsilon)
    return Verdict(guarantee, "undecided", f"nothing computed: {guarantee.source}")


def _verify_matrix(matrix: "npt.ArrayLike", space: Space, claim: float, workers: int | None) -> Verdict:
    start = time.perf_counter()
    count = len(space)
    try:
        probabilities = np.asarray(matrix)
    except ValueError:  # lists of several lengths
        probabilities = np.empty(0, dtype=object)
    if probabilities.dtype.kind not in "biuf" or probabilities.shape != (count, count):
        raise InputError(
            f"The matrix must be an array of real numbers of shape ({count}, {count}), a row for each word. Got type "
            f"{probabilities.dtype} of shape {probabilities.shape}."
        )
    if count > MAX_MATRIX_INPUTS:
        raise NotTractable(
            f"A matrix of {count:,} words takes {count**3:.1e} comparisons: verify at most {MAX_MATRIX_INPUTS:,} "
            "words, or a mechanism of a known family."
        )
    probabilities = probabilities.astype(np.float64)
    with np.errstate(invalid="ignore"):
        sums = probabilities.sum(axis=1)
        is_law = (probabilities >= 0).all(axis=1) & (np.abs(sums - 1) <= _ROW_SUM_TOLERANCE)
    if not is_law.all():
        row = int(np.argmin(is_law))
        raise InputError(
            f"Row {row} of the matrix, for {space.words[row]!r}, is not a distribution: entries must be at least 0 "
            f"and sum to 1. Got a sum of {sums[row]:.12g} and a least entry of {probabilities[row].min():g}: transpose "
            "a matrix whose columns sum to 1, P.T, or divide each row by its sum, in float64."
        )
    distances = space.distances(range(space.point_count))[np.ix_(space.point_by_word, space.point_by_word)]
    spent = compare_laws(
        space, np.arange(count), distances, probabilities, probabilities, slack=_MATRIX_ROUNDING, workers=workers
    )
    method = f"exact over all {count * (count - 1):,} pairs and all outputs of the matrix"
    spent = dataclasses.replace(spent, method=method)
    guarantee = Guarantee.of_words(claim, space.metric_name, "claimed of the matrix", "claimed")
    return _make_verdict(guarantee, spent, start, space, words=space.words)


def _make_verdict(
    guarantee: Guarantee, spent: ExactEpsilon, start: float, space: Space, *, words: Sequence[str] = ()
) -> Verdict:
    """What an exact epsilon says of a guarantee.

    Args:
        guarantee: as claimed.
        spent: it numbers points of the space, or of ``words`` if given.
        start: when finding it began.
        space: the domain.
        words: what it numbers.
    """
    status: Status = "undecided" if spent.is_exhaustive else "not refuted"
    if spent.lower_bound > guarantee.epsilon:
        status = "refuted"
    elif spent.is_exhaustive and spent.epsilon <= guarantee.epsilon:
        status = "proved for ideal arithmetic" if spent.is_ideal else "proved"
    word, other, output = (
        words[i] if words else space.first_word_at(i) for i in (spent.input, spent.other, spent.output)
    )
    return Verdict(
        guarantee=guarantee,
        status=status,
        epsilon=spent.epsilon if spent.is_exhaustive else math.inf,
        lower_bound=spent.lower_bound,
        witness=Witness(word, other, output, spent.distance, spent.loss) if spent.loss > -math.inf else None,
        method=spent.method,
        seconds=time.perf_counter() - start,
    )


def _verify_vector_mechanism(mechanism: VectorMechanism, dimension: object) -> Verdict:
    """The exact loss of a mechanism for vectors (n,), or its theorem where its guarantee is approximate.

    Draws of a subclass from elsewhere are compared with nothing, so that no loss stated of them is a proof.
    """
    start, guarantee = time.perf_counter(), mechanism.guarantee
    dimension = check_count("verify", "dimension", dimension)  # n, of a vector mechanism's inputs (n,)
    if (guarantee.metric, guarantee.unit, guarantee.adjacency) != (None, "record", ANY_TWO_VALUES):
        raise InputError(
            f"The guarantee of {type(mechanism).__name__} must be that of one record, for {ANY_TWO_VALUES}, so that it "
            f"can be verified: give Guarantee(epsilon, source). Got {guarantee} of one {guarantee.unit}, for "
            f"{guarantee.adjacency}."
        )
    x, x_prime = mechanism.worst_pair(dimension)
    distance = float(abs(x - x_prime).sum())
    try:
        loss = mechanism.exact_loss(dimension)
    except NotTractable:
        return _verify_by_theorem(guarantee, is_builtin=is_builtin_mechanism(mechanism))
    lower, claim = loss.lower, guarantee.epsilon
    status: Status = "refuted" if lower > claim else "proved" if loss.upper <= claim else "undecided"
    # The infinite loss of a public seed refutes whatever draws.
    is_refuted_by_seed = mechanism.seed is not None and status == "refuted"
    if (
        status == "refuted" and guarantee.delta and not is_refuted_by_seed
    ):  # delta may be for the outputs that lose more
        status = "undecided"
    if not is_refuted_by_seed and not has_builtin_sampler(mechanism):
        method = f"nothing computed: the draws of {type(mechanism).__name__} are not this package's"
        return Verdict(guarantee, "undecided", method)
    if status == "proved" and guarantee.status == "refuted":  # by its loss in other dimensions
        guarantee = dataclasses.replace(guarantee, status="claimed")
    output = "the most telling" if math.isfinite(lower) else "what only the first gives"
    return Verdict(
        guarantee=guarantee,
        status=status,
        epsilon=loss.upper,
        lower_bound=lower,
        witness=Witness(abbreviate(loss.pair[0]), abbreviate(loss.pair[1]), output, distance, lower),
        method=f"exact over all inputs ({dimension},) and outputs, the law of its noise",
        seconds=time.perf_counter() - start,
    )
