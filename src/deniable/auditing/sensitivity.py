"""Sensitivities that are claimed of a function into R^m, such as an encoder with its clip, and pairs that exceed them.

Noise protects two inputs as far as the function may take them apart: where it takes a pair farther, by a factor, the
noise is that much too small for the pair. A pair is a proof that the sensitivity is at least its distance; a search
that finds no farther pair proves nothing. The proved sensitivities of clips are those of `deniable.vectors.domains`.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from deniable.auditing.calls import guard_function, read_array
from deniable.auditing.outputs import abbreviate
from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, check_count, check_number_within, make_parameter_error
from deniable.core.numbers import format_exact, format_lower
from deniable.core.parallel import get_progress_reporter

SensitivityNorm = Literal["l1", "l2", "max"]
_ORDERS: dict[str, float] = {"l1": 1, "l2": 2, "max": math.inf}
_METRICS: dict[str, Literal["cityblock", "euclidean", "chebyshev"]] = {
    "l1": "cityblock",
    "l2": "euclidean",
    "max": "chebyshev",
}
_OWNER = "audit_sensitivity"
_RELATIVE_STEP = 1e-6
_SCALES = (1.0, 2.0, 4.0, 8.0, 2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8)
_ROUNDING = 1e-9
"""Share of the claim by which the rounding of float64 may take a pair farther apart."""
_ROUNDING_UNITS = 64
"""The same for functions that compute in fewer bits, as networks do, in units of their own rounding."""
_ROWS_PER_BLOCK = 256
_MAX_SIZE = 1e150


@dataclasses.dataclass(frozen=True, kw_only=True)
class SensitivityOptions:
    """What is claimed, and where farther pairs are searched for.

    Attributes:
        claim: largest distance that two outputs are said to have, > 0; None for no claim.
        norm: of the distance: ``l1``, that Laplace noise needs, ``l2``, that Gaussian noise needs, or ``max``.
        dimension: n of the vectors (n,) that are searched, where no inputs are given.
        starts: pairs from which a search climbs.
        seed: of them.
    """

    claim: float | None = None
    norm: SensitivityNorm = "l1"
    dimension: int = 1
    starts: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        if self.norm not in get_args(SensitivityNorm):
            raise make_parameter_error(_OWNER, "norm", f"one of {', '.join(get_args(SensitivityNorm))}", self.norm)
        if self.claim is not None:
            check_number_within(_OWNER, "claim", self.claim, 1 / _MAX_SIZE, _MAX_SIZE)
        check_count(_OWNER, "dimension", self.dimension, maximum=10_000)
        check_count(_OWNER, "starts", self.starts, maximum=10_000)
        check_count(_OWNER, "seed", self.seed, minimum=0, maximum=2**32 - 1)


@dataclasses.dataclass(frozen=True)
class FarthestPair:
    """Two inputs and how far apart a function takes them.

    Attributes:
        x: an input.
        other: another.
        distance: of their outputs.
    """

    x: Any
    other: Any
    distance: float


@dataclasses.dataclass(frozen=True)
class SensitivityAudit:
    """What was found of a claimed sensitivity.

    Attributes:
        pair: the farthest pair that was found.
        norm: of its distance.
        claim: None where nothing is claimed.
        method: where it was searched for.
        pair_count: pairs that were compared; None for a search.
        violation_count: those beyond the claim; None for a search, or without a claim.
        seconds: how long it took.
        rounding: share of the claim by which the function's own rounding may take a pair farther apart.
    """

    pair: FarthestPair
    norm: SensitivityNorm
    claim: float | None
    method: str
    pair_count: int | None = None
    violation_count: int | None = None
    seconds: float = 0.0
    rounding: float = _ROUNDING

    @property
    def factor(self) -> float | None:
        """How many times as far apart as claimed the pair is; None where nothing is claimed."""
        return None if self.claim is None else self.pair.distance / self.claim

    @property
    def status(self) -> Literal["refuted", "not refuted"]:
        """Refuted where the pair is farther apart than claimed by more than rounding explains."""
        return "not refuted" if self.factor is None or self.factor <= 1 + self.rounding else "refuted"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON holds it."""

        def show(value: Any) -> Any:  # noqa: ANN401 - any input
            return value.tolist() if isinstance(value, np.ndarray) else value

        return {
            "status": self.status,
            "norm": self.norm,
            "claim": self.claim,
            "lower bound": self.pair.distance,
            "factor": self.factor,
            "witness": {"input": show(self.pair.x), "other": show(self.pair.other)},
            "pairs": self.pair_count,
            "pairs beyond the claim": self.violation_count,
            "method": self.method,
            "seconds": self.seconds,
        }

    def __str__(self) -> str:
        """Return it in a few lines."""
        distance = format_lower(self.pair.distance, 6)
        lines = [f"sensitivity at least {distance} in {self.norm}: nothing is claimed"]
        if self.claim is not None and self.factor is not None:
            claimed = f"claimed sensitivity {format_exact(self.claim)} in {self.norm}"
            lines = [f"{self.status}: {claimed}, at least {distance}, {format_lower(self.factor, 4)} times as much"]
        lines += [f"input    {abbreviate(self.pair.x)}", f"other    {abbreviate(self.pair.other)}"]
        if self.violation_count is not None and self.pair_count:
            lines.append(f"pairs    {self.violation_count:,} of {self.pair_count:,} are farther apart than claimed")
        end = "noise made for the claim is so many times too small for this pair"
        if self.status != "refuted":
            end = "a search that finds no farther pair proves nothing"
        return "\n".join([*lines, f"method   {self.method}; {end}"])


