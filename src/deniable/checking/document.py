"""The document that anybody may have written: read strictly and within bounds, and compared with what it should be.

Every leaf gets a status, and none is passed over. What the owner states is read by path and type, and marked as stated.
"""

import dataclasses
import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar

from deniable import __version__
from deniable.core.archives import JsonLimits, parse_strict_json
from deniable.core.errors import InputError, shorten_text
from deniable.text.release_certificate import (
    CHOSEN_BY_OWNER,
    CHOSEN_FROM_DATA,
    COLUMNS_LEFT_OUT,
    COPIED_COLUMNS,
    COPIED_IDENTIFIERS,
    COPIED_METADATA,
    COPIED_TEXTS,
    LEDGER_STEP,
    ROWS_NOT_COVERED,
)

T = TypeVar("T")

CERTIFICATE_LIMITS = JsonLimits(size=4 << 20, depth=12, members=200_000)
"""Certificates that commands write have some kilobytes, five objects and arrays inside each other, and short names."""
FieldStatus = Literal["recomputed", "contradicted", "stated"]
"""What is known of a field: it was computed again and is equal; it is not; or it is only stated by the owner."""

TOLERANCE = 1e-9
"""Relative difference up to which numbers are equal: processors differ in the last bits."""
MAX_TEXT_CHARACTERS = 4_000
"""Characters of the longest text that is interpreted."""
PRIVATE_COUNT = "reported by the owner; it cannot be verified from this file"
OWNERS_CHOICE = "a choice of the owner"
OWNERS_LEDGER = "only the owner sees what a ledger did"
_NOT_SEEN = "only the released table shows what was copied or left out"


def parse_certificate(content: bytes) -> dict[str, Any]:
    """Return the fields of a certificate, read by the letter of JSON.

    Args:
        content: of the file, UTF-8.

    Raises:
        InputError: it is too large or too deep, not a JSON object, or holds a name twice or a long one, a number that
            is not finite or an integer beyond 2^62.
    """
    try:
        document = parse_strict_json(content, CERTIFICATE_LIMITS)
    except ValueError as error:
        raise InputError(f"The certificate {error}. No command writes that: give the file as it was written.") from None
    if not isinstance(document, dict):
        raise InputError("The certificate is not a JSON object: give the JSON file that was written with the table.")
    return document


