"""The cache of computed facts: read, written, and never in the way."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from deniable.core.cache import (
    CACHE_FORMAT,
    SECRET_FILE,
    NotCached,
    bypass_cache,
    find_cache_fault,
    get_cache_folder,
    load_or_compute_array,
    load_or_compute_facts,
    require_cache,
)
from tests.cached import CODE, authentic, entries
from tests.cached import content as content_of


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Return a cache folder of the test's own, not made yet."""
    path = tmp_path / "made" / "later"
    monkeypatch.setenv("DENIABLE_CACHE", str(path))
    return path


class Compute:
    """Counts how often it is called."""

    def __init__(self, value=1.5):
        self.calls = 0
        self.value = value

    def __call__(self):
        self.calls += 1
        return {"value": self.value}


def test_first_call_computes_and_writes(cache):
    """The first call computes, and leaves one file named after the fact and its format."""
    compute = Compute()
    assert load_or_compute_facts("fact", ("value",), compute) == {"value": 1.5}
    assert compute.calls == 1
    assert entries(cache) == [cache / f"fact.v{CACHE_FORMAT}.facts"]
    assert json.loads(content_of(cache / f"fact.v{CACHE_FORMAT}.facts")) == {"value": 1.5}


def test_second_call_reads(cache):
    """The second call computes nothing; another name does."""
    load_or_compute_facts("fact", ("value",), Compute())
    second, other = Compute(2.5), Compute(3.5)
    assert load_or_compute_facts("fact", ("value",), second) == {"value": 1.5}
    assert second.calls == 0
    assert load_or_compute_facts("other", ("value",), other) == {"value": 3.5}
    assert cache.exists()


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e-300, 1e300, 5e-324, -0.0])
def test_floats_come_back_to_the_last_bit(cache, value):
    """What is read is exactly what was computed."""
    load_or_compute_facts("fact", ("value",), Compute(value))
    read = load_or_compute_facts("fact", ("value",), Compute(9.0))["value"]
    assert read.hex() == value.hex()
    assert cache.exists()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"null", b"[1.0]", b'"x"', b'{"value": "1.5"}', b'{"value": null}', b"\xff\x00", b"{}"]
)
def test_unusable_file_is_computed_anew(cache, content):
    """A file that is cut off, no JSON, of another kind, or holds no facts is replaced."""
    load_or_compute_facts("fact", ("value",), Compute())
    path = cache / f"fact.v{CACHE_FORMAT}.facts"
    for data in (content, path.read_bytes()[:CODE] + content, authentic(path, content)):
        path.write_bytes(data)
        compute = Compute(2.5)
        assert load_or_compute_facts("fact", ("value",), compute) == {"value": 2.5}
        assert compute.calls == 1
        assert json.loads(content_of(path)) == {"value": 2.5}


def test_folder_in_place_of_the_file(cache):
    """A folder where the file should be is no matter, and leaves no litter behind."""
    (cache / f"fact.v{CACHE_FORMAT}.facts").mkdir(parents=True)
    cache.chmod(0o700)
    assert load_or_compute_facts("fact", ("value",), Compute()) == {"value": 1.5}
    assert entries(cache) == [cache / f"fact.v{CACHE_FORMAT}.facts"]


def test_folder_that_cannot_be_made(tmp_path, monkeypatch):
    """Where the folder cannot be made facts are computed every time."""
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path / "file"))
    compute = Compute()
    assert (
        load_or_compute_facts("fact", ("value",), compute)
        == load_or_compute_facts("fact", ("value",), compute)
        == {"value": 1.5}
    )
    assert compute.calls == 2
    assert (tmp_path / "file").read_text() == "in the way"


def test_error_of_the_computation_is_not_hidden(cache):
    """An error while computing reaches the caller, and nothing is written."""

    def fail():
        raise OSError("mine")

    with pytest.raises(OSError, match="mine"):
        load_or_compute_facts("fact", ("value",), fail)
    assert not cache.exists()


