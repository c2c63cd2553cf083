"""What a mechanism under audit gives back: numbers, words or texts, and how exactly each is given."""

import collections
import dataclasses
import math
import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from deniable.auditing.float_precision import round_to_grid
from deniable.auditing.forms import abbreviate, describe_form
from deniable.core.errors import InputError

OutputKind = Literal["real", "integer", "word", "text"]
_MAX_EXACT = 2**53
"""Integers from which on float64 does not tell neighbours apart."""
_MAX_INTEGER = 10**300
"""Larger integers leave the range of float64: their value is taken for this one, and their spelling is kept."""
_MAX_DIGITS = 300
_DOUBLE_BYTES = 8
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WHOLE_NUMBER = re.compile(rf"[+-]?[0-9]{{1,{_MAX_DIGITS}}}")
_SEPARATORS = str.maketrans(dict.fromkeys("()[]{},;", " "))


@dataclasses.dataclass(frozen=True)
class Outputs:
    """Outputs of many runs, in order.

    Attributes:
        kind: ``word`` is text without white space.
        values: (m, n) for numbers, a row for each run, integers as integers; for texts the numbers that they hold,
            zeros where one holds others than most; (m, 0) where there are none.
        strings: m strings: texts, or what numbers are written as where float64 does not hold them; empty where all
            numbers are in ``values``.
        forms: m strings: type and layout of each, see `deniable.auditing.forms`.
        shape: of one run's numbers.
    """

    kind: OutputKind
    values: npt.NDArray[Any]
    strings: tuple[str, ...]
    forms: tuple[str, ...]
    shape: tuple[int, ...] = ()

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self.forms)

    @property
    def is_textual(self) -> bool:
        """Whether the outputs are strings."""
        return self.kind in {"word", "text"}

    @property
    def has_numbers(self) -> bool:
        """Whether the outputs are numbers, or texts that hold numbers."""
        return self.values.size > 0

    @property
    def keys(self) -> list[tuple[str, str, bytes]]:
        """The outputs as they came, m hashable values: equal for two outputs that nobody could tell apart."""
        strings = self.strings or ("",) * len(self)
        if self.is_textual:
            return [(form, string, b"") for form, string in zip(self.forms, strings, strict=True)]
        rows = self.values.astype(np.float64)
        return [(form, string, row.tobytes()) for form, string, row in zip(self.forms, strings, rows, strict=True)]

    def take(self, rows: npt.NDArray[np.int64]) -> "Outputs":
        """Return the outputs of these runs."""
        strings, forms = (tuple(all_runs[row] for row in rows) if all_runs else () for all_runs in
                          (self.strings, self.forms))  # fmt: skip
        return dataclasses.replace(self, values=self.values[rows], strings=strings, forms=forms)

    def append(self, later: "Outputs") -> "Outputs":
        """Return these outputs and later ones of the same mechanism.

        Raises:
            InputError: the later ones are of another kind or shape.
        """
        if self.is_textual != later.is_textual or self.shape != later.shape:
            raise InputError(
                f"The sampler must return outputs of one kind. Got {later.description} after {self.description}."
            )
        kind: OutputKind = self.kind if self.kind == later.kind else ("text" if self.is_textual else "real")
        parts = (self, later)
        has_strings = any(part.strings for part in parts)
        strings = sum((part.strings or ("",) * len(part) for part in parts), ()) if has_strings else ()
        return Outputs(kind, np.concatenate([self.values, later.values]), strings, self.forms + later.forms, self.shape)

    def read_as_numbers(self) -> "Outputs":
        """Return the numbers of outputs alone, whatever they are given as."""
        kind: OutputKind = "real" if self.values.dtype.kind == "f" else "integer"
        return Outputs(kind, self.values, (), ("",) * len(self), self.shape)

    def round(self, exponent: int) -> "Outputs":
        """Return the numbers of outputs alone, rounded to multiples of 2^exponent."""
        rounded = round_to_grid(self.values.astype(np.float64), exponent) + 0.0  # -0.0 becomes 0.0
        return dataclasses.replace(self.read_as_numbers(), kind="real", values=rounded)

    @property
    def description(self) -> str:
        """What one output is, for messages."""
        if self.is_textual:
            return "text"
        return f"numbers of shape {self.shape}" if self.shape else "a number"


