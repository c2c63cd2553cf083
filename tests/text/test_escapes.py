"""HTML entities decoded as a declared step, and texts with HTML counted."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import Release
from deniable.core.errors import InputError
from deniable.space.grammar import split_words
from deniable.text.escapes import MarkupCounts, decode_escapes, has_entity, has_tag, locate_decoded
from tests.text.helpers import MECHANISM, WORDS

REFERENCES = st.one_of(
    st.sampled_from(
        ["&amp;", "&lt;br /&gt;", "&nbsp;", "&NewLine;", "&Tab;", "&zwj;", "&notit;", "&copy", "&", "&&#;"]
    ),
    st.integers(0, 0x120000).map("&#{};".format),
    st.integers(0, 0x120000).map("&#x{:x}".format),
)
TEXTS = st.lists(st.one_of(st.text(max_size=8), REFERENCES, st.sampled_from(WORDS)), max_size=12).map("".join)
LINE_BREAKS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


@given(TEXTS)
def test_entities_are_decoded_as_html_does(text):
    """Decoded texts are those of the standard library, but that a decoded line break is a space."""
    decoded = decode_escapes(text, "html")
    assert LINE_BREAKS.sub(" ", decoded) == LINE_BREAKS.sub(" ", html.unescape(text))


@given(TEXTS)
def test_no_line_break_comes_from_an_entity(text):
    """A decoded text has the line breaks that stood in the text, so that no record of plain text is cut in two."""
    assert LINE_BREAKS.findall(decode_escapes(text, "html")) == LINE_BREAKS.findall(text)


@given(TEXTS)
def test_nothing_passes_the_tokenizer_by_an_entity(text):
    """What is released is drawn words and the gaps of the decoded text: no character of a word passes."""
    released = Release(MECHANISM, unescape="html", key="seed:1").batch([text], ["a"])
    decoded = decode_escapes(text, "html")
    parts = split_words(decoded)
    [new_text] = released.texts
    new_parts = split_words(new_text)
    assert set(new_parts[1::2]) <= set(WORDS)
    assert "".join(new_parts[0::2]).replace(" ", "") == "".join(parts[0::2]).replace(" ", "")
    assert released.tally.read_words == len(parts) // 2 == len(new_parts) // 2


def test_a_number_that_python_does_not_read():
    """Thousands of digits name no character, and are no reason to fail."""
    assert decode_escapes(f"a &#{'9' * 5000}; b", "html") == "a \ufffd b"


def test_text_is_decoded_once():
    """An entity that was escaped twice is still one after decoding, and is noticed."""
    assert decode_escapes("it&amp;#039;s", "html") == "it&#039;s"
    assert has_entity(decode_escapes("it&amp;#039;s", "html"))


@given(st.lists(st.one_of(st.sampled_from([*WORDS, " "]), st.sampled_from(["&amp;", "&#039;", "&#1;", "&zwj;"]))))
def test_places_are_found_again(pieces):
    """The bounds of words and entities move with what is decoded before them; without the step nothing moves."""
    text = "".join(pieces)
    for count in range(len(pieces) + 1):
        before = "".join(pieces[:count])
        for is_end in (False, True):
            place = locate_decoded(text, "html", len(before), is_end=is_end)
            assert place == len(decode_escapes(before, "html"))
            assert locate_decoded(text, None, len(before), is_end=is_end) == len(before)


@given(TEXTS)
def test_places_keep_their_order(text):
    """In any text no place comes before an earlier one, starts are not behind ends, and the text ends at its end."""
    starts, ends = (
        [locate_decoded(text, "html", place, is_end=is_end) for place in range(len(text) + 1)]
        for is_end in (False, True)
    )
    assert (starts, ends) == (sorted(starts), sorted(ends))
    assert all(start <= end for start, end in zip(starts, ends, strict=True))
    assert (starts[0], starts[-1]) == (0, len(decode_escapes(text, "html")))


def test_within_an_entity_a_place_is_its_start_or_its_end():
    """What begins within an entity holds all of it, and so does what ends within it."""
    assert locate_decoded("a&#039;b", "html", 3, is_end=False) == 1
    assert locate_decoded("a&#039;b", "html", 3, is_end=True) == 2


def test_without_the_step_nothing_is_decoded():
    """Texts are read as they are by default."""
    assert decode_escapes("it&#039;s &lt;b&gt;", None) == "it&#039;s &lt;b&gt;"


@pytest.mark.parametrize("text", ["it&#039;s", "&quot;good&quot;", "a &#x27; b", "R&amp;D", "&eacute;t&eacute;"])
def test_entities_are_noticed(text):
    """Entities are found as tools write them, with a semicolon."""
    assert has_entity(text)


@pytest.mark.parametrize("text", ["R&D", "AT&T; more", "a & b;", "?a=1&copy=2", "&#;", "&nosuchname;"])
def test_other_ampersands_are_no_entities(text):
    """An ampersand in prose is no entity."""
    assert not has_entity(text)


@pytest.mark.parametrize(
    ("text", "is_markup"),
    [
        ("good.<br /><br />bad", True),
        ("<P class='a'>x", True),
        ('see <a href="x">', True),
        ("a < b > c", False),
        ("<user> said", False),
        ("<3", False),
    ],
)
def test_tags_are_told_from_other_brackets(text, is_markup):
    """Tags of HTML are found; a heart, a comparison and a placeholder are none."""
    assert has_tag(text) is is_markup


def test_counts_add():
    """Counts of two batches are those of both together."""
    first, second = ["&amp;", "plain"], ["<br>", "<br>&lt;"]
    assert MarkupCounts.count(first) + MarkupCounts.count(second) == MarkupCounts.count(first + second)
    assert MarkupCounts.count(first + second) == MarkupCounts(4, 2, 2)


def test_another_form_of_escapes_is_refused():
    """A release names the forms of escapes that there are."""
    with pytest.raises(InputError, match="'unescape' parameter of Release must be 'html' or None"):
        Release(MECHANISM, unescape="xml")


def test_the_step_is_part_of_the_name_of_the_noise():
    """A release that decodes is another release: it is not equal, and under one key its noise is another."""
    plain, decoding = (Release(MECHANISM, unescape=step, key="seed:1") for step in (None, "html"))
    assert plain != decoding
    assert plain.fingerprint != decoding.fingerprint
    text = " ".join(WORDS * 4)
    assert plain.batch([text], ["a"]).texts != decoding.batch([text], ["a"]).texts
