"""Calls of a next-token sampler: counted, silenced and checked; and the arguments that it is called on."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from deniable.auditing.calls import call_user_function, copy_records, read_array, refuse_printing
from deniable.auditing.outputs import abbreviate
from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError

_MAX_SUM_ERROR = 0.05
"""By which probabilities in half precision may miss 1."""
_MAX_BYTES = 8
"""Of a number: wider floats would be rounded, and the least of them lost."""
Sampler = Callable[[Any, tuple[int, ...]], Any]
"""Function of private records and of the tokens so far."""


class NeighbourRecords(NamedTuple):
    """Two neighbouring inputs of a sampler, and the tokens before the one that is looked at.

    Attributes:
        records: what the sampler takes: a text, a list of them, or anything else that can be copied.
        other: its neighbour, by the definition that the claim rests on.
        prefix: tokens that the text begins with.
    """

    records: Any
    other: Any
    prefix: Sequence[int] = ()


@dataclasses.dataclass
class SamplerCalls:
    """Calls a user's function, counted, silenced and checked.

    Attributes:
        function: the law, or the public part.
        name: what it is, for messages.
        size: V; None while it is not known.
        arithmetic: type of its numbers, the least precise where there are several.
        calls: calls so far.
    """

    function: Sampler
    name: str
    size: int | None = None
    arithmetic: np.dtype[Any] | None = None
    calls: int = 0

    def call(self, records: Any, prefix: tuple[int, ...]) -> Any:  # noqa: ANN401 - whatever a sampler takes and returns
        """What the function returns for these arguments, which it may change.

        Raises:
            InputError: it raises or prints.
        """
        self.calls += 1
        given, description = copy_records(records), self.describe(records, prefix)
        with refuse_printing(description):
            return call_user_function(lambda: self.function(given, prefix), description)

    def describe(self, records: Any, prefix: tuple[int, ...]) -> str:  # noqa: ANN401 - any records
        """This call, to begin a sentence."""
        return f"Call {self.calls:,} of {self.name}, for {abbreviate(records)} after {describe_prefix(prefix)},"

    def read_array(self, records: Any, prefix: tuple[int, ...]) -> FloatArray:  # noqa: ANN401 - any records
        """What one call returns, as V numbers.

        Raises:
            InputError: it returns something else, or another number of them than before.
        """
        returned = self.call(records, prefix)
        values = read_array(returned)
        is_wide = values.dtype.itemsize > _MAX_BYTES
        if values.dtype.kind not in "iuf" or is_wide or values.ndim != 1 or not values.size:
            got = f"{values.dtype} of shape {values.shape}" if values.size else f"a {type(returned).__name__}"
            raise InputError(
                f"{self.describe(records, prefix)} must return an array (V,) of numbers of at most 64 bits. Got {got}."
            )
        if self.size is not None and len(values) != self.size:
            raise InputError(
                f"{self.describe(records, prefix)} must return {self.size:,} numbers, as before. Got {len(values):,}."
            )
        self.size, self.arithmetic = len(values), max(self.arithmetic or values.dtype, values.dtype, key=_find_step)
        return values

    def read_law(self, records: Any, prefix: tuple[int, ...]) -> FloatArray:  # noqa: ANN401 - any records
        """The probabilities (V,) that one call returns, which sum to 1 but for the rounding of float64.

        Raises:
            InputError: they are no law.
        """
        values = self.read_array(records, prefix)
        is_weights = values.dtype.kind in "iu"
        total = float(sum(values.tolist())) if is_weights else float(values.sum(dtype=np.float64))
        error = 0.0 if is_weights else min(max(1e-9, float(np.finfo(values.dtype).eps) * 2**10), _MAX_SUM_ERROR)
        if not (values >= 0).all() or not (total > 0 if is_weights else abs(total - 1) <= error):
            rule = "integers of at least 0, not all 0" if is_weights else "numbers of at least 0 that sum to 1"
            raise InputError(
                f"{self.describe(records, prefix)} must return {rule}. Got a sum of {total:.9g} and a least number of "
                f"{values.min():g}."
            )
        law: FloatArray = values.astype(np.float64) / total
        return law


def _find_step(kind: np.dtype[Any]) -> float:
    """The unit in the last place of 1, 0 for integers."""
    return float(np.finfo(kind).eps) if kind.kind == "f" else 0.0


def are_equal(one: Any, other: Any) -> bool:  # noqa: ANN401 - any records
    """Whether two values say that they are equal; arrays, which say it of each number, do not."""
    try:
        return bool(one == other)
    except Exception:  # noqa: BLE001 - whatever a comparison of theirs raises
        return False


def describe_prefix(prefix: Sequence[int]) -> str:
    """Some tokens in a few words."""
    return f"the tokens {abbreviate(list(prefix))}" if len(prefix) else "no token"


def describe_difference(records: Any, other: Any) -> str:  # noqa: ANN401 - any records
    """Records as a witness shows them: of lists of one length that differ in one record, that record."""
    if isinstance(records, (list, tuple)) and isinstance(other, (list, tuple)):
        pairs = enumerate(zip(records, other, strict=False))
        places = [place for place, pair in pairs if not are_equal(*pair)]
        if len(records) == len(other) and len(places) == 1:
            return f"record {places[0] + 1} of {len(records)}: {abbreviate(records[places[0]])}"
        return f"{len(records)} records: {abbreviate(records)}"
    return abbreviate(records)


def find_changes(caller: SamplerCalls, neighbours: list[NeighbourRecords]) -> dict[str, float]:
    """By how much the public part moves with each property of the private input, the most over all pairs.

    Raises:
        InputError: it differs between two calls for the same records.
    """
    changes: dict[str, float] = {}
    for pair in neighbours:
        prefix = tuple(pair.prefix)
        base = caller.read_array(pair.records, prefix)
        for name, records in [("a neighbour", pair.other), *_vary(pair.records)]:
            values = caller.read_array(records, prefix)
            with np.errstate(invalid="ignore"):
                is_same = (values == base) | (np.isnan(values) & np.isnan(base))
                moved = np.where(is_same, 0.0, np.abs(values.astype(np.float64) - base))
            # Infinity on one side only is a mask that moved.
            change = float(np.nan_to_num(moved, nan=math.inf, posinf=math.inf).max())
            changes[name] = max(changes.get(name, 0.0), change)
        if not np.array_equal(caller.read_array(pair.records, prefix), base, equal_nan=True):
            raise InputError(
                f"{caller.describe(pair.records, prefix)} returned different numbers than before for the same input: "
                "remove its randomness."
            )
    return changes


def _vary(records: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - any records
    """Yield the same records in another length, order and number, as far as they have them."""
    if isinstance(records, str):
        yield "length", f"{records} {records}"
    elif isinstance(records, list) and records:
        if isinstance(records[-1], str):
            yield "length", [*records[:-1], f"{records[-1]} {records[-1]}"]
        if len(records) > 1:
            yield "order", records[::-1]
            yield "number of records", records[:-1]
