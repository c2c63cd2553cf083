"""JSON lines: which bytes change, which do not, and what is refused."""

import dataclasses
import io
import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import InputError
from deniable.text.tables import jsonl
from deniable.text.tables.decoding import DecodedSource
from deniable.text.tables.layout import TableLayout
from tests.text.helpers import (
    NEW_COLUMNS,
    buffers,
    constant,
    dropping,
    extended,
    giving,
    mirrored,
    recording,
    rewritten,
)

VERBATIM = ["1", "-0", "1.0e5", "0.10", "1E400", "12345678901234567890", "NaN", "true", "null", "{ }", "[1 , 2]"]
VERBATIM += ['"a\\/b"', '"\\u0061"', '{"text": "inner"}', '{"text":null,"text":1}', "-Infinity"]


@dataclasses.dataclass(frozen=True)
class Member:
    """One key and its value as they stand in a line, and the text if it is one to release."""

    key: str
    value: str
    text: str | None = None
    is_text: bool = False


def escaped(text):
    """Return a literal that escapes what need not be."""
    return (
        '"'
        + "".join(f"\\u{ord(letter):04x}" if letter.isalpha() else json.dumps(letter)[1:-1] for letter in text)
        + '"'
    )


letters = st.text(st.characters(max_codepoint=0x2FFF, exclude_categories=["Cs"]), max_size=6) | st.just("the food")
spaces = st.text(" \t\r", max_size=2)


@st.composite
def text_members(draw):
    key = draw(st.sampled_from(['"text"', '"te\\u0078t"']))
    if draw(st.integers(0, 5)) == 0:
        return Member(key, "null", None, is_text=True)
    text = draw(letters)
    how = draw(st.sampled_from([json.dumps, escaped, lambda text: json.dumps(text, ensure_ascii=False)]))
    return Member(key, how(text), text, is_text=True)


other_members = st.builds(
    lambda key, value: Member(json.dumps(key), value),
    letters.filter(lambda key: key != "text"),
    st.sampled_from(VERBATIM) | letters.map(json.dumps),
)


@st.composite
def files(draw):
    """Return a mark, and lines as lists of text pieces and members."""
    lines = []
    for _ in range(draw(st.integers(1, 5))):
        if draw(st.integers(0, 5)) == 0:
            lines.append([draw(spaces)])
            continue
        members = [*draw(st.lists(other_members, max_size=3)), draw(text_members())]
        pieces = [draw(spaces) + "{" + draw(spaces)]
        for number, member in enumerate(draw(st.permutations(members))):
            if number:
                pieces.append(draw(spaces) + "," + draw(spaces))
            pieces += [member.key, draw(spaces) + ":" + draw(spaces), member]
        pieces.append(draw(spaces) + "}" + draw(spaces))
        lines.append(pieces)
    last = draw(st.sampled_from(["\n", ""]))
    if not last and lines[-1] == [""]:
        last = "\n"
    return draw(st.sampled_from(["", "\ufeff"])), lines, last


def render(file, release=None):
    """Return the file as it was, or with the literals of its texts written anew."""
    mark, lines, last = file

    def write(piece):
        if isinstance(piece, str):
            return piece
        if release is None or not piece.text:
            return piece.value
        return json.dumps(release(piece.text), ensure_ascii=False)

    return (mark + "\n".join("".join(map(write, pieces)) for pieces in lines) + last).encode()


@given(files())
def test_identity_writes_texts_as_json_dumps_does(file):
    """Released as they are, texts are written as json.dumps writes them and no other byte changes."""
    out, _ = rewritten("jsonl", render(file))
    assert out == render(file, lambda text: text)


@given(files(), st.sampled_from(["x", 'a "b"\\', "café ✓", "two\nlines"]))
def test_only_texts_change(file, new):
    """With other texts exactly the literals of texts differ, and the json module reads what was meant."""
    data = render(file)
    out, _ = rewritten("jsonl", data, constant(new))
    assert out == render(file, lambda _: new)

    def meant(pairs):
        return [(key, new if key == "text" and isinstance(value, str) and value else value) for key, value in pairs]

    def load(data, hook):
        lines = data.decode("utf-8-sig").split("\n")
        # The innermost objects come first: those of other columns stay as they are.
        return [
            repr(json.loads(line, object_pairs_hook=list)) if hook is None else hook(line)
            for line in lines
            if line.strip()
        ]

    def expected(line):
        return repr(meant(json.loads(line, object_pairs_hook=list)))

    assert load(out, None) == load(data, expected)


@given(files())
def test_the_release_sees_the_texts(file):
    """Every object reaches the release once, in order, with its texts and nulls; blank lines do not."""
    seen = []
    rewritten("jsonl", render(file), recording(seen))
    wanted = [
        [("text", piece.text) for piece in pieces if isinstance(piece, Member) and piece.is_text] for pieces in file[1]
    ]
    assert [row.cells for row in seen] == [cells for cells in wanted if cells]


