"""What a mechanism under audit gives back: numbers or texts, how each is given, and the last bits of floats.

**Forms.** Two outputs that are equal as numbers may differ for those who get them: 3 and 3.0, True and 1, a list and a
tuple, float32 and float64. An audit that compares numbers alone would miss it.

**Last bits.** A textbook sampler returns x + noise in floating point. Its sum is rounded to the grid of the larger of
the two, so near 0 the noise keeps all its small bits when x = 0, and none finer than 2^-53 when x = 1: the event
"|y| < 1/2 and y 2^k is no integer" happens for one input and never for the other, at any epsilon (Mironov 2012). An
output on a grid that does not depend on the input, as those of `deniable.vectors`, has no such bits. What a mechanism
loses besides is seen when its outputs are rounded to a grid, which takes those bits away.
"""

import collections
import dataclasses
import re
from collections.abc import Hashable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from deniable.core.errors import InputError, shorten_text

OutputKind = Literal["real", "integer", "text"]
_SCALARS = (bool, int, float, str, np.str_)
_DOUBLE_BYTES = 8
_INT64_BOUND = 1 << 62
"""Integers below it, and their differences, are held by int64."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
_SEPARATORS = str.maketrans(dict.fromkeys("()[]{},;", " "))
_MAX_SHOWN_CHARACTERS = 60
_MANTISSA_BITS = 53
_GRID_BITS = 20
"""The grid's step is between 2^-21 and 2^-20 of the spread of the outputs: far finer than what values can tell."""


@dataclasses.dataclass(frozen=True)
class Outputs:
    """Outputs of many runs, in order.

    Attributes:
        kind: what they are.
        values: (m, n) for numbers, a row for each run, int64 where all are integers; for texts the numbers that they
            hold, zeros where one holds others than most; (m, 0) where there are none.
        strings: m texts; empty for numbers.
        forms: m strings: type and layout of each.
        shape: of one run's numbers.
    """

    kind: OutputKind
    values: npt.NDArray[Any]
    strings: tuple[str, ...]
    forms: tuple[str, ...]
    shape: tuple[int, ...] = ()

    def __len__(self) -> int:
        """The number of runs."""
        return len(self.forms)

    @property
    def is_textual(self) -> bool:
        """Whether the outputs are strings."""
        return self.kind == "text"

    @property
    def has_numbers(self) -> bool:
        """Whether the outputs are numbers, or texts that hold numbers."""
        return self.values.size > 0

    @property
    def keys(self) -> list[Hashable]:
        """The outputs as they came, m values: equal for two outputs that nobody could tell apart."""
        contents: Sequence[Hashable] = self.strings if self.is_textual else [tuple(row) for row in self.values.tolist()]
        return list(zip(self.forms, contents, strict=True))

    def take(self, rows: npt.NDArray[np.int64]) -> "Outputs":
        """The outputs of these runs."""
        strings = tuple(self.strings[row] for row in rows) if self.is_textual else ()
        forms = tuple(self.forms[row] for row in rows)
        return dataclasses.replace(self, values=self.values[rows], strings=strings, forms=forms)

    def append(self, later: "Outputs") -> "Outputs":
        """These outputs and later ones of the same mechanism.

        Raises:
            InputError: the later ones are of another kind or shape.
        """
        if self.is_textual != later.is_textual or self.shape != later.shape:
            raise InputError(
                f"The sampler must return outputs of one kind. Got {later.description} after {self.description}."
            )
        values = np.concatenate([self.values, later.values])
        kind = self.kind if self.kind == later.kind else "real"
        return Outputs(kind, values, self.strings + later.strings, self.forms + later.forms, self.shape)

    def read_as_numbers(self) -> "Outputs":
        """The numbers of outputs alone, whatever they are given as."""
        kind: OutputKind = "real" if self.values.dtype.kind == "f" else "integer"
        return Outputs(kind, self.values, (), ("",) * len(self), self.shape)

    def round(self, exponent: int) -> "Outputs":
        """The numbers of outputs alone, rounded to multiples of 2^exponent."""
        rounded = round_to_grid(self.values.astype(np.float64), exponent) + 0.0  # -0.0 becomes 0.0
        return dataclasses.replace(self.read_as_numbers(), kind="real", values=rounded)

    @property
    def description(self) -> str:
        """What one output is, for messages."""
        if self.is_textual:
            return "text"
        return f"numbers of shape {self.shape}" if self.shape else "a number"


