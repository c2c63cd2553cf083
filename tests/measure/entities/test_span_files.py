"""Files of spans and of words."""

import gzip
import json

import pytest

from deniable.core.errors import InputError
from deniable.measure.entities.sources import SourceCell
from deniable.measure.entities.span_files import LabelledSpans, read_entity_file
from deniable.measure.entities.spans import EntitySpan

TEXT = "Anna lives in Berlin."
ANNA, BERLIN = EntitySpan(0, 4, "PERSON"), EntitySpan(14, 20, "CITY")


def labels(*objects):
    """Return a file's source of labels."""
    return LabelledSpans("s.jsonl", [line if isinstance(line, str) else json.dumps(line) for line in objects])


def ask(source, *texts, ids=None, column="text", escapes=None, columns=("text",)):
    """Return the spans of all texts, asked for as a table is read."""
    source.check_table(columns, has_ids=ids is not None)
    found = [
        source.find_spans(SourceCell(row, None if ids is None else ids[row], column, text), escapes)
        for row, text in enumerate(texts)
        if text is not None
    ]
    source.check_complete()
    return found


@pytest.mark.parametrize(
    "objects",
    [
        [{"row": 1, "start": 0, "end": 4, "kind": "PERSON"}, "", {"row": 1, "start": 14, "end": 20, "kind": "CITY"}],
        [{"row": 1, "entities": [[14, 20, "CITY"], [0, 4, "PERSON"]]}],
        [{"entities": []}, " ", {"text": TEXT, "entities": [[0, 4, "PERSON"], [14, 20, "CITY"]], "score": 1}],
        [{"id": "b", "column": "text", "entities": [[0, 4, "PERSON"], [14, 20, "CITY"]]}],
        [{"id": "b", "column": "text", "start": 0, "end": 4, "kind": "PERSON"},
         {"id": "b", "start": 14, "end": 20, "kind": "CITY"}],
    ],
)  # fmt: skip
def test_the_two_forms(objects):
    """One span a line or all spans of a record, named by row, by id or by order, name the same spans."""
    assert ask(labels(*objects), "x", TEXT, "y", ids=["a", "b", "c"]) == [[], [ANNA, BERLIN], []]


def test_ids_that_are_numbers():
    """An id that JSON holds as a number is the identity that it has in the table."""
    for record_id in (17, 17.0, "17.0", " 17"):
        assert ask(labels({"id": record_id, "entities": [[0, 4, "PERSON"]]}), TEXT, ids=["17"]) == [[ANNA]]


def test_columns_are_told_apart():
    """In a table of several text columns a label belongs to the column that it names."""
    source = labels({"row": 0, "column": "b", "entities": [[0, 4, "PERSON"]]})
    source.check_table(["a", "b"], has_ids=False)
    assert source.find_spans(SourceCell(0, None, "a", TEXT)) == []
    assert source.find_spans(SourceCell(0, None, "b", TEXT)) == [ANNA]
    source.check_complete()


def test_positions_are_those_of_the_cell():
    """Labels count the characters of the cell as it stands; their spans are those of the decoded text."""
    cell = "&lt;O&#039;Neil&gt; &amp; &#1;Anna"
    neil, anna, tail = cell.index("O&"), cell.index("Anna"), cell.index("&#1;")
    entities = [[neil, neil + len("O&#039;Neil"), "P"], [anna, len(cell), "P"], [2, 6, "Q"], [tail, tail + 4, "R"]]
    source = labels({"row": 0, "entities": entities})
    decoded = "<O'Neil> & Anna"
    spans = ask(source, cell, escapes="html")[0]
    assert [(decoded[span.start : span.end], span.kind) for span in spans] == [
        ("<O'", "Q"),  # from within one entity to within another
        ("O'Neil", "P"),
        ("", "R"),
        ("Anna", "P"),
    ]
    assert ask(labels({"row": 0, "entities": [entities[0]]}), cell)[0] == [EntitySpan(*entities[0])]


