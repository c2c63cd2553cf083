"""Large tables in the cache: mapped, authenticated as they are read, never believed otherwise."""

import numpy as np
import pytest

from deniable.core import cache
from deniable.core.stored_table import load_table, store_table

TABLE = np.arange(100 * 3, dtype=np.int64).reshape(100, 3)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Return a cache folder of this test's own."""
    monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def load_file(folder):
    """Return the path of the one table in a folder."""
    (file,) = folder.glob("*.i64")
    return file


def test_what_is_stored_comes_back():
    """A table is loaded with the rows that were stored, all of them genuine."""
    assert load_table("a", TABLE.shape) is None
    np.testing.assert_array_equal(store_table("a", lambda: TABLE).rows, TABLE)
    loaded = load_table("a", TABLE.shape)
    np.testing.assert_array_equal(loaded.rows, TABLE)
    assert loaded.is_genuine(np.arange(100))
    assert not loaded.rows.flags.writeable


def test_a_changed_row_is_found_when_it_is_needed(folder):
    """A table with one changed row serves the other rows; the first look at that one removes the file."""
    store_table("a", lambda: TABLE)
    file = load_file(folder)
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    loaded = load_table("a", TABLE.shape)
    assert loaded.is_genuine(np.arange(90))
    assert file.exists()
    assert not loaded.is_genuine(np.array([99]))
    assert not file.exists()


@pytest.mark.parametrize("place", [0, 40])
def test_changed_codes_are_not_believed(folder, place):
    """A file whose codes were changed is not loaded."""
    store_table("a", lambda: TABLE)
    file = load_file(folder)
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(data)
    assert load_table("a", TABLE.shape) is None


def test_a_file_under_another_name_is_not_believed(folder):
    """A file that was renamed, cut, or made for another shape is not loaded."""
    store_table("a", lambda: TABLE)
    file = load_file(folder)
    file.with_name(file.name.replace("a.", "b.")).write_bytes(file.read_bytes())
    assert load_table("b", TABLE.shape) is None
    assert load_table("a", (100, 4)) is None
    file.write_bytes(file.read_bytes()[:-8])
    assert load_table("a", TABLE.shape) is None


def test_another_users_secret_is_not_enough(folder):
    """A table that was stored under another secret is not loaded."""
    store_table("a", lambda: TABLE)
    (folder / cache.SECRET_FILE).write_bytes(bytes(32))
    assert load_table("a", TABLE.shape) is None


def test_nothing_is_stored_where_the_cache_is_bypassed(folder):
    """Within `bypass_cache` a table is computed, not kept, and not read."""
    store_table("a", lambda: TABLE)
    with cache.bypass_cache():
        assert load_table("a", TABLE.shape) is None
        np.testing.assert_array_equal(store_table("b", lambda: TABLE).rows, TABLE)
    assert len(list(folder.glob("*.i64"))) == 1