def test_many_writers_at_once(cache):
    """Threads that compute one fact at once all get it, and leave one whole file."""
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(load_or_compute_facts("fact", ("value",), Compute())))
        for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [{"value": 1.5}] * 16
    assert entries(cache) == [cache / f"fact.v{CACHE_FORMAT}.facts"]
    assert load_or_compute_facts("fact", ("value",), Compute(2.5)) == {"value": 1.5}


class ComputeArray:
    """Counts how often it is called."""

    def __init__(self, values=(0.1, -1e300, 5e-324)):
        self.calls = 0
        self.values = np.array(values)

    def __call__(self):
        self.calls += 1
        return self.values


def test_array_is_written_and_read_to_the_last_bit(cache):
    """The first call computes an array and writes one file; the second reads it and computes nothing."""
    first, second = ComputeArray(), ComputeArray((1.0, 2.0, 3.0))
    np.testing.assert_array_equal(load_or_compute_array("fact", (3,), first), first.values)
    assert entries(cache) == [cache / f"fact.v{CACHE_FORMAT}.f64"]
    read = load_or_compute_array("fact", (3,), second)
    assert read.tobytes() == first.values.tobytes()
    assert (first.calls, second.calls) == (1, 0)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", np.arange(4.0).tobytes(), np.arange(3.0).tobytes()[:-1], np.array([1.0, np.nan, 2.0]).tobytes()],
    ids=["empty", "text", "longer", "cut off", "not finite"],
)
def test_unusable_array_is_computed_anew(cache, content):
    """A file of another size, or with a value that cannot be, is replaced."""
    load_or_compute_array("fact", (3,), ComputeArray((9.0, 9.0, 9.0)))
    path = cache / f"fact.v{CACHE_FORMAT}.f64"
    for data in (content, path.read_bytes()[:CODE] + content, authentic(path, content)):
        path.write_bytes(data)
        compute = ComputeArray((1.0, 2.0, 5e-324))
        np.testing.assert_array_equal(load_or_compute_array("fact", (3,), compute), compute.values)
        assert compute.calls == 1
        assert content_of(path) == compute.values.tobytes()


@pytest.mark.usefixtures("cache")
def test_array_may_have_any_number_of_rows():
    """Where a shape begins with -1 whole rows are read, however many, and anything else is computed anew."""
    compute = ComputeArray(range(6))
    load_or_compute_array("rows", (-1, 3), lambda: compute().reshape(2, 3))
    read = load_or_compute_array("rows", (-1, 3), ComputeArray)
    np.testing.assert_array_equal(read, np.arange(6.0).reshape(2, 3))
    load_or_compute_array("fact", (4,), ComputeArray((1.0, 2.0, 3.0, 4.0)))
    fresh = ComputeArray((5.0, 6.0, 7.0))
    assert load_or_compute_array("fact", (-1, 3), fresh).tolist() == [5.0, 6.0, 7.0]
    assert (compute.calls, fresh.calls) == (1, 1)


def test_array_that_the_caller_cannot_use_is_computed_anew(cache):
    """The caller may say what a cached array must be; facts likewise."""
    load_or_compute_array("fact", (1,), ComputeArray((9.0,)))
    compute = ComputeArray((1.0,))
    assert load_or_compute_array("fact", (1,), compute, lambda found: found[0] < 5) == 1.0
    assert load_or_compute_array("fact", (1,), ComputeArray((2.0,)), lambda found: found[0] < 5) == 1.0
    load_or_compute_facts("number", ("value",), lambda: {"value": 9.0})
    assert load_or_compute_facts("number", ("value",), lambda: {"value": 1.0}, lambda found: found["value"] < 5) == {
        "value": 1.0
    }
    assert len(entries(cache)) == 2


