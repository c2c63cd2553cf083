"""The JSON text of a certificate that anybody may have written: read strictly, and within bounds."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from deniable.core.errors import InputError, shorten_text

MAX_CERTIFICATE_BYTES = 4 << 20
"""Size of the largest certificate that is read; those that commands write have some kilobytes."""
MAX_DEPTH = 12
"""Objects and arrays inside each other; those that commands write have five."""
MAX_INTEGER = 1 << 62
MAX_NAME_CHARACTERS, MAX_MEMBERS = 200, 200_000
"""Length of a field's name, which is told with each of its values; members of all objects and arrays together."""


def parse_certificate(content: bytes) -> dict[str, Any]:
    """Return the fields of a certificate, read by the letter of JSON.

    Args:
        content: of the file, UTF-8.

    Raises:
        InputError: it is too large or too deep, no JSON object, or holds a key twice or a long one, a number that is
            not finite or an integer beyond 2^62.
    """
    if len(content) > MAX_CERTIFICATE_BYTES:
        raise InputError(
            f"A certificate has at most {MAX_CERTIFICATE_BYTES:,} bytes. Got more: give the JSON file that was written "
            "beside the table."
        )
    try:
        document = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_build_object,
            parse_constant=_refuse_constant,
            parse_float=_parse_float,
            parse_int=_parse_int,
        )
    except UnicodeDecodeError:
        raise InputError("The certificate is not UTF-8: give the file as it was written.") from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"The certificate is no JSON ({error.msg}, line {error.lineno}): give the file as it was written."
        ) from None
    except RecursionError:
        raise _make_depth_error() from None
    if not isinstance(document, dict):
        raise InputError("The certificate is no JSON object: give the JSON file that was written beside the table.")
    _check_shape(document)
    return document


def format_path(steps: Sequence[str | int]) -> str:
    """Return where a value stands in a document: ``documents[0].pure.epsilon``; odd names in quotes."""
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        elif step.replace(" ", "_").isidentifier() and step == step.strip():
            path += f".{step}" if path else step
        else:
            path += f"[{json.dumps(step)}]"
    return path


def _build_object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(members)
    if any(len(name) > MAX_NAME_CHARACTERS for name in fields):
        raise InputError(
            f"The certificate has a field whose name is longer than {MAX_NAME_CHARACTERS} characters: no command "
            "writes that."
        )
    if len(fields) < len(members):
        repeated_name = Counter(name for name, _ in members).most_common(1)[0][0]
        raise InputError(
            f"The certificate has the field {shorten_text(repr(repeated_name))} twice: programs would disagree about "
            "it, and no command writes that."
        )
    return fields


def _refuse_constant(name: str) -> float:
    raise InputError(f"The certificate holds {name}, which is no JSON number: no command writes that.")


def _parse_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise InputError(
            f"The certificate holds the number {shorten_text(digits)}, which is not finite: no command writes that."
        )
    return number


def _parse_int(digits: str) -> int:
    number = int(digits) if len(digits) <= len(str(MAX_INTEGER)) + 1 else MAX_INTEGER + 1
    if abs(number) > MAX_INTEGER:
        raise InputError(f"The certificate holds an integer of {len(digits):,} digits: no command writes that.")
    return number


def _check_shape(document: dict[str, Any]) -> None:
    """Raise `InputError` where values stand deeper in each other than those of any certificate, or are too many."""
    level: list[Any] = [document]
    count = 0
    for _ in range(MAX_DEPTH):
        members = [member for value in level for member in (value.values() if isinstance(value, dict) else value)]
        count += len(members)
        if count > MAX_MEMBERS:
            raise InputError(f"The certificate holds more than {MAX_MEMBERS:,} values: no more are checked.")
        level = [member for member in members if isinstance(member, dict | list)]
        if not level:
            return
    raise _make_depth_error()


def _make_depth_error() -> InputError:
    return InputError(f"The certificate holds values more than {MAX_DEPTH} deep in each other: no command writes that.")