def audit_sensitivity(
    function: Callable[[Any], Any],
    inputs: Sequence[Any] | None = None,
    *,
    batched: bool = False,
    **options: Any,  # noqa: ANN401 - the fields of `SensitivityOptions`
) -> SensitivityAudit:
    """Search for two inputs that a function takes farther apart than it is claimed to.

    Args:
        function: from an input to a vector (m,), without noise, the same at every call.
        inputs: texts, or whatever the function takes, of which all pairs are compared; None to search the vectors of a
            dimension by gradient ascent.
        batched: whether the function takes many inputs at once, and returns (k, m).
        **options: the fields of `SensitivityOptions`.

    Raises:
        InputError: a parameter out of its domain, fewer than two inputs, or a function that raises, prints, returns
            anything but finite numbers of one length, or other ones for the pair when it is called again.
        TypeError: an unknown option.
    """
    how, start = SensitivityOptions(**options), time.perf_counter()
    if not callable(function):
        raise make_parameter_error(_OWNER, "function", "a function from an input to a vector", function)
    calls = _VectorCalls(guard_function(function), is_batched=batched)
    if inputs is None:
        pair = find_farthest_pair(calls.evaluate, how.dimension, norm=how.norm, starts=how.starts, seed=how.seed)
        counts: tuple[int | None, int | None] = (None, None)
        method = f"gradient ascent over vectors ({how.dimension},) from {how.starts:,} pairs, seed {how.seed}"
    else:
        pair, *found = _compare_all(calls, inputs, how)
        counts, method = (found[0], found[1]), f"all pairs of {len(inputs):,} inputs"
    calls.repeat(pair, how.norm)
    return SensitivityAudit(pair, how.norm, how.claim, method, *counts, time.perf_counter() - start, calls.rounding)


def find_farthest_pair(
    function: Callable[[FloatArray], FloatArray],
    n: int,
    *,
    norm: SensitivityNorm = "l1",
    starts: int = 8,
    seed: int = 0,
) -> FarthestPair:
    """Return the farthest pair of vectors (n,) that gradient ascent finds from random pairs.

    Args:
        function: from (k, n) to (k, m).
        n: dimension of its inputs.
        norm: in which outputs are compared.
        starts: pairs to start from, normal: four of growing scales, so that clips clip, four of shrinking ones, from
            which every coordinate of a clip can still be moved, and so on.
        seed: of the starts.
    """
    random, report = np.random.default_rng(seed), get_progress_reporter()
    steps = np.concatenate([np.zeros((1, 2 * n)), _RELATIVE_STEP * np.eye(2 * n)])

    def negative_distance(pair: FloatArray) -> tuple[float, FloatArray]:
        """Minus the distance of one pair, and its gradient by forward differences."""
        scale = max(1.0, float(np.abs(pair).max()))
        rows = function((pair + scale * steps).reshape(-1, n))
        values = -np.linalg.norm(rows[0::2] - rows[1::2], ord=_ORDERS[norm], axis=1)
        return float(values[0]), (values[1:] - values[0]) / (scale * _RELATIVE_STEP)

    best = FarthestPair(np.zeros(n), np.zeros(n), -math.inf)
    starting = [random.normal(scale=_SCALES[start % len(_SCALES)], size=2 * n) for start in range(starts)]
    for number, pair in enumerate(starting):
        report(number, starts)
        optimum = minimize(negative_distance, pair, jac=True, method="L-BFGS-B")
        if -float(optimum.fun) > best.distance:
            x, other = optimum.x.reshape(2, n)
            best = FarthestPair(x, other, -float(optimum.fun))
    report(starts, starts)
    return best


