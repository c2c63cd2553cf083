"""Spans, and the words that they cover."""

import numpy as np
import pytest

from deniable.core.errors import InputError
from deniable.measure.entities.spans import (
    EntitySpan,
    LocatedWords,
    build_span,
    check_end,
    find_overlap,
    merge_overlaps,
)
from deniable.space.grammar import split_words


def test_a_span_of_integers_of_any_kind():
    """Python's and numpy's integers are positions, and blanks around a kind do not count."""
    assert build_span("here", 2, np.int64(5), " PERSON ") == EntitySpan(2, 5, "PERSON")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("2", 5, "A"), "here: the start of a span must be an integer. Got str"),
        ((2, 5.0, "A"), "here: the end of a span must be an integer. Got float"),
        ((True, 5, "A"), "here: the start of a span must be an integer. Got bool"),
        ((2, None, "A"), "here: the end of a span must be an integer. Got NoneType"),
        ((-1, 5, "A"), "here: a span starts at -1"),
        ((5, 5, "A"), "here: a span from 5 to 5 holds no character"),
        ((6, 5, "A"), "here: a span from 6 to 5 holds no character"),
        ((2, 5, 7), "here: the kind of a span must be a text. Got int"),
        ((2, 5, None), "here: the kind of a span must be a text. Got NoneType"),
        ((2, 5, "  "), "here: the kind of a span must have 1 to 40 printable characters. Got 0"),
        ((2, 5, "a\nb"), "here: the kind of a span must have 1 to 40 printable characters. Got 3"),
        ((2, 5, "x" * 41), "here: the kind of a span must have 1 to 40 printable characters. Got 41"),
    ],
)
def test_what_is_no_span(given, message):
    """Whatever is no span is refused in one line that says where it stands and what is wrong."""
    with pytest.raises(InputError) as refused:
        build_span("here", *given)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


def test_a_span_ends_in_its_text():
    """The end of a text is the last end that a span can have."""
    check_end("here", EntitySpan(0, 5, "A"), 5)
    with pytest.raises(InputError, match="here: a span ends at 5, beyond its text of 4 characters"):
        check_end("here", EntitySpan(0, 5, "A"), 4)


def test_overlaps_are_those_of_one_kind():
    """Spans of one kind overlap where they share a character; touching ones, and ones of two kinds, do not."""
    spans = [EntitySpan(4, 8, "A"), EntitySpan(0, 4, "A"), EntitySpan(3, 9, "B")]
    assert find_overlap(spans) is None
    assert find_overlap([*spans, EntitySpan(7, 9, "A")]) == (0, 3)
    assert find_overlap([EntitySpan(0, 4, "A")] * 2) == (0, 1)


def test_overlaps_become_one():
    """Spans of one kind that share a character are joined, also one within the other, and the rest stays."""
    spans = [EntitySpan(5, 9, "A"), EntitySpan(0, 6, "A"), EntitySpan(1, 2, "A"), EntitySpan(9, 10, "A")]
    assert merge_overlaps([*spans, EntitySpan(1, 7, "B")]) == [
        EntitySpan(0, 9, "A"),
        EntitySpan(1, 7, "B"),
        EntitySpan(9, 10, "A"),
    ]


TEXT = "Anna's friend, Ωmega O'Neil (b. 1,984)."


@pytest.mark.parametrize(
    ("part", "covered"),
    [
        ("Anna", ["Anna"]),
        ("Anna's", ["Anna", "'s"]),
        ("nn", ["Anna"]),
        ("friend, Ωm", ["friend", "Ωmega"]),
        ("O'Neil", ["O'Neil"]),
        ("(b. 1,984)", ["b", "1,984"]),
        (", ", []),
        (").", []),
        (TEXT, ["Anna", "'s", "friend", "Ωmega", "O'Neil", "b", "1,984"]),
    ],
)
def test_a_span_covers_the_words_that_it_touches(part, covered):
    """A word belongs to a span if they share a character; punctuation is no word."""
    located = LocatedWords.of(split_words(TEXT))
    start = TEXT.index(part)
    first, behind = located.find_covered(EntitySpan(start, start + len(part), "A"))
    assert located.spellings[first:behind] == covered


def test_a_span_that_stands_for_nothing_covers_nothing():
    """Where an entity of HTML decodes to nothing, its span has no word, even within one."""
    first, behind = LocatedWords.of(split_words("Anna")).find_covered(EntitySpan(2, 2, "A"))
    assert first == behind


def test_an_empty_text_has_no_words():
    """A text without words has none to cover."""
    assert LocatedWords.of(split_words("")).find_covered(EntitySpan(0, 1, "A")) == (0, 0)
