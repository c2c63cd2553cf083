"""One identity of a person or record, however programs write it."""

import unicodedata
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.core.identity import count_float_bits, is_null, make_identity
from tests.refusals import refuses

SAFE = st.integers(1 - 2**53, 2**53 - 1)


@settings(max_examples=30)
@given(st.one_of(st.text(), st.from_regex(r"\s?-?[0-9]{1,4}(\.[0-9]{0,3})?([eE]\+?[0-9]{1,3})?\s?", fullmatch=True)))
@example("-00.0")
@example("1e+308")
@example("\u2000a\u0308\u2000")
def test_an_identity_is_its_own_identity(text):
    """f(f(x)) = f(x), and composed, decomposed and padded spellings have one identity."""
    identity = make_identity(text)
    assert identity is None or (identity != "" and make_identity(identity) == identity)
    for spelling in (unicodedata.normalize("NFD", text), unicodedata.normalize("NFC", text), f"\t{text}\u00a0"):
        assert make_identity(spelling) == identity


@settings(max_examples=30)
@given(SAFE)
def test_a_whole_number_is_one_in_every_type(number):
    """Python, numpy, C, Java and decimal types write one integer in many ways, and it is one identity."""
    spellings = [number, float(number), np.int64(number), np.float64(number), Decimal(number), str(number)]
    spellings += [f"{number}.0", f"{number}.", f"{number:.2f}", f" {number} ", Decimal(f"{number}.00")]
    spellings += [f"{number:.16e}"] if abs(number) >= 1 else ["0.0e+00"]
    if number % 10**8 == 0 and number:
        spellings.append(f"{Decimal(number).normalize():.1E}".replace("E+", "E"))
    assert {make_identity(spelling) for spelling in spellings} == {str(number)}


@settings(max_examples=30)
@given(st.integers(1, 2**63), st.integers(1, 2**63))
def test_no_two_whole_numbers_are_one(one, other):
    """Two integers have two identities, in digits of any length."""
    assert (make_identity(one) == make_identity(other)) == (one == other)
    assert (make_identity(np.uint64(one)) == make_identity(str(other))) == (one == other)


@pytest.mark.parametrize(
    ("cell", "identity"),
    [
        ("-0", "0"),
        ("1e+16", "10000000000000000"),
        ("1.5E+17", "150000000000000000"),
        ("1.700000000000000000e+01", "17"),
        ("1.2345678E7", "12345678"),
        ("-2.0e+03", "-2000"),
        *((text, text) for text in ("007", "1e5", "1E7", "1.5", "1.5e+00", "0x11", "1_0", "+17", "12e+3", "1e+999")),
        *((text, text) for text in ("１７", "17\u200b", "\ufeff17", "Ann", "ann", "a b", "1.0.0", "1,000", "²")),
        ("\u2003ann\x1f", "ann"),
        (2**70, str(2**70)),
        (np.float16(2047), "2047"),
        *((blank, None) for blank in (None, float("nan"), np.float32("nan"), "", " \u00a0\n")),
    ],
)
def test_what_counts_as_a_number(cell, identity):
    """Whole numbers that programs wrote as floats are integers; nothing else is guessed."""
    assert make_identity(cell) == identity


@pytest.mark.parametrize(
    "cell",
    [1.5, -0.1, float("inf"), 2.0**53, -(2.0**60), np.float32(2**24), np.float16(2048), Decimal("1.5"), Decimal("NaN"),
     Decimal("1e+100000"), True, np.True_, b"17", 10**3000, 1j, (1,), [1], {}, NotImplemented],
    ids=str,
)  # fmt: skip
def test_what_names_nobody_is_refused(cell):
    """Fractions, floats that stand for several integers, truth values, bytes and containers name nobody."""
    with refuses("Got "):
        make_identity(cell)


def test_narrow_floats_tell_fewer_integers():
    """Cells of a column of narrow floats are judged by the column, whose width libraries call by many names."""
    for kind, limit in (("float32", 2**24), (np.dtype(">f4"), 2**24), (np.dtype("f2"), 2**11)):
        bits = count_float_bits(kind)
        assert make_identity(float(limit - 1), bits) == str(limit - 1)
        with refuses("below 2"):
            make_identity(float(limit), bits)
    names = {"halffloat": 11, "Float16": 11, "float": 24, "float[pyarrow]": 24, "Float32": 24, "double": 53, "f": 53}
    names |= {"dictionary<values=float, indices=int32, ordered=0>": 24, "Float64": 53, "string": 53, "category": 53}
    assert {name: count_float_bits(name) for name in names} == names


def test_nulls_of_all_kinds():
    """None, NaN and the nulls of pandas are nulls; blanks, zeros and infinity are none."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert all(map(is_null, (None, float("nan"), np.float64("nan"), np.float32("nan"), pandas.NA, pandas.NaT)))
    assert not any(map(is_null, ("", 0, 0.0, float("inf"), False, "nan", object())))