def _compare_all(
    calls: "_VectorCalls", inputs: Sequence[Any], how: SensitivityOptions
) -> tuple[FarthestPair, int, int | None]:
    """Return the farthest pair, the number of pairs, and that of those beyond the claim."""
    count = len(inputs)
    if count < 2:  # noqa: PLR2004 - a pair
        raise InputError(f"A pair needs at least 2 inputs. Got {count}: give more.")
    rows = calls.evaluate(inputs)
    limit = math.inf if how.claim is None else how.claim * (1 + calls.rounding)
    best, violations = (-math.inf, 0, 1), 0
    for first in range(0, count, _ROWS_PER_BLOCK):
        # Not those with themselves, so that two equal outputs are a pair, too.
        distances = np.triu(cdist(rows[first : first + _ROWS_PER_BLOCK], rows[first:], _METRICS[how.norm]), 1)
        one, other = np.unravel_index(int(distances.argmax()), distances.shape)
        if one != other and distances[one, other] > best[0]:
            best = float(distances[one, other]), first + int(one), first + int(other)
        violations += int((distances > limit).sum())
    pair = FarthestPair(inputs[best[1]], inputs[best[2]], max(best[0], 0.0))
    return pair, count * (count - 1) // 2, None if how.claim is None else violations


@dataclasses.dataclass
class _VectorCalls:
    """Calls a guarded function, and checks its outputs."""

    function: Callable[[Any], Any]
    is_batched: bool
    length: int | None = None
    rounding: float = _ROUNDING

    def evaluate(self, inputs: Any) -> FloatArray:  # noqa: ANN401 - a sequence or an array of rows
        """Return the outputs (k, m) of inputs."""
        if self.is_batched and not isinstance(inputs, np.ndarray) and len({np.shape(value) for value in inputs}) == 1:
            inputs = np.stack(inputs) if isinstance(inputs[0], np.ndarray) else inputs
        outputs = self.function(inputs) if self.is_batched else [self.function(value) for value in inputs]
        rows = read_array(outputs)
        if rows.ndim == 1 and len(rows) == len(inputs):
            rows = rows[:, None]  # numbers are vectors of one coordinate
        is_usable = rows.dtype.kind in "iuf" and rows.ndim == 2 and len(rows) == len(inputs) and rows.size  # noqa: PLR2004 - rows
        if not is_usable or not np.isfinite(rows).all() or self.length not in {None, rows.shape[1]}:
            wanted = "rows (k, m) for k inputs" if self.is_batched else "a vector (m,)"
            raise InputError(
                f"The function must return {wanted}, of finite numbers and one length. Got "
                f"{abbreviate(outputs if self.is_batched else outputs[0])} for {abbreviate(inputs[0])}: fix it."
            )
        self.length = rows.shape[1]
        if rows.dtype.kind == "f":
            self.rounding = max(_ROUNDING, _ROUNDING_UNITS * float(np.finfo(rows.dtype).eps))
        return rows.astype(np.float64, copy=False)

    def repeat(self, pair: FarthestPair, norm: SensitivityNorm) -> None:
        """Compute the distance of the pair again.

        Raises:
            InputError: it is another one.
        """
        inputs = np.stack([pair.x, pair.other]) if isinstance(pair.x, np.ndarray) else [pair.x, pair.other]
        one, other = self.evaluate(inputs)
        again = float(np.linalg.norm(one - other, ord=_ORDERS[norm]))
        tolerance = self.rounding * float(np.abs(one).max())
        if not math.isclose(again, pair.distance, rel_tol=self.rounding, abs_tol=tolerance):
            raise InputError(
                f"The function took one pair {again:.6g} apart, and {pair.distance:.6g} before: audit it without its "
                "noise, and with its weights frozen."
            )
