"""Texts labelled by whatever names their entities: files of spans, files and lists of words, and detectors."""

import gzip
import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.measure.entities.sources import DetectedEntities, build_entity_source, label_table
from deniable.measure.entities.spans import EntitySpan, SpanFit
from tests.refusals import refuses

TEXT = "Anna lives in Berlin."
ANNA, BERLIN = (0, 4, "PERSON"), (14, 20, "CITY")
NAMES_PAGE = (Path(__file__).parents[3] / "docs" / "howto" / "names.md").read_text(encoding="utf-8")


def label(source, *texts):
    """Return the spans of each text as tuples."""
    found = dn.measure.label_entities(source, texts)
    return [[tuple(span) for span in spans] for spans in found]


def find(source, text):
    """Return what a source names in a text, each as its characters and its kind."""
    return [(text[start:end], kind) for start, end, kind in label(source, text)[0]]


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file of spans, one JSON value or text a line, and returns its path."""

    def writing(*lines, name="s.jsonl"):
        path = tmp_path / name
        path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
        return path

    return writing


def detect(text):
    """Return the first word as a name."""
    return [(0, text.index(" ") if " " in text else len(text), "listed")]


class Finder:
    """A detector that is an object."""

    def __call__(self, text):
        return detect(text)


def test_every_source_labels_texts(write):
    """Files of spans and of words, lists of words and detectors name the same spans; a null has none."""
    spans = write(*({"row": row, "entities": [[0, 4, "listed"]]} for row in (0, 2)))
    words = write("Anna", name="n.txt")
    for source in (spans, str(words), ["anna"], {"ANNA"}, detect, Finder()):
        assert label(source, TEXT, None, "anna") == [[(0, 4, "listed")], [], [(0, 4, "listed")]]


@pytest.mark.parametrize(
    "lines",
    [
        [{"row": 1, "entities": [[14, 20, "CITY"], [0, 4, " PERSON "]]}],
        ["", {"row": 1, "column": "text", "text": TEXT, "entities": [ANNA, BERLIN], "score": 1}, " "],
        [{"row": 2, "text": "y", "entities": []}, {"row": 1, "entities": [[14, 17, "CITY"], ANNA, [15, 20, "CITY"]]}],
    ],
)
def test_lines_of_spans(write, lines):
    """All spans of a text stand in one line, in any order; what else is in it is not read; parts of a span are one."""
    assert label(write(*lines), "x", TEXT, "y") == [[], [ANNA, BERLIN], []]


def test_files_of_both_kinds(tmp_path):
    """The ending tells spans from words, compressed ones too; byte order marks and CRLF do not matter."""
    (tmp_path / "s.jsonl").write_bytes(b'\xef\xbb\xbf{"row": 0, "entities": [[0, 4, "PERSON"]]}\r\n\r\n')
    (tmp_path / "s.ndjson.gz").write_bytes(gzip.compress(b'{"row": 0, "entities": [[0, 4, "PERSON"]]}'))
    (tmp_path / "n.txt").write_bytes(b"\xef\xbb\xbfberlin\r\n\r\nanna")
    for name in ("s.jsonl", "s.ndjson.gz"):
        assert label(tmp_path / name, TEXT) == [[ANNA]]
    assert find(tmp_path / "n.txt", TEXT) == [("Anna", "listed"), ("Berlin", "listed")]


def test_spans_that_overlap(write):
    """A name may be part of a longer one of another kind; of a detector's overlapping spans of one kind one is made."""
    assert label(write({"row": 0, "entities": [[0, 20, "CLAIM"], ANNA]}), TEXT) == [[ANNA, (0, 20, "CLAIM")]]
    for detector in (
        lambda _: [(0, 3, "P"), [2, 5, "P"], (1, 2, "Q")],
        lambda _: iter(((2, np.int64(5), "P"), (0, 3, "P"), (1, 2, "Q"))),
    ):
        assert label(detector, "abcdef") == [[(0, 5, "P"), (1, 2, "Q")]]


def test_listed_words_are_found_whole_and_in_any_case():
    """Every occurrence is a span, the longest entry counts; a part of a word is none, nor an invisible character."""
    listed = ["anna", "", "O’Neil", "1,000"]
    found = ["ANNA", "Anna", "o'neil", "1,000", "An\u00adna"]
    assert find(listed, "ANNA's annals: Anna o'neil 1,000 An\u00adna") == [(word, "listed") for word in found]
    assert find(listed, "") == find(listed, "nobody") == []
    listed = ["new york", "New York City", "york", "mary-ann"]
    found = ["New York city", "new York", "York", "Mary Ann"]
    assert [part for part, _ in find(listed, "New York city, new York; York, Mary Ann, new")] == found


@pytest.mark.parametrize("source", [["", " "], ["anna", "--"], ["anna", 5], None, 5, b"anna"])
def test_what_names_no_entities(source):
    """An empty list, an entry without a word, named by its number alone, and whatever is no source are refused."""
    value = type(source).__name__ if not isinstance(source, list) else "entry 2" if source[0] else "empty"
    with refuses(value):
        label(source, TEXT)


