"""Outputs that appear whole and together or not at all, whatever fails, with their seal or without an old one."""

import contextlib
import errno
import hashlib
import io
import os
import sys
from pathlib import Path
from unittest import mock

import pytest

from deniable.core import files
from deniable.core.files import NewFile, NoSeal, Seal, create_files, hash_file, open_outputs, record_published
from tests.refusals import refuses

NAMES = ("c.json", "out.csv")


def list_contents(folder):
    """Return the contents of the files of a folder by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def publish(*paths, force=True, seal=None, failure=None):
    """Write outputs, and fail in the block where there is a failure."""
    with open_outputs(*map(str, paths), force=force, seal=seal) as streams:
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
    """Old files that were put aside come back by links where nothing can be renamed any more."""
    with failing_renames(monkeypatch, 3, OSError(errno.EROFS, "read only"), until=99):
        publish(*old)
    assert list_contents(tmp_path) == OLD


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


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_a_seal(tmp_path, monkeypatch, suffix):
    """A seal is made of the digests of the files as they are on disk, of standard output too, and appears with them."""
    sink = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(sink))
    paths = [tmp_path / f"a{suffix}", tmp_path / "b"]
    publish(*paths, "-", force=False, seal=Seal(str(tmp_path / "seal"), b"".join))
    digests = [*map(hash_file, paths), hashlib.sha256(sink.getvalue()).digest()]
    assert sink.getvalue() == b"new"
    assert (tmp_path / "seal").read_bytes() == b"".join(digests)
    assert {*list_contents(tmp_path)} == {f"a{suffix}", "b", "seal"}


@pytest.mark.parametrize("at", ["block", "seal", "exists"])
def test_nothing_is_left_of_a_sealed_output_that_fails(tmp_path, at):
    """Where the block or the seal fails, or the seal's file exists, neither the outputs nor the seal appear."""

    def encode(digests):
        raise ValueError(digests[0].hex())

    seal, failure = Seal(str(tmp_path / "seal"), encode), RuntimeError() if at == "block" else None
    before = {"seal": b"old"} if at == "exists" else {}
    for name, content in before.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises((ValueError, RuntimeError)):
        publish(tmp_path / "a", force=False, seal=seal, failure=failure)
    assert list_contents(tmp_path) == before


@pytest.fixture
def no_seal(tmp_path):
    """Return the seal that the next run lacks, beside that of an earlier one."""
    (tmp_path / "seal").write_bytes(b"old seal")
    return NoSeal(str(tmp_path / "seal"), lambda path: path.is_file() and path.read_bytes() == b"old seal")


def test_a_stale_seal_goes(old, no_seal, tmp_path):
    """Outputs without a seal take away that of earlier ones, by force alone where these are gone; no other file."""
    publish(*old, seal=no_seal)
    assert list_contents(tmp_path) == dict.fromkeys(NAMES, b"new")
    (tmp_path / "seal").write_bytes(b"a file of the user")
    publish(*old, seal=no_seal)
    assert list_contents(tmp_path)["seal"] == b"a file of the user"
    (tmp_path / "seal").write_bytes(b"old seal")
    for path in old:
        path.unlink()
    with refuses(tmp_path / "seal"):
        publish(*old, force=False, seal=no_seal)
    assert list_contents(tmp_path) == {"seal": b"old seal"}
    publish(*old, seal=no_seal)
    assert list_contents(tmp_path) == dict.fromkeys(NAMES, b"new")


@pytest.mark.parametrize("number", [0, 1, 4, 5])
def test_no_new_output_stands_beside_a_stale_seal(old, no_seal, tmp_path, monkeypatch, number):
    """The seal is put aside before the first output appears; whatever fails, all that stood there is back."""
    before, seen, replace = list_contents(tmp_path), [], Path.replace

    def watch(path, target):
        seen.append((tmp_path / "seal").exists())
        if len(seen) == number:
            raise OSError(errno.EIO, "lost")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", watch)
    with pytest.raises((OSError, RuntimeError)):
        publish(*old, seal=no_seal, failure=None if number else RuntimeError())
    assert list_contents(tmp_path) == before
    assert not any(seen[1:number])


