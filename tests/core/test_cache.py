"""The cache of computed facts and tables: what is read is what this user wrote, and it is never in the way."""

import hashlib
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
    SECRET_FILE,
    NotCached,
    bypass_cache,
    find_cache_fault,
    get_cache_folder,
    load_or_compute_array,
    load_or_compute_facts,
    require_cache,
)
from deniable.core.stored_table import load_table, store_table
from tests.cached import CODE, authentic, entries
from tests.cached import content as content_of
from tests.refusals import refuses

FACTS, ARRAY = f"fact.v{CACHE_FORMAT}.facts", f"fact.v{CACHE_FORMAT}.f64"
VALUES = (0.1, -1e300, 5e-324)
TABLE = np.arange(100 * 3, dtype=np.int64).reshape(100, 3)


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
    assert len((kept / SECRET_FILE).read_bytes()) == 32
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
    [b"", b"{", b"null", b"[1.0]", b'"x"', b'{"value": "1.5"}', b'{"value": null}', b"\xff\x00", b"{}",
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
        assert load_table("fact", TABLE.shape) is None
        np.testing.assert_array_equal(store_table("fact", lambda: TABLE).rows, TABLE)
    compute = mock.Mock()
    with require_cache():
        assert load_fact(2.0) == 1.5
        with refuses("'other'", NotCached):
            load_or_compute_facts("other", ("value",), compute)
        with refuses("'other'", NotCached):
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


def test_forged_files_are_not_believed(kept):
    """A verdict that somebody else wrote, with no code, another secret's code or another content's, is found anew."""
    for path, forged in ((kept / FACTS, b'{"value": 0.5}'), (kept / ARRAY, np.ones(3).tobytes())):
        whole = path.read_bytes()
        other = hashlib.blake2b(path.name.encode() + b"\0" + forged, key=bytes(32), digest_size=CODE).digest()
        for code in (b"", whole[:CODE], other, bytes(CODE)):
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


def test_files_of_another_name_or_secret_are_not_believed(kept, tmp_path, monkeypatch):
    """A proof about one law says nothing of another, and what a friend computed is not believed but replaced."""
    (kept / FACTS.replace("fact.", "other.", 1)).write_bytes((kept / FACTS).read_bytes())
    assert load_fact(9.0, "other") == 9.0
    monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path / "mine"))
    load_fact(1.0, "mine")
    for path in entries(kept):
        (tmp_path / "mine" / path.name).write_bytes(path.read_bytes())
    assert believed() == (False, False)
    assert believed() == (True, True)


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
    """Processes that begin together in an empty folder share one secret: what each has kept is believed."""
    code = """
import sys
from deniable.core.cache import load_or_compute_facts
load_or_compute_facts(sys.argv[1], ("value",), lambda: {"value": 1.0})
"""
    several = [subprocess.Popen([sys.executable, "-c", code, f"fact{number}"]) for number in range(3)]
    assert [process.wait() for process in several] == [0] * 3
    assert [load_fact(2.0, f"fact{number}") for number in range(3)] == [1.0] * 3
    assert len(entries(cache)) == 3


@pytest.fixture
def stored(cache):
    """Return the file of a stored table."""
    store_table("a", lambda: TABLE)
    (file,) = cache.glob("*.i64")
    return file


def change(file, place):
    """Change a byte of a file."""
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(data)


def test_a_stored_table_comes_back(cache):
    """A table is loaded with the rows that were stored, all of them genuine, and cannot be written."""
    assert load_table("a", TABLE.shape) is None
    np.testing.assert_array_equal(store_table("a", lambda: TABLE).rows, TABLE)
    loaded = load_table("a", TABLE.shape)
    np.testing.assert_array_equal(loaded.rows, TABLE)
    assert loaded.is_genuine(np.arange(100))
    assert not loaded.rows.flags.writeable
    assert cache.exists()


def test_a_changed_row_is_found_when_it_is_needed(stored):
    """A table with one changed row serves the other rows; the first look at that one removes the file."""
    change(stored, -1)
    loaded = load_table("a", TABLE.shape)
    assert loaded.is_genuine(np.arange(90))
    assert stored.exists()
    assert not loaded.is_genuine(np.array([99]))
    assert not stored.exists()


@pytest.mark.parametrize("fault", [0, 40, "cut", "renamed", "secret", "shape"])
def test_a_stored_table_that_is_not_believed(stored, fault):
    """One whose codes were changed, that was cut or renamed, of another secret or shape, is not loaded."""
    name, shape = "a", TABLE.shape
    if fault == "cut":
        stored.write_bytes(stored.read_bytes()[:-8])
    elif fault == "renamed":
        stored.rename(stored.with_name(stored.name.replace("a.", "b.")))
        name = "b"
    elif fault == "secret":
        (stored.parent / SECRET_FILE).write_bytes(bytes(32))
    elif fault == "shape":
        shape = (100, 4)
    else:
        change(stored, fault)
    assert load_table(name, shape) is None
