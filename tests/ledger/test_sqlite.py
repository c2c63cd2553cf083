"""A ledger in one SQLite file."""

import contextlib
import gc
import os
import pickle
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import deniable as dn
from deniable import Ledger, create_ledger
from deniable.ledger import sqlite
from deniable.ledger.sqlite import find_file_system
from tests.ledger.store import SECRET, WORD, StoreContract, cells, spent
from tests.refusals import refuses

ROOT = Path(__file__).parents[2]
_PAGE = 4096


def fail_at(ledger, statement, error, monkeypatch):
    """Let a ledger's connection raise at a statement, after it is begun and before it is committed."""

    class Failing:
        def __init__(self, connection):
            self.connection = connection

        def execute(self, given, *values):
            if given == statement == "COMMIT":
                raise error
            result = self.connection.execute(given, *values)
            if given == statement:
                raise error
            return result

        def __getattr__(self, name):
            return getattr(self.connection, name)

    store = ledger._session.store
    monkeypatch.setattr(store, "_connection", Failing(store._connection))
    return store


class TestSQLiteStore(StoreContract):
    """SQLite holds the contract."""

    @pytest.fixture
    def location(self, tmp_path):
        return str(tmp_path / "ledger.db")

    def change(self, location, statement):
        with contextlib.closing(sqlite3.connect(location)) as connection, connection:
            connection.execute(statement)

    def test_only_its_owner_can_open_it(self, ledger, tmp_path):
        """The file, and the logs beside it, are the owner's alone."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
        assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}

    def test_commits_are_on_disk(self, ledger):
        """A commit waits for the disk."""
        connection = ledger._session.store._connection
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)

    def test_a_ledger_of_the_first_version_is_refused(self, ledger):
        """Its accounts did not name their metric."""
        ledger._session.store.close()
        self.change(ledger.location, "DROP TABLE facts")
        self.change(ledger.location, "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        self.change(ledger.location, "INSERT INTO facts VALUES ('unit', 'person')")
        with refuses("another version"):
            _ = dn.Ledger(ledger.location, SECRET).facts

    def test_a_damaged_page_is_found(self, ledger):
        """What a damaged index has lost is a problem that the check names, and charges go on."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
        ledger._session.store.close()
        content = Path(ledger.location).read_bytes()
        with Path(ledger.location).open("r+b") as file:
            file.seek(content.rindex(b"metric steps"))
            file.write(b"metric stepz")
        assert ledger.charge(WORD, cells(ledger, ("bob", "b", 1))) == 1
        assert ledger.find_problems()

    def test_a_commit_that_fails_is_not_called_uncharged(self, ledger, monkeypatch):
        """Where the disk fails while a charge is committed, the message does not say that nothing was charged."""
        store = fail_at(ledger, "COMMIT", sqlite3.OperationalError("disk I/O error"), monkeypatch)
        with refuses("is not known"):
            ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
        assert not store._connection.in_transaction

    def test_an_interruption_leaves_no_transaction(self, ledger, monkeypatch):
        """A Ctrl-C while a writer waits does not keep others out."""
        store = fail_at(ledger, "BEGIN IMMEDIATE", KeyboardInterrupt(), monkeypatch)
        with pytest.raises(KeyboardInterrupt):
            ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
        assert not store._connection.in_transaction

    def test_a_damaged_file_is_one_line(self, ledger):
        """Bytes that are no database give an error that names the file."""
        with Path(ledger.location).open("r+b") as file:
            file.seek(_PAGE)
            file.write(b"\xff" * 2 * _PAGE)
        with refuses("cannot be used"):
            _ = list(Ledger(ledger.location, SECRET).list_totals())

    @pytest.mark.parametrize("content", [b"id,text\n1,a\n", b"x" * 200, None])
    def test_another_file_is_left_as_it_is(self, tmp_path, content):
        """A file that is no ledger, or is a database of another program, is refused before a byte of it changes."""
        path = tmp_path / "table"
        if content is None:
            self.change(path, "CREATE TABLE things (number)")
        else:
            path.write_bytes(content)
        before = path.read_bytes()
        with refuses("not a"):
            _ = Ledger(str(path), SECRET).facts
        assert path.read_bytes() == before
        with refuses("deniable ledger create"):
            _ = Ledger(str(tmp_path / "none.db"), SECRET).facts
        assert list(tmp_path.iterdir()) == [path]

    def test_network_file_systems_are_refused(self, tmp_path, monkeypatch):
        """SQLite's locks do not hold there."""
        monkeypatch.setattr(sqlite, "find_file_system", lambda _: "nfs4")
        with refuses("nfs4"):
            create_ledger(str(tmp_path / "ledger.db"), 5.0, delta=None, unit="person", secret=SECRET)
        assert list(tmp_path.iterdir()) == []

    def test_a_file_system_is_known_by_its_number(self, tmp_path):
        """The table of mounts names the type; elsewhere than on Linux nothing is known."""
        device = tmp_path.stat().st_dev
        table = tmp_path / "mountinfo"
        table.write_text(
            "27 1 254:99 / / rw,relatime - ext4 /dev/vda rw,discard\n"
            f"40 27 {os.major(device)}:{os.minor(device)} / /srv/with\\040space rw shared:5 - cifs //host/c rw\n"
        )
        assert find_file_system(tmp_path, table) == "cifs"
        assert not find_file_system(tmp_path, tmp_path / "none")

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
            "import os, sys, time; from deniable import Ledger; from tests.ledger.store import WORD, cells\n"
            "ledger = Ledger(sys.argv[1]); ledger.charge(WORD, cells(ledger, ('ann', 'a', 1)))\n"
            "session, parent, child = ledger._session, os.getpid(), os.fork()\n"
            "assert ledger._session is not session\n"
            "if child: ledger.charge(WORD, cells(ledger, ('ann', 'b', 1))); os._exit(0)\n"
            "ledger.charge(WORD, cells(ledger, ('ann', 'c', 1)))\n"
            "while os.getppid() == parent: time.sleep(0.01)\n"
            "ledger.charge(WORD, cells(ledger, ('ann', 'd', 1)))\n"
        )
        command = [sys.executable, "-c", program, ledger.location]
        subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)  # the pipe ends when the child does
        assert spent(pickle.loads(pickle.dumps(Ledger(ledger.location))), "ann") == 10
        assert ledger.find_problems() == []

    def test_a_removed_ledger_accepts_nothing(self, ledger):
        """A ledger that was removed or replaced while it is open refuses every charge."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
        Path(ledger.location).rename(ledger.location + ".old")
        with refuses(Path(ledger.location).name):
            ledger.charge(WORD, cells(ledger, ("ann", "b", 1)))
        assert not Path(ledger.location).exists()
