"""Lists of names: what is written is read back, and what is no list is refused in one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.core.errors import InputError
from deniable.core.value_lists import format_list, parse_distinct_names, parse_list

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6)


@given(st.lists(NAMES, min_size=1, max_size=5))
def test_lists_are_read_back(names):
    """Any names, with commas, quotes and line breaks too, are read as they were written."""
    assert parse_list("--columns", format_list(names)) == tuple(names)


@given(st.lists(NAMES.map(str.strip).filter(bool), min_size=1, max_size=5, unique=True))
def test_distinct_names_are_read_back(names):
    """Different names without white space around are read as they were written."""
    assert parse_distinct_names("--classes", format_list(names)) == tuple(names)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (" a, b c ,d", ("a", "b c", "d")),
        ('"a,b", c', ("a,b", "c")),
        ('a, "b,c" ', ("a", "b,c")),
        ('"say ""no""",5" disk', ('say "no"', '5" disk')),
        ('" a ",b', ("a", "b")),
    ],
)
def test_distinct_names(text, names):
    """Names stand between commas as in a line of a csv, without white space around them."""
    assert parse_distinct_names("--classes", text) == names


def test_an_empty_list():
    """Nothing is a list of no entry, and no list of names."""
    assert parse_list("--columns", "") == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "--classes must list names with commas between them. Got '': leave no name empty."),
        ("a,", "leave no name empty"),
        ("a,,b", "leave no name empty"),
        ('a,"",b', "leave no name empty"),
        ('a," ",b', "leave no name empty"),
        ("a,b, a", "--classes names 'a' twice: list each name once."),
        ('"a,b', "--classes '\"a,b' is no list such as a,b: unexpected end of data."),
        ("a\nb", "--classes 'a\\nb' has a line break outside quotes"),
    ],
)
def test_refused_lists(text, problem):
    """A list with an empty or repeated name, an open quote or a line break is refused in one line."""
    with pytest.raises(InputError) as error:
        parse_distinct_names("--classes", text)
    assert problem in str(error.value)
    assert "\n" not in str(error.value)
