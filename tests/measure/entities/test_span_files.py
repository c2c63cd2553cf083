"""Places of labels in texts whose HTML entities are decoded."""

from hypothesis import given
from hypothesis import strategies as st

from deniable.measure.entities.span_files import locate_decoded
from deniable.text.escapes import decode_escapes
from tests.text.helpers import WORDS
from tests.text.tables.helpers import few
from tests.text.test_escapes import TEXTS


@few
@given(st.lists(st.one_of(st.sampled_from([*WORDS, " "]), st.sampled_from(["&amp;", "&#039;", "&#1;", "&zwj;"]))))
def test_places_are_found_again(pieces):
    """The bounds of words and entities move with what is decoded before them; without the step nothing moves."""
    text = "".join(pieces)
    for count in range(len(pieces) + 1):
        before = "".join(pieces[:count])
        for is_end in (False, True):
            assert locate_decoded(text, "html", len(before), is_end=is_end) == len(decode_escapes(before, "html"))
            assert locate_decoded(text, None, len(before), is_end=is_end) == len(before)


@few
@given(TEXTS)
def test_places_keep_their_order(text):
    """In any text no place comes before an earlier one, starts are not behind ends, and the text ends at its end."""
    places = range(len(text) + 1)
    starts, ends = (
        [locate_decoded(text, "html", place, is_end=is_end) for place in places] for is_end in (False, True)
    )
    assert (starts, ends) == (sorted(starts), sorted(ends))
    assert all(start <= end for start, end in zip(starts, ends, strict=True))
    assert (starts[0], starts[-1]) == (0, len(decode_escapes(text, "html")))
