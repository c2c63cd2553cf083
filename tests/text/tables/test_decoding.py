"""Encodings, and what stays of bytes that are not text."""

import codecs
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import InputError
from deniable.text.tables.decoding import DecodedSource
from deniable.text.tables.layout import TableLayout
from tests.text.helpers import constant, extended, identity, rewritten

TABLE = 'id,text,é\n1,"the food, ""é""",ö\r\n2,London,\n'
LINE = '{"text":"the food","id":"ö","é":"é"}\r\n'

ENCODINGS = [
    "utf-8",
    "utf-8-sig",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "latin-1",
    "cp1252",
    "cp037",
    "shift_jis",
    "gb18030",
]


def encodable(text, encoding):
    return text if encoding not in ("shift_jis", "gb18030") else text.replace("é", "日").replace("ö", "本")


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(("kind", "text"), [("csv", TABLE), ("txt", TABLE), ("jsonl", LINE)])
@pytest.mark.parametrize("chunk", [5, 1 << 22])
def test_round_trip(encoding, kind, text, chunk):
    """A file in any encoding is read and written in it, mark and line ends included."""
    text = encodable(text, encoding)
    data = text.encode(encoding)
    assert rewritten(kind, data, identity, chunk, 0, encoding=encoding)[0] == data


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
def test_byte_order(mark):
    """UTF-16 keeps the byte order that its mark tells."""
    codec = "utf-16-le" if mark == codecs.BOM_UTF16_LE else "utf-16-be"
    data = mark + TABLE.encode(codec)
    out, copied = rewritten("csv", data, constant("new"), encoding="utf-16")
    assert out == mark + "id,text,é\n1,new,ö\r\n2,new,\n".encode(codec)
    assert copied == ["id", "é"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("mark", [codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
@pytest.mark.parametrize("chunk", [1, 2])
def test_byte_order_in_short_reads(encoding, mark, chunk):
    """A mark is found where the first reads bring a part of it."""
    codec = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}[mark]
    if codec.startswith(encoding):
        data = mark + TABLE.encode(codec)
        new, _ = rewritten("csv", data, constant("x"), chunk, encoding=encoding)
        assert new == rewritten("csv", data, constant("x"), encoding=encoding)[0]
        assert new.startswith(mark)


def test_characters_that_the_encoding_lacks():
    """A new text is written with question marks, or escapes in JSON, for what the encoding lacks."""
    assert rewritten("csv", b"text\nx\n", constant("caf\xe9 ✓"), encoding="cp1252")[0] == b"text\ncaf\xe9 ?\n"
    assert rewritten("txt", b"x\n", constant("✓ é"), encoding="ascii")[0] == b"? ?\n"
    out, _ = rewritten("jsonl", b'{"text":"x","a":"\xe9"}', constant("é✓"), encoding="cp1252")
    assert out == b'{"text":"\\u00e9\\u2713","a":"\xe9"}'


@pytest.mark.parametrize(("kind", "start"), [("csv", b"text,b\nx,"), ("txt", b""), ("jsonl", b'{"text":"x","b":"')])
@pytest.mark.parametrize("chunk", [4, 1 << 22])
def test_invalid_bytes_are_refused(kind, start, chunk):
    """Bytes that are not in the encoding are refused, and the line is named."""
    with pytest.raises(InputError, match=r"line \d is not valid utf-8 \(byte 0xff\)\. Name the file's encoding"):
        rewritten(kind, start + b"\xff\n", chunk=chunk)


def test_the_line_of_an_invalid_byte():
    """The line that is named is the one with the byte, whatever is read at a time."""
    for chunk in (3, 10, 1 << 22):
        with pytest.raises(InputError, match=r"line 4 is not valid utf-8"):
            rewritten("txt", "é\nüü\n\né\n".encode()[:-2] + b"\xe9\n", chunk=chunk)


def test_a_file_cut_in_a_character():
    """A file that ends in the middle of a character is refused."""
    for encoding, data in (("utf-8", "aé".encode()[:-1]), ("utf-16-le", b"a\0b")):
        with pytest.raises(InputError, match="is not valid"):
            rewritten("txt", data, encoding=encoding)


@pytest.mark.parametrize("name", ["", "utf-9", "undefined", "rot13", "hex", "zlib", "\0", "mbcs"])
def test_unknown_encodings(name):
    """A name that is no text encoding is refused, and others are named."""
    with pytest.raises(InputError, match=r"Unknown encoding .*: try utf-8, utf-16, cp1252 or latin-1"):
        rewritten("txt", b"x\n", encoding=name)


@pytest.mark.parametrize("name", ["idna", "punycode", "utf-32", "utf-7", "hz", "iso2022_jp"])
@given(data=st.binary(min_size=1, max_size=20))
def test_odd_encodings_never_lose_bytes(name, data):
    """With an encoding of any kind a file comes back as it was, or is refused."""
    try:
        out, _ = rewritten("txt", data, identity, encoding=name)
    except InputError:
        return
    assert out == data


@given(
    data=st.binary(max_size=40),
    kind=st.sampled_from(["csv", "tsv", "jsonl", "txt", "parquet"]),
    encoding=st.sampled_from(ENCODINGS),
)
def test_any_bytes(data, kind, encoding):
    """Bytes of any kind are a table or are refused."""
    try:
        out, copied = rewritten(kind, data, identity, encoding=encoding)
    except InputError:
        return
    assert out
    assert "text" not in copied


@given(
    rows=st.lists(
        st.lists(st.sampled_from(['"', ",", "\n", "\r", "a", '""', "é"]), max_size=8).map("".join), max_size=4
    ),
    chunk=st.integers(1, 9),
)
def test_nearly_tables(rows, chunk):
    """What looks like a csv is one, or is refused, whatever is read at a time."""
    data = ("id,text\n" + "\n".join(rows)).encode()
    results = []
    for size in (chunk, 1 << 22):
        try:
            results.append(rewritten("csv", data, constant("x"), size)[0])
        except InputError as error:
            # Of what follows a closing quote only what was read is shown.
            results.append(str(error).partition("closing quote: ")[0])
    assert results[0] == results[1]


@given(
    data=st.binary(max_size=60) | st.sampled_from([b"text,a\nb,c", b'{"text": "a"}', b"text\n\r\r", b"\xfft"]),
    kind=st.sampled_from(["csv", "tsv", "jsonl", "parquet"]),
    encoding=st.sampled_from(ENCODINGS),
)
def test_any_bytes_with_new_columns(data, kind, encoding):
    """Bytes of any kind are a table that can be extended, or are refused."""
    try:
        out = extended(kind, data, lambda rows: [("x", 0.5) for _ in rows], encoding=encoding)
    except InputError:
        return
    assert out.startswith(data[:1])


@pytest.mark.parametrize(
    ("encoding", "text", "is_encodable"), [("cp1252", "é", True), ("cp1252", "✓", False), ("utf-8", "\ud800", False)]
)
def test_what_an_encoding_holds(encoding, text, is_encodable):
    """A character that the encoding lacks is told, and a lone surrogate of which no encoding knows."""
    source = DecodedSource(io.BytesIO(b"text"), TableLayout("the table", encoding=encoding))
    assert source.is_encodable(text) == is_encodable


SHORT = "id,text\n1,hello w\u00f6rld\n"


@pytest.mark.parametrize(
    ("data", "given", "advice"),
    [
        (b"text\n\x81\n", "cp1252", "--encoding latin-1"),
        (SHORT.encode("cp1252"), "utf-8", "--encoding cp1252"),
        (b"text\n\x81\n", "utf-8", "--encoding latin-1"),
        (SHORT.encode(), "ascii", "leave out --encoding"),
        (SHORT.encode() + b"\xff", "ascii", "--encoding cp1252"),
        (b"\xef\xbb\xbf" + SHORT.encode(), "cp1252", "leave out --encoding"),
        (b"\xef\xbb\xbf" + SHORT.encode(), "utf-16", "leave out --encoding"),
        (SHORT.encode("utf-16"), "utf-8", "--encoding utf-16"),
        (SHORT.encode("utf-16"), "utf-16-be", "--encoding utf-16"),
        (SHORT.encode("utf-32"), "utf-8", "--encoding utf-32"),
        (SHORT.encode("utf-16-le"), "utf-8", "--encoding utf-16-le"),
        (SHORT.encode("utf-16-be"), "cp1252", "--encoding utf-16-be"),
        (SHORT.encode("utf-32-be"), "utf-8", "--encoding utf-32-be"),
        (b"id,text\n1,the food in london was good\n", "utf-16", "leave out --encoding"),
    ],
)
@pytest.mark.parametrize("chunk", [3, 1 << 22])
def test_what_is_advised_helps(data, given, advice, chunk):
    """A file in another encoding is refused with one that reads it, which is never the given one."""
    with pytest.raises(InputError, match=f"{advice}(,.*)?\\.$") as raised:
        rewritten("txt", data, chunk=chunk, encoding=given)
    assert f"--encoding {given}." not in str(raised.value)
    advised = re.search(r"--encoding (\S+)\.", str(raised.value))
    encoding = "utf-8" if advised is None else advised[1]
    assert rewritten("txt", data, chunk=chunk, encoding=encoding)[0] == data


@pytest.mark.parametrize("encoding", ["utf-32", "utf-32-le", "utf-32-be"])
def test_four_bytes_a_character(encoding):
    """UTF-32 is read and written as it was, with its mark."""
    data = SHORT.encode(encoding)
    assert rewritten("csv", data, encoding=encoding)[0] == data
