"""Errors as clients see them: one line each, as problem details (RFC 9457), and never a text, id or token."""

import http
import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

PROBLEM_TYPE = "application/problem+json"


class Problem(Exception):  # noqa: N818 - the name of RFC 9457
    """A request that is answered by an error.

    Args:
        status: of the response.
        detail: one line: what is wrong and how to fix it. It must not show what the client sent, but for numbers.
        headers: further ones of the response.
    """

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, dict(headers or {})

    @property
    def content(self) -> bytes:
        """The body of the response."""
        title = http.HTTPStatus(self.status).phrase
        fields = {"type": "about:blank", "title": title, "status": self.status, "detail": self.detail}
        return json.dumps(fields).encode("ascii")

    def to_response(self) -> Response:
        """Return the response."""
        return Response(self.content, self.status, self.headers, PROBLEM_TYPE)

    def to_bytes(self) -> bytes:
        """Return the response as it is sent where no application is asked; the connection closes after it."""
        headers = {
            **self.headers,
            "content-type": PROBLEM_TYPE,
            "content-length": str(len(self.content)),
            "connection": "close",
        }
        lines = [f"HTTP/1.1 {self.status} {http.HTTPStatus(self.status).phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode("ascii") + self.content


def make_busy_problem(detail: str, retry_seconds: int = 1) -> Problem:
    """Return the problem of a service that has too much to do; it says when to try again."""
    return Problem(503, detail, {"retry-after": str(retry_seconds)})


def make_json_response(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:  # noqa: ANN401 - any JSON value
    """Return a response of JSON in ASCII, which any text can be written in."""
    data = json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii")
    return Response(data, status, headers, "application/json")
