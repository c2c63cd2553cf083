"""What a mechanism under audit gives back: real vectors, integers, words or texts."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from deniable.core.errors import InputError, shorten_text

OutputKind = Literal["real", "integer", "word", "text"]
_MAX_SHOWN_CHARACTERS = 60


@dataclasses.dataclass(frozen=True)
class Outputs:
    """Outputs of many runs, in order.

    Attributes:
        kind: ``word`` is text without white space.
        values: (m, n) for numbers, a row for each run, integers as integers; empty for text.
        strings: m strings for text; empty for numbers.
        shape: of one run's numbers.
    """

    kind: OutputKind
    values: npt.NDArray[Any]
    strings: tuple[str, ...]
    shape: tuple[int, ...] = ()

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self.strings) if self.is_textual else len(self.values)

    @property
    def is_textual(self) -> bool:
        """Whether the outputs are strings."""
        return self.kind in {"word", "text"}

    def take(self, rows: npt.NDArray[np.int64]) -> "Outputs":
        """Return the outputs of these runs."""
        strings = tuple(self.strings[row] for row in rows) if self.is_textual else ()
        return dataclasses.replace(self, values=self.values if self.is_textual else self.values[rows], strings=strings)

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
        values = self.values if self.is_textual else np.concatenate([self.values, later.values])
        return Outputs(kind, values, self.strings + later.strings, self.shape)

    @property
    def description(self) -> str:
        """What one output is, for messages."""
        if self.is_textual:
            return "text"
        return f"numbers of shape {self.shape}" if self.shape else "a number"


def parse_outputs(raw_outputs: Sequence[Any]) -> Outputs:
    """Return what a sampler returned for m runs, checked.

    Numbers, arrays of one shape, strings, or lists of strings (joined by spaces).

    Raises:
        InputError: nothing, NaN, infinity, several shapes or kinds, or some other object.
    """
    if any(_is_tokens(output) and len(output) for output in raw_outputs):
        raw_outputs = [" ".join(output) if _is_tokens(output) else output for output in raw_outputs]
    return _parse_texts(raw_outputs) if isinstance(raw_outputs[0], str) else _parse_numbers(raw_outputs)


def _is_tokens(output: Any) -> bool:  # noqa: ANN401 - whatever a sampler returns
    if isinstance(output, np.ndarray):
        return output.ndim == 1 and output.dtype.kind == "U"
    return isinstance(output, (list, tuple)) and all(isinstance(token, str) for token in output)


def _parse_texts(raw_outputs: Sequence[Any]) -> Outputs:
    for output in raw_outputs:
        if not isinstance(output, str):
            raise InputError(f"The sampler must return outputs of one kind. Got {abbreviate(output)} among texts.")
    kind: OutputKind = "text" if any(len(output.split()) != 1 for output in raw_outputs) else "word"
    return Outputs(kind, np.empty((0, 0)), tuple(raw_outputs))


def _parse_numbers(raw_outputs: Sequence[Any]) -> Outputs:
    rows = [_parse_row(output) for output in raw_outputs]
    for row in rows:
        if row.shape != rows[0].shape:
            raise InputError(
                f"The sampler must return outputs of one shape. Got shapes {rows[0].shape} and {row.shape}."
            )
    values = np.stack(rows)
    if values[0].size == 0:
        raise InputError("The sampler returned empty arrays: an output must hold at least one number.")
    if values.dtype.kind in "biu":
        return Outputs("integer", values.reshape(len(values), -1), (), values.shape[1:])
    values = values.astype(np.float64)
    finite = np.isfinite(values)
    if not finite.all():
        first_invalid = int(np.argmin(finite.reshape(len(values), -1).all(axis=1)))
        share = 1 - finite.reshape(len(values), -1).all(axis=1).mean()
        raise InputError(
            f"The sampler must return finite numbers. Got {abbreviate(raw_outputs[first_invalid])}, and NaN or "
            f"infinity in {share:.1%} of outputs: return what a user would receive, or a text such as 'nan'."
        )
    return Outputs("real", values.reshape(len(values), -1), (), values.shape[1:])


def _parse_row(output: Any) -> npt.NDArray[Any]:  # noqa: ANN401 - whatever a sampler returns
    try:
        row = np.asarray(output)
    except (ValueError, TypeError):
        row = np.asarray(None)
    if row.dtype.kind not in "biuf":
        description = "nothing" if output is None else abbreviate(output)
        raise InputError(f"The sampler must return numbers, an array, a text or a list of words. Got {description}.")
    return row


def abbreviate(value: object) -> str:
    """Return an input or output in at most 60 characters, the closing quote or bracket among them."""
    if isinstance(value, np.ndarray):
        if value.size > 1 and value.dtype.kind in "biuf" and (value == value.flat[0]).all():
            return f"{value.flat[0]:g} in all {value.size} places"
        value = value.tolist()
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a value that cannot be shown is shown by its type
        text = f"a {type(value).__name__}"
    return shorten_text(text, _MAX_SHOWN_CHARACTERS)
