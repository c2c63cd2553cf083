"""Rows that a command cannot use: they are left out, counted and named, and no reason to refuse the rest."""

from collections.abc import Iterable, Mapping, Sequence

from deniable.core.errors import InputError

_SHOWN_ROWS = 5
"""Rows that a line names."""


def format_row_numbers(rows: Sequence[int]) -> str:
    """Return the numbers of rows, of many the first: "row 3", "rows 3 and 7", "rows 3, 7, 8, 9, 12 and 4 more".

    Args:
        rows: ascending, from 0 on; they are named from 1 on.
    """
    row_numbers = [f"{row + 1:,}" for row in rows[:_SHOWN_ROWS]]
    further_count = len(rows) - _SHOWN_ROWS
    last_part = f"{further_count:,} more" if further_count > 0 else row_numbers.pop()
    return f"row{'s' * (len(rows) > 1)} " + " and ".join(
        [", ".join(row_numbers), last_part] if row_numbers else [last_part]
    )


def format_row_count(rows: Sequence[int]) -> str:
    """Return how many rows there are: "1 row"."""
    return f"{len(rows):,} row{'s' * (len(rows) != 1)}"


def describe_rows(source: str, rows: Sequence[int], consequence: str) -> list[str]:
    """Return a line, for the owner, on what becomes of some rows: "in.csv: 1 row WHAT: row 3"; none for no rows."""
    return [f"{source}: {format_row_count(rows)} {consequence}: {format_row_numbers(rows)}"] if len(rows) else []


def select_usable_rows(source: str, count: int, reasons: Mapping[str, Iterable[int]]) -> tuple[list[int], list[str]]:
    """Return the rows that can be used, and a line for each reason why others cannot.

    Args:
        source: the table, for messages.
        count: its rows.
        reasons: what is wrong, such as "without a label", and with which rows; a row is counted under the first.

    Raises:
        InputError: no row is left.
    """
    usable_rows = set(range(count))
    remarks, reason_counts = [], []
    for reason, rows in reasons.items():
        unusable_rows = sorted(usable_rows.intersection(rows))
        usable_rows.difference_update(unusable_rows)
        if unusable_rows:
            remarks += describe_rows(source, unusable_rows, f"{reason} left out")
            reason_counts.append(f"{format_row_count(unusable_rows)} {reason}")
    if not usable_rows:
        raise InputError(
            f"No row of the table {source!r} can be used ({'; '.join(reason_counts)}): name other columns, "
            "or give another table."
        )
    return sorted(usable_rows), remarks
