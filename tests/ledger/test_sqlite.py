"""A ledger in one SQLite file, whole or damaged."""

import contextlib
import gc
import pickle
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from deniable import Ledger, create_ledger
from deniable.ledger import sqlite
from tests.ledger.damage import PAGE, change, find_root, overwrite, refer_in_circles
from tests.ledger.store import SECRET, TEXT, WORD, StoreContract, cells, spent
from tests.refusals import refuses

ROOT = Path(__file__).parents[2]
ADDED_TABLE = "CREATE TABLE added (number INTEGER)"


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

    @pytest.mark.parametrize(
        ("statement", "value"),
        [
            *(
                (f"UPDATE facts SET value = ? WHERE name = '{name}'", value)
                for name, value in (
                    ("budget", "50.0"),  # its caps do not follow from it
                    ("budget", "nan"),
                    ("budget", b"20.0"),
                    ("unit", "a\nb"),
                    ("delta", "[]"),
                    ("delta", "[" * 5_000),
                    ("caps", "9" * 5_000),
                    ("key_check", "xyz"),
                )
            ),
            ("UPDATE facts SET name = 'other' WHERE name = ?", "caps"),
            *(("UPDATE totals SET amounts = ?", amounts) for amounts in ("[-1]", "[1.5]", "[]", "7", "")),
            ("UPDATE totals SET account = ?", "x\ny"),
            ("UPDATE totals SET person = ?", "ann"),
            *(("UPDATE costs SET cost = ? WHERE number = 1", cost) for cost in ("", "5")),
            ("UPDATE costs SET number = ?", 7),
            ("UPDATE charges SET cost = ?", 7),
            *(("UPDATE charges SET units = ?", units) for units in (0, 1.5)),
            ("UPDATE charges SET person = ?", 3),
            ("CREATE TRIGGER t AFTER INSERT ON charges BEGIN DELETE FROM totals; END", None),
            ("CREATE VIEW v AS SELECT 1", None),
            *((f"PRAGMA user_version = {version}", None) for version in (0, -5)),
        ],
    )
    def test_a_value_that_no_ledger_has(self, ledger, statement, value):
        """Whoever reads all of a ledger with such a value gets one line that says that it is damaged."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
        ledger._session.close()
        change(ledger.location, (statement, () if value is None else (value,)))
        reader = Ledger(ledger.location, SECRET)
        with refuses("schema" if "user_version" in statement else "damaged"):
            _ = list(reader.list_units()), list(reader.list_totals())

    @pytest.mark.parametrize("amounts", ["[-30000000000]", "[1.5]", "[]", "x", "[" * 5_000])
    def test_a_total_that_is_none_is_not_charged(self, ledger, amounts):
        """A person whose total cannot be true spends nothing more; others do."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 7)))
        change(ledger.location, ("UPDATE totals SET amounts = ?", (amounts,)))
        with refuses("damaged"):
            ledger.charge(WORD, cells(ledger, ("ann", "b", 5)))
        assert ledger.charge(WORD, cells(ledger, ("bob", "c", 1))) == 1
        with contextlib.closing(sqlite3.connect(ledger.location)) as connection:
            assert connection.execute("SELECT COUNT(*) FROM charges").fetchone() == (2,)

    def test_an_index_that_has_lost_a_cost(self, ledger):
        """What is charged where an index is damaged is there, and the check finds the damage."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
        ledger._session.close()
        root = find_root(ledger.location, "sqlite_autoindex_costs_1")
        place = Path(ledger.location).read_bytes().index(WORD.encode().encode(), root, root + PAGE)
        overwrite(ledger.location, place, b"~")
        assert ledger.charge(WORD, cells(ledger, ("ann", "b", 1))) == 1
        assert spent(ledger, "ann") == 5
        assert "sqlite_autoindex_costs_1" in " ".join(ledger.find_problems())

    def test_what_sqlite_quotes_is_one_line(self, ledger):
        """A schema that cannot be parsed, whose text is none or has several lines, gives one."""
        ledger._session.close()
        content = Path(ledger.location).read_bytes()
        for broken in (b"CREATE TABLE fa\xff\xff\xff (", b"CREATE TABLE fa\n\n\x1b (", b"CREATE\0TABLE facts ("):
            place = content.index(b"CREATE TABLE facts (")
            overwrite(ledger.location, place, broken)
            with refuses(Path(ledger.location).name):
                _ = Ledger(ledger.location, SECRET).facts

    def test_pages_that_refer_to_each_other(self, ledger):
        """Pages that lead to each other again and again, as 60 to the 8th rows, end in one line instead of never."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
        ledger._session.close()
        refer_in_circles(ledger.location, "charges")
        reader = Ledger(ledger.location, SECRET)
        for read in (lambda: list(reader.list_units()), reader.find_problems):
            with refuses("longer"):
                read()

    @pytest.mark.parametrize("table", ["facts", "costs", "totals"])
    def test_other_tables_in_circles(self, ledger, table):
        """So do those of every other table, before much of them is read."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
        ledger._session.close()
        refer_in_circles(ledger.location, table, has_rowid=table in {"facts", "costs"})
        with refuses("damaged"):
            _ = list(Ledger(ledger.location, SECRET).list_totals()), list(Ledger(ledger.location, SECRET).list_units())

    def test_work_is_bounded_by_far_more_than_a_ledger_needs(self, ledger, monkeypatch):
        """Charges are not limited, and a tenth of the steps for each byte are enough to read and check them all."""
        monkeypatch.setattr(sqlite, "_STEPS_AT_A_TIME", 10**4)
        monkeypatch.setattr(sqlite, "_LEAST_STEPS", 10**4)
        per_byte = sqlite._STEPS_PER_BYTE // 10
        monkeypatch.setattr(sqlite, "_STEPS_PER_BYTE", 0)
        for number in range(20):
            persons = [(f"{number} {person}", f"{number} {person}", 1) for person in range(100)]
            assert ledger.charge(TEXT, cells(ledger, *persons)) == 100
        monkeypatch.setattr(sqlite, "_STEPS_PER_BYTE", per_byte)
        assert sum(units.units for units in ledger.list_units()) == 2_000
        assert ledger.find_problems() == []

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
        overwrite(ledger.location, PAGE, b"\xff" * 2 * PAGE)
        with refuses("cannot be used"):
            _ = list(Ledger(ledger.location, SECRET).list_totals())

    @pytest.mark.parametrize("content", [b"id,text\n1,a\n", b"x" * 200, None])
    def test_another_file_is_left_as_it_is(self, tmp_path, content):
        """A file that is no ledger, or is a database of another program, is refused before a byte of it changes."""
        path = tmp_path / "table"
        if content is None:
            change(path, ("CREATE TABLE things (number)", ()))
        else:
            path.write_bytes(content)
        before = path.read_bytes()
        with refuses("no ledger"):
            _ = Ledger(str(path), SECRET).facts
        assert path.read_bytes() == before
        with refuses("deniable ledger create"):
            _ = Ledger(str(tmp_path / "none.db"), SECRET).facts
        assert list(tmp_path.iterdir()) == [path]

    def test_network_file_systems_are_refused(self, tmp_path, monkeypatch):
        """SQLite's locks do not hold there."""
        monkeypatch.setattr(sqlite, "find_network_file_system", lambda _: "nfs4")
        with refuses("nfs4"):
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