def test_what_dead_runs_have_left_is_removed(tmp_path):
    """The next run of an output removes what a killed one has left of it, and nothing of other outputs."""
    dead = [".out.csv.0123abcd.part", ".out.csv.certificate.json.0123abcd.part"]
    others = [".other.csv.0123abcd.part", ".out.csv.0123ABCD.part", ".out.csv.part", ".out.csv.0123abcde.part", "out.0"]
    for name in [*dead, *others]:
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / ".out.csv.aaaaaaaa.part").mkdir()
    (tmp_path / ".out.csv.bbbbbbbb.part").symlink_to(tmp_path / "out.0")
    publish(tmp_path / "out.csv", tmp_path / "out.csv.certificate.json")
    left = {".out.csv.aaaaaaaa.part", ".out.csv.bbbbbbbb.part", "out.csv", "out.csv.certificate.json"}
    assert {path.name for path in tmp_path.iterdir()} == {*others, *left}


def test_what_a_living_run_writes_is_left(tmp_path):
    """A run into an output that another one writes leaves that one's file, until it has its name."""
    path = tmp_path / "out.csv"
    with open_outputs(str(path), force=True) as (slow,):
        slow.write(b"slow")
        publish(path)
        assert path.read_bytes() == b"new"
    assert list_contents(tmp_path) == {"out.csv": b"slow"}


def test_locks_that_fail(tmp_path, monkeypatch):
    """A file that another run removes before it is locked is made anew; without locks nothing is taken for dead."""
    answers, try_lock = [False, True, True], files.try_lock

    def lock(descriptor):
        answer = answers.pop(0)
        if len(answers) == 1:
            (part,) = tmp_path.glob(".*.part")
            part.unlink()
        return answer and try_lock(descriptor)

    monkeypatch.setattr(files, "try_lock", lock)
    publish(tmp_path / "out.csv")
    assert (answers, list_contents(tmp_path)) == ([], {"out.csv": b"new"})
    monkeypatch.setattr(files, "try_lock", lambda _: None)
    (tmp_path / ".out.csv.0123abcd.part").write_bytes(b"x")
    publish(tmp_path / "out.csv")
    assert (tmp_path / ".out.csv.0123abcd.part").exists()


def test_what_is_recorded(old, tmp_path):
    """Outputs are recorded when they are there for good, those of a failure never."""
    paths = []
    with record_published(paths):
        publish(*old)
        with refuses("1", ValueError):
            publish(tmp_path / "x", failure=ValueError("1"))
        create_files(NewFile(tmp_path / "key", b"secret"))
    publish(*old)
    assert paths == [*map(str, old), str(tmp_path / "key")]


def test_new_files(tmp_path, monkeypatch):
    """New files appear all or none, never in the place of another, also where a file system has no links."""
    first, second = NewFile(tmp_path / "a", b"1"), NewFile(tmp_path / "b", b"2", 0o644)
    (tmp_path / "b").symlink_to("nowhere")
    with pytest.raises(FileExistsError):
        create_files(first, second)
    (tmp_path / "b").unlink()
    monkeypatch.setattr(os, "link", mock.Mock(side_effect=PermissionError(errno.EPERM, "no links")))
    create_files(first, second)
    assert list_contents(tmp_path) == {"a": b"1", "b": b"2"}
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        create_files(NewFile(tmp_path / "c", b"3"), first)
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("number", [1, 2])
def test_new_files_that_fail(tmp_path, monkeypatch, number):
    """Where one of two files cannot get its name, neither is there."""
    link, calls = os.link, []

    def failing(old, new):
        calls.append(new)
        if len(calls) == number:
            raise KeyboardInterrupt
        link(old, new)

    monkeypatch.setattr(os, "link", failing)
    with pytest.raises(KeyboardInterrupt):
        create_files(NewFile(tmp_path / "a", b"1"), NewFile(tmp_path / "b", b"2"))
    assert list(tmp_path.iterdir()) == []
