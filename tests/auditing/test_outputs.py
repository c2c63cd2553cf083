"""What a mechanism returned, made comparable: kinds, keys that differ where outputs do, and the last bits of floats."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.auditing.outputs import choose_grid_exponent, count_fractional_bits, parse_outputs, round_to_grid
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("raw", "kind", "shape", "values"),
    [
        ([1, 2], "integer", (), [[1], [2]]),
        ([True, False], "integer", (), [[1], [0]]),
        ([1, 2.5], "real", (), [[1], [2.5]]),
        ([np.float32(0.5), np.int8(3)], "real", (), [[0.5], [3]]),
        ([[1, 2], (3, 4)], "integer", (2,), [[1, 2], [3, 4]]),
        ([np.zeros((2, 2)), np.ones((2, 2))], "real", (2, 2), [[0] * 4, [1] * 4]),
        (np.arange(6.0).reshape(3, 2), "real", (2,), [[0, 1], [2, 3], [4, 5]]),
    ],
)
def test_numbers(raw, kind, shape, values):
    """Numbers become rows of float64, but integers stay what they were: float64 does not tell large ones apart."""
    found = parse_outputs(raw)
    assert (found.kind, found.shape, len(found)) == (kind, shape, len(raw))
    assert (found.values.dtype == np.float64) == (kind == "real")
    assert found.values.tolist() == values
    assert not found.is_textual


@pytest.mark.parametrize(
    ("raw", "kind", "strings"),
    [
        (["a", "b"], "text", ("a", "b")),
        (["a", "b c"], "text", ("a", "b c")),
        (["a", ""], "text", ("a", "")),
        ([["a", "b"], ("c",)], "text", ("a b", "c")),
        ([["a"], []], "text", ("a", "")),
        ([[], ["a"]], "text", ("", "a")),
        (["\u00a0", "e\u0301"], "text", ("\u00a0", "e\u0301")),
    ],
)
def test_texts(raw, kind, strings):
    """Texts stay as they are, lists of tokens are joined, wherever an empty one stands."""
    found = parse_outputs(raw)
    assert (found.kind, found.strings, len(found)) == (kind, strings, len(raw))
    assert found.is_textual


def test_taking_and_appending():
    """Rows are taken in the order asked for, and later outputs follow earlier ones, of the wider kind."""
    numbers, more = parse_outputs([1, 2, 3]), parse_outputs([0.5])
    assert numbers.take(np.array([2, 0])).values.tolist() == [[3], [1]]
    assert numbers.append(more).values.tolist() == [[1], [2], [3], [0.5]]
    assert numbers.append(more).kind == "real"
    words, texts = parse_outputs(["a", "b"]), parse_outputs(["c d"])
    assert words.take(np.array([1, 1])).strings == ("b", "b")
    assert words.append(texts).strings == ("a", "b", "c d")
    for other in (words, parse_outputs([[1.0, 2.0]])):
        with refuses("one kind"):
            numbers.append(other)


SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-3, 3).map(np.int64),
    st.integers(-3, 3).map(np.float32),
    st.sampled_from([0, 0.0, -0.0, 1, True, 1.0, 2**53, float(2**53)]),
)


def name(value):
    """Return what tells any two of these values apart."""
    if isinstance(value, (list, tuple)):
        return type(value), [name(item) for item in value]
    return type(value), repr(value)


@settings(max_examples=30)
@given(st.lists(st.one_of(SCALARS, st.lists(SCALARS, min_size=2, max_size=2)), min_size=2, max_size=12))
def test_keys_are_equal_for_the_same_outputs_only(values):
    """Numbers of any type, one or two in a row, have equal keys exactly if type and repr are equal, in any batch."""
    for length in (None, 2):
        chosen = [value for value in values if (len(value) if isinstance(value, list) else None) == length]
        if not chosen:
            continue
        together = parse_outputs(chosen).keys
        apart = [parse_outputs([value]).keys[0] for value in chosen]
        assert together == apart
        for key, value in zip(together, chosen, strict=True):
            for other_key, other in zip(together, chosen, strict=True):
                assert (key == other_key) == (name(value) == name(other))


@settings(max_examples=20)
@given(st.lists(st.text("a\u00e9e\u0301 \t\ud800"), min_size=2, max_size=6))
def test_keys_of_texts(texts):
    """Texts are what they are, character by character: no normal form, no white space removed."""
    keys = parse_outputs(texts).keys
    assert all((keys[i] == keys[j]) == (texts[i] == texts[j]) for i in range(len(texts)) for j in range(len(texts)))


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1", "-2"], [[1], [-2]]),
        (["1.5", "2e1"], [[1.5], [20.0]]),
        (["1 2", "3,4", "[5, 6]"], [[1, 2], [3, 4], [5, 6]]),
        (["1", "2", "1_0"], [[1], [2], [0]]),
        (["1", "2", "nan"], [[1], [2], [0]]),
        (["1", "\uff11", "2\r"], [[1], [0], [2]]),
        (["1", "a", "b"], [[], [], []]),
        (["a", ""], [[], []]),
        ([str(2**70), "1"], [[2.0**70], [1]]),
    ],
)
def test_numbers_that_texts_hold(texts, values):
    """Texts that are numbers, as most of a batch are, are read as numbers beside what they are."""
    found = parse_outputs(texts)
    assert found.is_textual
    assert found.strings == tuple(texts)
    assert found.values.tolist() == values
    assert found.has_numbers == bool(values[0])
    assert found.read_as_numbers().kind in {"real", "integer"}


def test_rounding_leaves_nothing_but_numbers():
    """Outputs that are rounded have neither forms nor spellings nor a sign of zero."""
    raw = [3, 3.0, np.float32(3), np.int64(3)]
    assert len(set(parse_outputs(raw).keys)) == 4
    assert len(set(parse_outputs(raw).round(-10).keys)) == 1
    assert len(set(parse_outputs([0.0, -0.0, 1e-9]).round(-10).keys)) == 1
    assert len(set(parse_outputs(["3", "3.0", "3e0"]).round(-10).keys)) == 1


# The last bits of floats, against rational arithmetic.


def bits(value):
    """Return the least k with value 2^k an integer, by fractions; 0 for 0."""
    exact = Fraction(value)
    if exact == 0:
        return 0
    if exact.denominator > 1:
        return exact.denominator.bit_length() - 1
    return 1 - (exact.numerator & -exact.numerator).bit_length()


@settings(max_examples=30)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_against_fractions(values):
    """For any finite floats, subnormal ones among them, k is that of rational arithmetic."""
    assert count_fractional_bits(np.array(values)).tolist() == [bits(value) for value in values]


@settings(max_examples=30)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20), st.integers(-300, 300))
def test_rounding_is_to_the_nearest_multiple(values, exponent):
    """Rounded numbers have no bit below the grid, and lie within half a step of what they were."""
    given_values = np.array(values)
    rounded = round_to_grid(given_values, exponent)
    assert (count_fractional_bits(rounded)[rounded != 0] <= -exponent).all()
    for one, other in zip(values, rounded.tolist(), strict=True):
        assert abs(Fraction(one) - Fraction(other)) <= Fraction(2) ** (exponent - 1)


@pytest.mark.parametrize("scale", [1e-200, 7.0])
def test_grid_is_a_millionth_of_the_spread(scale):
    """The step is from 2^-22 to 2^-20 of the least spread of a number that varies, whatever its place and size."""
    noise = np.random.default_rng(0).laplace(scale=scale, size=(2_000, 3)) * [1, 5, 0] + [0, 0, 3 * scale]
    spread = np.median(np.abs(noise[:, 0] - np.median(noise[:, 0])))
    assert 2.0**-22 < math.ldexp(1.0, choose_grid_exponent(noise)) / spread <= 2.0**-20
    assert choose_grid_exponent(np.full((10, 2), scale)) == -20
