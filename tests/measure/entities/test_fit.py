"""Spans that are counted in another unit than characters are refused, with that unit."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import InputError
from deniable.measure.entities.fit import SpanFit
from deniable.measure.entities.labelling import label_entities
from deniable.measure.entities.spans import EntitySpan

COUNTS = {
    "UTF-16": lambda text: len(text.encode("utf-16-le")) // 2,
    "bytes of UTF-8": lambda text: len(text.encode()),
    "from 1": lambda text: len(text) + 1,
}
TEXTS = {
    "UTF-16": "\U0001f600 Anna met \U0001f600\U0001f600 Berta twice",
    "bytes of UTF-8": "Zoë, dear, met Anna in Köln and Berta twice",
    "from 1": "so Anna met Berta twice",
}
NAMES = ("Anna", "Berta")


def spans_of(text, count):
    """Return the spans of the names in a text, as a program finds them that counts in some way."""
    places = [(text.index(name), name) for name in NAMES]
    return [(count(text[:place]), count(text[: place + len(name)]), "PERSON") for place, name in places]


@pytest.mark.parametrize("unit", COUNTS)
def test_other_units_are_named(tmp_path, unit):
    """A file and a detector that count otherwise are refused, and the message says how they seem to count."""
    texts = [TEXTS[unit]] * 2
    spans = spans_of(TEXTS[unit], COUNTS[unit])
    path = tmp_path / "spans.jsonl"
    path.write_text("".join(json.dumps({"row": row, "entities": spans}) + "\n" for row in range(2)))
    for source in (str(path), lambda _: spans):
        with pytest.raises(InputError, match=rf"4 of 4 spans begin or end inside a word \(rows 1, 2\).*0 if .*{unit}"):
            label_entities(source, texts)
    assert label_entities(lambda text: spans_of(text, len), texts)


@pytest.mark.parametrize("unit", ["UTF-16", "bytes of UTF-8"])
def test_spans_beyond_the_end(tmp_path, unit):
    """A span beyond the end of its text is refused with the unit in which it is not."""
    text = f"{TEXTS[unit]} and Cleo"
    end = COUNTS[unit](text)
    path = tmp_path / "spans.jsonl"
    path.write_text(json.dumps({"row": 0, "entities": [[end - 4, end, "PERSON"]]}))
    for source in (str(path), lambda _: [(end - 4, end, "PERSON")]):
        with pytest.raises(InputError, match=rf"beyond its text of {len(text)} characters.*seem to be {unit}"):
            label_entities(source, [text])


def test_a_few_are_named():
    """Some spans that lie inside words, as a label of a part of a word does, are no reason to refuse the others."""
    fit = SpanFit("spans.jsonl")
    fit.add(0, "the Merkelites of Köln", [EntitySpan(4, 10, "PERSON"), EntitySpan(18, 22, "PLACE")])
    fit.add(1, "of Köln", [EntitySpan(3, 7, "PLACE")])
    assert fit.judge() == ["spans.jsonl: 1 of 3 spans begin or end inside a word (row 1); the whole words were counted"]


def test_words_with_endings_are_no_other_unit():
    """Languages that write endings to a name, or no spaces, are counted in characters all the same."""
    fit = SpanFit("spans.jsonl")
    for row in range(50):
        fit.add(row, "서울에서 김철수는 말했다", [EntitySpan(0, 2, "PLACE"), EntitySpan(5, 8, "PERSON")])
    assert len(fit.judge()) == 1
    fit = SpanFit("spans.jsonl")
    fit.add(0, "昨日田中さんは東京にいた", [EntitySpan(2, 4, "PERSON"), EntitySpan(7, 9, "PLACE")])
    assert fit.judge() == []


WORDS = st.text(st.characters(categories=["Lu", "Ll"], exclude_characters="\0"), min_size=1, max_size=6)


@given(st.lists(st.lists(WORDS, min_size=1, max_size=6), min_size=1, max_size=4))
def test_spans_of_words_fit(texts):
    """Spans in characters that begin and end where words do are never doubted."""
    fit = SpanFit("spans.jsonl")
    for row, words in enumerate(texts):
        text, spans = " ".join(words), []
        for number, word in enumerate(words):
            start = len(" ".join(words[:number])) + (number > 0)
            spans.append(EntitySpan(start, start + len(word), "A"))
        fit.add(row, text, spans)
        assert fit.describe_unit(text, [EntitySpan(0, 10**6, "A")]) == ""
    assert fit.judge() == []