def test_files_of_both_kinds(tmp_path):
    """The ending tells spans from words, compressed ones too; byte order marks and CRLF do not matter."""
    (tmp_path / "s.jsonl").write_bytes(b'\xef\xbb\xbf{"row": 0, "entities": [[0, 4, "PERSON"]]}\r\n\r\n')
    (tmp_path / "s.ndjson.gz").write_bytes(gzip.compress(b'{"row": 0, "entities": [[0, 4, "PERSON"]]}'))
    (tmp_path / "n.txt").write_bytes(b"\xef\xbb\xbfberlin\r\n\r\nanna")
    for name in ("s.jsonl", "s.ndjson.gz"):
        assert ask(read_entity_file(str(tmp_path / name)), TEXT) == [[ANNA]]
    assert [(span.start, span.end) for span in ask(read_entity_file(str(tmp_path / "n.txt")), TEXT)[0]] == [
        (0, 4),
        (14, 20),
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "s.csv",
            b"",
            "must be a .jsonl file of spans, a .txt file of words, or a detector as package.module:callable",
        ),
        ("names", b"", "must be a .jsonl file of spans"),
        ("s.jsonl", b"", "s.jsonl labels nothing"),
        ("n.txt", b"\n \n", "n.txt is empty"),
        ("n.txt", b"anna\n...\n", "n.txt must hold words. Got none in entry 2"),
        ("s.jsonl", b'{"row": 0, "entities": []}\n', "s.jsonl labels nothing"),
        ("s.jsonl", b'\n{"row": 0, "kind": "\xff"}', "s.jsonl line 2 is not UTF-8"),
        ("n.txt", b"anna\nM\xfcller\n", "n.txt line 2 is not UTF-8"),
        ("gone.jsonl", None, "are no file: give the path of one"),
    ],
)
def test_files_that_are_none(tmp_path, monkeypatch, name, content, message):
    """A file of another kind, an empty one and one of another encoding are refused in one line."""
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_entity_file(name)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


GOOD = {"row": 0, "start": 0, "end": 4, "kind": "P"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"row": 0,', "line 2 is not JSON (Expecting property name"),
        ('{"row": ' + "9" * 5000 + "}", "line 2 is not JSON"),
        ("[" * 100_000, "line 2 is not JSON"),
        ([GOOD], "line 2 is no object"),
        ("null", "line 2 is no object"),
        ({"start": 0, "end": 4, "kind": "P"}, 'line 2 names no record: write {"row": 0'),
        ({**GOOD, "id": 1}, "line 2 names a record by row and by id"),
        ({"id": 1, "start": 0, "end": 4, "kind": "P"}, "line 2 names its record by id, line 1 by row"),
        ({"entities": [[0, 1, "P"]]}, "line 2 names its record by order, line 1 by row"),
        ({**GOOD, "row": "0"}, "line 2: 'row' must be an integer from 0 on. Got '0'"),
        ({**GOOD, "row": -1}, "line 2: 'row' must be an integer from 0 on. Got -1"),
        ({**GOOD, "row": True}, "line 2: 'row' must be an integer from 0 on. Got True"),
        ({**GOOD, "column": 3}, 'line 2: "column" must be a name. Got int'),
        ({**GOOD, "text": 3}, 'line 2: "text" must be the text of the cell. Got int'),
        ({"row": 0, "start": 0, "end": 4}, "line 2 has no 'kind'"),
        ({"row": 0, "start": 0, "kind": "P"}, "line 2 has no 'end'"),
        ({**GOOD, "entities": []}, 'line 2 has "start" and "entities"'),
        ({"row": 0, "entities": {"a": 1}}, 'line 2: "entities" must be a list of [start, end, kind]'),
        ({"row": 0, "entities": [[0, 4]]}, 'line 2: "entities" must be a list of [start, end, kind]'),
        ({"row": 0, "entities": [0]}, 'line 2: "entities" must be a list of [start, end, kind]'),
        ({**GOOD, "start": "0"}, "line 2: the start of a span must be an integer. Got str"),
        ({**GOOD, "end": 0}, "line 2: a span from 0 to 0 holds no character"),
        ({**GOOD, "kind": 5}, "line 2: the kind of a span must be a text. Got int"),
    ],
)
def test_lines_that_are_no_labels(line, message):
    """A line that is no label is named by its number, in one line."""
    with pytest.raises(InputError) as refused:
        labels({"row": 5, "entities": []}, line)
    assert f"s.jsonl {message}" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_ids_of_no_kind():
    """An id is a text or a whole number."""
    for odd in (1.5, None, ["a"], True, " "):
        with pytest.raises(InputError, match=r"s\.jsonl line 1: ('id' must name a record|.* whole numbers.* Got )"):
            labels({"id": odd, "entities": [[0, 4, "P"]]})


