"""Record ids that were there before: found in the same window, or in any before."""

import random

from hypothesis import given
from hypothesis import strategies as st

from deniable.text.row_release import SeenIds
from tests.text.tables.helpers import few

IDS = st.text(st.sampled_from("ab\ud800é"), max_size=3) | st.integers(0, 99).map(str)


def find_first_repeat(windows):
    """Return the first two rows with one id, found in a dictionary."""
    first_rows = {}
    for row, record_id in enumerate(record_id for window in windows for record_id in window):
        if first_rows.setdefault(record_id, row) != row:
            return first_rows[record_id], row
    return None


@few
@given(windows=st.lists(st.lists(IDS, max_size=12), max_size=12))
def test_the_first_repeat_is_found(windows):
    """In whatever windows ids come the first repeated one is named with both rows."""
    ids = SeenIds()
    repeats = [repeat for repeat in map(ids.add, windows) if repeat is not None]
    assert repeats[:1] == [repeat for repeat in [find_first_repeat(windows)] if repeat is not None]


def test_many_ids():
    """Of ten thousand different ids none is refused, and a repeat of any is."""
    seen = SeenIds()
    for first in range(0, 10_000, 137):
        assert seen.add([f"r{number}" for number in range(first, min(first + 137, 10_000))]) is None
    for row in random.Random(5).sample(range(10_000), 20):
        assert seen.add([f"r{row}"])[0] == row