@pytest.mark.parametrize(
    ("name", "content", "value"),
    [
        ("s.csv", b"", "s.csv"),
        ("names", b"", "names"),
        ("s.jsonl", b"", "nothing"),
        ("n.txt", b"\n \n", "empty"),
        ("n.txt", b"anna\n...\n", "entry 2"),
        ("s.jsonl", b'{"row": 0, "entities": []}\n', "nothing"),
        ("s.jsonl", b'\n{"row": 0, "kind": "\xff"}', "line 2"),
        ("n.txt", b"anna\nM\xfcller\n", "line 2"),
        ("gone.jsonl", None, "gone.jsonl"),
    ],
)
def test_files_that_are_none(tmp_path, monkeypatch, name, content, value):
    """A file of another kind, an empty one and one of another encoding are refused."""
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path(name).write_bytes(content)
    with refuses(value):
        label(name, TEXT)


GOOD = {"row": 0, "entities": [ANNA]}


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ('{"row": 0,', "JSON"),
        ('{"row": ' + "9" * 5000 + "}", "JSON"),
        ("[" * 100_000, "JSON"),
        ([GOOD], "object"),
        ("null", "object"),
        ({"row": 0, "start": 0, "end": 4, "kind": "P"}, "entities"),
        ({"row": 0, "entities": {"a": 1}}, "entities"),
        ({"entities": []}, "row"),
        ({**GOOD, "row": "0"}, "'0'"),
        ({**GOOD, "row": -1}, -1),
        ({**GOOD, "row": True}, True),
        ({**GOOD, "row": 5}, "line 1"),
        ({**GOOD, "column": 3}, "column"),
        ({**GOOD, "text": 3}, "text"),
        *(
            ({"row": 0, "entities": [entry]}, value)
            for entry, value in (
                ([0, 4], "[int, int]"),
                (0, "int"),
                (["0", 4, "P"], "[str, int, str]"),
                ([True, 4, "P"], "[bool, int, str]"),
                ([-1, 4, "P"], "from -1 to 4"),
                ([0, 4.0, "P"], "[int, float, str]"),
                ([0, 0, "P"], "from 0 to 0"),
                ([0, 4, 5], "[int, int, int]"),
                ([0, 4, "  "], 0),
                ([0, 4, "a\nb"], 3),
                ([0, 4, "x" * 41], 41),
            )
        ),
    ],
)
def test_lines_that_are_no_labels(write, line, value):
    """A line that is no label is named by its number."""
    with refuses(value):
        label(write({"row": 5, "entities": []}, line), TEXT)
    with refuses("s.jsonl line 2"):
        label(write({"row": 5, "entities": []}, line), TEXT)


@pytest.mark.parametrize(
    ("lines", "texts", "value"),
    [
        ([{"row": 0, "entities": [ANNA, [14, 22, "P"]]}], (TEXT,), 22),
        ([{"row": 0, "text": "Anna", "entities": [ANNA]}], (TEXT,), "line 1 has a different text"),
        ([{"row": 1, "entities": [ANNA]}], (TEXT,), "labels row 1"),
        ([GOOD, {"row": 2, "entities": [[0, 1, "P"]]}], (TEXT, "x", None), "labels row 2"),
        ([GOOD | {"column": "note"}], (TEXT,), "'note'"),
    ],
)
def test_labels_that_the_table_cannot_have(write, lines, texts, value):
    """Labels beyond a text, and those of no record or column are refused, without a word of it."""
    with pytest.raises(dn.InputError) as refused:
        label(write(*lines), *texts)
    assert str(value) in str(refused.value)
    assert "s.jsonl" in str(refused.value)
    assert "Anna" not in str(refused.value)
    assert refused.value.__cause__ is None


def _raise(error):
    raise error


@pytest.mark.parametrize(
    ("detector", "value"),
    [
        (lambda text: _raise(ValueError(f"bad {text}")), "ValueError"),
        (lambda text: _raise(SystemExit(text)), "SystemExit"),
        (lambda text: (_raise(KeyError(text)) for _ in "a"), "KeyError"),
        (lambda _: None, "TypeError"),
        (lambda _: 7, "TypeError"),
        (list.append, "TypeError"),
        (lambda text: [text], "str"),
        (lambda _: [(0, 2)], "[int, int]"),
        (lambda text: [(text, 2, "P")], "[str, int, str]"),
        (lambda _: [(3, 2, "P")], "from 3 to 2"),
        (lambda _: [(0, 99, "P")], 99),
        (lambda text: [(0, 2, text * 9)], 54),
    ],
)
def test_a_detector_that_fails(detector, value):
    """A detector that fails or returns nonsense is named with the row, without a word of the text."""
    with pytest.raises(dn.InputError) as refused:
        label(detector, None, "zorkum")
    assert str(value) in str(refused.value)
    assert f"{detector.__qualname__} on row 2" in str(refused.value)
    assert "zorkum" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_user_may_interrupt_a_detector():
    """An interrupt is no failure of the detector."""
    with pytest.raises(KeyboardInterrupt):
        label(lambda _: _raise(KeyboardInterrupt()), "a")