@dataclasses.dataclass(frozen=True)
class FieldCheck:
    """One leaf of a document: a text, number, truth value or null, or an empty object or array.

    Attributes:
        path: where it is, such as ``documents[0].pure.epsilon``.
        value: what is there; None for what is missing.
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


VERSION = Stated(f"the version that wrote it; this is {__version__}")


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
    elif isinstance(value, dict | list) and type(value) is type(expected) and (value or expected):
        members, expected_members = _list_members(value), _list_members(expected)
        surplus = "there is no such field"
        if isinstance(value, list):
            surplus = f"there is no such entry; recomputed: {len(expected)} of them"
        for step, member in members.items():
            if step in expected_members:
                yield from compare_fields(member, expected_members[step], (*steps, step))
            else:
                yield from mark_leaves(member, "contradicted", surplus, (*steps, step))
        for step, member in expected_members.items():
            if step not in members:
                note = "missing" if isinstance(member, Stated) else f"missing; recomputed: {_format_expected(member)}"
                yield FieldCheck(format_path((*steps, step)), None, "contradicted", note)
    elif _is_equal(value, expected):
        yield FieldCheck(format_path(steps), value, "recomputed")
    else:
        yield from mark_leaves(value, "contradicted", f"recomputed: {_format_expected(expected)}", steps)


def mark_leaves(value: Any, status: FieldStatus, note: str, steps: tuple[str | int, ...]) -> Iterator[FieldCheck]:  # noqa: ANN401
    """Yield every leaf of a JSON value with one status."""
    members = _list_members(value)
    if not members:
        yield FieldCheck(format_path(steps), value, status, note)
    for step, member in members.items():
        yield from mark_leaves(member, status, note, (*steps, step))


def _list_members(value: Any) -> Mapping[str | int, Any]:  # noqa: ANN401
    """Return the members of an object by name, of an array by number; none of a leaf."""
    if isinstance(value, dict):
        return value
    return dict(enumerate(value)) if isinstance(value, list) else {}


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


def _format_expected(expected: Any) -> str:  # noqa: ANN401
    """Return a JSON value on one line, with three dots for what cannot be computed."""
    return shorten_text(json.dumps(expected, ensure_ascii=False, default=lambda _: "..."))


def format_path(steps: Sequence[str | int]) -> str:
    """Return where a value stands in a document: ``documents[0].pure.epsilon``; odd names in quotes."""
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        elif step.replace(" ", "_").isidentifier() and step == step.strip():
            path += f".{step}" if path else step
        else:
            path += f"[{json.dumps(step)}]"
    return path


@dataclasses.dataclass(frozen=True)
class Statements:
    """The fields of a document, by path.

    Attributes:
        document: as `parse_certificate` returns it.
    """

    document: dict[str, Any]

    def get(self, *steps: str) -> Any:  # noqa: ANN401 - any JSON value
        """Return the value at a path; None where there is none."""
        value: Any = self.document
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
        return value

    def get_text(self, *steps: str) -> str:
        """Return the text at a path; an empty one where there is none, or one too long to be of a certificate."""
        value = self.get(*steps)
        return value if isinstance(value, str) and len(value) <= MAX_TEXT_CHARACTERS else ""

    def get_list(self, *steps: str) -> list[Any]:
        """Return the array at a path; an empty one where there is none."""
        value = self.get(*steps)
        return value if isinstance(value, list) else []

    def get_object(self, *steps: str) -> dict[str, Any]:
        """Return the object at a path; an empty one where there is none."""
        value = self.get(*steps)
        return value if isinstance(value, dict) else {}

    def get_count(self, *steps: str, minimum: int = 0) -> int | None:
        """Return the integer at a path, from a minimum on; None where there is none."""
        value = self.get(*steps)
        is_count = isinstance(value, int) and not isinstance(value, bool) and value >= minimum
        return value if is_count else None

    def require_number(self, *steps: str, maximum: float) -> float:
        """Return the number at a path, above 0, without which nothing can be recomputed.

        Raises:
            InputError: there is none, or it is too large for a privacy parameter.
        """
        value = self.get(*steps)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= maximum:
            raise InputError(
                f"The certificate cannot be checked: {'.'.join(steps)} must be a number above 0, at most {maximum:g}. "
                f"Got {shorten_text(repr(value))}."
            )
        return float(value)

    def require_count(self, *steps: str, maximum: int) -> int:
        """Return the integer at a path, from 1 on, without which nothing can be recomputed.

        Raises:
            InputError: there is none, or it is too large for a certificate.
        """
        count = self.get_count(*steps, minimum=1)
        if count is None or count > maximum:
            raise InputError(
                f"The certificate cannot be checked: {'.'.join(steps)} must be an integer from 1 to {maximum:,}."
            )
        return count

    def require_name(self, *steps: str, known: Collection[str]) -> str:
        """Return the name at a path, without which nothing can be recomputed.

        Raises:
            InputError: it is none that is known.
        """
        value = self.get(*steps)
        if not isinstance(value, str) or value not in known:
            raise InputError(
                f"The certificate cannot be checked: {'.'.join(steps)} must be one of {', '.join(known)}. "
                f"Got {shorten_text(repr(value))}."
            )
        return value

    def choose(self, choices: Collection[T], default: T, *steps: str) -> tuple[T, Stated]:
        """Return the choice at a path, and how it is marked: contradicted where it is none of the choices."""
        value = self.get(*steps)
        for choice in choices:
            if type(choice) is type(value) and choice == value:
                return choice, Stated(OWNERS_CHOICE)
        return default, Stated("", f"no such choice: must be one of {', '.join(map(repr, choices))}")

    def is_chosen_from_data(self, *steps: str) -> tuple[bool, Stated]:
        """Return whether epsilon was chosen from the private texts, as a path says, and how that is marked."""
        chosen, mark = self.choose((CHOSEN_BY_OWNER, CHOSEN_FROM_DATA), CHOSEN_BY_OWNER, *steps)
        return chosen == CHOSEN_FROM_DATA, mark

    def mark_count(self, *steps: str, minimum: int = 0, problem: str = "") -> Stated:
        """Return how a count is marked: contradicted where it is none, or for a reason that is given."""
        is_count = self.get_count(*steps, minimum=minimum) is not None
        return Stated(PRIVATE_COUNT, problem if is_count else f"no integer of at least {minimum}")

    def list_steps(self, steps: list[str], *, has_ledger: bool | None = None) -> list[Any]:
        """Return the steps that a certificate should have, with those that only its owner can know.

        Args:
            steps: that follow from other fields.
            has_ledger: whether another field says that a ledger was charged; None where none says either.
        """
        stated = [Stated(_NOT_SEEN)] if COLUMNS_LEFT_OUT in self.get_list("steps") else []
        ledger_lines = self.list_ledger_lines("steps")
        if has_ledger or (has_ledger is None and ledger_lines):
            stated += [Stated(OWNERS_LEDGER)] * max(1, len(ledger_lines))
        return [*steps, *stated]

    def list_ledger_lines(self, *steps: str) -> list[str]:
        """Return the lines of an array that say what a ledger had to do with a release."""
        lines = [line for line in self.get_list(*steps) if isinstance(line, str)]
        said = [line for line in lines if line.startswith(LEDGER_STEP)][:1]
        return [*said, ROWS_NOT_COVERED] if said and ROWS_NOT_COVERED in lines else said

    def list_revealing(self) -> list[Stated]:
        """Return a mark for each line that says what was copied and looks private, which is not seen here."""
        return self._mark_lines(COPIED_TEXTS, COPIED_IDENTIFIERS)

    def list_copied(self) -> list[Stated]:
        """Return a mark for each line that says what was copied, which is not seen here."""
        return self._mark_lines(COPIED_COLUMNS, COPIED_METADATA)

    def _mark_lines(self, *titles: str) -> list[Stated]:
        """Return a mark for each of some titles with which a line on what is not protected begins."""
        lines = [line for line in self.get_list("not_protected") if isinstance(line, str)]
        return [Stated(_NOT_SEEN) for title in titles if any(line.startswith(f"{title}: ") for line in lines)]