def test_bypassed_cache_is_neither_read_nor_written(cache):
    """Within `bypass_cache` everything is computed and nothing kept, and afterwards all is as before."""
    load_or_compute_facts("number", ("value",), lambda: {"value": 9.0})
    before = {file.name: file.read_bytes() for file in cache.iterdir()}
    with bypass_cache():
        assert load_or_compute_facts("number", ("value",), lambda: {"value": 1.0}) == {"value": 1.0}
        assert load_or_compute_array("fact", (1,), ComputeArray((2.0,))) == 2.0
    assert {file.name: file.read_bytes() for file in cache.iterdir()} == before
    assert load_or_compute_facts("number", ("value",), lambda: {"value": 1.0}) == {"value": 9.0}


def test_array_where_the_folder_cannot_be_made(tmp_path, monkeypatch):
    """Where the folder cannot be made arrays are computed every time."""
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path / "file"))
    compute = ComputeArray()
    for _ in range(2):
        np.testing.assert_array_equal(load_or_compute_array("fact", (3,), compute), compute.values)
    assert compute.calls == 2


def test_place_of_the_folder(monkeypatch):
    """The folder is DENIABLE_CACHE, else in XDG_CACHE_HOME, else in the user's own cache folder."""
    monkeypatch.setenv("DENIABLE_CACHE", "/named")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    monkeypatch.setenv("HOME", "/home/me")
    assert get_cache_folder() == Path("/named")
    monkeypatch.delenv("DENIABLE_CACHE")
    assert get_cache_folder() == Path("/xdg/deniable")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert get_cache_folder() == Path("/home/me/.cache/deniable")


def test_tests_use_a_cache_of_their_own(cache_folder):
    """No test touches the user's cache."""
    assert get_cache_folder() == cache_folder
    assert Path.home() not in get_cache_folder().parents or "pytest" in str(get_cache_folder())


@pytest.fixture
def kept(cache):
    """Return the cache folder with a fact and an array in it."""
    load_or_compute_facts("fact", ("value",), Compute())
    load_or_compute_array("fact", (3,), ComputeArray())
    return cache


def believed():
    """Return which of the fact and the array is taken from the cache."""
    fact, array = Compute(), ComputeArray()
    load_or_compute_facts("fact", ("value",), fact)
    load_or_compute_array("fact", (3,), array)
    return fact.calls == 0, array.calls == 0


def test_forged_files_are_not_believed(kept):
    """A verdict that somebody else wrote, with no code, another secret's code or another content's, is found anew."""
    fact, array = kept / f"fact.v{CACHE_FORMAT}.facts", kept / f"fact.v{CACHE_FORMAT}.f64"
    for path, forged in ((fact, b'{"value": 0.5}'), (array, np.ones(3).tobytes())):
        whole = path.read_bytes()
        other = hashlib.blake2b(path.name.encode() + b"\0" + forged, key=bytes(32), digest_size=CODE).digest()
        for code in (b"", whole[:CODE], other, bytes(CODE)):
            path.write_bytes(code + forged)
            assert sorted(believed()) == [False, True]
            assert believed() == (True, True)
        assert path.read_bytes() == whole  # what was computed anew is kept in its place


def test_every_byte_counts(kept):
    """Whichever byte of a kept file is changed, lost or added, the file is not believed."""
    path = kept / f"fact.v{CACHE_FORMAT}.facts"
    whole = path.read_bytes()
    changes = [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(len(whole))]
    for data in [*changes, *(whole[:at] for at in range(len(whole))), whole + b" ", b" " + whole]:
        path.write_bytes(data)
        assert load_or_compute_facts("fact", ("value",), Compute(2.5)) == {"value": 2.5}
    assert len(changes) > CODE


def test_a_file_under_another_name_is_not_believed(kept):
    """The name belongs to what is authenticated: a proof about one law says nothing of another."""
    (kept / f"other.v{CACHE_FORMAT}.facts").write_bytes((kept / f"fact.v{CACHE_FORMAT}.facts").read_bytes())
    assert load_or_compute_facts("other", ("value",), Compute(9.0)) == {"value": 9.0}


