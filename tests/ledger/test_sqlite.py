"""A ledger in one SQLite file."""

import contextlib
import gc
import pickle
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from deniable.core.errors import InputError
from deniable.ledger import Ledger, create_ledger, sqlite
from tests.contracts.store import SECRET, WORD, StoreContract, cells, spent

ROOT = Path(__file__).parents[2]
ADDED_TABLE = "CREATE TABLE added (number INTEGER)"


def change(location, *statements):
    with contextlib.closing(sqlite3.connect(location)) as connection, connection:
        for statement, values in statements:
            connection.execute(statement, values)


class TestSQLiteStore(StoreContract):
    """SQLite holds the contract."""

    @pytest.fixture
    def location(self, tmp_path):
        return str(tmp_path / "ledger.db")

    def set_version(self, location, version):
        change(location, (f"PRAGMA user_version = {version}", ()))

    def use_newer_schema(self, monkeypatch):
        monkeypatch.setattr(sqlite, "SCHEMA_VERSION", 2)
        monkeypatch.setattr(sqlite, "MIGRATIONS", {1: (ADDED_TABLE, "INSERT INTO added VALUES (1)")})

    def count_migrations(self, location):
        with contextlib.closing(sqlite3.connect(location)) as connection:
            return connection.execute("SELECT COUNT(*) FROM added").fetchone()[0]

    def set_total(self, location, person, amount):
        change(location, ("UPDATE totals SET amounts = ? WHERE person = ?", (f"[{amount}]", person)))

    def test_only_its_owner_can_open_it(self, ledger, tmp_path):
        """The file, and the logs beside it, are the owner's alone."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
        assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}

    def test_commits_are_on_disk(self, ledger):
        """A commit waits for the disk."""
        connection = ledger._session.store._connection
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)

    def test_a_damaged_file_is_one_line(self, ledger):
        """Bytes that are no database give an error that names the file."""
        with Path(ledger.location).open("r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * 8192)
        with pytest.raises(InputError, match="cannot be used"):
            _ = list(Ledger(ledger.location, SECRET).list_totals())

    @pytest.mark.parametrize("content", [b"id,text\n1,a\n", b"x" * 200])
    def test_another_file_is_left_as_it_is(self, tmp_path, content):
        """A file that is no ledger is refused before a byte of it changes."""
        path = tmp_path / "table.csv"
        path.write_bytes(content)
        with pytest.raises(InputError, match="is no ledger"):
            _ = Ledger(str(path), SECRET).facts
        assert path.read_bytes() == content

    def test_another_database_is_left_as_it_is(self, tmp_path):
        """So is a database of another program."""
        path = tmp_path / "other.db"
        change(path, ("CREATE TABLE things (number)", ()))
        before = path.read_bytes()
        with pytest.raises(InputError, match="is no ledger"):
            _ = Ledger(str(path), SECRET).facts
        assert path.read_bytes() == before

    def test_a_missing_file_names_the_command(self, tmp_path):
        """Nothing is created by looking for a ledger."""
        with pytest.raises(InputError, match="deniable ledger create"):
            _ = Ledger(str(tmp_path / "none.db"), SECRET).facts
        assert list(tmp_path.iterdir()) == []

    def test_network_file_systems_are_refused(self, tmp_path, monkeypatch):
        """SQLite's locks do not hold there."""
        monkeypatch.setattr(sqlite, "find_network_file_system", lambda _: "nfs4")
        with pytest.raises(InputError, match=r"network file system \(nfs4\)"):
            create_ledger(str(tmp_path / "ledger.db"), 5.0, delta=None, unit="person", secret=SECRET)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.skipif(not Path("/proc/locks").exists(), reason="no list of locks")
    def test_a_second_opening_keeps_the_locks(self, ledger):
        """Whoever opens a ledger again in one process leaves SQLite's locks, without which its log could be removed."""
        inode = f":{Path(ledger.location).stat().st_ino} "
        ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
        before = [line.split()[1:] for line in Path("/proc/locks").read_text().splitlines() if inode in line]
        other = Ledger(ledger.location, SECRET)
        _ = list(other.list_totals()), other.find_problems()
        del other
        gc.collect()
        after = [line.split()[1:] for line in Path("/proc/locks").read_text().splitlines() if inode in line]
        assert before
        assert after == before

    def test_other_programs_do_not_remove_the_log(self, ledger, tmp_path):
        """Charges of two ledgers of one process are there, whatever other processes open and close meanwhile."""
        (tmp_path / "ledger.db.key").write_bytes(SECRET)
        look = [
            sys.executable,
            "-c",
            "import sys; from deniable import Ledger; list(Ledger(sys.argv[1]).list_totals())",
        ]
        second = Ledger(ledger.location, SECRET)
        for number in range(2):
            ledger.charge(WORD, cells(ledger, ("ann", f"a{number}", 1)))
            second.charge(WORD, cells(ledger, ("ann", f"b{number}", 1)))
            subprocess.run([*look, ledger.location], check=True)
        assert spent(Ledger(ledger.location, SECRET), "ann") == 10

    def test_a_fork_loses_nothing(self, ledger):
        """Parent and child open the ledger anew, and what both charge is there, whichever ends first."""
        Path(f"{ledger.location}.key").write_bytes(SECRET)
        program = (
            "import os, sys, time; from deniable import Ledger; from tests.contracts.store import WORD, cells\n"
            "ledger = Ledger(sys.argv[1]); ledger.charge(WORD, cells(ledger, ('ann', 'a', 1)))\n"
            "child = os.fork()\n"
            "if child: ledger.charge(WORD, cells(ledger, ('ann', 'b', 1))); os._exit(0)\n"
            "ledger.charge(WORD, cells(ledger, ('ann', 'c', 1))); time.sleep(1)\n"
            "ledger.charge(WORD, cells(ledger, ('ann', 'd', 1)))\n"
        )
        command = [sys.executable, "-c", program, ledger.location]
        subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)  # the pipe ends when the child does
        assert spent(pickle.loads(pickle.dumps(Ledger(ledger.location))), "ann") == 10
        assert ledger.find_problems() == []

    def test_an_interruption_leaves_no_transaction(self, ledger, monkeypatch):
        """A Ctrl-C while a writer waits does not keep others out."""

        class Interrupted:
            def __init__(self, connection):
                self.connection = connection

            def execute(self, statement, *values):
                result = self.connection.execute(statement, *values)
                if statement == "BEGIN IMMEDIATE":
                    raise KeyboardInterrupt
                return result

            def __getattr__(self, name):
                return getattr(self.connection, name)

        store = ledger._session.store
        monkeypatch.setattr(store, "_connection", Interrupted(store._connection))
        with pytest.raises(KeyboardInterrupt):
            ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
        assert not store._connection.in_transaction

    def test_a_removed_ledger_accepts_nothing(self, ledger):
        """A ledger that was removed or replaced while it is open refuses every charge."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
        Path(ledger.location).rename(ledger.location + ".old")
        with pytest.raises(InputError, match=r"cannot be used: No such file|was moved, removed or replaced"):
            ledger.charge(WORD, cells(ledger, ("ann", "b", 1)))
        assert not Path(ledger.location).exists()
