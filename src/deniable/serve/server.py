"""Runs an application by uvicorn, with the limits of connections that an application cannot keep."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI

from deniable.core.errors import InputError
from deniable.serve.connections import make_protocol
from deniable.serve.service import Service

_BACKLOG = 2_048
_POLL_SECONDS = 0.05
_CLOSING_SECONDS = 1
"""How long connections may take to close after the time for requests in work is over."""
_SWITCH_SECONDS = 0.001
"""How long a thread that computes in Python may keep the event loop waiting."""


def run_server(app: FastAPI, listener: socket.socket, announce: Callable[[str], None] = lambda _: None) -> None:
    """Serve an application until SIGTERM or SIGINT; requests in work are finished then, and new ones refused.

    Args:
        app: of `create_app`.
        listener: of `bind_address`; it is closed at the end.
        announce: called with the address, once requests are taken.
    """
    service: Service = app.state.service
    limits = service.limits
    log_to_stderr()
    sys.setswitchinterval(_SWITCH_SECONDS)
    configuration = uvicorn.Config(
        app,
        http=make_protocol(limits),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=int(limits.idle_seconds),
        timeout_graceful_shutdown=_CLOSING_SECONDS,
    )
    server = _Server(configuration, service, lambda: announce(format_address(listener)))
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
    listener = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        if os.name == "posix":  # elsewhere this option lets two programs have one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except (OSError, OverflowError) as error:
        if listener is not None:
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
    handler.setFormatter(_LineFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    for name in ("uvicorn", "deniable.serve", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.ERROR)


class _LineFormatter(logging.Formatter):
    """Leaves out what exceptions say."""

    def formatException(self, ei: Any) -> str:  # noqa: ANN401, N802 - logging's own name and type
        """Return the type of an exception."""
        return "" if ei[0] is None else str(ei[0].__name__)

    def formatStack(self, stack_info: str) -> str:  # noqa: ARG002, N802 - the same
        """Return nothing."""
        return ""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line."""
        return " ".join(super().format(record).split())


class _Server(uvicorn.Server):
    """Says where it listens, and refuses new requests for as long as those in work take."""

    def __init__(self, config: uvicorn.Config, service: Service, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._service, self._announce = service, announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say where."""
        await super().startup(sockets)
        self._announce()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals that end the service; unlike uvicorn's, do not raise them again when it has ended well."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        taken = (signal.SIGINT, signal.SIGTERM)
        handlers = {number: signal.signal(number, self.handle_exit) for number in taken}
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a signal handler
        """Begin to drain; a second signal ends the service at once."""
        if self._service.is_draining:
            self.force_exit = True
            self.should_exit = True
            return
        self._service.is_draining = True
        asyncio.get_running_loop().call_soon_threadsafe(self._start_draining)

    def _start_draining(self) -> None:
        self._draining = asyncio.create_task(self._drain())

    async def _drain(self) -> None:
        """End when no request is in work, or when they take too long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._service.limits.work_seconds):
                while self._service.open_requests:  # noqa: ASYNC110 - a count, twenty times a second for a while
                    await asyncio.sleep(_POLL_SECONDS)
        self.should_exit = True
