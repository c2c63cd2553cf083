"""JSON lines: which bytes change, which do not, and what is refused."""

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.refusals import refuses
from tests.text.tables.helpers import (
    NEW_COLUMNS,
    constant,
    dropping,
    extended,
    few,
    giving,
    identity,
    many,
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


@few
@given(files())
def test_identity_writes_texts_as_json_dumps_does(file):
    """Released as they are, texts are written as json.dumps writes them and no other byte changes.

    Every object reaches the release once, in order, with its texts and nulls; blank lines do not.
    """
    seen = []
    out, _ = rewritten("jsonl", render(file), recording(seen))
    assert out == render(file, lambda text: text)
    wanted = [
        [("text", piece.text) for piece in pieces if isinstance(piece, Member) and piece.is_text] for pieces in file[1]
    ]
    assert [row.cells for row in seen] == [cells for cells in wanted if cells]


NEW = st.sampled_from(["x", 'a "b"\\', "café ✓", "two\nlines"])


@few
@given(files(), NEW)
def test_only_texts_change(file, new):
    """With other texts exactly the literals of texts differ, and the json module reads what was meant."""
    data = render(file)
    out, _ = rewritten("jsonl", data, constant(new))
    assert out == render(file, lambda _: new)

    def load(data, put):
        lines = [line for line in data.decode("utf-8-sig").split("\n") if line.strip()]
        # The innermost objects come first: those of other columns stay as they are.
        return [repr([put(*pair) for pair in json.loads(line, object_pairs_hook=list)]) for line in lines]

    def meant(key, value):
        return (key, new if key == "text" and isinstance(value, str) and value else value)

    assert load(out, lambda *pair: pair) == load(data, meant)


@few
@given(files(), st.integers(1, 7), st.sampled_from([0, 5, 40]))
def test_chunks_and_windows_do_not_show(file, chunk, window):
    """However few bytes are read and rows taken at a time, the released and the extended table are the same."""
    chunk = max(chunk, 3) if file[0] else chunk
    data = render(file)
    assert rewritten("jsonl", data, constant("ü"), chunk, window) == rewritten("jsonl", data, constant("ü"))
    if not reserved(file):
        assert extended("jsonl", data, mirrored, chunk, window) == extended("jsonl", data)


def reserved(file):
    """Return whether an object has a key that is to be added."""
    members = [piece for pieces in file[1] for piece in pieces if isinstance(piece, Member)]
    return any(json.loads(member.key) in NEW_COLUMNS for member in members)


FREE_FILES = files().filter(lambda file: not reserved(file))


@few
@given(FREE_FILES)
def test_new_members_stand_behind_those_of_every_object(file):
    """Every byte stays, two members come behind the last of each object, and the json module reads what was meant."""
    mark, lines, last = file
    expected = []
    for pieces in lines:
        texts = [piece.text for piece in pieces if isinstance(piece, Member) and piece.is_text]
        raw = "".join(piece if isinstance(piece, str) else piece.value for piece in pieces)
        if texts:
            end = len(raw) - len(pieces[-1])
            members = f', "predicted": {json.dumps(texts[0] or None, ensure_ascii=False)}, "probability": '
            members += f"{len(texts[0]) / 7 % 1.0:.6f}" if texts[0] else "null"
            raw = raw[:end] + members + raw[end:]
        expected.append(raw)
    out = extended("jsonl", render(file))
    assert out == (mark + "\n".join(expected) + last).encode()
    for line in out.decode("utf-8-sig").split("\n"):
        if line.strip():
            assert list(json.loads(line))[-2:] == ["predicted", "probability"]


test_many_identities = many(test_identity_writes_texts_as_json_dumps_does, files())
test_many_new_texts = many(test_only_texts_change, files(), NEW)
test_many_new_members = many(test_new_members_stand_behind_those_of_every_object, FREE_FILES)


def test_lines_as_they_are():
    """Order, spacing, escapes, numbers, nested objects, nulls and empty texts stay; every column named is released."""
    line = b'{ "n":1.0e5,"text" :"a \\u00e9", "x":{"text":"in"},"n":-0 ,"u":"\\ud83d\\ude00"}\r\n'
    out, copied = rewritten("jsonl", line, constant('é"'))
    assert out == line.replace(b'"a \\u00e9"', b'"\xc3\xa9\\""')
    assert copied == ["n", "x", "u"]
    line = b'{"text":null,"id":1}\n{"text":""}\n'
    assert rewritten("jsonl", line, constant("new"))[0] == line
    seen = []
    out, copied = rewritten("jsonl", b'{"b":"x","c":"y","a":"z"}', recording(seen, constant("new")), columns=["a", "b"])
    assert (out, copied) == (b'{"b":"new","c":"y","a":"new"}', ["c"])
    assert seen[0].cells == [("a", "z"), ("b", "x")]


def test_what_stood_there_does_not_show():
    """A new text is escaped alike whether the private one was, and stands in its place also where it is empty."""
    lines = '{"text":"e"}\n{"text":"\\u00e9"}\n{"text":"é"}\n'
    assert rewritten("jsonl", lines.encode(), constant("ü"))[0] == '{"text":"ü"}\n'.encode() * 3
    out, _ = rewritten("jsonl", lines.encode("cp1252"), constant("ü✓"), encoding="cp1252")
    assert out == b'{"text":"\\u00fc\\u2713"}\n' * 3
    empty = giving(lambda rows: ["" for _ in range(len(rows))])
    assert (
        rewritten("jsonl", b'{"text":"secret"}\n{"text":"secret","a":1}', empty)[0] == b'{"text":""}\n{"text":"","a":1}'
    )
    new = giving(lambda rows: ["x" for _ in range(len(rows))])
    out, _ = rewritten("jsonl", b'{"text":""}\n{"text":null}\n', new, replace_empty=True)
    assert out == b'{"text":"x"}\n{"text":null}\n'


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"", "empty"),
        (b"[1]\n", "line 1"),
        (b'{"text":"a"}\n{"text":"a"', "line 2"),
        (b'\n\n{"text" "a"}', "line 3"),
        (b'{text:"a"}', "key"),
        (b'{"text":"a",}', "key"),
        (b'{"text":"a"} x', "line 1"),
        (b'{"text":"a\nb"}', "line 1"),
        (b'{"text":"\\x"}', "line 1"),
        (b'{"text":tru}', "line 1"),
        (b'{"Text":"a","b":1}', "'Text', 'b'"),
        (b"{}", "none"),
        (b'{"text":"a"}\n{"text":5}', "line 2"),
        (b'{"text":["a"]}', "line 1"),
        (b'{"text":{"text":"a"}}', "line 1"),
        (b'{"text":"a","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "line 1"),
        (b'{"text":"a"}\n{"text":"a","te\\u0078t":"b"}', "line 2"),
        (b'{"text":"a","text":null,"b":1}', "'text'"),
        (b'{"text":"a"}\xff', "line 1"),
        (b'{"text":"a"}\n' + b"\n" * 20_000 + b" \r\n" * 10_000 + b'{"text":"a"', "line 30002"),
    ],
)
def test_malformed(data, value):
    """What is no line of JSON with a text is refused, and the line is named, behind many blank ones too."""
    for chunk in (9 if len(data) < 100 else 999, 1 << 22):
        with refuses(value):
            rewritten("jsonl", data, chunk=chunk)


