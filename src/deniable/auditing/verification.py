"""Exact verification: the true epsilon of a mechanism, over pairs of words and outputs."""

import contextlib
import dataclasses
import math
import sys
import time
from collections.abc import Mapping, Sequence, Sized

import numpy as np
import numpy.typing as npt

from deniable.auditing.vector_verification import verify_vector_mechanism
from deniable.core.arguments import refuse_wrong_calls
from deniable.core.cache import bypass_cache
from deniable.core.errors import InputError, NotTractable, check_number_within, check_positive, make_parameter_error
from deniable.core.evidence import Verdict, Witness
from deniable.core.guarantees import ANY_TWO_WORDS, MetricDP, Status, is_proved
from deniable.space import Space
from deniable.vectors import VectorMechanism
from deniable.words import WordMechanism
from deniable.words.laws.law import ExactEpsilon
from deniable.words.laws.matrix import MAX_MATRIX_INPUTS, compare_laws
from deniable.words.mechanism import check_draws

_MATRIX_ROUNDING = 1e-12
"""Relative error allowed for in the probabilities of a matrix."""
_ROW_SUM_TOLERANCE = 1e-9
_COMPARISONS_PER_SECOND = 2e9


@refuse_wrong_calls
def verify(
    subject: "WordMechanism | VectorMechanism | npt.ArrayLike",
    *,
    space: Space | None = None,
    epsilon: float | None = None,
    dimension: int | None = None,
    cache: bool = True,
    workers: int | None = None,
) -> Verdict:
    """Return the exact epsilon of a mechanism, or of any probability matrix, as a verdict.

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
        InputError: the subject is neither, or is no probability matrix over the space; or the guarantee of a word
            mechanism is not of any two words, over the metric of its space.
        NotTractable: a matrix of more than 3,000 words; the message says the cost.
        TypeError: the draws of a word mechanism are not those of its law.
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
    if isinstance(subject, (str, bytes, type, Mapping, Space)) or not isinstance(subject, Sized):
        expected = "a mechanism, such as TEM(space, epsilon=3.0), or a matrix (n, n) of probabilities"
        raise make_parameter_error("verify", "subject", expected, subject)
    if not isinstance(space, Space):
        raise make_parameter_error("verify", "space", "the Space of the matrix", space)
    return _verify_matrix(subject, space, check_positive("verify", "epsilon", epsilon), workers)


def _verify_mechanism(mechanism: WordMechanism, workers: int | None) -> Verdict:
    check_draws(mechanism)
    space = mechanism.space
    guarantee = _check_guarantee(mechanism)
    try:
        spent = mechanism.law.exact_epsilon(workers)
    except NotTractable:
        if mechanism.law.has_rows:  # an integral that two grids disagree about
            raise
        return _verify_by_theorem(mechanism)
    if not spent.is_ideal:
        return _make_verdict(guarantee, spent, space)
    if not mechanism.is_builtin:
        compared = f"{spent.method}; the draws are another's simulation, and were not compared with it"
        spent = dataclasses.replace(spent, method=compared, is_exhaustive=False)
    elif spent.is_exhaustive:
        spent = dataclasses.replace(spent, method=f"{spent.method}; the draws are simulated in floating point")
    return _make_verdict(guarantee, spent, space)


def _check_guarantee(mechanism: WordMechanism) -> MetricDP:
    """Return the guarantee of a mechanism if it is of the kind that its law is compared with: of any two words.

    Raises:
        InputError: it is of another kind, metric, unit or adjacency, or its epsilon is no number.
    """
    owner, guarantee = type(mechanism).__name__, mechanism.guarantee
    if not isinstance(guarantee, MetricDP) or guarantee.metric != mechanism.space.metric_name:
        raise InputError(
            f"The guarantee of {owner} must be a MetricDP about the metric of its space, "
            f"{mechanism.space.metric_name}, so that it can be verified. Got {guarantee}."
        )
    if (guarantee.unit, guarantee.adjacency) != ("word", ANY_TWO_WORDS):
        raise InputError(
            f"The guarantee of {owner} must be about one word, for {ANY_TWO_WORDS}, so that it can be verified. Got "
            f"one about one {guarantee.unit}, for {guarantee.adjacency}."
        )
    epsilon = check_number_within(owner, "guarantee.epsilon", guarantee.epsilon, 0.0, sys.float_info.max)
    return dataclasses.replace(guarantee, epsilon=epsilon)


def _verify_by_theorem(mechanism: WordMechanism) -> Verdict:
    guarantee = mechanism.guarantee
    is_theorem_proved = is_proved(guarantee.status) and mechanism.is_builtin
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


def _verify_matrix(matrix: "npt.ArrayLike", space: Space, claim: float, workers: int | None) -> Verdict:
    start = time.perf_counter()
    count = len(space)
    if isinstance(matrix, np.ma.MaskedArray):
        raise InputError("The matrix must be a plain array (n, n) of numbers. Got a masked array: fill what is masked.")
    _check_labels(matrix, space)
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
            f"A matrix of {count:,} words takes {count**3:.1e} comparisons, about "
            f"{count**3 / _COMPARISONS_PER_SECOND:,.0f} seconds. Verify at most {MAX_MATRIX_INPUTS:,} words, "
            "or a mechanism of a known family."
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
            f"and sum to 1. Got a sum of {sums[row]:.12g} and a least entry of {probabilities[row].min():g}"
            f"{_suggest_matrix(probabilities)}."
        )
    distances = space.distances(range(space.point_count))[np.ix_(space.point_by_word, space.point_by_word)]
    finding = compare_laws(
        space,
        np.arange(count),
        distances,
        probabilities,
        probabilities,
        slack=_MATRIX_ROUNDING,
        start=start,
        workers=workers,
    )
    method = f"exact over all {count * (count - 1):,} pairs and all outputs of the matrix"
    guarantee = MetricDP(claim, space.metric_name, "claimed of the matrix", "claimed")
    return _make_verdict(guarantee, ExactEpsilon(finding, method), space, words=space.words)


def _check_labels(matrix: object, space: Space) -> None:
    """Raise `InputError` for a table whose rows or columns are named, and not by the words of the space in order."""
    for side in ("index", "columns"):
        labels = getattr(matrix, side, None)
        if labels is None or callable(labels):  # as of a list
            continue
        names = list(labels)
        if names not in (list(range(len(names))), list(space.words)) and not _is_unlabelled(names):
            row = next((i for i, (name, word) in enumerate(zip(names, space.words, strict=False)) if name != word), 0)
            expected = repr(space.words[row])
            raise InputError(
                f"The {'rows' if side == 'index' else 'columns'} of the matrix must be the words of the space, in the "
                f"order of space.words. Got {names[row]!r} where {expected} is due: give an array, or "
                "P.loc[words, words] with words = list(space.words)."
            )


def _is_unlabelled(names: list[object]) -> bool:
    """Return whether columns have the names that a table of polars gives to those without."""
    return names == [f"column_{number}" for number in range(len(names))]


def _suggest_matrix(probabilities: npt.NDArray[np.float64]) -> str:
    """Return what was probably meant by a matrix (n, n) some of whose rows are no distributions."""
    if not (np.isfinite(probabilities).all() and (probabilities >= 0).all()):
        return ""
    sums = probabilities.sum(axis=1)
    if (np.abs(probabilities.sum(axis=0) - 1) <= _ROW_SUM_TOLERANCE).all():
        return ": its columns sum to 1, so transpose it, P.T"
    if sums.all():
        return ": divide each row by its sum, in float64"
    return ""


def _make_verdict(guarantee: MetricDP, spent: ExactEpsilon, space: Space, *, words: Sequence[str] = ()) -> Verdict:
    """Return what an exact epsilon says of a guarantee.

    Args:
        guarantee: as claimed.
        spent: its finding numbers points of the space, or of ``words`` if given.
        space: the domain.
        words: what the finding numbers.
    """
    finding = spent.finding
    status: Status = "undecided" if spent.is_exhaustive else "not refuted"
    if finding.lower_bound > guarantee.epsilon:
        status = "refuted"
    elif spent.is_exhaustive and finding.epsilon <= guarantee.epsilon:
        status = "proved for ideal arithmetic" if spent.is_ideal else "proved"
    word, other, output = (
        words[i] if words else space.first_word_at(i) for i in (finding.input, finding.other, finding.output)
    )
    return Verdict(
        guarantee=guarantee,
        status=status,
        epsilon=finding.epsilon if spent.is_exhaustive else math.inf,
        lower_bound=finding.lower_bound,
        confidence=1.0,
        samples=0,
        witness=Witness(word, other, output, finding.distance, finding.loss) if finding.loss > -math.inf else None,
        method=spent.method,
        seconds=finding.seconds,
    )
