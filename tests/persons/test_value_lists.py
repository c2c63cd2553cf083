"""Lists of names on the command line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.persons.value_lists import format_list, parse_distinct_names, parse_list
from tests.refusals import refuses

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6)


@settings(max_examples=30)
@given(st.lists(NAMES, max_size=5))
def test_lists_are_read_back(names):
    """Any names, with commas, quotes and line breaks too, are read as they were written."""
    assert parse_list("--columns", format_list(names)) == tuple(names)
    distinct = tuple(dict.fromkeys(filter(None, map(str.strip, names))))
    assert not distinct or parse_distinct_names("--classes", format_list(distinct)) == distinct


def test_distinct_names():
    """Names stand between commas as in a line of a csv, without white space around them."""
    assert parse_distinct_names("--classes", ' "a,b", c d , " e "') == ("a,b", "c d", "e")
    assert parse_distinct_names("--classes", '"say ""no""",5" disk') == ('say "no"', '5" disk')


@pytest.mark.parametrize("text", ["", "a,", "a,,b", 'a,"",b', 'a," ",b', "a,b, a", '"a,b', "a\nb"])
def test_refused_lists(text):
    """A list with an empty or repeated name, an open quote or a line break is refused in one line."""
    with refuses("--classes"):
        parse_distinct_names("--classes", text)
