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

from deniable.core.errors import InputError
from deniable.ledger import Ledger, create_ledger, sqlite
from tests.contracts.store import SECRET, TEXT, WORD, StoreContract, cells, spent
from tests.ledger.damage import PAGE, change, find_root, overwrite, refer_in_circles

ROOT = Path(__file__).parents[2]
ADDED_TABLE = "CREATE TABLE added (number INTEGER)"


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
        ("statement", "value", "words"),
        [
            ("UPDATE facts SET value = ? WHERE name = 'budget'", "50.0", "its caps do not follow from its budget"),
            ("UPDATE facts SET value = ? WHERE name = 'budget'", "nan", "its budget is none that a ledger has"),
            ("UPDATE facts SET value = ? WHERE name = 'budget'", b"20.0", "what it was created with cannot be read"),
            ("UPDATE facts SET value = ? WHERE name = 'unit'", "a\nb", "its unit, .* cannot be read"),
            ("UPDATE facts SET value = ? WHERE name = 'delta'", "[]", "its budget cannot be read"),
            ("UPDATE facts SET value = ? WHERE name = 'delta'", "[" * 5_000, "its delta cannot be read"),
            ("UPDATE facts SET value = ? WHERE name = 'caps'", "9" * 5_000, "its caps cannot be read"),
            ("UPDATE facts SET value = ? WHERE name = 'key_check'", "xyz", "its budget, or what it knows its key by"),
            ("UPDATE facts SET name = 'other' WHERE name = ?", "caps", "what it was created with cannot be read"),
            ("UPDATE totals SET amounts = ? WHERE account = 'metric'", "[-1]", "a total of the metric account"),
            ("UPDATE totals SET amounts = ? WHERE account = 'metric'", "[1.5]", "a total of the metric account"),
            ("UPDATE totals SET amounts = ? WHERE account = 'metric'", "[]", "a total of the metric account"),
            ("UPDATE totals SET amounts = ? WHERE account = 'metric'", "7", "a total of the metric account"),
            ("UPDATE totals SET amounts = ? WHERE account = 'metric'", "", "a total cannot be read"),
            ("UPDATE totals SET account = ? WHERE account = 'metric'", "x\ny", "a total belongs to no account"),
            ("UPDATE totals SET person = ? WHERE account = 'metric'", "ann", "no name that a ledger gives"),
            ("UPDATE costs SET cost = ? WHERE number = 1", "", "a cost cannot be read"),
            ("UPDATE costs SET cost = ? WHERE number = 1", "5", "a cost lacks its account"),
            ("UPDATE costs SET number = ?", 7, "a cost that is not there"),
            ("UPDATE charges SET cost = ?", 7, "a cost that is not there"),
            ("UPDATE charges SET units = ?", 0, "the units of a charge"),
            ("UPDATE charges SET units = ?", 1.5, "the units of a charge"),
            ("UPDATE charges SET person = ?", 3, "no name that a ledger gives"),
            ("CREATE TRIGGER t AFTER INSERT ON charges BEGIN DELETE FROM totals WHERE ? = 1; END", None, "its tables"),
            ("CREATE VIEW v AS SELECT 1", None, "its tables are not those that a ledger has"),
            ("PRAGMA user_version = 0", None, "has schema 0, which no version of deniable wrote"),
            ("PRAGMA user_version = -5", None, "has schema -5, which no version of deniable wrote"),
        ],
    )
    def test_a_value_that_no_ledger_has(self, ledger, statement, value, words):
        """Whoever reads all of a ledger with such a value gets one line that says what is damaged."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
        ledger._session.close()
        change(ledger.location, (statement.replace("WHERE ? = 1", ""), () if value is None else (value,)))
        reader = Ledger(ledger.location, SECRET)
        with pytest.raises(InputError, match=f"is damaged: .*{words}.*Restore a copy") as caught:
            _ = list(reader.list_units()), list(reader.list_totals())
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("amounts", ["[-30000000000]", "[1.5]", "[]", "x", "[" * 5_000])
    def test_a_total_that_is_none_is_not_charged(self, ledger, amounts):
        """A person whose total cannot be true spends nothing more; others do."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 7)))
        change(ledger.location, ("UPDATE totals SET amounts = ?", (amounts,)))
        with pytest.raises(InputError, match="is damaged"):
            ledger.charge(WORD, cells(ledger, ("ann", "b", 5)))
        assert ledger.charge(WORD, cells(ledger, ("bob", "c", 1))) == 1
        with contextlib.closing(sqlite3.connect(ledger.location)) as connection:
            assert connection.execute("SELECT COUNT(*) FROM charges").fetchone() == (2,)

    def test_a_lower_total_is_found(self, ledger):
        """A total that damage lowered admits a charge beyond the cap, which the check then finds."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 8)))
        change(ledger.location, ("UPDATE totals SET amounts = '[0]'", ()))
        assert ledger.charge(WORD, cells(ledger, ("ann", "b", 1))) == 1
        [problem] = ledger.find_problems()
        assert "does not hold the sum of its charges" in problem

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
        """A schema that cannot be parsed, whose text is none or has several lines, gives one line."""
        ledger._session.close()
        content = Path(ledger.location).read_bytes()
        for broken in (b"CREATE TABLE fa\xff\xff\xff (", b"CREATE TABLE fa\n\n\x1b (", b"CREATE\0TABLE facts ("):
            place = content.index(b"CREATE TABLE facts (")
            overwrite(ledger.location, place, broken)
            with pytest.raises(InputError, match=r"is damaged|cannot be used") as caught:
                _ = Ledger(ledger.location, SECRET).facts
            assert str(caught.value).isprintable()

    def test_pages_that_refer_to_each_other(self, ledger):
        """Pages that lead to each other again and again, as 60 to the 8th rows, end in one line instead of never."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
        ledger._session.close()
        refer_in_circles(ledger.location, "charges")
        reader = Ledger(ledger.location, SECRET)
        for read in (lambda: list(reader.list_units()), reader.find_problems):
            with pytest.raises(InputError, match="takes longer than any ledger of its size"):
                read()

    @pytest.mark.parametrize(
        ("table", "words"),
        [
            ("facts", "what it was created with is there twice"),
            ("costs", "a cost is there twice"),
            ("totals", "its totals are not in order"),
        ],
    )
    def test_other_tables_in_circles(self, ledger, table, words):
        """So do those of every other table, before much of them is read."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
        ledger._session.close()
        refer_in_circles(ledger.location, table, has_rowid=table in {"facts", "costs"})
        with pytest.raises(InputError, match=words):
            _ = list(Ledger(ledger.location, SECRET).list_totals()), list(Ledger(ledger.location, SECRET).list_units())

    def test_charges_are_not_limited(self, ledger, monkeypatch):
        """However many charges a program makes under one connection, they are not counted against the limit."""
        monkeypatch.setattr(sqlite, "_STEPS_AT_A_TIME", 10**4)
        monkeypatch.setattr(sqlite, "_LEAST_STEPS", 10**4)
        monkeypatch.setattr(sqlite, "_STEPS_PER_BYTE", 0)
        for number in range(20):
            persons = [(f"{number} {person}", f"{number} {person}", 1) for person in range(100)]
            assert ledger.charge(TEXT, cells(ledger, *persons)) == 100

    def test_work_is_bounded_by_far_more_than_a_ledger_needs(self, ledger, monkeypatch):
        """A tenth of the steps for each byte are enough to read and check a ledger of some thousand charges."""
        for number in range(40):
            persons = [(f"{number} {person}", f"{number} {person}", 1) for person in range(100)]
            ledger.charge(TEXT, cells(ledger, *persons))
        monkeypatch.setattr(sqlite, "_LEAST_STEPS", 0)
        monkeypatch.setattr(sqlite, "_STEPS_PER_BYTE", sqlite._STEPS_PER_BYTE // 10)
        assert sum(units.units for units in ledger.list_units()) == 4_000
        assert ledger.find_problems() == []

    def test_what_is_wrong_is_a_line_each(self, ledger):
        """The check goes on where the database is damaged, and says what it finds on lines of their own."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
        ledger._session.close()
        change(ledger.location, ("UPDATE totals SET amounts = 'x'", ()), ("UPDATE charges SET units = -1", ()))
        problems = Ledger(ledger.location, SECRET).find_problems()
        assert problems[0] == "CHECK constraint failed in charges"
        assert "is damaged" in problems[-1]
        assert not any("\n" in problem for problem in problems)

    def test_a_commit_that_fails_is_not_called_uncharged(self, ledger, monkeypatch):
        """Where the disk fails while a charge is committed, the message does not say that nothing was charged."""

        class Failing:
            def __init__(self, connection):
                self.connection = connection

            def execute(self, statement, *values):
                if statement == "COMMIT":
                    raise sqlite3.OperationalError("disk I/O error")
                return self.connection.execute(statement, *values)

            def __getattr__(self, name):
                return getattr(self.connection, name)

        store = ledger._session.store
        monkeypatch.setattr(store, "_connection", Failing(store._connection))
        with pytest.raises(InputError, match=r"disk I/O error\. Whether this step was charged is not known"):
            ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
        assert not store._connection.in_transaction

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
