"""Errors as clients see them: one line each, as problem details (RFC 9457), and never a text, id or token."""

import http
import json
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

PROBLEM_TYPE = "application/problem+json"
_DETAILS = {
    400: "The body cannot be read as JSON: send one JSON object in UTF-8.",
    404: "There is no such path: see /openapi.json.",
    405: "The path does not take this method.",
}
_MESSAGES = {
    "missing": "it is missing: give it",
    "string_type": "it must be a text",
    "string_unicode": "it must be a text in UTF-8",
    "string_too_short": "it must have at least 1 character",
    "string_too_long": "it must have at most {max_length:,} characters",
    "string_pattern_mismatch": "it must match {pattern}",
    "list_type": "it must be a list",
    "dict_type": "it must be an object",
    "too_short": "it must have at least 1 item",
    "too_long": "it must have at most {max_length:,} items",
    "float_type": "it must be a number",
    "float_parsing": "it must be a number",
    "finite_number": "it must be a finite number",
    "literal_error": "it must be {expected}",
    "json_invalid": "it must be JSON in UTF-8",
    "model_attributes_type": 'it must be a JSON object, such as {{"texts": ["..."]}}',
}
"""What is said of each type of error of pydantic."""


class Problem(HTTPException):
    """A request that is answered by an error.

    Args:
        status: of the response.
        detail: one line: what is wrong and how to fix it. It must not show what the client sent, but for numbers.
        headers: further ones of the response.
    """

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, detail, headers)

    @property
    def fields(self) -> dict[str, Any]:
        """What the body of the response says."""
        title = http.HTTPStatus(self.status_code).phrase
        return {"type": "about:blank", "title": title, "status": self.status_code, "detail": self.detail}

    def to_response(self) -> Response:
        """Return the response."""
        return Response(json.dumps(self.fields), self.status_code, self.headers, PROBLEM_TYPE)


def make_busy_problem(detail: str, retry_seconds: int = 1) -> Problem:
    """Return the problem of a service that has too much to do; it says when to try again."""
    return Problem(503, detail, {"retry-after": str(retry_seconds)})


def make_json_response(content: Any) -> Response:  # noqa: ANN401 - any JSON value
    """Return a response of JSON in ASCII, which any text can be written in."""
    return Response(json.dumps(content, separators=(",", ":"), allow_nan=False), media_type="application/json")


async def answer_http_error(_: Request, error: Exception) -> Response:
    """Return the response to an error of a route, or of what finds the route."""
    if not isinstance(error, Problem) and isinstance(error, HTTPException):
        detail = _DETAILS.get(error.status_code, "The request was refused.")
        error = Problem(error.status_code, detail, error.headers)
    return error.to_response() if isinstance(error, Problem) else Problem(500, "The service failed.").to_response()


async def answer_validation_error(_: Request, error: Exception) -> Response:
    """Return the response to a body or parameter that is not of its model; it shows nothing of the input."""
    errors = error.errors() if isinstance(error, RequestValidationError) else []
    return Problem(422, describe_validation(errors[0]) if errors else "The request is not valid.").to_response()


def describe_validation(error: Mapping[str, Any]) -> str:
    """Return a validation error in one line."""
    if error["type"] == "extra_forbidden":  # its place is a name that the client made up
        return "The body has a field that is not known here: leave it out. See /openapi.json."
    places: Sequence[Any] = error["loc"][1:] if len(error["loc"]) > 1 else error["loc"]
    if error["type"] == "json_invalid":
        places = ["body"]
    shown = [f"item {place}" if isinstance(place, int) else str(place) for place in places]
    message = _MESSAGES.get(error["type"], "it cannot be used").format(**error.get("ctx", {}))
    return f"{', '.join(shown)}: {message}."


def describe_failure(error: BaseException) -> str:
    """Return type and place of an error, and nothing that it says: that may be a text."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "an unknown place"
    return f"{type(error).__name__} at {place}"