def test_ids():
    """Ids are strings or whole numbers, however these are written, once in every line that needs one."""
    seen = []
    data = b'{"text":"a","id":"x"}\n{"text":"b","id":7}\n{"text":"c","id":1.5e1}\n'
    rewritten("jsonl", data, recording(seen), id_column="id")
    assert [row.record_id for row in seen] == ["x", "7", "15"]
    twice = b'{"text":"a","id":1}\n{"id":2,"text":"a","id":3}'
    assert rewritten("jsonl", twice)[0] == twice
    for table in (twice, b'{"text":"a","id":1}\n{"text":"a"}'):
        with refuses("line 2"):
            rewritten("jsonl", table, id_column="id")


@pytest.mark.parametrize("value", ["null", "NaN", '" "', "true", "[1]", "{}", "1.5", "1e16", "Infinity", "1e400"])
def test_ids_that_are_none(value):
    """An id that is neither a text nor a whole number is refused, and so is a person but one who is missing."""
    table = f'{{"text":"a","who":{value}}}'.encode()
    with refuses("line 1"):
        rewritten("jsonl", table, id_column="who")
    if value not in ("null", "NaN", '" "'):
        with refuses("line 1"):
            rewritten("jsonl", table, person_column="who")


@pytest.mark.parametrize("options", [{}, {"copied": []}])
def test_persons_are_read(options):
    """Whose a record is reaches the release also where the key is left out; null and blanks name nobody, numbers do."""
    seen = []
    persons = ["a", None, "", " ", 0, 0.0, " 0 ", "-0.0"]
    table = "".join(json.dumps({"text": "x", "who": who}) + "\n" for who in persons).encode()
    rewritten("jsonl", table, recording(seen), person_column="who", **options)
    assert [row.person for row in seen] == ["a", None, None, None, "0", "0", "0", "0"]
    with refuses("'who'"):
        rewritten("jsonl", b'{"text": "x"}\n', person_column="who")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"copied": ["a"]}, '{ "a" : 1, "text":"the"}\n{"text":null, "\\u0061":"x"}\n\n'),
        ({"copied": []}, '{ "text":"the"}\n{"text":null}\n\n'),
        ({"copied": ["b"]}, '{ "text":"the" ,"b" :{"a":[1]}}\n{"text":null}\n\n'),
    ],
)
def test_dropped_keys_go_and_every_other_byte_stays(options, line):
    """A member goes with one comma, however its key is escaped, where a line has it; keys of nested objects stay."""
    data = b'{ "a" : 1, "text":"the" ,"b" :{"a":[1]}}\n{"text":null, "\\u0061":"x"}\n\n'
    assert rewritten("jsonl", data, **options)[0].decode() == line