def parse_outputs(raw_outputs: Sequence[Any], columns: int | None = None) -> Outputs:
    """Return what a sampler returned for m runs, checked.

    Numbers, arrays of one shape, strings, or lists of strings (whose text is joined by spaces).

    Args:
        raw_outputs: one for each run.
        columns: how many numbers texts hold, 0 for none; None to find it out, from what most of them hold.

    Raises:
        InputError: nothing, NaN, infinity, several shapes or kinds, or some other object.
    """
    forms = tuple(describe_form(output) for output in raw_outputs)
    if any(_is_tokens(output) and len(output) for output in raw_outputs):
        raw_outputs = [" ".join(output) if _is_tokens(output) else output for output in raw_outputs]
    if isinstance(raw_outputs[0], str):
        return _parse_texts(raw_outputs, forms, columns)
    return _parse_numbers(raw_outputs, forms)


def _is_tokens(output: Any) -> bool:  # noqa: ANN401 - whatever a sampler returns
    if isinstance(output, np.ndarray):
        return output.ndim == 1 and output.dtype.kind == "U"
    return isinstance(output, (list, tuple)) and all(isinstance(token, str) for token in output)


def _parse_texts(raw_outputs: Sequence[Any], forms: tuple[str, ...], columns: int | None) -> Outputs:
    for output in raw_outputs:
        if not isinstance(output, str):
            raise InputError(f"The sampler must return outputs of one kind. Got {abbreviate(output)} among texts.")
    kind: OutputKind = "text" if any(len(output.split()) != 1 for output in raw_outputs) else "word"
    values = _read_numbers(raw_outputs, columns)
    return Outputs(kind, values, tuple(str(output) for output in raw_outputs), forms, values.shape[1:])


def _read_numbers(texts: Sequence[str], columns: int | None) -> npt.NDArray[Any]:
    """Return the numbers (m, n) that texts hold, zeros for those that do not hold n; n = 0 unless half of them do."""
    cells_by_text = [text.translate(_SEPARATORS).split() for text in texts]
    is_numeric = [bool(cells) and all(map(_NUMBER.fullmatch, cells)) for cells in cells_by_text]
    if columns is None:
        counts = collections.Counter(
            len(cells) for cells, numeric in zip(cells_by_text, is_numeric, strict=True) if numeric
        )
        columns, frequency = counts.most_common(1)[0] if counts else (0, 0)
        columns = columns if 2 * frequency >= len(texts) else 0
    rows = [
        [_read_number(cell) for cell in cells] if numeric and len(cells) == columns else [0] * columns
        for cells, numeric in zip(cells_by_text, is_numeric, strict=True)
    ]
    is_whole = all(isinstance(value, int) for row in rows for value in row)
    values = np.array(rows, dtype=object if is_whole else np.float64).reshape(len(texts), columns)
    return _narrow_integers(values) if is_whole else np.nan_to_num(values, nan=0.0)


def _read_number(cell: str) -> int | float:
    return int(cell) if _WHOLE_NUMBER.fullmatch(cell) else float(cell)


def _parse_numbers(raw_outputs: Sequence[Any], forms: tuple[str, ...]) -> Outputs:
    rows = [_parse_row(output) for output in raw_outputs]
    for row in rows:
        if row.shape != rows[0].shape:
            raise InputError(
                f"The sampler must return outputs of one shape. Got shapes {rows[0].shape} and {row.shape}."
            )
    if rows[0].size == 0:
        raise InputError("The sampler returned empty arrays: an output must hold at least one number.")
    values = _stack_rows(rows)
    strings = _spell_inexact(raw_outputs, rows, values)
    kind: OutputKind = "real" if values.dtype.kind == "f" else "integer"
    if kind == "real":
        _check_finite(values, raw_outputs)
        forms = _note_negative_zeros(forms, values)
    return Outputs(kind, values, tuple(strings) if any(strings) else (), forms, rows[0].shape)


