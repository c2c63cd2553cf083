"""The application: routes, page, guard and errors around one catalogue of offers; and the server that runs it."""

import asyncio
import base64
import contextlib
import hashlib
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from importlib import resources
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from deniable import __version__
from deniable.core.errors import InputError, make_parameter_error
from deniable.ledger import Ledger
from deniable.serve.budgets import CallerBudgets
from deniable.serve.catalogue import Catalogue
from deniable.serve.guard import HEALTH_PATH, Access, Guard
from deniable.serve.offers import WordOffer
from deniable.serve.problems import answer_http_error, answer_validation_error, describe_failure, make_json_response
from deniable.serve.routes import router
from deniable.serve.service import Limits, Service
from deniable.survey.page import read_style
from deniable.text.release import Release

_LOGGER = logging.getLogger("deniable.serve")
_MAX_HEADER_BYTES = 64 << 10
_SWITCH_SECONDS = 0.001
"""How long a thread that computes in Python may keep the event loop waiting."""
_TYPES = {"css": "text/css", "html": "text/html", "js": "text/javascript", "svg": "image/svg+xml"}


def create_app(
    offered: Catalogue | Release,
    *,
    access: Access | None = None,
    limits: Limits | None = None,
    ledger: Ledger | None = None,
    command_options: Sequence[str] = (),
    release_options: Sequence[str] = (),
) -> FastAPI:
    """Return the ASGI application of a service.

    Its laws are prepared when it starts; `run_server` runs it with the limits of connections that an application cannot
    keep.

    Args:
        offered: a release, which is then fixed, or the catalogue of what requests may choose.
        access: who may send requests; None for anybody on this machine.
        limits: what is refused beyond; None for the defaults.
        ledger: counts what callers spend on a fixed release; None for nobody.
        command_options: options of the vocabulary, such as ``--space FILE``, with which a command does the same.
        release_options: options of the release, such as ``--unknown mask``, with which ``deniable privatize`` does.

    Raises:
        InputError: a release with a key or a public seed: noise is always fresh; or a ledger that cannot count it.
    """
    if isinstance(offered, Release):
        offered = Catalogue.fix(WordOffer(offered))
    if not isinstance(offered, Catalogue):
        raise make_parameter_error("create_app", "offered", "a Release or a Catalogue", type(offered).__name__)
    budgets = None
    if ledger is not None:
        if not offered.is_fixed:
            raise InputError("A ledger counts one release: fix it, with --epsilon or --model on the command line.")
        budgets = CallerBudgets(ledger, offered.prepare(offered.default).compute_cost())
    service = Service(offered, limits or Limits(), budgets)

    @contextlib.asynccontextmanager
    async def live(_: FastAPI) -> AsyncIterator[None]:
        asyncio.get_running_loop().set_exception_handler(_log_failure)
        await asyncio.to_thread(offered.prepare, offered.default)
        try:
            yield
        finally:
            service.close()

    app = FastAPI(
        title="deniable",
        summary="Private text, and the proof.",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=live,
        exception_handlers={HTTPException: answer_http_error, RequestValidationError: answer_validation_error},
    )
    app.state.service, app.state.command_options = service, tuple(command_options)
    app.include_router(router)
    files = _add_page(app, [*command_options, *release_options])
    app.add_middleware(Guard, service=service, access=access or Access(), public_paths={*files, HEALTH_PATH})
    return app


def _add_page(app: FastAPI, command_options: Sequence[str]) -> list[str]:
    """Add the page, under headers with which nothing else is loaded or run, and return the paths of its files.

    Scripts and styles come from this service alone, and requests go nowhere else. The frame that shows a report
    inherits the policy: of inline styles only that of a report is allowed, by its hash, and no script runs there.
    The files hold nothing of anybody: the page itself asks for the token.
    """
    style = base64.b64encode(hashlib.sha256(read_style().encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'sha256-{style}'; connect-src 'self'; "
        "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types report"
    )
    headers = {
        "content-security-policy": policy,
        "cross-origin-opener-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
        "x-frame-options": "DENY",
    }
    folder = resources.files(__package__).joinpath("static")
    files = {
        "/" if file.name == "index.html" else f"/{file.name}": (file.read_bytes(), file.name.rpartition(".")[2])
        for file in folder.iterdir()
    }

    async def send_file(request: Request) -> Response:
        """Return a file of the page."""
        content, kind = files[request.scope["path"]]  # a URL is put together with the Host header, which may be any
        return Response(content, headers=headers, media_type=_TYPES[kind])

    async def describe_page() -> Response:
        """Say which options a command needs to do what the service does."""
        return make_json_response({"command_options": list(command_options)})

    for path in sorted(files):
        app.get(path, include_in_schema=False)(send_file)
    app.get("/page.json", include_in_schema=False)(describe_page)
    return [*files]


def _log_failure(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what failed outside any request by type and place; asyncio would log what it says."""
    error = context.get("exception")
    _LOGGER.error("event loop: %s", "failure" if error is None else describe_failure(error))


def run_server(app: FastAPI, listener: socket.socket, announce: Callable[[str], None] = lambda _: None) -> None:
    """Serve an application until SIGTERM or SIGINT; requests in work are finished then, and new ones refused.

    Args:
        app: of `create_app`.
        listener: of `bind_address`; it is closed at the end.
        announce: called with the address, once requests are taken.
    """
    service: Service = app.state.service
    log_to_stderr()
    sys.setswitchinterval(_SWITCH_SECONDS)
    configuration = uvicorn.Config(
        app,
        http="h11",  # which bounds the size of headers
        h11_max_incomplete_event_size=_MAX_HEADER_BYTES,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=service.limits.connections,
        timeout_keep_alive=int(service.limits.idle_seconds),
        timeout_graceful_shutdown=int(service.limits.work_seconds),
    )
    server = _Server(configuration)
    server.announce = lambda: announce(format_address(listener))
    with listener:
        server.run(sockets=[listener])


def bind_address(host: str, port: int) -> socket.socket:
    """Return a socket that has the address, and refuses connections until a server listens on it.

    Args:
        host: name or address of this machine.
        port: 0 for a free one.

    Raises:
        InputError: the address cannot be used.
    """
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        if os.name == "posix":  # elsewhere this option lets two programs have one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"The address {host}:{port} cannot be used: {reason}. Give another --host or --port."
        ) from None
    return listener


def format_address(listener: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def log_to_stderr() -> None:
    """Let errors go to standard error, one line each and without tracebacks, which could show texts.

    Warnings are left out: whoever sends garbage could fill the log with them.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(_LineFormatter())
    for name in ("uvicorn", "deniable.serve", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.ERROR)


class _LineFormatter(logging.Formatter):
    """Writes a record as one line, and of an exception its type alone."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else ""
        line = f"{self.formatTime(record)} {record.levelname} {record.name}: {record.getMessage()} {kind}"
        return " ".join(line.split())


class _Server(uvicorn.Server):
    """Says when it listens."""

    announce: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        self.announce()
