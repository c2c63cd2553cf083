"""What an owner states, read by path and type."""

import pytest

from deniable import InputError
from deniable.checking.fields import Stated
from deniable.checking.statements import MAX_TEXT_CHARACTERS, OWNERS_CHOICE, PRIVATE_COUNT, Statements
from deniable.text.release_certificate import COLUMNS_LEFT_OUT, list_copied
from deniable.text.tables.layout import CopiedContent

STATEMENTS = Statements({"a": {"b": 3, "t": "x", "l": [1], "flag": True, "none": None}, "n": -1})


def test_reading_by_path():
    """Values of the type that is asked for are read; all else is absent."""
    assert STATEMENTS.get("a", "b") == STATEMENTS.get_count("a", "b") == 3
    assert STATEMENTS.get("a", "b", "c") is STATEMENTS.get("x") is None
    assert (STATEMENTS.get_text("a", "t"), STATEMENTS.get_text("a", "b")) == ("x", "")
    assert (STATEMENTS.get_list("a", "l"), STATEMENTS.get_list("a")) == ([1], [])
    assert (STATEMENTS.get_object("a")["b"], STATEMENTS.get_object("n")) == (3, {})
    assert STATEMENTS.get_count("n") is STATEMENTS.get_count("a", "flag") is STATEMENTS.get_count("a", "t") is None
    assert STATEMENTS.get_count("a", "b", minimum=4) is None


def test_long_texts_are_not_read():
    """A text that is longer than any of a certificate is not interpreted, so that no pattern runs on it for long."""
    assert Statements({"t": "x" * (MAX_TEXT_CHARACTERS + 1)}).get_text("t") == ""


@pytest.mark.parametrize("value", [None, 0, -1, 11, True, "3", [], 2**62])
def test_numbers_that_are_needed(value):
    """Without a number in its range nothing can be recomputed, and one line says so."""
    assert Statements({"e": 10}).require_number("e", maximum=10) == 10.0
    with pytest.raises(InputError, match="e must be a number above 0, at most 10"):
        Statements({"e": value}).require_number("e", maximum=10)


@pytest.mark.parametrize("value", [None, "TEM", 3, ["tem"]])
def test_names_that_are_needed(value):
    """The same holds of names."""
    assert Statements({"m": "tem"}).require_name("m", known=["tem"]) == "tem"
    with pytest.raises(InputError, match="m must be one of tem"):
        Statements({"m": value}).require_name("m", known=["tem"])


def test_choices():
    """A choice is stated; what is none of the choices is contradicted, and the default stands for it."""
    assert Statements({"c": "b"}).choose(["a", "b"], "a", "c") == ("b", Stated(OWNERS_CHOICE))
    for value in ("d", 1, True, None):
        choice, mark = Statements({"c": value}).choose(["a", "b"], "a", "c")
        assert (choice, mark.problem) == ("a", "no such choice: must be one of 'a', 'b'")
    assert Statements({"c": None}).choose(["html", None], None, "c") == (None, Stated(OWNERS_CHOICE))


def test_counts():
    """A count is stated, and what is none is contradicted, or for the reason that is given."""
    assert STATEMENTS.mark_count("a", "b") == Stated(PRIVATE_COUNT)
    assert STATEMENTS.mark_count("a", "b", problem="too many").problem == "too many"
    assert STATEMENTS.mark_count("n").problem == "no integer of at least 0"


def test_what_was_copied():
    """Each kind of copied content has one line at most, which is only stated; so has what was left out."""
    lines = list_copied(CopiedContent(("id",), ("pandas index",)))
    assert len(Statements({"not_protected": ["other", *lines]}).list_copied()) == 2
    assert len(Statements({"not_protected": lines * 50}).list_copied()) == 2
    assert Statements({"not_protected": ["the columns", 3, None]}).list_copied() == []
    assert Statements({"steps": ["one", COLUMNS_LEFT_OUT]}).list_steps(["one"])[1:] != []
    assert Statements({"steps": ["one"]}).list_steps(["one"]) == ["one"]
