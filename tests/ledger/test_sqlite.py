"""A ledger in one SQLite file."""

import contextlib
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

    def test_a_fork_opens_it_anew(self, ledger):
        """A connection does not outlive a fork, and a pickle holds none."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
        Path(f"{ledger.location}.key").write_bytes(SECRET)
        by_reference = Ledger(ledger.location)
        _ = by_reference.facts
        assert spent(pickle.loads(pickle.dumps(by_reference)), "ann") == 2.5
        program = (
            "import os, sys; from deniable.ledger import Ledger\n"
            "ledger = Ledger(sys.argv[1]); ledger.facts; child = os.fork()\n"
            "if not child: ledger.facts; os._exit(0 if len(ledger._cell) == 2 else 1)\n"
            "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
        )
        subprocess.run([sys.executable, "-c", program, ledger.location], check=True)
