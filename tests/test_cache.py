"""The cache of computed facts: read, written, and never in the way."""

import json
import threading
from pathlib import Path

import numpy as np
import pytest

from deniable.cache import FORMAT, bypassed, folder, remember, remember_array


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
    assert remember("fact", ("value",), compute) == {"value": 1.5}
    assert compute.calls == 1
    assert [file.name for file in cache.iterdir()] == [f"fact.v{FORMAT}.json"]
    assert json.loads((cache / f"fact.v{FORMAT}.json").read_text()) == {"value": 1.5}


def test_second_call_reads(cache):
    """The second call computes nothing; another name does."""
    remember("fact", ("value",), Compute())
    second, other = Compute(2.5), Compute(3.5)
    assert remember("fact", ("value",), second) == {"value": 1.5}
    assert second.calls == 0
    assert remember("other", ("value",), other) == {"value": 3.5}
    assert cache.exists()


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e-300, 1e300, 5e-324, -0.0])
def test_floats_come_back_to_the_last_bit(cache, value):
    """What is read is exactly what was computed."""
    remember("fact", ("value",), Compute(value))
    read = remember("fact", ("value",), Compute(9.0))["value"]
    assert read.hex() == value.hex()
    assert cache.exists()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"null", b"[1.0]", b'"x"', b'{"value": "1.5"}', b'{"value": null}', b"\xff\x00", b"{}"]
)
def test_unusable_file_is_computed_anew(cache, content):
    """A file that is cut off, no JSON, of another kind, or holds no facts is replaced."""
    remember("fact", ("value",), Compute())
    (cache / f"fact.v{FORMAT}.json").write_bytes(content)
    compute = Compute(2.5)
    assert remember("fact", ("value",), compute) == {"value": 2.5}
    assert compute.calls == 1
    assert json.loads((cache / f"fact.v{FORMAT}.json").read_text()) == {"value": 2.5}


def test_folder_in_place_of_the_file(cache):
    """A folder where the file should be is no matter, and leaves no litter behind."""
    (cache / f"fact.v{FORMAT}.json").mkdir(parents=True)
    assert remember("fact", ("value",), Compute()) == {"value": 1.5}
    assert [path.name for path in cache.iterdir()] == [f"fact.v{FORMAT}.json"]


def test_folder_that_cannot_be_made(tmp_path, monkeypatch):
    """Where the folder cannot be made facts are computed every time."""
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path / "file"))
    compute = Compute()
    assert remember("fact", ("value",), compute) == remember("fact", ("value",), compute) == {"value": 1.5}
    assert compute.calls == 2
    assert (tmp_path / "file").read_text() == "in the way"


def test_error_of_the_computation_is_not_hidden(cache):
    """An error while computing reaches the caller, and nothing is written."""

    def fail():
        raise OSError("mine")

    with pytest.raises(OSError, match="mine"):
        remember("fact", ("value",), fail)
    assert not cache.exists()


def test_many_writers_at_once(cache):
    """Threads that compute one fact at once all get it, and leave one whole file."""
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(remember("fact", ("value",), Compute()))) for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [{"value": 1.5}] * 16
    assert [path.name for path in cache.iterdir()] == [f"fact.v{FORMAT}.json"]


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
    np.testing.assert_array_equal(remember_array("fact", (3,), first), first.values)
    assert [file.name for file in cache.iterdir()] == [f"fact.v{FORMAT}.f64"]
    read = remember_array("fact", (3,), second)
    assert read.tobytes() == first.values.tobytes()
    assert (first.calls, second.calls) == (1, 0)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", np.arange(4.0).tobytes(), np.arange(3.0).tobytes()[:-1], np.array([1.0, np.nan, 2.0]).tobytes()],
    ids=["empty", "text", "longer", "cut off", "not finite"],
)
def test_unusable_array_is_computed_anew(cache, content):
    """A file of another size, or with a value that cannot be, is replaced."""
    remember_array("fact", (3,), ComputeArray((9.0, 9.0, 9.0)))
    (cache / f"fact.v{FORMAT}.f64").write_bytes(content)
    compute = ComputeArray((1.0, 2.0, 5e-324))
    np.testing.assert_array_equal(remember_array("fact", (3,), compute), compute.values)
    assert compute.calls == 1
    assert (cache / f"fact.v{FORMAT}.f64").read_bytes() == compute.values.tobytes()


def test_array_that_the_caller_cannot_use_is_computed_anew(cache):
    """The caller may say what a cached array must be; facts likewise."""
    remember_array("fact", (1,), ComputeArray((9.0,)))
    compute = ComputeArray((1.0,))
    assert remember_array("fact", (1,), compute, lambda found: found[0] < 5) == 1.0
    assert remember_array("fact", (1,), ComputeArray((2.0,)), lambda found: found[0] < 5) == 1.0
    remember("number", ("value",), lambda: {"value": 9.0})
    assert remember("number", ("value",), lambda: {"value": 1.0}, lambda found: found["value"] < 5) == {"value": 1.0}
    assert len([*cache.iterdir()]) == 2


def test_bypassed_cache_is_neither_read_nor_written(cache):
    """Within `bypassed` everything is computed and nothing kept, and afterwards all is as before."""
    remember("number", ("value",), lambda: {"value": 9.0})
    before = {file.name: file.read_bytes() for file in cache.iterdir()}
    with bypassed():
        assert remember("number", ("value",), lambda: {"value": 1.0}) == {"value": 1.0}
        assert remember_array("fact", (1,), ComputeArray((2.0,))) == 2.0
    assert {file.name: file.read_bytes() for file in cache.iterdir()} == before
    assert remember("number", ("value",), lambda: {"value": 1.0}) == {"value": 9.0}


def test_array_where_the_folder_cannot_be_made(tmp_path, monkeypatch):
    """Where the folder cannot be made arrays are computed every time."""
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path / "file"))
    compute = ComputeArray()
    for _ in range(2):
        np.testing.assert_array_equal(remember_array("fact", (3,), compute), compute.values)
    assert compute.calls == 2


def test_place_of_the_folder(monkeypatch):
    """The folder is DENIABLE_CACHE, else in XDG_CACHE_HOME, else in the user's own cache folder."""
    monkeypatch.setenv("DENIABLE_CACHE", "/named")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    monkeypatch.setenv("HOME", "/home/me")
    assert folder() == Path("/named")
    monkeypatch.delenv("DENIABLE_CACHE")
    assert folder() == Path("/xdg/deniable")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert folder() == Path("/home/me/.cache/deniable")


def test_tests_use_a_cache_of_their_own(cache_folder):
    """No test touches the user's cache."""
    assert folder() == cache_folder
    assert Path.home() not in folder().parents or "pytest" in str(folder())
