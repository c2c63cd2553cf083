"""What an owner states in a document that nobody need believe: read by path and type, and marked as stated."""

import dataclasses
from collections.abc import Collection
from typing import Any, TypeVar

from deniable import __version__
from deniable.checking.fields import Stated
from deniable.core.errors import InputError, shorten_text
from deniable.text.release_certificate import (
    COLUMNS_LEFT_OUT,
    COPIED_COLUMNS,
    COPIED_IDENTIFIERS,
    COPIED_METADATA,
    COPIED_TEXTS,
    LEDGER_STEP,
    ROWS_NOT_COVERED,
)

T = TypeVar("T")

MAX_TEXT_CHARACTERS = 4_000
"""Characters of the longest text that is interpreted."""
PRIVATE_COUNT = "a count that only the owner can know"
OWNERS_CHOICE = "a choice of the owner"
VERSION = Stated(f"the version that wrote it; this is {__version__}")
OWNERS_LEDGER = "what a ledger did is seen by its owner alone"
_NOT_SEEN = "what was copied or left out is seen in the released table alone"


@dataclasses.dataclass(frozen=True)
class Statements:
    """The fields of a document, by path.

    Attributes:
        document: as `deniable.checking.document.parse_certificate` returns it.
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