@given(files(), st.integers(1, 7), st.sampled_from([0, 5, 40]))
def test_chunks_and_windows_do_not_show(file, chunk, window):
    """However few bytes are read and characters released at a time, the output is the same."""
    chunk = max(chunk, 3) if file[0] else chunk
    data = render(file)
    assert rewritten("jsonl", data, constant("ü"), chunk, window) == rewritten("jsonl", data, constant("ü"))


def test_line_as_it_is():
    """One line by hand: order, spacing, escapes, numbers, nested objects and repeated keys of other columns stay."""
    line = b'{ "n":1.0e5,"text" :"a \\u00e9", "x":{"text":"in"},"n":-0 ,"u":"\\ud83d\\ude00"}\r\n'
    out, copied = rewritten("jsonl", line, constant('é"'))
    assert out == line.replace(b'"a \\u00e9"', b'"\xc3\xa9\\""')
    assert copied == ["n", "x", "u"]


def test_escapes_do_not_show_what_stood_there():
    """A new text is escaped alike whether the private one was, by what the encoding can hold."""
    lines = ['{"text":"e"}\n', '{"text":"\\u00e9"}\n', '{"text":"é"}\n']
    out, _ = rewritten("jsonl", "".join(lines).encode(), constant("ü"))
    assert out == '{"text":"ü"}\n'.encode() * 3
    out, _ = rewritten("jsonl", "".join(lines).encode("cp1252"), constant("ü✓"), encoding="cp1252")
    assert out == b'{"text":"\\u00fc\\u2713"}\n' * 3


def test_null_and_empty_stay():
    """null and the empty text are no texts to release."""
    line = b'{"text":null,"id":1}\n{"text":""}\n'
    assert rewritten("jsonl", line, constant("new"))[0] == line


def test_empty_texts_are_written_anew_where_they_shall_not_show():
    """With a layout that writes empty texts anew they are written as any other; null stays."""
    out, _ = rewritten(
        "jsonl", b'{"text":""}\n{"text":null}\n', giving(lambda rows: ["x" for _ in rows]), replace_empty=True
    )
    assert out == b'{"text":"x"}\n{"text":null}\n'


def test_a_text_that_loses_every_word_is_not_published():
    """Where the new text is empty, the private one does not stay in its place."""
    out, _ = rewritten("jsonl", b'{"text":"secret"}\n{"text":"secret","a":1}', giving(lambda rows: ["" for _ in rows]))
    assert out == b'{"text":""}\n{"text":"","a":1}'


def test_several_columns():
    """Every column asked for is released, in the order of the line."""
    seen = []
    out, copied = rewritten("jsonl", b'{"b":"x","c":"y","a":"z"}', recording(seen, constant("new")), columns=["a", "b"])
    assert out == b'{"b":"new","c":"y","a":"new"}'
    assert seen[0].cells == [("b", "x"), ("a", "z")]
    assert copied == ["c"]


def test_ids():
    """Ids are strings or whole numbers, however these are written."""
    seen = []
    data = b'{"text":"a","id":"x"}\n{"text":"b","id":7}\n{"text":"c","id":1.5e1}\n'
    rewritten("jsonl", data, recording(seen), id_column="id")
    assert [row.record_id for row in seen] == ["x", "7", "15"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"[1]\n", "line 1 is not a JSON object: it does not begin with"),
        (b'{"text":"a"}\n{"text":"a"', "line 2 is not a JSON object: a comma is expected"),
        (b'\n\n{"text" "a"}', "line 3 .* a colon is expected"),
        (b'{text:"a"}', "a key is expected"),
        (b'{"text":"a",}', "a key is expected"),
        (b'{"text":"a"} x', "text follows the object"),
        (b'{"text":"a\nb"}', "line 1 is not a JSON object"),
        (b'{"text":"\\x"}', "line 1 is not a JSON object"),
        (b'{"text":tru}', "line 1 is not a JSON object"),
        (b'{"Text":"a","b":1}', "line 1 has no column 'text'. Its keys: 'Text', 'b'."),
        (b"{}", "line 1 has no column 'text'. Its keys: none."),
        (b'{"text":"a"}\n{"text":5}', "line 2 has no text in 'text' but 5: it must be a string or null"),
        (b'{"text":["a"]}', "line 1 has no text in 'text'"),
        (b'{"text":{"text":"a"}}', "line 1 has no text in 'text'"),
        (b'{"text":"a","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "line 1 .* nested too deeply"),
        (b'{"text":"a"}\n{"text":"a","te\\u0078t":"b"}', "line 2 has the key 'text' 2 times: give every key once"),
        (b'{"text":"a","text":null,"b":1}', "line 1 has the key 'text' 2 times"),
        (b'{"text":"a"}\xff', "line 1 is not valid utf-8"),
    ],
)
def test_malformed(data, message):
    """What is no line of JSON with a text is refused, and the message names the line."""
    with pytest.raises(InputError, match=message):
        rewritten("jsonl", data)