def test_many_keys():
    """Repeated keys are dropped together; one to copy that no line has is told; the list of names has an end."""
    data = b'{"a":1,"text":"the","a":2,"b":3}\n'
    assert rewritten("jsonl", data, copied=["b"]) == (b'{"text":"the","b":3}\n', ["b"])
    lines = "".join(f'{{"text":"a","k{number}":1}}\n' for number in range(2000)).encode()
    out, copied = rewritten("jsonl", lines, copied=["k1999"])
    assert out.endswith(b'{"text":"a"}\n{"text":"a","k1999":1}\n')
    assert copied == ["k1999"]
    assert len(rewritten("jsonl", lines)[1]) < 1500
    with refuses("'nmae'"):
        rewritten("jsonl", lines, copied=["nmae"])


def test_new_members_that_cannot_be():
    """A line with a key of the name is refused; letters that the encoding lacks, or no text holds, are escaped."""
    with refuses("line 2"):
        extended("jsonl", b'{"text": "a"}\n{"predicted": 1, "text": "a"}\n')
    out = extended(
        "jsonl", b'{"text": "\xe9"}\n', lambda rows: [("é✓", 1.0) for _ in range(len(rows))], encoding="cp1252"
    )
    assert out == b'{"text": "\xe9", "predicted": "\\u00e9\\u2713", "probability": 1.000000}\n'
    out = extended("jsonl", b'{"text": "x"}', lambda rows: [("\ud800", 0.5) for _ in range(len(rows))])
    assert json.loads(out)["predicted"] == "\ud800"


def test_blank_lines_and_rows_that_are_not_released():
    """Blank lines stay, in any number; an object that is left out is absent, with its line."""
    data = b'{"text":"a"}\n' + b"\n" * 20_000 + b" \r\n" * 10_000 + b'{"text":"a"}'
    for chunk in (997, 1 << 22):
        assert rewritten("jsonl", data, identity, chunk)[0] == data
    data = b'{"text": "a"}\n\n{"text": "secret"}\n{"text": null}\n'
    out, _ = rewritten("jsonl", data, dropping(lambda row: row.cells[0][1] == "secret"))
    assert out == b'{"text": "a"}\n\n{"text": null}\n'
