"""JSON is read by the letter and within limits; what a certificate may hold is tested in tests/checking."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.core.strict_json import MAX_INTEGER, JsonLimits, parse_strict_json

LIMITS = JsonLimits(size=10_000, depth=4, members=100, name_length=5)
NUMBERS = st.integers(-MAX_INTEGER, MAX_INTEGER) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(st.none() | st.booleans() | NUMBERS | st.text(), lambda inner: st.lists(inner, max_size=3))


@settings(max_examples=50)
@given(VALUES)
def test_what_python_writes(value):
    """Every value that json writes is read as itself."""
    limits = JsonLimits(size=1 << 20, depth=100, members=10_000)
    assert parse_strict_json(json.dumps(value).encode(), limits) == value


@pytest.mark.parametrize("content", [b"[]", b"3", b'"x"', b"null", b"[[[[]]]]", b'{"names": {"b": [1, 2]}}'])
def test_within_the_limits(content):
    """Values of any kind up to the limits are read."""
    assert parse_strict_json(content, LIMITS) == json.loads(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[[[[[]]]]]", "more than 4 deep"),
        (b"[" * 10_000, "deep in each other|not JSON"),
        (b"[" + b"1," * 100 + b"1]", "more than 100 values"),
        (b'{"a name": 1}', "longer than 5 characters"),
        (b" " * 10_001, "more than 10,000 bytes"),
        (b"[1e400]", "not finite"),
        (b"[-1e400]", "not finite"),
        (b"NaN", "NaN, which is not a JSON number"),
        (b"1" + b"0" * 5_000, "an integer of 5,001 digits"),
        (b'{"a": 1, "a": 1}', "the field 'a' twice"),
        (b"\xff", "not UTF-8"),
        (b"{1: 2}", "not JSON"),
        (b"", "not JSON"),
    ],
)
def test_beyond_them(content, message):
    """Each is told in one short line that continues a sentence."""
    with pytest.raises(ValueError, match=message) as caught:
        parse_strict_json(content, LIMITS)
    assert len(str(caught.value)) < 200
    assert "\n" not in str(caught.value)