@pytest.mark.parametrize("value", ["null", "NaN", '" "', "true", "[1]", "{}", "1.5", "1e16", "Infinity", "1e400"])
def test_ids_that_are_none(value):
    """An id that is neither a text nor a whole number is refused, and so is a person but one who is missing."""
    message = r"line 1(, 'who': Persons and records are named by texts or whole numbers| has no record id in 'who')"
    with pytest.raises(InputError, match=message):
        rewritten("jsonl", f'{{"text":"a","who":{value}}}'.encode(), id_column="who")
    if value not in ("null", "NaN", '" "'):
        with pytest.raises(InputError, match=message):
            rewritten("jsonl", f'{{"text":"a","who":{value}}}'.encode(), person_column="who")


def test_an_id_that_comes_twice():
    """Two ids of one object name two streams of noise, and readers differ in which they take: its line is refused."""
    with pytest.raises(InputError, match="line 2 has the key 'id' 2 times: give every key once"):
        rewritten("jsonl", b'{"text":"a","id":1}\n{"id":2,"text":"a","id":3}', id_column="id")
    assert rewritten("jsonl", b'{"id":2,"text":"a","id":3}')[0] == b'{"id":2,"text":"a","id":3}'


def test_a_missing_id():
    """Every line needs its id."""
    with pytest.raises(InputError, match="line 2 has no column 'id', which --id names"):
        rewritten("jsonl", b'{"text":"a","id":1}\n{"text":"a"}', id_column="id")


def test_names_of_copied_columns_are_bounded(monkeypatch):
    """The list of copied keys does not grow without bound."""
    monkeypatch.setattr("deniable.text.tables.jsonl._MAX_REMEMBERED_KEYS", 5)
    lines = "".join(f'{{"text":"a","k{i}":1}}\n' for i in range(50))
    assert len(rewritten("jsonl", lines.encode())[1]) <= 6


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"dropped": ["a"]}, '{ "text":"the" ,"b" :{"a":[1]}}\n{"text":null}\n\n'),
        ({"dropped": ["b"]}, '{ "a" : 1, "text":"the"}\n{"text":null, "a":"x"}\n\n'),
        ({"copied": []}, '{ "text":"the"}\n{"text":null}\n\n'),
        ({"copied": ["b"]}, '{ "text":"the" ,"b" :{"a":[1]}}\n{"text":null}\n\n'),
    ],
)
def test_dropped_keys_go_and_every_other_byte_stays(options, line):
    """A member goes with one comma, however its key is escaped, where a line has it; keys of nested objects stay."""
    data = b'{ "a" : 1, "text":"the" ,"b" :{"a":[1]}}\n{"text":null, "\\u0061":"x"}\n\n'
    expected = line if options != {"dropped": ["b"]} else line.replace('"a":"x"', '"\\u0061":"x"')
    assert rewritten("jsonl", data, **options)[0].decode() == expected


def test_repeated_keys_are_dropped_together():
    """No member of a dropped name is left."""
    data = b'{"a":1,"text":"the","a":2,"b":3}\n'
    assert rewritten("jsonl", data, dropped=["a"]) == (b'{"text":"the","b":3}\n', ["b"])


def test_a_key_to_drop_that_no_line_has(monkeypatch):
    """A misspelled key is told once all lines are read, however many keys there are."""
    data = b'{"text":"the","k1":1,"k2":2}\n{"text":"the","late":1}\n'
    monkeypatch.setattr(jsonl, "_MAX_REMEMBERED_KEYS", 1)
    assert rewritten("jsonl", data, dropped=["late"])[0].endswith(b'{"text":"the"}\n')
    with pytest.raises(InputError, match="has no column 'nmae' to drop"):
        rewritten("jsonl", data, dropped=["nmae"])


def reserved(file):
    """Return whether an object has a key that is to be added."""
    return any(
        isinstance(piece, Member) and json.loads(piece.key) in NEW_COLUMNS for pieces in file[1] for piece in pieces
    )


