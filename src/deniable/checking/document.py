"""The JSON text of a certificate that anybody may have written: read strictly, and within bounds."""

import json
from collections.abc import Sequence
from typing import Any

from deniable.core.archives import JsonLimits, parse_strict_json
from deniable.core.errors import InputError

CERTIFICATE_LIMITS = JsonLimits(size=4 << 20, depth=12, members=200_000)
"""Certificates that commands write have some kilobytes, five objects and arrays inside each other, and short names."""


def parse_certificate(content: bytes) -> dict[str, Any]:
    """Return the fields of a certificate, read by the letter of JSON.

    Args:
        content: of the file, UTF-8.

    Raises:
        InputError: it is too large or too deep, not a JSON object, or holds a name twice or a long one, a number that
            is not finite or an integer beyond 2^62.
    """
    try:
        document = parse_strict_json(content, CERTIFICATE_LIMITS)
    except ValueError as error:
        raise InputError(f"The certificate {error}: no command writes that, give the file as it was written.") from None
    if not isinstance(document, dict):
        raise InputError("The certificate is not a JSON object: give the JSON file that was written beside the table.")
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
