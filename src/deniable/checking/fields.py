"""The fields of a document beside what they should be: every leaf gets a status, and none is passed over."""

import dataclasses
import json
import math
from collections.abc import Iterator
from typing import Any, Literal

from deniable.checking.document import format_path
from deniable.core.errors import shorten_text

FieldStatus = Literal["recomputed", "contradicted", "stated"]
"""What is known of a field: it was computed again and is equal; it is not; or it is only stated by the owner."""

TOLERANCE = 1e-9
"""Relative difference up to which numbers are equal: processors differ in the last bits."""


@dataclasses.dataclass(frozen=True)
class FieldCheck:
    """One leaf of a document: a text, number, truth value or null, or an empty object or array.

    Attributes:
        path: where it stands, such as ``documents[0].pure.epsilon``.
        value: what stands there; None for what is missing.
        status: see `FieldStatus`.
        note: what was found instead, or why it is only stated.
    """

    path: str
    value: Any
    status: FieldStatus
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Stated:
    """Stands for a value that cannot be computed, and is only stated by the owner.

    Attributes:
        note: why it cannot.
        problem: what is wrong with the very value all the same, such as a count below 0; empty for nothing.
    """

    note: str
    problem: str = ""


def compare_fields(value: Any, expected: Any, steps: tuple[str | int, ...] = ()) -> Iterator[FieldCheck]:  # noqa: ANN401
    """Yield the status of every leaf of a document.

    Args:
        value: a JSON value of the document.
        expected: the value that it should be, in which `Stated` stands for what cannot be computed.
        steps: where the value stands.
    """
    if isinstance(expected, Stated):
        status: FieldStatus = "contradicted" if expected.problem else "stated"
        yield from mark_leaves(value, status, expected.problem or expected.note, steps)
    elif isinstance(expected, dict) and isinstance(value, dict) and (expected or value):
        yield from _compare_objects(value, expected, steps)
    elif isinstance(expected, list) and isinstance(value, list) and (expected or value):
        yield from _compare_arrays(value, expected, steps)
    elif _is_equal(value, expected):
        yield FieldCheck(format_path(steps), value, "recomputed")
    else:
        yield from mark_leaves(value, "contradicted", f"recomputed: {_format_expected(expected)}", steps)


def mark_leaves(value: Any, status: FieldStatus, note: str, steps: tuple[str | int, ...]) -> Iterator[FieldCheck]:  # noqa: ANN401
    """Yield every leaf of a JSON value with one status."""
    members: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        members = list(value.items())
    elif isinstance(value, list):
        members = list(enumerate(value))
    if not members:
        yield FieldCheck(format_path(steps), value, status, note)
    for step, member in members:
        yield from mark_leaves(member, status, note, (*steps, step))


def _compare_objects(
    value: dict[str, Any], expected: dict[str, Any], steps: tuple[str | int, ...]
) -> Iterator[FieldCheck]:
    for name, member in value.items():
        if name in expected:
            yield from compare_fields(member, expected[name], (*steps, name))
        else:
            yield from mark_leaves(member, "contradicted", "there is no such field", (*steps, name))
    for name, member in expected.items():
        if name not in value:
            yield FieldCheck(format_path((*steps, name)), None, "contradicted", _describe_missing(member))


def _compare_arrays(value: list[Any], expected: list[Any], steps: tuple[str | int, ...]) -> Iterator[FieldCheck]:
    for number, member in enumerate(value):
        if number < len(expected):
            yield from compare_fields(member, expected[number], (*steps, number))
        else:
            note = f"there is no such entry; recomputed: {len(expected)} of them"
            yield from mark_leaves(member, "contradicted", note, (*steps, number))
    for number in range(len(value), len(expected)):
        yield FieldCheck(format_path((*steps, number)), None, "contradicted", _describe_missing(expected[number]))


def _is_equal(value: Any, expected: Any) -> bool:  # noqa: ANN401
    """Return whether two leaves are equal, numbers but for the last digits of floats; True is not 1."""
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected
    if isinstance(expected, int):
        return isinstance(value, int | float) and value == expected
    if isinstance(value, float) or isinstance(expected, float):
        return (
            isinstance(value, int | float)
            and isinstance(expected, int | float)
            and math.isclose(value, expected, rel_tol=TOLERANCE)
        )
    return type(value) is type(expected) and bool(value == expected)


def _describe_missing(expected: Any) -> str:  # noqa: ANN401
    return "missing" if isinstance(expected, Stated) else f"missing; recomputed: {_format_expected(expected)}"


def _format_expected(expected: Any) -> str:  # noqa: ANN401
    """Return a JSON value on one line, with three dots for what cannot be computed."""
    return shorten_text(json.dumps(expected, ensure_ascii=False, default=lambda _: "..."))
