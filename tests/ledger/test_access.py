"""How a ledger is opened where it can be written, and where it cannot."""

import shutil
import subprocess
from pathlib import Path

import pytest

from deniable.core.errors import InputError
from deniable.ledger import Ledger, access, create_ledger
from deniable.ledger.access import choose_access
from tests.contracts.store import SECRET, WORD, cells, spent


@pytest.fixture
def ledger(tmp_path):
    """Return a ledger that was charged, is open, and has a log beside it."""
    (tmp_path / "place").mkdir()
    create_ledger(str(tmp_path / "place" / "l.db"), 20.0, delta=1e-6, unit="person", secret=SECRET)
    ledger = Ledger(str(tmp_path / "place" / "l.db"), SECRET)
    ledger.charge(WORD, cells(ledger, ("ann", "a", 3)))
    return ledger


@pytest.fixture
def path(ledger):
    """Return the path of the ledger."""
    return Path(ledger.location)


@pytest.fixture
def protect(monkeypatch):
    """Return a function after which nothing can be written, and maybe by nobody."""

    def protect(*, by_anybody):
        monkeypatch.setattr(access, "_is_writable", lambda _: False)
        monkeypatch.setattr(access, "is_read_only_file_system", lambda _: not by_anybody)

    return protect


def mount(place, *options):
    """Mount, or skip the test."""
    if shutil.which("mount") is None:
        pytest.skip("there is no program mount")
    done = subprocess.run(["mount", *options, str(place)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")


@pytest.fixture
def disk(tmp_path):
    """Return a folder that is a file system of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    mount(place, "-t", "tmpfs", "tmpfs")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_what_can_be_written_is(path):
    """An ordinary ledger is opened for writing."""
    assert choose_access(path) == "mode=rw"


def test_a_link_is_its_target(path, tmp_path, protect):
    """The log stands beside the file, not beside a link to it."""
    (tmp_path / "link.db").symlink_to(path)
    protect(by_anybody=False)
    assert choose_access(tmp_path / "link.db") == "mode=ro"


def test_others_may_write(ledger, path, protect):
    """Where others may write locks are used, and what they charge is seen; to charge is refused in one line."""
    protect(by_anybody=True)
    reader = Ledger(str(path), SECRET)
    assert spent(reader, "ann") == 7.5
    ledger.charge(WORD, cells(ledger, ("ann", "b", 1)))
    assert spent(reader, "ann") == 10
    assert reader.find_problems() == []
    with pytest.raises(InputError, match=r"l\.db' cannot be charged: its file or its folder cannot be written"):
        reader.charge(WORD, cells(ledger, ("bob", "c", 1)))
    assert spent(ledger, "bob") == 0


def test_nobody_writes_and_there_is_no_log(ledger, path, protect):
    """Where nothing can change no locks are needed."""
    ledger._session.close()
    protect(by_anybody=False)
    assert choose_access(path) == "mode=ro&immutable=1"
    reader = Ledger(str(path), SECRET)
    assert (spent(reader, "ann"), reader.find_problems()) == (7.5, [])


def test_nobody_writes_and_there_is_a_log(path, tmp_path, protect):
    """A log is never overlooked: it is read, or the ledger is refused."""
    copy = tmp_path / "copy"
    shutil.copytree(path.parent, copy)
    protect(by_anybody=False)
    assert choose_access(copy / "l.db") == "mode=ro"
    assert spent(Ledger(str(copy / "l.db"), SECRET), "ann") == 7.5
    (copy / "l.db-shm").unlink()
    with pytest.raises(InputError, match=r"cannot be read where it lies: .*copy it, and 'l\.db-wal'"):
        choose_access(copy / "l.db")
    (copy / "l.db-wal").write_bytes(b"")
    (copy / "l.db-journal").write_bytes(b"x")
    with pytest.raises(InputError, match="cannot be read where it lies"):
        choose_access(copy / "l.db")


def test_an_older_schema_cannot_be_migrated(ledger, path, protect, monkeypatch):
    """What would have to be written first is said."""
    from deniable.ledger import sqlite

    ledger._session.close()
    protect(by_anybody=False)
    monkeypatch.setattr(sqlite, "SCHEMA_VERSION", 2)
    monkeypatch.setattr(sqlite, "MIGRATIONS", {1: ()})
    with pytest.raises(InputError, match=r"has schema 1, .* and it cannot be written: open it once where it can"):
        _ = Ledger(str(path), SECRET).facts
    monkeypatch.setattr(sqlite, "SCHEMA_VERSION", 0)
    with pytest.raises(InputError, match="has schema 1, and this version of deniable knows 0"):
        _ = Ledger(str(path), SECRET).facts


def test_a_disk_that_is_read_only(ledger, path, disk):
    """On a disk that nobody can write a ledger is shown and checked, and not charged."""
    ledger._session.close()
    (disk / "l.db").write_bytes(path.read_bytes())
    mount(disk, "-o", "remount,ro")
    reader = Ledger(str(disk / "l.db"), SECRET)
    assert (spent(reader, "ann"), reader.find_problems()) == (7.5, [])
    assert [units.units for units in reader.list_units()] == [3]
    with pytest.raises(InputError, match="cannot be charged"):
        reader.charge(WORD, cells(reader, ("bob", "c", 1)))


def test_a_mount_that_is_read_only(disk, tmp_path):
    """Through a read-only mount of a disk that others write to, a closed ledger is refused, and an open one read."""
    create_ledger(str(disk / "l.db"), 20.0, delta=None, unit="person", secret=SECRET)
    writer = Ledger(str(disk / "l.db"), SECRET)
    writer.charge(WORD, cells(writer, ("ann", "a", 3)))
    view = tmp_path / "view"
    view.mkdir()
    mount(view, "--bind", str(disk))
    try:
        mount(view, "-o", "remount,bind,ro")
        reader = Ledger(str(view / "l.db"), SECRET)
        assert spent(reader, "ann") == 7.5
        writer.charge(WORD, cells(writer, ("ann", "b", 1)))
        assert (spent(reader, "ann"), reader.find_problems()) == (10, [])
        reader._session.close()
        writer._session.close()
        with pytest.raises(InputError, match=r"cannot be read where it lies: nothing can be written beside it"):
            spent(Ledger(str(view / "l.db"), SECRET), "ann")
    finally:
        subprocess.run(["umount", "-l", str(view)], check=True)