UNITS = {
    "UTF-16": ("\U0001f600 Anna met \U0001f600\U0001f600 Berta twice", lambda text: len(text.encode("utf-16-le")) // 2),
    "bytes of UTF-8": ("Zoë, dear, met Anna in Köln and Berta twice", lambda text: len(text.encode())),
    "from 1": ("so Anna met Berta twice", lambda text: len(text) + 1),
}


@pytest.mark.parametrize("unit", UNITS)
def test_spans_that_are_counted_in_another_unit(write, unit):
    """A file and a detector that count otherwise are refused, and the message says how they seem to count."""
    text, count = UNITS[unit]
    places = [(text.index(name), name) for name in ("Anna", "Berta")]
    spans = [(count(text[:place]), count(text[: place + len(name)]), "PERSON") for place, name in places]
    path = write(*({"row": row, "entities": spans} for row in range(2)))
    beyond = (count(text) - 5, count(text), "PERSON")
    for source in (path, lambda _: spans, lambda _: [beyond]):
        with refuses(unit):
            label(source, text, text)
    assert label(lambda _: [(place, place + len(name), "PERSON") for place, name in places], text, text)


WORDS = st.text(st.characters(categories=["Lu", "Ll"], exclude_characters="\0"), min_size=1, max_size=6)


@settings(max_examples=30)
@given(st.lists(st.lists(WORDS, min_size=1, max_size=6), min_size=1, max_size=4))
@example([["서울에서 김철수는 말했다"]])
def test_spans_of_words_fit(texts):
    """Spans in characters that begin and end where words do are never doubted."""
    found = label(
        lambda text: [(match.start(), match.end(), "A") for match in re.finditer(r"\S+", text)], *map(" ".join, texts)
    )
    assert [len(spans) for spans in found] == [len(" ".join(words).split()) for words in texts]


@pytest.mark.parametrize(
    ("library", "model", "file"),
    [("spacy", "en_core_web_sm", "spacy_names.py"), ("presidio_analyzer", "en_core_web_lg", "presidio_names.py")],
)
def test_adapters_of_the_docs(library, model, file):
    """The adapters that the docs print find a name where the library and the model that it needs are installed."""
    for needed in (library, model):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    (code,) = re.findall(rf'^```python title="{file}"\n(.*?)^```$', NAMES_PAGE, flags=re.MULTILINE | re.DOTALL)
    namespace = {}
    exec(compile(code, file, "exec"), namespace)
    assert ("David Johnson", "PERSON") in find(
        namespace["find_names"], "My name is David Johnson and I live in Berlin."
    )


def test_a_detector_is_asked_for_the_needed_rows_alone(tmp_path):
    """A detector may be slow: it sees the rows that are measured; a file is checked against all."""
    seen, texts, rows = [], ["Anna lives.", None, "anna"], np.array([2], dtype=np.int64)
    source = DetectedEntities(lambda text: seen.append(text) or [(0, 4, "P")], "d")
    assert label_table(source, texts, "text", rows=rows) == [[], [], [EntitySpan(0, 4, "P")]]
    assert seen == ["anna"]
    (tmp_path / "s.jsonl").write_text('{"row": 0, "entities": [[0, 99, "P"]]}\n')
    with refuses(99):
        label_table(build_entity_source(tmp_path / "s.jsonl"), texts, "text", rows=rows)


def test_a_few_spans_inside_words_are_named():
    """Labels of parts of words, and languages that write endings to a name or no spaces, refuse nothing."""
    fit = SpanFit("spans.jsonl")
    fit.add(
        "spans.jsonl line 1", 0, "the Merkelites of Köln", [EntitySpan(4, 10, "PERSON"), EntitySpan(18, 22, "PLACE")]
    )
    fit.add("line 1", 1, "of Köln", [EntitySpan(3, 7, "PLACE")])
    [remark] = fit.judge()
    assert "1 of 3 spans" in remark
    fit = SpanFit("spans.jsonl")
    for row in range(50):
        fit.add(
            "spans.jsonl line 1",
            row,
            "서울에서 김철수는 말했다",
            [EntitySpan(0, 2, "PLACE"), EntitySpan(5, 8, "PERSON")],
        )
    assert len(fit.judge()) == 1
    fit = SpanFit("spans.jsonl")
    fit.add(
        "spans.jsonl line 1", 0, "昨日田中さんは東京にいた", [EntitySpan(2, 4, "PERSON"), EntitySpan(7, 9, "PLACE")]
    )
    assert fit.judge() == []
