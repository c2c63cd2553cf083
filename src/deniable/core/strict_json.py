"""JSON that anybody may have written: read by the letter, and within limits."""

import dataclasses
import json
import math
from collections import Counter
from typing import Any

from deniable.core.errors import shorten_text

MAX_INTEGER = 1 << 62
_MAX_BRACKETS = 200_000
"""Opening brackets of a document, in its texts too: Python takes seconds and much memory to make millions of lists.

Commas are counted for the same reason.
"""


@dataclasses.dataclass(frozen=True)
class JsonLimits:
    """How large a document may be.

    Attributes:
        size: bytes.
        depth: objects and arrays inside each other.
        members: of all objects and arrays together.
        name_length: characters of a field's name.
    """

    size: int
    depth: int
    members: int
    name_length: int = 200


def parse_strict_json(content: bytes, limits: JsonLimits) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of a JSON document.

    Args:
        content: UTF-8.
        limits: of the document.

    Raises:
        ValueError: it is not JSON, exceeds a limit, or holds a name twice, a number that is not finite or an integer
            beyond 2^62. The message continues a sentence that begins with what the document is.
    """
    if len(content) > limits.size:
        raise ValueError(f"has more than {limits.size:,} bytes")
    if content.count(b"[") + content.count(b"{") > _MAX_BRACKETS:
        raise ValueError(f"has more than {_MAX_BRACKETS:,} brackets")
    if content.count(b",") > limits.members:
        raise ValueError(f"holds more than {limits.members:,} values")
    try:
        value = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=lambda members: _build_object(members, limits.name_length),
            parse_constant=_refuse_constant,
            parse_float=_parse_float,
            parse_int=_parse_int,
        )
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON ({error.msg}, line {error.lineno})") from None
    except RecursionError:
        raise _make_depth_error(limits) from None
    _check_shape(value, limits)
    return value


def _build_object(members: list[tuple[str, Any]], name_length: int) -> dict[str, Any]:
    fields = dict(members)
    if any(len(name) > name_length for name in fields):
        raise ValueError(f"has a field whose name is longer than {name_length} characters")
    if len(fields) < len(members):
        repeated_name = Counter(name for name, _ in members).most_common(1)[0][0]
        raise ValueError(
            f"has the field {shorten_text(repr(repeated_name))} twice, about which programs would disagree"
        )
    return fields


def _refuse_constant(name: str) -> float:
    raise ValueError(f"holds {name}, which is not a JSON number")


def _parse_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"holds the number {shorten_text(digits)}, which is not finite")
    return number


def _parse_int(digits: str) -> int:
    number = int(digits) if len(digits) <= len(str(MAX_INTEGER)) + 1 else MAX_INTEGER + 1
    if abs(number) > MAX_INTEGER:
        raise ValueError(f"holds an integer of {len(digits):,} digits")
    return number


def _check_shape(document: Any, limits: JsonLimits) -> None:  # noqa: ANN401 - any JSON value
    """Raise `ValueError` where values are deeper inside each other than the limit, or are too many."""
    level = [document] if isinstance(document, dict | list) else []
    count = 0
    for _ in range(limits.depth):
        members = [member for value in level for member in (value.values() if isinstance(value, dict) else value)]
        count += len(members)
        if count > limits.members:
            raise ValueError(f"holds more than {limits.members:,} values")
        level = [member for member in members if isinstance(member, dict | list)]
        if not level:
            return
    raise _make_depth_error(limits)


def _make_depth_error(limits: JsonLimits) -> ValueError:
    return ValueError(f"holds values more than {limits.depth} deep in each other")
