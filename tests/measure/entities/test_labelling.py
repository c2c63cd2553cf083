"""Texts labelled by whatever names their entities: files of spans, files and lists of words, and detectors."""

import dataclasses
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
from tests.refusals import refuses

TEXT = "Anna lives in Berlin."
ANNA, BERLIN = (0, 4, "PERSON"), (14, 20, "CITY")
NAMES_PAGE = (Path(__file__).parents[3] / "docs" / "howto" / "names.md").read_text(encoding="utf-8")


def label(source, *texts, **options):
    """Return the spans of each text as tuples."""
    found = dn.measure.label_entities(source, texts, **options)
    return [[dataclasses.astuple(span) for span in spans] for spans in found]


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
    spans = write(*({"row": row, "start": 0, "end": 4, "kind": "listed"} for row in (0, 2)))
    words = write("Anna", name="n.txt")
    for source in (spans, str(words), ["anna"], {"ANNA"}, detect, Finder()):
        assert label(source, TEXT, None, "anna") == [[(0, 4, "listed")], [], [(0, 4, "listed")]]


@pytest.mark.parametrize(
    "lines",
    [
        [{"row": 1, "start": 0, "end": 4, "kind": "PERSON"}, "", {"row": 1, "start": 14, "end": 20, "kind": "CITY"}],
        [{"row": 1, "entities": [[14, 20, "CITY"], [0, 4, " PERSON "]]}],
        [
            {"entities": []},
            " ",
            {"text": TEXT, "entities": [ANNA, BERLIN], "score": 1},
            {"entities": []},
            {"text": "", "entities": []},
        ],
        [{"id": "b", "column": "text", "entities": [ANNA, BERLIN]}],
        [{"id": "b", "column": "text", "start": 0, "end": 4, "kind": "PERSON"}, {"id": "b", "entities": [BERLIN]}],
    ],
)
def test_the_two_forms(write, lines):
    """One span a line or all spans of a record, named by row, by id or by order, name the same spans."""
    ids = ["a", "b", "c"] if "id" in lines[0] else None
    assert label(write(*lines), "x", TEXT, "y", ids=ids) == [[], [ANNA, BERLIN], []]


def test_ids_and_columns(write):
    """An id that JSON holds as a number is the identity that it has in the table; a column may have another name."""
    for record_id in (17, 17.0, "17.0", " 17"):
        assert label(write({"id": record_id, "entities": [ANNA]}), TEXT, ids=["17"]) == [[ANNA]]
    path = write({"id": "c", "column": "note", "entities": [ANNA]})
    assert label(path, "", TEXT, ids=["a", "c"], column="note") == [[], [ANNA]]
    with refuses("unique"):
        label(path, TEXT, TEXT, ids=["a", "a"], column="note")
    with refuses("'note'"):
        label(path, "", TEXT, ids=["a", "c"])


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


GOOD = {"row": 0, "start": 0, "end": 4, "kind": "P"}


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ('{"row": 0,', "JSON"),
        ('{"row": ' + "9" * 5000 + "}", "JSON"),
        ("[" * 100_000, "JSON"),
        ([GOOD], "object"),
        ("null", "object"),
        ({"start": 0, "end": 4, "kind": "P"}, "record"),
        ({**GOOD, "id": 1}, "by row and by id"),
        ({"id": 1, "start": 0, "end": 4, "kind": "P"}, "by id, line 1 by row"),
        ({"entities": [[0, 1, "P"]]}, "by order, line 1 by row"),
        ({**GOOD, "row": "0"}, "'0'"),
        ({**GOOD, "row": -1}, -1),
        ({**GOOD, "row": True}, True),
        ({**GOOD, "column": 3}, "column"),
        ({**GOOD, "text": 3}, "text"),
        ({"row": 0, "start": 0, "end": 4}, "'kind'"),
        ({"row": 0, "start": 0, "kind": "P"}, "'end'"),
        ({**GOOD, "entities": []}, "entities"),
        ({"row": 0, "entities": {"a": 1}}, "entities"),
        ({"row": 0, "entities": [[0, 4]]}, "entities"),
        ({"row": 0, "entities": [0]}, "entities"),
        ({**GOOD, "start": "0"}, "str"),
        ({**GOOD, "start": True}, "bool"),
        ({**GOOD, "start": -1}, -1),
        ({**GOOD, "end": 4.0}, "float"),
        ({**GOOD, "end": 0}, "from 0 to 0"),
        ({**GOOD, "kind": 5}, "int"),
        ({**GOOD, "kind": "  "}, 0),
        ({**GOOD, "kind": "a\nb"}, 3),
        ({**GOOD, "kind": "x" * 41}, 41),
    ],
)
def test_lines_that_are_no_labels(write, line, value):
    """A line that is no label is named by its number."""
    with refuses(value):
        label(write({"row": 5, "entities": []}, line), TEXT)
    with refuses("s.jsonl line 2"):
        label(write({"row": 5, "entities": []}, line), TEXT)


@pytest.mark.parametrize("odd", [1.5, None, ["a"], True, " "])
def test_ids_of_no_kind(write, odd):
    """An id is a text or a whole number."""
    with refuses("s.jsonl line 1"):
        label(write({"id": odd, "entities": [ANNA]}), TEXT, ids=["a"])


@pytest.mark.parametrize(
    ("lines", "options", "value"),
    [
        ([{"row": 0, "entities": [ANNA]}, GOOD | {"start": 14, "end": 22}], {}, 22),
        ([GOOD, GOOD], {}, "0 to 4 (line 1) and 0 to 4 (line 2)"),
        ([GOOD, GOOD | {"start": 3, "end": 6}], {}, "0 to 4 (line 1) and 3 to 6 (line 2)"),
        ([{"row": 0, "text": "Anna", "entities": [ANNA]}], {}, "line 1 has another text"),
        ([{**GOOD, "text": "other"}, {**GOOD, "text": TEXT, "start": 6, "end": 8}], {}, "line 2"),
        ([{"row": 1, "entities": [ANNA]}], {}, "the row 1"),
        ([GOOD, {"row": 2, "entities": [[0, 1, "P"]]}], {"texts": (TEXT, "x", None)}, "the row 2"),
        ([{"id": "a", "entities": [ANNA]}], {}, "by id"),
        ([{"id": "z", "entities": [ANNA]}], {"ids": ["a"]}, "'z'"),
        ([GOOD | {"column": "note"}], {}, "'note'"),
    ],
)
def test_labels_that_the_table_cannot_have(write, lines, options, value):
    """Labels beyond a text, overlapping ones, and those of no record or column are refused, without a word of it."""
    texts = options.pop("texts", (TEXT,))
    with pytest.raises(dn.InputError) as refused:
        label(write(*lines), *texts, **options)
    assert str(value) in str(refused.value)
    assert "s.jsonl" in str(refused.value)
    assert "Anna" not in str(refused.value).replace(str(value), "")
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
        (lambda _: [(0, 2)], "2 values"),
        (lambda text: [(text, 2, "P")], "str"),
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