def _parse_row(output: Any) -> npt.NDArray[Any]:  # noqa: ANN401 - whatever a sampler returns
    """Return the numbers of one output, those that float64 and int64 do not hold as objects."""
    if isinstance(output, np.ma.MaskedArray):  # what is under the mask is there too
        data: npt.NDArray[Any] = np.nan_to_num(np.ma.getdata(output), nan=0.0, posinf=0.0, neginf=0.0)
        return data
    try:
        row = np.asarray(output)
        if row.dtype.kind == "O":
            row = np.array([_check_number(cell) for cell in row.ravel()], dtype=object).reshape(row.shape)
    except (ValueError, TypeError):  # lists of several lengths
        row = np.asarray("")
    if row.dtype.kind not in "biufO":
        raise InputError(
            f"The sampler must return numbers, an array, a text or a list of words. Got {abbreviate(output)}."
        )
    return row


def _check_number(cell: Any) -> Any:  # noqa: ANN401 - whatever a list holds
    if isinstance(cell, (list, tuple, np.ndarray, str)):
        raise TypeError
    return cell


def _stack_rows(rows: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return numbers as rows (m, n): int64, or objects where it does not hold them; float64 unless all are integers."""
    dtypes = {row.dtype for row in rows}
    if all(np.can_cast(dtype, np.int64) for dtype in dtypes):
        return np.stack(rows).reshape(len(rows), -1)
    if any(dtype.kind == "f" for dtype in dtypes) and all(dtype.kind != "O" for dtype in dtypes):
        return np.stack([row.astype(np.float64) for row in rows]).reshape(len(rows), -1)
    cells = np.stack([row.astype(object).ravel() for row in rows])
    if all(isinstance(cell, int) for cell in cells.ravel()):
        return _narrow_integers(cells)
    values: npt.NDArray[np.float64] = np.frompyfunc(_convert_number, 1, 1)(cells).astype(np.float64)
    return values


def _convert_number(cell: Any) -> float:  # noqa: ANN401 - an int, a float, a Decimal, a Fraction
    """Return the nearest float, for numbers beyond its range a large one."""
    try:
        return float(cell)
    except OverflowError:
        return float(_MAX_INTEGER if cell > 0 else -_MAX_INTEGER)
    except ValueError:  # a signaling NaN
        return math.nan


def _narrow_integers(cells: npt.NDArray[np.object_]) -> npt.NDArray[Any]:
    """Return integers as int64 if it holds all of them."""
    cells = np.clip(cells, -_MAX_INTEGER, _MAX_INTEGER) if cells.size else cells
    try:
        return cells.astype(np.int64)
    except OverflowError:
        return cells


def _spell_inexact(raw_outputs: Sequence[Any], rows: Sequence[npt.NDArray[Any]], values: npt.NDArray[Any]) -> list[str]:
    """Return what each output is written as, and nothing where float64 holds its numbers."""
    is_wide: npt.NDArray[np.bool_] = np.any(np.abs(values.astype(np.float64)) >= _MAX_EXACT, axis=1)
    return [
        _spell(output)
        if wide or row.dtype.kind == "O" or row.dtype.itemsize > _DOUBLE_BYTES or isinstance(output, np.ma.MaskedArray)
        else ""
        for output, row, wide in zip(raw_outputs, rows, is_wide, strict=True)
    ]


def _note_negative_zeros(forms: tuple[str, ...], values: npt.NDArray[np.float64]) -> tuple[str, ...]:
    noted = list(forms)
    for row, place in np.argwhere(np.signbit(values) & (values == 0)).tolist():
        noted[row] += f"\n-0 at {place}"
    return tuple(noted)


def _spell(output: Any) -> str:  # noqa: ANN401 - numbers
    """Return numbers written so that no two of them are written alike."""
    if isinstance(output, (list, tuple)):
        return f"[{', '.join(map(_spell, output))}]"
    return repr(np.asarray(output).tolist() if isinstance(output, np.ndarray) else output)


def _check_finite(values: npt.NDArray[np.float64], raw_outputs: Sequence[Any]) -> None:
    finite = np.isfinite(values).all(axis=1)
    if not finite.all():
        raise InputError(
            f"The sampler must return finite numbers. Got {abbreviate(raw_outputs[int(np.argmin(finite))])}, and NaN "
            f"or infinity in {1 - finite.mean():.1%} of outputs: return what a user would receive, or a text such as "
            "'nan'."
        )
