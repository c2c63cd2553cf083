"""Encodings, and what stays of bytes that are not text."""

import codecs
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from tests.refusals import refuses
from tests.text.tables.helpers import constant, extended, few, identity, many, rewritten

TABLE = 'id,text,é\n1,"the food, ""é""",ö\r\n2,London,\n'
LINE = '{"text":"the food","id":"ö","é":"é"}\r\n'
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be", "latin-1", "cp1252"]
ENCODINGS += ["cp037", "shift_jis", "gb18030"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_round_trip(encoding):
    """A file in any encoding is read and written in it, mark and line ends included."""
    for kind, text in (("csv", TABLE), ("txt", TABLE), ("jsonl", LINE)):
        if encoding in ("shift_jis", "gb18030"):
            text = text.replace("é", "日").replace("ö", "本")  # noqa: PLW2901 - what it can hold
        data = text.encode(encoding)
        for chunk in (5, 1 << 22):
            assert rewritten(kind, data, identity, chunk, 0, encoding=encoding)[0] == data


@pytest.mark.parametrize("codec", ["utf-8", "utf-16-le", "utf-16-be"])
def test_byte_order(codec):
    """The byte order that a mark tells is kept, also where the first reads bring a part of it."""
    mark = {"utf-8": codecs.BOM_UTF8, "utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}[codec]
    for chunk in (1, 2, 1 << 22):
        out, copied = rewritten(
            "csv", mark + TABLE.encode(codec), constant("new"), chunk, encoding=codec[:6].rstrip("-")
        )
        assert out == mark + "id,text,é\n1,new,ö\r\n2,new,\n".encode(codec)
        assert copied == ["id", "é"]


def test_characters_that_the_encoding_lacks():
    """A new text is written with question marks, or escapes in JSON, for what the encoding lacks."""
    assert rewritten("csv", b"text\nx\n", constant("caf\xe9 ✓"), encoding="cp1252")[0] == b"text\ncaf\xe9 ?\n"
    assert rewritten("txt", b"x\n", constant("✓ é"), encoding="ascii")[0] == b"? ?\n"
    out, _ = rewritten("jsonl", b'{"text":"x","a":"\xe9"}', constant("é✓"), encoding="cp1252")
    assert out == b'{"text":"\\u00e9\\u2713","a":"\xe9"}'


@pytest.mark.parametrize(
    ("kind", "data", "options", "value"),
    [
        ("csv", b"text,b\nx,\xff\n", {}, "line 2"),
        ("txt", b"\xff\n", {}, "0xff"),
        ("jsonl", b'{"text":"x","b":"\xff\n', {}, "line 1"),
        ("txt", "é\nüü\n\né\n".encode()[:-2] + b"\xe9\n", {}, "line 4"),
        ("txt", "aé".encode()[:-1], {}, "utf-8"),
        ("txt", b"a\0b", {"encoding": "utf-16-le"}, "utf-16-le"),
        *(("txt", b"x\n", {"encoding": name}, "encoding") for name in ("", "utf-9", "undefined", "rot13", "hex", "\0")),
    ],
)
def test_invalid_bytes_are_refused(kind, data, options, value):
    """Bytes that are not in the encoding are refused by their line, whatever is read at a time; so is no encoding."""
    for chunk in (3, 10, 1 << 22):
        with refuses(value):
            rewritten(kind, data, chunk=chunk, **options)


def release_or_refuse(kind, data, release=identity, chunk=1 << 22, **options):
    """Return a table rewritten, or None where it is refused."""
    try:
        return rewritten(kind, data, release, chunk, **options)[0]
    except dn.InputError:
        return None


BYTES = st.binary(max_size=60) | st.sampled_from([b"text,a\nb,c", b'{"text": "a"}', b"text\n\r\r", b"\xfft"])
KINDS = st.sampled_from(["csv", "tsv", "jsonl", "parquet"])


@few
@given(data=BYTES, kind=KINDS, encoding=st.sampled_from([*ENCODINGS, "idna", "punycode", "utf-7", "hz", "iso2022_jp"]))
def test_any_bytes(data, kind, encoding):
    """Bytes of any kind, in an encoding of any kind, come back, are a table, or are refused."""
    assert release_or_refuse("txt", data, encoding=encoding) in (data, None)
    assert release_or_refuse(kind, data, encoding=encoding) != b""
    with contextlib.suppress(dn.InputError):
        assert extended(kind, data, lambda rows: [("x", 0.5) for _ in range(len(rows))], encoding=encoding).startswith(
            data[:1]
        )


test_many_bytes = many(test_any_bytes, BYTES, KINDS, st.sampled_from(ENCODINGS))
LINES = st.lists(st.lists(st.sampled_from(['"', ",", "\n", "\r", "a", '""', "é"]), max_size=8).map("".join), max_size=4)


@few
@given(LINES, st.integers(1, 9))
def test_nearly_tables(rows, chunk):
    """What looks like a csv is one, or is refused, whatever is read at a time; without quotes every text has rows."""
    data = ("id,text\n" + "\n".join(rows)).encode()
    new = constant("x")
    assert release_or_refuse("csv", data, new, chunk) == release_or_refuse("csv", data, new)
    assert release_or_refuse("csv", data, chunk=chunk, quoting="none") in (data, None)


SHORT = "id,text\n1,hello w\u00f6rld\n"


@pytest.mark.parametrize(
    ("data", "given", "advice"),
    [
        (b"\xef\xbb\xbf" + SHORT.encode(), "cp1252", "utf-8"),
        (b"\xef\xbb\xbf" + SHORT.encode(), "utf-16", "utf-8"),
        (SHORT.encode("utf-16"), "utf-8", "utf-16-le"),
        (SHORT.encode("utf-16"), "utf-16-be", "utf-16-le"),
        (SHORT.encode("utf-32"), "utf-16", "utf-32-le"),
        (SHORT.encode("utf-16-le"), "utf-8", "utf-16-le"),
        (SHORT.encode("utf-16-be"), "cp1252", "utf-16-be"),
        (SHORT.encode("utf-32-be"), "utf-8", "utf-32-be"),
        (b"id,text\n1,the food in london was good\n", "utf-16", "utf-8"),
    ],
)
def test_what_is_advised_helps(data, given, advice):
    """A file that shows its encoding is refused in another one, and read in that."""
    for chunk in (3, 1 << 22):
        with refuses(f"--encoding {advice}"):
            rewritten("txt", data, chunk=chunk, encoding=given)
        assert rewritten("txt", data, chunk=chunk, encoding=advice)[0] == data
