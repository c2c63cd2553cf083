"""Rows that a command cannot use: they are left out, counted and named, and no reason to refuse the rest."""

from collections.abc import Iterable, Mapping, Sequence

from deniable.errors import InputError

_SHOWN = 5
"""Rows that a line names."""


def name_rows(rows: Sequence[int]) -> str:
    """Return the numbers of rows, of many the first: "row 3", "rows 3 and 7", "rows 3, 7, 8, 9, 12 and 4 more".

    Args:
        rows: ascending, from 0 on; they are named from 1 on.
    """
    named = [f"{row + 1:,}" for row in rows[:_SHOWN]]
    more = len(rows) - _SHOWN
    last = f"{more:,} more" if more > 0 else named.pop()
    return f"row{'s' * (len(rows) > 1)} " + " and ".join([", ".join(named), last] if named else [last])


def count_rows(rows: Sequence[int]) -> str:
    """Return how many rows there are: "1 row"."""
    return f"{len(rows):,} row{'s' * (len(rows) != 1)}"


def describe_rows(source: str, rows: Sequence[int], what: str) -> list[str]:
    """Return a line, for the owner, on what becomes of some rows: "in.csv: 1 row WHAT: row 3"; none for no rows."""
    return [f"{source}: {count_rows(rows)} {what}: {name_rows(rows)}"] if len(rows) else []


def leave_out(source: str, count: int, reasons: Mapping[str, Iterable[int]]) -> tuple[list[int], list[str]]:
    """Return the rows that can be used, and a line for each reason why others cannot.

    Args:
        source: the table, for messages.
        count: its rows.
        reasons: what is wrong, such as "without a label", and with which rows; a row is counted under the first.

    Raises:
        InputError: no row is left.
    """
    usable = set(range(count))
    lines, told = [], []
    for reason, rows in reasons.items():
        wrong = sorted(usable.intersection(rows))
        usable.difference_update(wrong)
        if wrong:
            lines += describe_rows(source, wrong, f"{reason} left out")
            told.append(f"{count_rows(wrong)} {reason}")
    if not usable:
        raise InputError(
            f"No row of the table {source!r} can be used ({'; '.join(told)}): name its columns, or give another table."
        )
    return sorted(usable), lines
