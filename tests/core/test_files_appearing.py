"""Outputs that appear whole and together or not at all, whatever fails, and never beside an old signature."""

import contextlib
import errno
import io
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from deniable.core.files import open_outputs
from deniable.core.parts import record_published, write_whole
from tests.refusals import refuses

NAMES = ("c.json", "out.csv")


def list_contents(folder):
    """Return the contents of the files of a folder by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def publish(*paths, force=True, remove=None, failure=None):
    """Write outputs, and fail in the block where there is a failure."""
    with open_outputs(*map(str, paths), force=force, remove=remove and str(remove)) as streams:
        for stream in streams:
            stream.write(b"new")
        if failure is not None:
            raise failure


@pytest.fixture
def old(tmp_path):
    """Return the paths of two outputs of an earlier run."""
    paths = [tmp_path / name for name in NAMES]
    for path in paths:
        path.write_bytes(b"old")
    return paths


OLD = dict.fromkeys(NAMES, b"old")


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_writing_that_fails(tmp_path, suffix):
    """Whatever goes wrong, no output appears, and files that were there stay."""
    path = tmp_path / f"out.csv{suffix}"
    path.write_bytes(b"old")
    for failure in (ValueError, KeyboardInterrupt, OSError):
        with pytest.raises(failure):
            publish(path, tmp_path / "c.json", failure=failure)
        assert list_contents(tmp_path) == {path.name: b"old"}


@contextlib.contextmanager
def failing_renames(monkeypatch, number, failure, *, is_late=False, until=None):
    """Let renames fail from a number on, or only that one, before or after they are done."""
    replace, calls = Path.replace, []

    def failing(path, target):
        calls.append(path)
        is_bad = number <= len(calls) <= (until or number)
        if is_late or not is_bad:
            replace(path, target)
        if is_bad:
            raise failure

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", failing)
        with pytest.raises(type(failure)):
            yield


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_outputs_that_fail_when_they_appear(old, tmp_path, monkeypatch, number):
    """Whichever of the renames fails, or is interrupted when it is done, both old files are back, and no other."""
    for failure in (OSError(errno.EIO, "broken"), KeyboardInterrupt()):
        for is_late in (False, True):
            with failing_renames(monkeypatch, number, failure, is_late=is_late):
                publish(*old)
            assert list_contents(tmp_path) == OLD


def test_a_disk_that_refuses_new_names(old, tmp_path, monkeypatch):
    """Old files that were put aside stay in their hidden files where nothing can be renamed any more."""
    with failing_renames(monkeypatch, 3, OSError(errno.EROFS, "read only"), until=99):
        publish(*old)
    assert [*list_contents(tmp_path).values()] == [b"old", b"old"]


def test_what_is_put_aside_is_not_taken_for_dead(old, tmp_path, monkeypatch):
    """While outputs appear, another run leaves an old file that was put aside, which may come back."""
    replace, calls = Path.replace, []

    def disturbed(path, target):
        calls.append(path)
        if len(calls) == 3:  # both old files are put aside
            with contextlib.suppress(RuntimeError):
                publish(old[1], failure=RuntimeError())
            raise OSError(errno.EIO, "broken")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", disturbed)
    with refuses("broken", OSError):
        publish(*old)
    assert list_contents(tmp_path) == OLD


def test_standard_output_is_written_at_the_end(tmp_path, monkeypatch):
    """Nothing goes to a pipe before all is well, nothing at all if it is not, and no file stays where it is full."""
    pipe = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", pipe)
    with open_outputs("-", str(tmp_path / "c.json"), force=False) as (stream, _):
        stream.write(b"new")
        stream.flush()
        assert pipe.buffer.getvalue() == b""
    assert pipe.buffer.getvalue() == b"new"
    with pytest.raises(KeyError):
        publish("-", tmp_path / "d.json", failure=KeyError())
    assert pipe.buffer.getvalue() == b"new"
    full = mock.Mock(write=mock.Mock(side_effect=OSError(errno.ENOSPC, "full")))
    monkeypatch.setattr(sys, "stdout", mock.Mock(buffer=full))
    with refuses("full", OSError):
        publish(tmp_path / "d.json", "-")
    assert list(list_contents(tmp_path)) == ["c.json"]


@pytest.fixture
def stale(tmp_path):
    """Return the path of a file that must not be there beside the new ones."""
    (tmp_path / "stale").write_bytes(b"stale")
    return tmp_path / "stale"


def test_a_stale_file_goes(old, stale, tmp_path):
    """What must not be beside new outputs is gone when they are there, and only by force, also where they are new."""
    publish(*old, remove=stale)
    assert list_contents(tmp_path) == dict.fromkeys(NAMES, b"new")
    publish(*old, remove=stale)
    stale.write_bytes(b"stale")
    for path in old:
        path.unlink()
    with refuses(stale):
        publish(*old, force=False, remove=stale)
    assert list_contents(tmp_path) == {"stale": b"stale"}
    publish(old[0], remove=stale)
    assert list_contents(tmp_path) == {NAMES[0]: b"new"}


@pytest.mark.parametrize("number", [0, 1, 4, 5])
def test_no_new_output_stands_beside_a_stale_file(old, stale, tmp_path, monkeypatch, number):
    """It is put aside before the first output appears; whatever fails, all that stood there is back."""
    before, seen, replace = list_contents(tmp_path), [], Path.replace

    def watch(path, target):
        seen.append(stale.exists())
        if len(seen) == number:
            raise OSError(errno.EIO, "lost")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", watch)
    with pytest.raises((OSError, RuntimeError)):
        publish(*old, remove=stale, failure=None if number else RuntimeError())
    assert list_contents(tmp_path) == before
    assert not any(seen[1:number])


def test_what_dead_runs_have_left_is_removed(tmp_path):
    """A run removes what runs that have ended left of the same outputs, and nothing of others or of other names."""
    process = subprocess.Popen(["true"])
    process.wait()
    dead = [f".out.csv.{process.pid}.0123abcd.part", f".out.csv.certificate.json.{process.pid}.0123abcd.part"]
    living = [f".out.csv.{number}.0123abcd.part" for number in (os.getpid(), 1)]
    others = [f".other.csv.{process.pid}.0123abcd.part", f".out.csv.{process.pid}.0123ABCD.part", ".out.csv.part"]
    for name in [*dead, *living, *others]:
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / f".out.csv.{process.pid}.aaaaaaaa.part").mkdir()
    publish(tmp_path / "out.csv", tmp_path / "out.csv.certificate.json")
    left = {f".out.csv.{process.pid}.aaaaaaaa.part", "out.csv", "out.csv.certificate.json"}
    assert {path.name for path in tmp_path.iterdir()} == {*others, *living, *left}


def test_what_a_living_run_writes_is_left(tmp_path):
    """A run into an output that another one writes leaves that one's file, until it has its name."""
    path = tmp_path / "out.csv"
    with open_outputs(str(path), force=True) as (slow,):
        slow.write(b"slow")
        publish(path)
        assert path.read_bytes() == b"new"
    assert list_contents(tmp_path) == {"out.csv": b"slow"}