@pytest.mark.parametrize(
    ("objects", "table", "message"),
    [
        ([{"row": 0, "entities": [[0, 4, "P"]]}, GOOD | {"start": 14, "end": 22}], {}, "a span ends at 22"),
        ([GOOD, GOOD], {}, "two spans of the kind 'P' that overlap, 0 to 4 (line 1) and 0 to 4 (line 2)"),
        ([GOOD, GOOD | {"start": 3, "end": 6}], {}, "overlap, 0 to 4 (line 1) and 3 to 6 (line 2)"),
        ([{"row": 0, "text": "Anna", "entities": [[0, 4, "P"]]}], {}, "line 1 has another text than row 0"),
        ([{"row": 1, "entities": [[0, 4, "P"]]}], {}, "line 1 labels the row 1, of which the table has no text"),
        ([GOOD, {"row": 2, "entities": [[0, 1, "P"]]}], {"texts": (TEXT, "x", None)}, "line 2 labels the row 2, of"),
        ([{"id": "a", "entities": [[0, 4, "P"]]}], {}, "names records by id: name the table's column of ids"),
        ([{"id": "z", "entities": [[0, 4, "P"]]}], {"ids": ["a"]}, "line 1 labels the record 'z', of which"),
        ([{"id": "a", "entities": [[0, 4, "P"]]}], {"ids": ["a", "a"], "texts": (TEXT, TEXT)}, "the table has twice"),
        ([GOOD | {"column": "note"}], {}, "line 1 names the column 'note', which is no text column of this run"),
        ([GOOD], {"columns": ("text", "note")}, "line 1 names no column: add \"column\", one of 'text', 'note'"),
    ],
)  # fmt: skip
def test_labels_that_the_table_cannot_have(objects, table, message):
    """Labels beyond a text, overlapping ones, and those of no record or column are refused with their lines."""
    texts = table.pop("texts", (TEXT,))
    with pytest.raises(InputError) as refused:
        ask(labels(*objects), *texts, **table)
    assert message in str(refused.value)
    assert str(refused.value).startswith("s.jsonl ")
    assert "Anna" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_spans_of_two_kinds_may_overlap():
    """A name may be part of a longer one of another kind."""
    source = labels({"row": 0, "entities": [[0, 20, "CLAIM"], [0, 4, "PERSON"]]})
    assert ask(source, TEXT) == [[ANNA, EntitySpan(0, 20, "CLAIM")]]


def test_a_text_without_labels_may_be_missing():
    """A line without spans, as exports have for every record, asks for nothing."""
    assert ask(labels({"entities": [[0, 4, "PERSON"]]}, {"text": "", "entities": []}), TEXT) == [[ANNA]]


def test_two_lines_of_one_record_with_different_texts():
    """A text that is not the cell's is noticed also where another line of the record has the right one."""
    one = {"row": 0, "text": "other", "start": 0, "end": 1, "kind": "A"}
    with pytest.raises(InputError, match='line 2: "text" differs from that of line 1, of the same record'):
        labels(one, {**one, "text": TEXT, "start": 2, "end": 3})
