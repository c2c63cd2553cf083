"""A target for ledgers: whatever their files hold, every command ends with an answer or one line."""

import contextlib
import functools
import gc
import io
import json
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deniable as dn
from tests.commands import run
from tests.fuzzing.files import hold_folder, refusals
from tests.ledger.store import PERSON, SECRET, TEXT, WORD, cells

_NAME = "l.db"
_MAXIMUM_EDITS = 8
_VALUES: tuple[Any, ...] = (
    *(None, 0, -1, 1, 2**62, -(2**63), 1.5, float("inf"), "", "x", "a\nb", "[]", "{}", "[1]", "[-1]", "[1.5]"),
    *("[[1]]", '["1"]', "null", "nan", "-1", "1e999", "[" * 5_000, "9" * 5_000, b"", b"x" * 16, b"\xff\xfe"),
)


def fuzz_ledger(data: bytes) -> None:
    """Use a ledger of whose files one is replaced or edited; the first byte says which, and how.

    ===  ========================================================================================
    0    the file is the rest
    1    bytes of the file are overwritten, zeroed or cut off: see `_edit`
    2    the same of the log beside a file
    3    one value of its tables is another: bytes for table, row, column, and the number of a value, or else the value
    4    the key is the rest
    5    a journal beside the file is the rest
    ===  ========================================================================================
    """
    if not data:
        return
    mode, rest = data[0] % 6, data[1:]
    files = dict(_make_base(with_log=mode == 2))
    if mode == 0:
        files[""] = rest
    elif mode in (1, 2):
        ending = "-wal" if mode == 2 else ""
        files[ending] = _edit(files[ending], rest)
    elif mode == 4:
        files[".key"] = rest
    elif mode == 5:
        files["-journal"] = rest
    with hold_folder() as folder:
        place = folder / _NAME
        for ending, content in files.items():
            Path(f"{place}{ending}").write_bytes(content)
        if mode == 3:
            _replace_value(place, rest)
        with _see_ignored():
            _use_ledger(place, is_edited=mode != 0)


@functools.cache
def _make_base(*, with_log: bool) -> dict[str, bytes]:
    """Return the files of a ledger under which ann can spend 2.5 more of 20, by their endings."""
    with hold_folder() as folder:
        place = folder / _NAME
        dn.create_ledger(str(place), 20.0, delta=1e-6, unit="person", secret=SECRET, key_path=f"{place}.key")
        ledger = dn.Ledger(str(place))
        ledger.charge(WORD, cells(ledger, ("ann", "a", 4), ("bob", "b", 2), ("ann", "c", 3)))
        ledger.charge(PERSON, cells(ledger, ("ann", "d", 1), ("eve", "e", 1)))
        with contextlib.closing(sqlite3.connect(place)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        ledger.charge(TEXT, cells(ledger, ("bob", "f", 1)))
        if not with_log:
            ledger._session.close()
        files = {path.name.removeprefix(_NAME): path.read_bytes() for path in folder.iterdir()}
    files.pop("-shm", None)  # which SQLite makes anew
    return files


def _edit(content: bytes, edits: bytes) -> bytes:
    """Return bytes edited: for each edit a place in two bytes, a kind, a length, and for every other kind new bytes."""
    stream, changed = io.BytesIO(edits), bytearray(content)
    for _ in range(_MAXIMUM_EDITS):
        header = stream.read(4)
        if len(header) < 4:
            break
        place, kind, length = int.from_bytes(header[:2], "big") % (len(content) + 1), header[2], header[3]
        if kind % 8 == 7:
            del changed[place:]
        elif kind % 8 == 6:
            changed[place : place + 64 * length] = bytes(len(changed[place : place + 64 * length]))
        else:
            new = stream.read(length)[: len(changed) - place]
            changed[place : place + len(new)] = new
    return bytes(changed)


def _replace_value(place: Path, choice: bytes) -> None:
    """Give one value of a ledger's tables another value."""
    if len(choice) < 4:
        return
    with contextlib.closing(sqlite3.connect(place)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        table = ("facts", "costs", "totals", "charges")[choice[0] % 4]
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        column = columns[choice[1] % len(columns)]
        rows = connection.execute(f"SELECT * FROM {table}").fetchall()
        row = rows[choice[2] % len(rows)]
        value = _VALUES[choice[3]] if choice[3] < len(_VALUES) else _decode(choice[4:])
        condition = " AND ".join(f"{name} = ?" for name in columns)
        with contextlib.suppress(sqlite3.IntegrityError, sqlite3.DataError):
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE {condition}", (value, *row))


def _decode(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _use_ledger(place: Path, *, is_edited: bool) -> None:
    """Read and charge a ledger in every way; raise where it is charged beyond a cap, or loses a charge, unnoticed."""
    _read_ledger(place)
    accepted = [person for person, units in (("ann", 5), ("zoe", 1)) if _charge(place, person, units)]
    if not accepted:
        return
    _read_ledger(place)
    with refusals(dn.DeniableError):
        ledger = dn.Ledger(str(place))
        if ledger.find_problems():
            return
        if "ann" in accepted and is_edited:
            raise AssertionError("a charge beyond the cap was accepted, and the ledger is called good")
        spent = {total.account: total.amounts for total in ledger.list_totals("zoe")}
        if "zoe" in accepted and spent != {"metric": (25 * 10**8,)}:
            raise AssertionError("a charge is lost, and the ledger is called good")


def _read_ledger(place: Path) -> None:
    """Show a ledger, all of it and a person, check it, and export it."""
    output = f"{place}.jsonl"
    for command in ("show", "show --person ann", "show --json", "check", f"export --force -o {output}"):
        name, *options = command.split()
        result = run("ledger", name, place, *options)
        assert "Traceback" not in result.err, result.err
        assert "internal error" not in result.err, result.err
        assert result.err.count("\n") <= 1, "an error of several lines"
        if options == ["--json"]:
            json.loads(result.text or "null")
    if Path(output).exists():
        for line in Path(output).read_bytes().splitlines():
            json.loads(line)


@contextlib.contextmanager
def _see_ignored() -> Iterator[None]:
    """Raise where Python ignores an error, of which it would print a traceback."""
    ignored: list[str] = []
    before = sys.unraisablehook
    sys.unraisablehook = lambda unraisable: ignored.append(repr(unraisable.exc_value))
    try:
        yield
        gc.collect(1)
    finally:
        sys.unraisablehook = before
    if ignored:
        raise AssertionError(f"an error was ignored: {ignored}")


def _charge(place: Path, person: str, units: int) -> bool:
    """Return whether words of a person were charged."""
    with refusals(dn.DeniableError):
        ledger = dn.Ledger(str(place))
        return ledger.charge(WORD, cells(ledger, (person, "new", units))) == 1
    return False
