"""The one identity of a person and of a record, made where a column is read.

Programs write one number in several ways: a missing value turns a column of whole numbers into floats, and 17 becomes
17.0. Whoever counted these as two would clip, charge and hold out one person twice, or give one record two noises. So
everything that asks *who* or *which* compares identities, and nothing else:

- a text is itself, with composed characters (NFC) and without white space around it; of a text that is a whole number
  in the form of a float (17.0, 17., 1.7e+01, Java's 1.7E1) the integer counts, and -0 is 0. Leading zeros, 1e5,
  fractions, capitals, invisible and full-width characters stay: no rule guesses;
- a whole number is its digits; a float or decimal is one where it is whole, and a float below the magnitude from which
  two integers may have one float;
- null, NaN and blank text name nobody;
- everything else is refused.

Identities are their own identities: f(f(x)) = f(x).
"""

import math
import re
import unicodedata
from decimal import Decimal

import numpy as np

from deniable.core.errors import InputError

DOUBLE_BITS, _SINGLE_BITS, _HALF_BITS = 53, 24, 11
"""Of the whole numbers that floats of 64, 32 and 16 bits tell from the next."""
_SINGLE_NAMES, _HALF_NAMES = re.compile(r"float32|\bfloat\b"), re.compile(r"float16|\bhalf")
_NUMBER = re.compile(r"(?a)(-?)(\d+)(?:\.(\d*))?(?:([eE]\+|E)(\d{1,3}))?")
"""Sign, digits before and behind the point, and how an exponent is introduced, and it."""
_MAX_EXPONENT = 308
"""Of a finite float of 64 bits."""
_MAX_INTEGER_BITS = 4096
"""Of a whole number that is read: longer ones Python does not write."""
_NULL_KINDS = ("NAType", "NaTType")
"""Classes of the nulls that are neither None nor a float: those of pandas."""


def is_null(cell: object) -> bool:
    """Return whether a cell is None, NaN, or another null of a data frame."""
    kind = type(cell)
    is_pandas_null = kind.__name__ in _NULL_KINDS and kind.__module__.startswith("pandas.")
    return cell is None or (isinstance(cell, (float, np.floating)) and math.isnan(cell)) or is_pandas_null


def make_identity(cell: object, float_bits: int = DOUBLE_BITS) -> str | None:
    """Return the identity of the person or record that a cell names; None where it names nobody.

    Args:
        cell: a text, a whole number, or a null.
        float_bits: floats of the column tell every integer below 2^float_bits, see `count_float_bits`.

    Raises:
        InputError: the cell is of another kind, has a fraction, or is a float that stands for several integers.
    """
    if isinstance(cell, str):
        return _identify_text(cell)
    if is_null(cell):
        return None
    if isinstance(cell, np.floating):
        float_bits = min(float_bits, np.finfo(type(cell)).nmant + 1)
    if isinstance(cell, (float, np.floating)):
        if math.isfinite(cell) and cell == math.floor(cell) and abs(cell) < 2**float_bits:
            return str(int(cell))
    elif isinstance(cell, Decimal):
        # Its exponent may stand for more zeros than memory holds.
        if cell.is_finite() and abs(cell.adjusted()) < _MAX_EXPONENT and cell == cell.to_integral_value():
            return _identify_text(f"{cell:f}")
    elif (
        isinstance(cell, (int, np.integer))
        and not isinstance(cell, bool)
        and int(cell).bit_length() < _MAX_INTEGER_BITS
    ):
        return str(int(cell))
    is_short = isinstance(cell, (float, np.floating, Decimal, bool, np.bool_))
    shown = f"{cell}" if is_short else f"one {type(cell).__name__}"
    raise InputError(
        f"The id of a person or record must be a text or a whole number, as a float below 2^{float_bits}. Got {shown}: "
        "write the column as text, from values that are still exact."
    )


def count_float_bits(kind: object) -> int:
    """Return how many bits of a whole number the floats of a column hold, by the name of its type.

    Args:
        kind: a type of numpy, Arrow, pandas or polars; one that is no float has those of a float of 64 bits.
    """
    name = (kind.name if isinstance(kind, np.dtype) else str(kind)).lower()
    if _HALF_NAMES.search(name):
        return _HALF_BITS
    return _SINGLE_BITS if _SINGLE_NAMES.search(name) else DOUBLE_BITS


def _identify_text(text: str) -> str | None:
    composed = (text if text.isascii() else unicodedata.normalize("NFC", text)).strip()
    if not composed or composed.isalnum():
        return composed or None
    number = _NUMBER.fullmatch(composed)
    return composed if number is None else _find_integer(number) or composed


def _find_integer(number: re.Match[str]) -> str | None:
    """Return the integer that a text stands for which some program wrote as a float; None for any other number."""
    sign, digits, fraction, mark, exponent_digits = number.groups()
    exponent = int(exponent_digits or 0)
    if mark is not None and (len(digits) > 1 or exponent > _MAX_EXPONENT or (mark == "E" and not fraction)):
        return None
    decimals = (fraction or "").ljust(exponent, "0")
    if decimals[exponent:].strip("0"):
        return None
    whole = digits + decimals[:exponent]
    if mark is not None:
        whole = whole.lstrip("0") or "0"
    return whole if whole == "0" else sign + whole
