"""How an output is given: what its numbers or its words alone would not show.

Two outputs that are equal as numbers may differ for those who get them: 3 and 3.0, True and 1, a list and a tuple,
float32 and float64, a masked number and an open one. An audit that compares numbers alone would miss it.
"""

import decimal
import fractions
from typing import Any

import numpy as np

from deniable.core.errors import InputError, shorten_text

_SCALARS = (bool, int, float, str, decimal.Decimal, fractions.Fraction, np.bool_, np.integer, np.floating)
_ARRAYS = (np.ndarray, np.matrix, np.ma.MaskedArray, type(np.ma.masked))
_MAX_SHOWN_CHARACTERS = 60


def describe_form(output: Any) -> str:  # noqa: ANN401 - whatever a sampler returns
    """Return the type and layout of an output, one property a line; that of a str or a float is its type.

    Raises:
        InputError: an object of which numbers and words are only a part, or none.
    """
    if isinstance(output, np.ndarray):
        return _describe_array(output)
    if isinstance(output, (list, tuple)) and not _has_attributes(output):
        return _describe_sequence(output)
    if not isinstance(output, _SCALARS) or _has_attributes(output):
        raise InputError(
            f"The sampler must return numbers, an array, a text or a list of words. Got {_describe_value(output)}."
        )
    if isinstance(output, decimal.Decimal):
        return f"{_name_type(output)} with exponent {output.as_tuple().exponent}"
    return _name_type(output)


def abbreviate(value: object) -> str:
    """Return an input or output in at most 60 characters, the closing quote or bracket among them."""
    if isinstance(value, np.ndarray):
        if value.size > 1 and value.dtype.kind in "biuf" and (value == value.flat[0]).all():
            return f"{value.flat[0]:g} in all {value.size} places"
        value = value.tolist()
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a value that cannot be shown is shown by its type
        text = f"a {type(value).__name__}"
    return shorten_text(text, _MAX_SHOWN_CHARACTERS)


def _describe_value(output: Any) -> str:  # noqa: ANN401 - whatever a sampler returns
    if output is None:
        return "nothing"
    if type(output).__module__ == "builtins":
        return abbreviate(output)
    return f"a {_name_type(output)}, of which an audit would see a part only: return all that a user receives as these"


def _describe_array(array: Any) -> str:  # noqa: ANN401 - an array of any type
    if type(array) not in _ARRAYS or array.dtype.kind not in "biufU":
        shown = abbreviate(array) if type(array) is np.ndarray else _describe_value(array)
        raise InputError(f"The sampler must return numbers, an array, a text or a list of words. Got {shown}.")
    form = f"{_name_type(array)} {array.dtype.str} {array.shape}"
    if not array.flags.c_contiguous:
        form += f" {array.strides}"
    if isinstance(array, np.ma.MaskedArray) and array is not np.ma.masked:  # which has no fill value
        form += " without a mask" if array.mask is np.ma.nomask else ""
        places = np.flatnonzero(np.ma.getmaskarray(array)).tolist()
        form += "".join([f"\nfill value {array.fill_value!r}", *(f"\nmasked {place}" for place in places)])
    return form


def _describe_sequence(items: Any) -> str:  # noqa: ANN401 - a list or tuple
    """Return the type and length of a list, and the types of its items, one for all where they share a plain one."""
    name = f"{_name_type(items)} of {len(items)}"
    types = set(map(type, items))
    if types <= {str} or types == {np.str_}:
        # "a b", "c" and "a", "b c" are one text when joined.
        is_ambiguous = any(item.split() != [item] for item in items)
        kind = "words" if types <= {str} else "numpy.str_"
        return f"{name} {kind}{f' of lengths {list(map(len, items))}' if is_ambiguous else ''}"
    if len(types) == 1 and types <= {bool, int, float, np.float64, np.int64}:
        return f"{name} {_name_type(items[0])}"
    forms = (describe_form(item).replace("\n", f"\n{place} ") for place, item in enumerate(items))
    return "\n".join([name, *(f"{place} {form}" for place, form in enumerate(forms))])


def _name_type(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _has_attributes(value: object) -> bool:
    """Return whether an object carries more than its value, as members of an enumeration do."""
    has_slots = any(vars(kind).get("__slots__") for kind in type(value).__mro__ if kind not in _SCALARS)
    return has_slots or bool(getattr(value, "__dict__", None))
