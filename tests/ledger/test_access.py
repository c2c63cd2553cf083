"""How a ledger is opened where it can be written, and where it cannot; which paths lie on which file systems."""

import shutil
import subprocess
from pathlib import Path

import pytest

from deniable import Ledger, create_ledger
from deniable.ledger import access, sqlite
from deniable.ledger.access import choose_access
from deniable.ledger.mounts import find_network_file_system, is_read_only_file_system
from tests.ledger.store import SECRET, WORD, cells, spent
from tests.refusals import refuses


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
        pytest.skip("nothing can be mounted here")


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
    with refuses("l.db'"):
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
    with refuses("'l.db-wal'"):
        choose_access(copy / "l.db")
    (copy / "l.db-wal").write_bytes(b"")
    (copy / "l.db-journal").write_bytes(b"x")
    with refuses("l.db"):
        choose_access(copy / "l.db")


def test_an_older_schema_cannot_be_migrated(ledger, path, protect, monkeypatch):
    """What would have to be written first is said."""
    ledger._session.close()
    protect(by_anybody=False)
    monkeypatch.setattr(sqlite, "SCHEMA_VERSION", 2)
    monkeypatch.setattr(sqlite, "MIGRATIONS", {1: ()})
    with refuses("schema 1"):
        _ = Ledger(str(path), SECRET).facts
    monkeypatch.setattr(sqlite, "SCHEMA_VERSION", 0)
    with refuses("schema 1"):
        _ = Ledger(str(path), SECRET).facts


@pytest.mark.deep
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
        with refuses("l.db"):
            spent(Ledger(str(view / "l.db"), SECRET), "ann")
    finally:
        subprocess.run(["umount", "-l", str(view)], check=True)


MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/share /srv/share nfs4 rw 0 0
/dev/sdb1 /srv/share/local xfs rw 0 0
//host/c /srv/with\\040space cifs rw 0 0
host:/home /home fuse.sshfs rw 0 0
tmpfs /home/me tmpfs rw 0 0
"""


def test_the_deepest_mount_counts(tmp_path):
    """A path lies on the file system that is mounted deepest above it; elsewhere than on Linux nothing is known."""
    table = tmp_path / "mounts"
    table.write_text(MOUNTS)
    for path, expected in (
        ("/var/ledger.db", None),
        ("/srv/share/a/ledger.db", "nfs4"),
        ("/srv/shared/ledger.db", None),
        ("/srv/share/local/ledger.db", None),
        ("/srv/with space/ledger.db", "cifs"),
        ("/home/you/ledger.db", "fuse.sshfs"),
        ("/home/me/ledger.db", None),
    ):
        assert find_network_file_system(Path(path), table) == expected
    assert find_network_file_system(tmp_path / "ledger.db", tmp_path / "none") is None
    assert not is_read_only_file_system(tmp_path / "ledger.db", tmp_path / "none")


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/var/l.db", False), ("/media/disc/l.db", True), ("/media/disc/over/l.db", False), ("/view/l.db", False)],
)
def test_what_nobody_can_write(tmp_path, path, expected):
    """The options of the file system count, not those of one mount of it."""
    table = tmp_path / "mountinfo"
    table.write_text(
        "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
        "40 27 11:0 / /media/disc ro,relatime shared:5 - iso9660 /dev/sr0 ro,norock\n"
        "41 40 0:9 / /media/disc/over rw - tmpfs tmpfs rw,mode=755\n"
        "42 27 254:0 /srv /view ro,relatime - ext4 /dev/vda rw,discard\n"
    )
    assert is_read_only_file_system(Path(path), table) == expected
