"""The page of a service: static files, and headers under which nothing else is loaded or run."""

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from deniable.measure.report.page import read_style
from deniable.serve.problems import make_json_response

_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_INDEX = "index.html"


def _read_files() -> dict[str, bytes]:
    """Return the files of the page by the paths that they are served under."""
    folder = resources.files(__package__).joinpath("static")
    contents = {file.name: file.read_bytes() for file in folder.iterdir() if file.name.rpartition(".")[2] in _TYPES}
    return {"/" if name == _INDEX else f"/{name}": content for name, content in sorted(contents.items())}


_FILES = _read_files()
PAGE_PATHS = frozenset(_FILES)
"""Paths that hold nothing of anybody, for `deniable.serve.guard.Guard`: the page itself asks for the token."""


def build_policy() -> str:
    """Return the content security policy of the page.

    Scripts and styles come from this service alone, and requests go nowhere else. The frame that shows a report
    inherits the policy: of inline styles only that of a report is allowed, by its hash, and no script runs there.
    """
    style = base64.b64encode(hashlib.sha256(read_style().encode()).digest()).decode()
    directives = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": f"'self' 'sha256-{style}'",
        "connect-src": "'self'",
        "img-src": "'self' data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "report",
    }
    return "; ".join(f"{name} {sources}" for name, sources in directives.items())


def add_page_routes(router: APIRouter, command_options: Sequence[str] = ()) -> None:
    """Add the page and its files.

    Args:
        router: of the application.
        command_options: options of vocabulary and release that the service was started with, for the command that the
            page shows.
    """
    policy = build_policy()

    async def send_file(request: Request) -> Response:
        """Return a file of the page."""
        path = request.scope["path"]  # a URL is put together with the Host header, which may hold anything
        return Response(
            _FILES[path],
            headers={
                "content-security-policy": policy,
                "cross-origin-opener-policy": "same-origin",
                "permissions-policy": "camera=(), geolocation=(), microphone=()",
                "x-frame-options": "DENY",
            },
            media_type=_TYPES["html" if path == "/" else path.rpartition(".")[2]],
        )

    async def describe_page(request: Request) -> Response:  # noqa: ARG001 - the signature of a route
        """Say which options a command needs to do what the service does."""
        return make_json_response({"command_options": list(command_options)})

    for path in sorted(PAGE_PATHS):
        router.get(path, include_in_schema=False)(send_file)
    router.get("/page.json", include_in_schema=False)(describe_page)
