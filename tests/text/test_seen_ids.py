"""Record ids that were there before: found whatever lies in memory, on disk, or in the same window."""

import random
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.text import seen_ids
from deniable.text.seen_ids import SeenIds


def find_first_repeat(windows):
    """Return the first two rows with one id, found in a dictionary."""
    first_rows = {}
    for row, record_id in enumerate(record_id for window in windows for record_id in window):
        if first_rows.setdefault(record_id, row) != row:
            return first_rows[record_id], row
    return None


def add_all(windows):
    ids = SeenIds()
    for window in windows:
        repeat = ids.add(window)
        if repeat is not None:
            return repeat
    return None


ids = st.text(st.sampled_from("ab\ud800é"), max_size=3) | st.integers(0, 99).map(str)


@pytest.mark.parametrize("limits", [(1 << 20, 1 << 18), (0, 1), (5, 3), (0, 1 << 18)])
@given(windows=st.lists(st.lists(ids, max_size=12), max_size=12))
def test_the_first_repeat_is_found(limits, windows):
    """In whatever windows ids come, and wherever their digests lie, the first repeated one is named with both rows."""
    with mock.patch.multiple(seen_ids, MAX_MEMORY_ROWS=limits[0], CHUNK_ROWS=limits[1]):
        assert add_all(windows) == find_first_repeat(windows)


@pytest.mark.parametrize("limits", [(1 << 20, 1 << 18), (100, 64), (100, 1 << 18)])
def test_many_ids(limits):
    """Of ten thousand different ids none is refused, and a repeat of any of them is."""
    chance = random.Random(5)
    with mock.patch.multiple(seen_ids, MAX_MEMORY_ROWS=limits[0], CHUNK_ROWS=limits[1]):
        seen = SeenIds()
        for first in range(0, 10_000, 137):
            assert seen.add([f"r{number}" for number in range(first, min(first + 137, 10_000))]) is None
        assert len(seen._runs) < 10
        for row in chance.sample(range(10_000), 20):
            assert seen.add([f"r{row}"])[0] == row


@pytest.mark.parametrize("limit", [1 << 20, 0])
def test_digests_that_share_a_word_are_told_apart(monkeypatch, limit):
    """Two ids are one only where both words of their digests agree, also where many share the first."""
    digest = seen_ids._digest_ids

    def collide(record_ids, first_row):
        chunk = digest(record_ids, first_row)
        return seen_ids._Chunk(chunk.firsts * 0 + 7, chunk.seconds, chunk.rows)

    monkeypatch.setattr(seen_ids, "_digest_ids", collide)
    monkeypatch.setattr(seen_ids, "MAX_MEMORY_ROWS", limit)
    monkeypatch.setattr(seen_ids, "CHUNK_ROWS", 2)
    seen = SeenIds()
    for number in range(20):
        assert seen.add([f"{number}"]) is None
    assert seen.add(["x", "11"]) == (11, 21)


def test_files_of_ids_have_no_name(tmp_path, monkeypatch):
    """What lies on disk is in files without a name, which vanish with the process."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(seen_ids, "MAX_MEMORY_ROWS", 0)
    seen = SeenIds()
    for number in range(9):
        seen.add([str(number)])
    assert any(isinstance(run, seen_ids._StoredRun) for run in seen._runs)
    assert list(tmp_path.iterdir()) == []
