"""Ledgers that are damaged: a value that is another, bytes that are, pages that refer to each other."""

import contextlib
import itertools
import sqlite3
from pathlib import Path

PAGE = 4096


def change(location, *statements):
    """Run statements with their values on the database of a ledger."""
    with contextlib.closing(sqlite3.connect(location)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for statement, values in statements:
            connection.execute(statement, values)


def find_root(location, table):
    """Return where the first page of a table begins."""
    with contextlib.closing(sqlite3.connect(location)) as connection:
        [(number,)] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchall()
    return (number - 1) * PAGE


def overwrite(location, place, data):
    """Write bytes into the file of a ledger."""
    with Path(location).open("r+b") as file:
        file.seek(place)
        file.write(data)


def refer_in_circles(location, table, depth=8, width=60, *, has_rowid=False):
    """Make the first page of a table, or of an index, lead through levels of pages, each many times to the next."""
    root, size = find_root(location, table), Path(location).stat().st_size
    with Path(location).open("r+b") as file:
        file.seek(root)
        leaf = file.read(PAGE)
        first_cell = int.from_bytes(leaf[8:10], "big")
        cell = b"\5" if has_rowid else leaf[first_cell : first_cell + 60]
        pages = [root // PAGE + 1, *range(size // PAGE + 1, size // PAGE + 1 + depth)]
        for page, child in itertools.pairwise(pages):
            file.seek((page - 1) * PAGE)
            file.write(_make_branch(child, cell, width, 5 if has_rowid else 2))
        file.seek((pages[-1] - 1) * PAGE)
        file.write(leaf)
        file.seek(28)
        file.write(pages[-1].to_bytes(4, "big"))


def _make_branch(child, cell, width, kind):
    """Return an inner page whose cells all lead to one page."""
    length = 4 + len(cell)
    places = [PAGE - length * (number + 1) for number in range(width)]
    header = bytes(
        [kind, 0, 0, *width.to_bytes(2, "big"), *places[-1].to_bytes(2, "big"), 0, *child.to_bytes(4, "big")]
    )
    page = bytearray(PAGE)
    page[: len(header)] = header
    for number, place in enumerate(places):
        page[len(header) + 2 * number : len(header) + 2 * number + 2] = place.to_bytes(2, "big")
        page[place : place + length] = child.to_bytes(4, "big") + cell
    return bytes(page)
