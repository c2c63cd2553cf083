"""The JSON text of a certificate is read by the letter, and within bounds."""

import json
import time

import pytest

from deniable import InputError
from deniable.checking.document import CERTIFICATE_LIMITS, format_path, parse_certificate
from deniable.core.strict_json import MAX_INTEGER


def test_a_document():
    """Objects, arrays, texts of any script, numbers, truth values and null are read as they stand."""
    fields = {"a": [1, 2.5, -3, None, True, "日本 \u202e"], "b": {"c": {}}, "d": MAX_INTEGER}
    assert parse_certificate(json.dumps(fields).encode()) == fields
    assert parse_certificate(json.dumps(fields, ensure_ascii=False).encode()) == fields


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{} {}", "is not JSON"),
        (b'{"a": 1,}', "is not JSON"),
        (b"{'a': 1}", "is not JSON"),
        (b"3", "not a JSON object"),
        (b"[]", "not a JSON object"),
        (b'{"a": {"b": 1, "b": 1}}', "field 'b' twice"),
        (b'{"a": Infinity}', "holds Infinity"),
        (b'{"a": -Infinity}', "holds -Infinity"),
        (b'{"a": NaN}', "holds NaN"),
        (b'{"a": 1e400}', "not finite"),
        (b'{"a": ' + str(MAX_INTEGER + 1).encode() + b"}", "an integer of 19 digits"),
        (b'{"a": -' + b"9" * 100_000 + b"}", "an integer of 100,001 digits"),
        (b'{"a": ' + b"[" * 12 + b"]" * 12 + b"}", "more than 12 deep"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b'{"a": {"' + b"x" * 201 + b'": 1}}', "longer than 200 characters"),
        (b'{"a": [[' + b"1," * CERTIFICATE_LIMITS.members + b"1]]}", "more than 200,000 values"),
        (b" " * (CERTIFICATE_LIMITS.size + 1), "more than 4,194,304 bytes"),
    ],
)
def test_what_no_command_writes(content, message):
    """Each is refused in one line that says what was found."""
    with pytest.raises(InputError, match=message) as caught:
        parse_certificate(content)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_many_fields_take_no_time():
    """A large object with one field twice is refused at once: the search for it is not quadratic."""
    members = ", ".join(f'"{number}": 0' for number in range(200_000))
    start = time.perf_counter()
    with pytest.raises(InputError, match="field '7' twice"):
        parse_certificate(f'{{{members}, "7": 0}}'.encode())
    assert time.perf_counter() - start < 10


def test_paths_are_told_apart():
    """Names with dots, brackets, quotes or nothing in them are written so that two fields never share a path."""
    steps = [("a", "b"), ("a.b",), ("a", 0), ("a[0]",), ("a b",), (" a",), ("",), ('"',), ("a", "", "b"), (0,), ("0",)]
    assert format_path(("documents", 0, "pure", "norm bound")) == "documents[0].pure.norm bound"
    assert len({format_path(path) for path in steps}) == len(steps)
