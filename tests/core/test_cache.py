"""The cache of computed facts and tables: what is read is what this user wrote, and it is never in the way."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from deniable.core.cache import (
    CACHE_FORMAT,
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
from tests.refusals import refuses

FACTS, ARRAY = f"fact.v{CACHE_FORMAT}.facts", f"fact.v{CACHE_FORMAT}.f64"
VALUES = (0.1, -1e300, 5e-324)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Return a cache folder of the test's own, not made yet."""
    path = tmp_path / "made" / "later"
    monkeypatch.setenv("DENIABLE_CACHE", str(path))
    return path


def load_fact(value=1.5, name="fact", **options):
    """Return a fact from the cache, or that value."""
    return load_or_compute_facts(name, ("value",), lambda: {"value": value}, **options)["value"]


def load_array(values=VALUES, name="fact", shape=None):
    """Return an array from the cache, or these values."""
    return load_or_compute_array(name, shape or (len(values),), lambda: np.array(values, dtype=float)).tolist()


@pytest.fixture
def kept(cache):
    """Return the cache folder with a fact and an array in it."""
    load_fact()
    load_array()
    return cache


def believed():
    """Return which of the fact and the array is taken from the cache."""
    fact, array = mock.Mock(return_value={"value": 1.5}), mock.Mock(return_value=np.array(VALUES))
    load_or_compute_facts("fact", ("value",), fact)
    load_or_compute_array("fact", (3,), array)
    return not fact.called, not array.called


def test_what_is_kept_is_read(kept):
    """The first call leaves one file for its owner alone; the second one reads it and computes nothing."""
    assert kept.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in kept.iterdir()} == {0o600}
    assert entries(kept) == [kept / ARRAY, kept / FACTS]
    assert json.loads(content_of(kept / FACTS)) == {"value": 1.5}
    assert believed() == (True, True)
    assert load_fact(2.5, "other") == 2.5


def test_floats_come_back_to_the_last_bit(cache):
    """What is read is exactly what was computed."""
    for number, value in enumerate((0.1, 1 / 3, 1e-300, 1e300, 5e-324, -0.0)):
        load_fact(value, f"f{number}")
        load_array((value,), f"f{number}")
        assert load_fact(9.0, f"f{number}").hex() == load_array((9.0,), f"f{number}")[0].hex() == value.hex()
    assert cache.exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1.0]", b'"x"', b"\xff\x00", b"{}",
     np.arange(4.0).tobytes(), np.arange(3.0).tobytes()[:-1], np.array([1.0, np.nan, 2.0]).tobytes()],
)  # fmt: skip
def test_an_unusable_file_is_computed_anew(kept, content):
    """A file that is cut off, of another kind or size, or holds no facts or what cannot be, is replaced."""
    for name, load, expected in ((FACTS, load_fact, 1.5), (ARRAY, load_array, [*VALUES])):
        path = kept / name
        for data in (content, path.read_bytes()[:CODE] + content, authentic(path, content)):
            path.write_bytes(data)
            assert load() == expected
            assert believed() == (True, True)


def test_what_the_caller_cannot_use_is_computed_anew(cache):
    """The caller may say what a fact or array must be; a shape that begins with -1 has whole rows, however many."""
    rows = np.arange(6.0).reshape(2, 3).tolist()
    load_array(rows, "rows", (-1, 3))
    assert load_array([[7.0] * 3], "rows", (-1, 3)) == rows
    load_array((1.0, 2.0, 3.0, 4.0))
    assert load_array((5.0, 6.0, 7.0), shape=(-1, 3)) == [5.0, 6.0, 7.0]
    load_fact(9.0)
    load_or_compute_array("fact", (1,), lambda: np.array([9.0]))
    for value in (1.0, 2.0):
        assert load_fact(value, is_usable=lambda facts: facts["value"] < 5) == 1.0
        assert load_or_compute_array("fact", (1,), lambda one=value: np.array([one]), lambda found: found[0] < 5) == 1.0
    assert len(entries(cache)) == 3


def test_a_folder_that_cannot_be_used(tmp_path, cache, monkeypatch):
    """Where the folder cannot be made, or a folder stands in place of a file, all is computed every time."""
    (cache / FACTS).mkdir(parents=True)
    cache.chmod(0o700)
    assert (load_fact(1.0), load_fact(2.0)) == (1.0, 2.0)
    assert entries(cache) == [cache / FACTS]
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path / "file"))
    assert (load_fact(1.0), load_fact(2.0)) == (1.0, 2.0)
    assert (load_array((1.0,)), load_array((2.0,))) == ([1.0], [2.0])
    assert (tmp_path / "file").read_text() == "in the way"