def parse_outputs(raw_outputs: Sequence[Any], columns: int | None = None) -> Outputs:
    """What a sampler returned for m runs, checked.

    Numbers, arrays of one shape, strings, or lists of strings (whose text is joined by spaces).

    Args:
        raw_outputs: one for each run.
        columns: how many numbers texts hold, 0 for none; None to find it out, from what most of them hold.

    Raises:
        InputError: nothing, NaN, infinity, integers beyond 2^62, several shapes or kinds, or some other object.
    """
    forms = tuple(map(_describe_form, raw_outputs))
    if any(_is_tokens(output) and len(output) for output in raw_outputs):
        raw_outputs = [" ".join(output) if _is_tokens(output) else output for output in raw_outputs]
    if not isinstance(raw_outputs[0], str):
        return _parse_numbers(raw_outputs, forms)
    for output in raw_outputs:
        if not isinstance(output, str):
            raise InputError(f"The sampler must return outputs of one kind. Got {abbreviate(output)} among texts.")
    values = _read_numbers(raw_outputs, columns)
    return Outputs("text", values, tuple(map(str, raw_outputs)), forms, values.shape[1:])


def abbreviate(value: object) -> str:
    """An input or output in at most 60 characters, the closing quote or bracket among them."""
    if isinstance(value, np.ndarray):
        if value.size > 1 and value.dtype.kind in "biuf" and (value == value.flat[0]).all():
            return f"{value.flat[0]:g} in all {value.size} places"
        value = value.tolist()
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a value that cannot be shown is shown by its type
        text = f"a {type(value).__name__}"
    return shorten_text(text, _MAX_SHOWN_CHARACTERS)


