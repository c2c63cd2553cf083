"""Lists of names on the command line: one line of a csv, so that a name may hold commas and quotes."""

import csv
import io
import re
from collections.abc import Iterable, Sequence

from deniable.core.errors import InputError, shorten_text
from deniable.persons.options import MAX_VALUES

_LINE_END = "\r\n"
_RANGE = re.compile(r"(-?\d{1,9})\.\.(-?\d{1,9})")


def parse_list(option: str, text: str, *, skip_spaces: bool = False) -> tuple[str, ...]:
    """Return the entries of a list such as ``a,b``; one with a comma stands in quotes, as in a csv.

    Args:
        option: that holds the list, for messages.
        text: the list; nothing stands for no entry.
        skip_spaces: whether spaces after a comma are no part of an entry.

    Raises:
        InputError: a quote that is not closed, or a line break outside quotes.
    """
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=skip_spaces))
    except csv.Error as error:
        raise InputError(
            f"{option} {shorten_text(repr(text))} is not a list such as a,b: {error}. Quote a name as in a csv."
        ) from None
    if len(rows) > 1:
        raise InputError(
            f"{option} {shorten_text(repr(text))} has a line break outside quotes: quote the name that holds it."
        )
    return tuple(entry for row in rows for entry in row)


def parse_distinct_names(option: str, text: str) -> tuple[str, ...]:
    """Return the names of a list, each without white space around.

    Args:
        option: that holds the list, for messages.
        text: see `parse_list`.

    Raises:
        InputError: no list, an empty name, or one that stands there twice.
    """
    names = tuple(name.strip() for name in parse_list(option, text.strip(), skip_spaces=True))
    if not names or not all(names):
        raise InputError(
            f"{option} must list names with commas between them. Got {shorten_text(repr(text))}: leave no name empty."
        )
    repeated = [name for place, name in enumerate(names) if name in names[:place]]
    if repeated:
        raise InputError(f"{option} names {shorten_text(repr(repeated[0]))} twice: list each name once.")
    return names


def format_list(names: Iterable[str]) -> str:
    """Return the list that `parse_list` reads as these names."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator=_LINE_END).writerow(names)  # what a line may end with is quoted
    return buffer.getvalue().removesuffix(_LINE_END)


def parse_domain(text: str) -> tuple[str, Sequence[int] | Sequence[str]]:
    """Return the column and the values that ``NAME=LOW..HIGH`` or ``NAME=A,B,...`` declares.

    Raises:
        InputError: it is written in another way, or a value is empty or stands there twice.
    """
    name, separator, values = text.partition("=")
    if not name or not separator or not values:
        raise InputError(f"A domain is declared as NAME=LOW..HIGH or NAME=A,B,... Got {text!r}: name all its values.")
    span = _RANGE.fullmatch(values.strip())
    if span is None:
        return name, parse_distinct_names(f"The domain of {name!r}", values)
    low, high = int(span[1]), int(span[2])
    if low >= high:
        raise InputError(f"A domain goes from a lower to a higher number. Got {text!r}: write it as LOW..HIGH.")
    if high - low >= MAX_VALUES:
        raise InputError(f"The domain of {name!r} has more than {MAX_VALUES:,} values. Got {values}: take fewer.")
    return name, range(low, high + 1)