def test_what_is_recorded(old, tmp_path, monkeypatch):
    """Outputs are recorded when they are there for good, those of a failure never."""
    paths = []
    with record_published(paths):
        publish(*old)
        with refuses("1", ValueError):
            publish(tmp_path / "x", failure=ValueError("1"))
        with failing_renames(monkeypatch, 4, KeyboardInterrupt(), is_late=True):
            publish(*old)
        with failing_renames(monkeypatch, 1, KeyboardInterrupt(), is_late=True):
            publish(tmp_path / "single")
    publish(*old)
    assert paths == [*map(str, old), str(tmp_path / "single")]


@pytest.mark.parametrize("has_links", [True, False])
def test_a_name_that_is_taken_meanwhile(tmp_path, monkeypatch, has_links):
    """Without force no output takes a name that another process gave to a file in the meantime, where links are."""
    paths = [tmp_path / name for name in NAMES]
    if not has_links:
        monkeypatch.setattr(os, "link", mock.Mock(side_effect=PermissionError(errno.EPERM, "no links")))
    with (
        refuses(paths[1]) if has_links else contextlib.nullcontext(),
        open_outputs(*map(str, paths), force=False) as streams,
    ):
        for stream in streams:
            stream.write(b"new")
        if has_links:
            paths[1].write_bytes(b"other")
    assert list_contents(tmp_path) == ({NAMES[1]: b"other"} if has_links else dict.fromkeys(NAMES, b"new"))


def test_a_file_written_whole(tmp_path, monkeypatch):
    """A file is its owner's alone and replaces another in one step; where that fails, the old one stays."""
    path = tmp_path / "file"
    for content in (b"old", b"new"):
        write_whole(path, content[:1], memoryview(content)[1:])
        assert list_contents(tmp_path) == {"file": content}
    assert path.stat().st_mode & 0o777 == 0o600
    with failing_renames(monkeypatch, 1, OSError(errno.ENOSPC, "full")):
        write_whole(path, b"later")
    assert list_contents(tmp_path) == {"file": b"new"}