def test_an_error_of_the_computation_is_not_hidden(cache):
    """An error while computing reaches the caller, and nothing is written."""
    with pytest.raises(ZeroDivisionError):
        load_or_compute_facts("fact", ("value",), lambda: 1 / 0)
    assert not cache.exists()


def test_the_cache_bypassed_and_required(kept):
    """Bypassed it is neither read nor written; required it computes nothing; afterwards all is as before."""
    before = {file.name: file.read_bytes() for file in kept.iterdir()}
    with bypass_cache():
        assert load_fact(2.0) == 2.0
        assert load_array((2.0,)) == [2.0]
    compute = mock.Mock()
    with require_cache():
        assert load_fact(2.0) == 1.5
        with refuses("other", NotCached):
            load_or_compute_facts("other", ("value",), compute)
        with refuses("other", NotCached):
            load_or_compute_array("other", (2,), compute)
    compute.assert_not_called()
    assert {file.name: file.read_bytes() for file in kept.iterdir()} == before
    assert load_fact(2.0, "other") == 2.0


def test_place_of_the_folder(cache_folder, monkeypatch):
    """The folder is DENIABLE_CACHE, else in XDG_CACHE_HOME, else in the user's own; that of the tests is none."""
    assert get_cache_folder() == cache_folder
    assert Path.home() not in get_cache_folder().parents or "pytest" in str(get_cache_folder())
    for name, value in (("DENIABLE_CACHE", "/named"), ("XDG_CACHE_HOME", "/xdg"), ("HOME", "/home/me")):
        monkeypatch.setenv(name, value)
    assert get_cache_folder() == Path("/named")
    monkeypatch.delenv("DENIABLE_CACHE")
    assert get_cache_folder() == Path("/xdg/deniable")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert get_cache_folder() == Path("/home/me/.cache/deniable")


def test_changed_files_are_not_believed(kept):
    """A verdict without its digest, or with that of another content, is found anew."""
    for path, forged in ((kept / FACTS, b'{"value": 0.5}'), (kept / ARRAY, np.ones(3).tobytes())):
        whole = path.read_bytes()
        for code in (b"", whole[:CODE], bytes(CODE)):
            path.write_bytes(code + forged)
            assert sorted(believed()) == [False, True]
            assert believed() == (True, True)
        assert path.read_bytes() == whole  # what was computed anew is kept in its place


def test_every_byte_counts(kept):
    """Whichever byte of a kept file is changed, lost or added, the file is not believed."""
    path = kept / FACTS
    whole = path.read_bytes()
    changes = [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(len(whole))]
    for data in [*changes, *(whole[:at] for at in range(len(whole))), whole + b" ", b" " + whole]:
        path.write_bytes(data)
        assert load_fact(2.5) == 2.5
    assert len(changes) > CODE


def test_a_file_of_another_name_is_not_believed(kept):
    """A proof about one law says nothing of another."""
    (kept / FACTS.replace("fact.", "other.", 1)).write_bytes((kept / FACTS).read_bytes())
    assert load_fact(9.0, "other") == 9.0


def test_a_folder_that_is_not_its_owners_alone_is_not_used(kept, monkeypatch):
    """Where others can write, or another user owns it, nothing is read or written, until it is the owner's again."""
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    for mode in (0o770, 0o707, 0o720, 0o777, 0o1777):
        kept.chmod(mode)
        assert find_cache_fault() is not None
        assert believed() == (False, False)
        load_fact(2.0, "new")
    kept.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: kept.stat().st_uid + 1)
        assert find_cache_fault() is not None
        assert believed() == (False, False)
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before
    assert find_cache_fault() is None
    assert believed() == (True, True)


def test_many_writers_at_once(cache):
    """Threads that compute one fact at once all get it, and leave one whole file."""
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(lambda _: load_fact(), range(16))) == [1.5] * 16
    assert entries(cache) == [cache / FACTS]
    assert load_fact(2.5) == 1.5


def test_many_processes_at_once(cache):
    """Processes that begin together without a folder do not disturb each other: what each has kept is believed."""
    code = """
import sys
from deniable.core.cache import load_or_compute_facts
load_or_compute_facts(sys.argv[1], ("value",), lambda: {"value": 1.0})
"""
    several = [subprocess.Popen([sys.executable, "-c", code, f"fact{number}"]) for number in range(3)]
    assert [process.wait() for process in several] == [0] * 3
    assert [load_fact(2.0, f"fact{number}") for number in range(3)] == [1.0] * 3
    assert len(entries(cache)) == 3
