"""HTML entities decoded as a declared step."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from deniable.text import escapes
from tests.refusals import refuses
from tests.text.helpers import LONG, MECHANISM, WORDS
from tests.text.tables.helpers import few, many

KNOWN = ["&amp;", "&lt;br /&gt;", "&nbsp;", "&NewLine;", "&Tab;", "&zwj;", "&notit;", "&copy", "&", "&&#;"]
REFERENCES = st.one_of(
    st.sampled_from(KNOWN), st.integers(0, 0x120000).map("&#{};".format), st.integers(0, 0x120000).map("&#x{:x}".format)
)
TEXTS = st.lists(st.one_of(st.text(max_size=8), REFERENCES, st.sampled_from(WORDS)), max_size=12).map("".join)
LINE_BREAKS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def decode(text):
    return escapes.decode_escapes(text, "html")


@few
@given(TEXTS)
def test_entities_are_decoded_as_html_does(text):
    """Decoded texts are those of the standard library, but that no line break comes from an entity: it is a space."""
    assert LINE_BREAKS.sub(" ", decode(text)) == LINE_BREAKS.sub(" ", html.unescape(text))
    assert len(LINE_BREAKS.findall(decode(text))) <= len(LINE_BREAKS.findall(text))
    assert escapes.decode_escapes(text, None) == text


@few
@given(TEXTS)
def test_a_release_reads_the_decoded_text(text):
    """What is released has the words and the gaps of the decoded text: no character of a word passes by an entity."""
    decoded = decode(text)
    plain, decoding = (dn.Release(MECHANISM, unescape=step, key="seed:1") for step in (None, "html"))
    expected, found = plain.batch([decoded]), decoding.batch([text])
    assert found.tally.read_words == expected.tally.read_words
    gaps = [re.sub("|".join(WORDS), "", batch.texts[0]).replace(" ", "") for batch in (expected, found)]
    assert gaps[0] == gaps[1]


test_many_entities = many(test_entities_are_decoded_as_html_does, TEXTS)


def test_text_is_decoded_once():
    """An entity that was escaped twice is still one after decoding; a number of any length is read."""
    assert decode("it&amp;#039;s") == "it&#039;s"
    assert decode(f"a &#{'9' * 5000}; b") == "a \ufffd b"


@pytest.mark.parametrize(
    ("text", "entities", "tags"),
    [
        *((text, 1, 0) for text in ("it&#039;s", "&quot;good&quot;", "a &#x27; b", "R&amp;D", "&eacute;t&eacute;")),
        *((text, 0, 0) for text in ("R&D", "AT&T; more", "a & b;", "?a=1&copy=2", "&#;", "&nosuchname;")),
        *((text, 0, 1) for text in ("good.<br /><br />bad", "<P class='a'>x", 'see <a href="x">')),
        *((text, 0, 0) for text in ("a < b > c", "<user> said", "<3")),
        ("<br>&lt;", 1, 1),
    ],
)
def test_html_is_noticed(text, entities, tags):
    """Entities and tags are counted as tools write them; other ampersands and brackets are none."""
    markup = dn.Release(MECHANISM).batch([text, "plain"]).tally.markup
    assert (markup.texts, markup.with_entities, markup.with_tags) == (2, entities, tags)


def test_the_step_is_part_of_the_name_of_the_noise():
    """A release that decodes is another release, whose noise is another; another form of escapes is refused."""
    plain, decoding = (dn.Release(MECHANISM, unescape=step, key="seed:1") for step in (None, "html"))
    assert plain != decoding
    assert plain.fingerprint != decoding.fingerprint
    assert plain.batch([LONG]).texts != decoding.batch([LONG]).texts
    with refuses("'unescape'"):
        dn.Release(MECHANISM, unescape="xml")