@given(files().filter(lambda file: not reserved(file)))
def test_new_members_stand_behind_those_of_every_object(file):
    """Every byte stays, two members come behind the last of each object, and the json module reads what was meant."""
    mark, lines, last = file
    expected = []
    for pieces in lines:
        texts = [piece.text for piece in pieces if isinstance(piece, Member) and piece.is_text]
        raw = "".join(piece if isinstance(piece, str) else piece.value for piece in pieces)
        if texts:
            end = len(raw) - len(pieces[-1])
            cells = {"predicted": texts[0] or None, "probability": None}
            members = f', "predicted": {json.dumps(cells["predicted"], ensure_ascii=False)}, "probability": '
            members += f"{len(texts[0]) / 7 % 1.0:.6f}" if texts[0] else "null"
            raw = raw[:end] + members + raw[end:]
        expected.append(raw)
    out = extended("jsonl", render(file))
    assert out == (mark + "\n".join(expected) + last).encode()
    for line in out.decode("utf-8-sig").split("\n"):
        if line.strip():
            assert list(json.loads(line))[-2:] == ["predicted", "probability"]


@given(files().filter(lambda file: not reserved(file)), st.integers(1, 7), st.sampled_from([0, 5, 40]))
def test_chunks_and_windows_do_not_show_in_new_members(file, chunk, window):
    """However few bytes are read and rows taken at a time, the new members are the same."""
    chunk = max(chunk, 3) if file[0] else chunk
    assert extended("jsonl", render(file), mirrored, chunk, window) == extended("jsonl", render(file))


def test_a_new_member_that_exists():
    """A line that has a key of the name is refused, and named."""
    with pytest.raises(InputError, match="the table line 2 has a column 'predicted', which would be added"):
        extended("jsonl", b'{"text": "a"}\n{"predicted": 1, "text": "a"}\n')


def test_a_new_value_that_the_encoding_lacks_is_escaped():
    """A class with letters that the encoding lacks, or a lone surrogate, is written with escapes."""
    out = extended("jsonl", b'{"text": "\xe9"}\n', lambda rows: [("é✓", 1.0) for _ in rows], encoding="cp1252")
    assert out == b'{"text": "\xe9", "predicted": "\\u00e9\\u2713", "probability": 1.000000}\n'
    out = extended("jsonl", b'{"text": "x"}', lambda rows: [("\ud800", 0.5) for _ in rows])
    assert json.loads(out)["predicted"] == "\ud800"


PERSONS = ["a", None, "", " ", 0, 0.0, " 0 ", "-0.0"]


@pytest.mark.parametrize("options", [{}, {"dropped": ["who"]}, {"copied": []}])
def test_persons_are_read(options):
    """Whose a record is reaches the release also where the key is left out; null and blanks name nobody, numbers do."""
    seen = []
    table = "".join(json.dumps({"text": "x", "who": who}) + "\n" for who in PERSONS).encode()
    rewritten("jsonl", table, recording(seen), person_column="who", **options)
    assert [row.person for row in seen] == ["a", None, None, None, "0", "0", "0", "0"]
    with pytest.raises(InputError, match="line 1 has no column 'who', which --person names"):
        rewritten("jsonl", b'{"text": "x"}\n', person_column="who")


blank_parts = st.sampled_from(["\n", " \n", "\r\n", "\t \r\n", '{"text":"a"}\n', '  {"text":"a"}\n', "\n   ", "x\n"])


@given(
    parts=st.lists(blank_parts, max_size=12),
    end=st.sampled_from(["", " ", '{"text":"b"}', " \r"]),
    chunk=st.integers(1, 9),
)
def test_lines_are_numbered_across_blank_ones(parts, end, chunk):
    """Lines come whole, with the numbers that an editor shows, however many blank ones come together."""
    text = "".join(parts) + end
    with buffers(chunk):
        if not text:
            return
        lines = list(jsonl.read_numbered_lines(DecodedSource(io.BytesIO(text.encode()), TableLayout("in"))))
    assert "".join(raw for _, raw in lines) == text
    assert {number: raw for number, raw in lines if raw.strip()} == {
        number: line for number, line in enumerate(re.findall(r"[^\n]*\n|[^\n]+", text), 1) if line.strip()
    }


def test_millions_of_blank_lines_cost_little():
    """Blank lines are read, kept and written in pieces, not one by one, and a line behind them has its number."""
    data = b'{"text":"a"}\n' + b"\n" * 5_000_000 + b" \r\n" * 1_000_000 + b'{"text":"a"}'
    start = time.process_time()
    assert rewritten("jsonl", data)[0] == data
    assert time.process_time() - start < 3
    with pytest.raises(InputError, match="line 6000002 is not a JSON object"):
        rewritten("jsonl", data[:-1])


def test_rows_that_are_not_released_leave_nothing():
    """An object that is left out is absent, with its line."""
    data = b'{"text": "a"}\n\n{"text": "secret"}\n{"text": null}\n'
    out, _ = rewritten("jsonl", data, dropping(lambda row: row.cells[0][1] == "secret"))
    assert out == b'{"text": "a"}\n\n{"text": null}\n'