def count_fractional_bits(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """The least k, for each number, with y 2^k an integer; 0 for y = 0, negative for large round numbers."""
    mantissa, exponent = np.frexp(values)
    digits = np.ldexp(np.abs(mantissa), _MANTISSA_BITS).astype(np.int64)
    is_zero = digits == 0
    _, last_bit = np.frexp(np.where(is_zero, 1, digits & -digits).astype(np.float64))  # that is 2^(last - 1)
    bits: npt.NDArray[np.int64] = np.where(is_zero, 0, _MANTISSA_BITS - exponent.astype(np.int64) - (last_bit - 1))
    return bits


def choose_grid_exponent(values: npt.NDArray[np.float64]) -> int:
    """k, for outputs (m, n) that are to be rounded to multiples of 2^k.

    By the least median distance from the median of any of the n numbers that vary at all.
    """
    spreads = np.median(np.abs(values - np.median(values, axis=0)), axis=0)
    positive_spreads = spreads[spreads > 0]
    return int(np.frexp(positive_spreads.min() if len(positive_spreads) else 1.0)[1]) - 1 - _GRID_BITS


def round_to_grid(values: npt.NDArray[np.float64], exponent: int) -> npt.NDArray[np.float64]:
    """The nearest multiples of 2^exponent; numbers too large for the grid are multiples already."""
    with np.errstate(over="ignore"):
        steps = np.rint(np.ldexp(values, -exponent))
        rounded: npt.NDArray[np.float64] = np.where(np.isfinite(steps), np.ldexp(steps, exponent), values)
    return rounded


def _describe_form(output: Any) -> str:  # noqa: ANN401 - whatever a sampler returns
    """Type and layout of an output, one property a line; that of a str or a float is its type.

    Raises:
        InputError: an object of which numbers and words are only a part, or none.
    """
    kind = type(output)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    if kind is np.ndarray and output.dtype.kind in "biufU":
        strides = "" if output.flags.c_contiguous else f" {output.strides}"
        return f"{name} {output.dtype.str} {output.shape}{strides}"
    if kind in {list, tuple}:
        # "a b", "c" and "a", "b c" are one text when joined.
        is_ambiguous = _is_tokens(output) and any(item.split() != [item] for item in output)
        lengths = f" of lengths {list(map(len, output))}" if is_ambiguous else ""
        is_plain = len(set(map(type, output))) == 1 and type(output[0]) in _SCALARS
        described = output[:1] if is_plain else output
        forms = [_describe_form(item).replace("\n", f"\n{place} ") for place, item in enumerate(described)]
        items = [f"{place} {form}" for place, form in enumerate(forms)] if len(set(forms)) > 1 else forms[:1]
        return "\n".join([f"{name} of {len(output)}{lengths}", *items])
    if kind in _SCALARS or (isinstance(output, np.generic) and output.dtype.kind in "biuf"):
        return name
    got = abbreviate(output) if kind.__module__ == "builtins" else f"a {name}, of which an audit would see a part only"
    raise InputError(
        "The sampler must return numbers, an array, a text or a list of words. Got "
        f"{'nothing' if output is None else got}: return all that a user receives as these."
    )


def _is_tokens(output: Any) -> bool:  # noqa: ANN401 - whatever a sampler returns
    if isinstance(output, np.ndarray):
        return output.ndim == 1 and output.dtype.kind == "U"
    return isinstance(output, (list, tuple)) and all(isinstance(token, str) for token in output)


def _read_numbers(texts: Sequence[str], columns: int | None) -> npt.NDArray[Any]:
    """The numbers (m, n) that texts hold, zeros for those that do not hold n; n = 0 unless half of them do."""
    cells_by_text = [text.translate(_SEPARATORS).split() for text in texts]
    is_numeric = [bool(cells) and all(map(_NUMBER.fullmatch, cells)) for cells in cells_by_text]
    if columns is None:
        counts = collections.Counter(
            len(cells) for cells, numeric in zip(cells_by_text, is_numeric, strict=True) if numeric
        )
        columns, frequency = counts.most_common(1)[0] if counts else (0, 0)
        columns = columns if 2 * frequency >= len(texts) else 0
    rows = [
        [int(cell) if _WHOLE_NUMBER.fullmatch(cell) else float(cell) for cell in cells]
        if numeric and len(cells) == columns
        else [0] * columns
        for cells, numeric in zip(cells_by_text, is_numeric, strict=True)
    ]
    is_whole = all(isinstance(value, int) for row in rows for value in row)
    values = np.array(rows, dtype=np.int64 if is_whole else np.float64).reshape(len(texts), columns)
    return values if is_whole else np.nan_to_num(values)


def _parse_numbers(raw_outputs: Sequence[Any], forms: tuple[str, ...]) -> Outputs:
    try:
        rows = [np.asarray(output) for output in raw_outputs]
    except ValueError:  # lists of several lengths
        raise InputError(
            f"The sampler must return arrays, or lists of one length. Got {abbreviate(raw_outputs[0])}."
        ) from None
    for row, output in zip(rows, raw_outputs, strict=True):
        if row.dtype.kind == "U" or row.shape != rows[0].shape:
            raise InputError(
                f"The sampler must return outputs of one kind and of one shape. Got {abbreviate(output)}: shapes "
                f"{rows[0].shape} and {row.shape}."
            )
        is_wide = row.dtype.kind == "O" or row.dtype.itemsize > _DOUBLE_BYTES
        if is_wide or (row.dtype.kind in "iu" and ((row >= _INT64_BOUND) | (row <= -_INT64_BOUND)).any()):
            raise InputError(
                f"The sampler must return integers below 2^62 and floats of at most 64 bits. Got {abbreviate(output)}: "
                "return larger ones as text."
            )
    if rows[0].size == 0:
        raise InputError("The sampler returned empty arrays: an output must hold at least one number.")
    kind: OutputKind = "real" if any(row.dtype.kind == "f" for row in rows) else "integer"
    values = np.stack([row.ravel() for row in rows], dtype=np.float64 if kind == "real" else np.int64, casting="unsafe")
    finite = np.isfinite(values).all(axis=1)
    if not finite.all():
        raise InputError(
            f"The sampler must return finite numbers. Got {abbreviate(raw_outputs[int(np.argmin(finite))])}, and NaN "
            f"or infinity in {1 - finite.mean():.1%} of outputs: return what a user would receive, or a text such as "
            "'nan'."
        )
    noted = list(forms)
    for number, place in np.argwhere(np.signbit(values) & (values == 0)).tolist() if kind == "real" else ():
        noted[number] += f"\n-0 at {place}"
    return Outputs(kind, values, (), tuple(noted), rows[0].shape)