def test_files_of_another_secret_are_not_believed(kept, tmp_path, monkeypatch):
    """What a friend computed is not believed; what is computed here then replaces it."""
    monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path / "mine"))
    load_or_compute_facts("other", ("value",), Compute())
    for path in entries(kept):
        (tmp_path / "mine" / path.name).write_bytes(path.read_bytes())
    assert believed() == (False, False)
    assert believed() == (True, True)


def test_everything_is_for_its_owner_alone(kept):
    """The folder, the secret and what is kept can be opened by nobody else."""
    assert kept.stat().st_mode & 0o777 == 0o700
    assert len((kept / SECRET_FILE).read_bytes()) == 32
    assert {path.stat().st_mode & 0o777 for path in kept.iterdir()} == {0o600}


@pytest.mark.parametrize("wrong", ["short", "long", "gone", "seen by others", "link", "folder"])
def test_a_secret_that_is_none(kept, tmp_path, wrong):
    """Without a secret that only its owner can know nothing is believed, and a new one is made where one can be."""
    secret = kept / SECRET_FILE
    data = secret.read_bytes()
    if wrong == "seen by others":
        secret.chmod(0o644)
    else:
        secret.unlink()
    if wrong == "link":
        (tmp_path / "elsewhere").write_bytes(data)
        (tmp_path / "elsewhere").chmod(0o600)
        secret.symlink_to(tmp_path / "elsewhere")
    if wrong in ("short", "long"):
        secret.write_bytes(data[:31] if wrong == "short" else data + b"x")
        secret.chmod(0o600)
    if wrong == "folder":
        secret.mkdir()
    assert believed() == (False, False)
    assert believed() == ((False, False) if wrong == "folder" else (True, True))
    assert wrong == "folder" or secret.read_bytes() != data


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o720, 0o777, 0o1777])
def test_a_folder_that_others_can_write_is_not_used(kept, mode):
    """Nothing is read from it and nothing written, until it is its owner's alone again."""
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    kept.chmod(mode)
    assert "others can write to the cache folder" in find_cache_fault()
    assert believed() == (False, False)
    load_or_compute_facts("new", ("value",), Compute())
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before
    kept.chmod(0o755)
    assert find_cache_fault() is None
    assert believed() == (True, True)


def test_a_folder_of_another_user_is_not_used(kept, monkeypatch):
    """Whoever owns the folder could replace secret and facts together."""
    monkeypatch.setattr(os, "geteuid", lambda: kept.stat().st_uid + 1)
    assert "belongs to another user" in find_cache_fault()
    assert believed() == (False, False)


def test_many_processes_at_once(cache):
    """Processes that begin together in an empty folder share one secret: what each has kept is believed."""
    code = """
import sys
from deniable.core.cache import load_or_compute_facts
load_or_compute_facts(sys.argv[1], ("value",), lambda: {"value": 1.0})
"""
    several = [subprocess.Popen([sys.executable, "-c", code, f"fact{number}"]) for number in range(4)]
    assert [process.wait(60) for process in several] == [0] * 4
    for number in range(4):
        assert load_or_compute_facts(f"fact{number}", ("value",), Compute(2.0)) == {"value": 1.0}
    assert len(entries(cache)) == 4


def test_what_is_not_cached_is_not_computed(cache):
    """Where the cache is required an unknown fact raises, a known one is returned; afterwards all is as before."""
    compute = Compute()
    with require_cache():
        with pytest.raises(NotCached, match="'fact' is not in the cache"):
            load_or_compute_facts("fact", ("value",), compute)
        with pytest.raises(NotCached):
            load_or_compute_array("array", (2,), lambda: np.ones(2))
    assert compute.calls == 0
    load_or_compute_facts("fact", ("value",), compute)
    with require_cache():
        assert load_or_compute_facts("fact", ("value",), compute) == {"value": 1.5}
    assert compute.calls == 1
    assert cache.exists()
