"""Record ids that were there before: found whatever lies in memory, on disk, or in the same window."""

import random
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.text import seen_ids
from tests.text.tables.helpers import few

IDS = st.text(st.sampled_from("ab\ud800é"), max_size=3) | st.integers(0, 99).map(str)


def find_first_repeat(windows):
    """Return the first two rows with one id, found in a dictionary."""
    first_rows = {}
    for row, record_id in enumerate(record_id for window in windows for record_id in window):
        if first_rows.setdefault(record_id, row) != row:
            return first_rows[record_id], row
    return None


@pytest.mark.parametrize("limits", [(1 << 20, 1 << 18), (0, 1), (5, 3)])
@few
@given(windows=st.lists(st.lists(IDS, max_size=12), max_size=12))
def test_the_first_repeat_is_found(limits, windows):
    """In whatever windows ids come, and wherever their digests lie, the first repeated one is named with both rows."""
    with mock.patch.multiple(seen_ids, MAX_MEMORY_ROWS=limits[0], CHUNK_ROWS=limits[1]):
        ids = seen_ids.SeenIds()
        repeats = [repeat for repeat in map(ids.add, windows) if repeat is not None]
        assert repeats[:1] == [repeat for repeat in [find_first_repeat(windows)] if repeat is not None]


@pytest.mark.parametrize("limits", [(1 << 20, 1 << 18), (100, 64)])
def test_many_ids(limits, tmp_path, monkeypatch):
    """Of ten thousand different ids none is refused, and a repeat of any is; files on disk have no name."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with mock.patch.multiple(seen_ids, MAX_MEMORY_ROWS=limits[0], CHUNK_ROWS=limits[1]):
        seen = seen_ids.SeenIds()
        for first in range(0, 10_000, 137):
            assert seen.add([f"r{number}" for number in range(first, min(first + 137, 10_000))]) is None
        for row in random.Random(5).sample(range(10_000), 20):
            assert seen.add([f"r{row}"])[0] == row
    assert list(tmp_path.iterdir()) == []
