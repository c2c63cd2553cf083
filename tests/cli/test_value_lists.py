"""Lists of names, and domains of columns, on the command line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.cli.value_lists import format_list, parse_distinct_names, parse_domain, parse_list
from deniable.persons.options import SynthesisOptions
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


def read_domain(text):
    """Return the values of a domain as the options of a release hold them."""
    name, values = parse_domain(text)
    options = SynthesisOptions(epsilon=1.0, delta=1e-6, classes=("a", "b"), rows=1, domains={name: values})
    return name, options.domains[name]


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        ("stars=1..3", "stars", (1, 2, 3)),
        ("t=-1..1", "t", (-1, 0, 1)),
        ("city=Köln, Łódź,東京", "city", ("Köln", "Łódź", "東京")),
        ("a b=x=1,y", "a b", ("x=1", "y")),
        ("n=1,2", "n", ("1", "2")),
        ('inch="5"" disk, or so",3', "inch", ('5" disk, or so', "3")),
    ],
)
def test_domains(text, name, values):
    """A domain is a span of integers, whose values are numbers, or a list of texts with commas between them."""
    assert read_domain(text) == (name, values)


@pytest.mark.parametrize(
    "text",
    ["stars", "=1..5", "stars=", "stars=5..1", "stars=1..1", "stars=0..10000", "stars=1", "stars=a,b,a", "stars=a,,b",
     'stars=a,"b'],
)  # fmt: skip
def test_refused_domains(text):
    """A domain that is written otherwise, or lists too few, too many or equal values, is refused in one line."""
    with refuses("stars" if text.startswith("stars") else text):
        read_domain(text)
