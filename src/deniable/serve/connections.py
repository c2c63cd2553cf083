"""Connections: what uvicorn does not bound, number, headers and trailers, idle time, and clients that do not read."""

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from deniable.serve.limits import Limits
from deniable.serve.problems import Problem, make_busy_problem

MAX_HEADER_BYTES = 64 << 10


def make_protocol(limits: Limits) -> type[HttpToolsProtocol]:
    """Return uvicorn's protocol with these limits."""
    return type("BoundProtocol", (LimitedProtocol,), {"limits": limits})


class LimitedProtocol(HttpToolsProtocol):
    """Ends connections that send no whole headers in time, or do not read their response."""

    limits: ClassVar[Limits]
    _header_timer: asyncio.TimerHandle | None = None
    _reading_timer: asyncio.TimerHandle | None = None
    _fruitless_bytes = 0
    """Bytes since the last end of headers, or part of a body: the parser may have to keep them."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, unless there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self._refuse(make_busy_problem("Too many connections are open: try again later."))
            return
        self._start_header_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_header_timer()
        self._stop_reading_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what arrived, unless headers or trailers are too large."""
        if self.transport.is_closing():
            return
        self._fruitless_bytes += len(data)
        super().data_received(data)
        if self._fruitless_bytes > MAX_HEADER_BYTES:
            self._refuse(Problem(431, f"The headers must have at most {MAX_HEADER_BYTES:,} bytes."))
        elif self._is_between_requests and self._header_timer is None and self.timeout_keep_alive_task is None:
            self._start_header_timer()  # what arrived is no beginning of a request, such as a body that nobody reads

    @property
    def _is_between_requests(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def on_message_begin(self) -> None:
        """Begin to wait for the headers."""
        self._fruitless_bytes = 0
        super().on_message_begin()
        self._start_header_timer()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; one that follows the body tells nothing, and there may be any number of those."""
        if self._header_timer is not None:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start the request."""
        self._fruitless_bytes = 0
        self._stop_header_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._fruitless_bytes = 0
        super().on_body(body)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's own line is not JSON
        """Refuse what is no HTTP."""
        self._refuse(Problem(400, "This is no HTTP request."))

    def pause_writing(self) -> None:
        """Wait until the client has read some of its response."""
        super().pause_writing()
        self._start_reading_timer()

    def resume_writing(self) -> None:
        """Go on with the response."""
        self._stop_reading_timer()
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        """End an idle connection, but not one whose client still reads."""
        if self._reading_timer is None:
            self.transport.abort()  # a client that does not read would keep a closing connection open
        else:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _start_reading_timer(self) -> None:
        unread = self.transport.get_write_buffer_size()
        self._reading_timer = self.loop.call_later(self.limits.idle_seconds, self._check_reading, unread)

    def _stop_reading_timer(self) -> None:
        if self._reading_timer is not None:
            self._reading_timer.cancel()
            self._reading_timer = None

    def _check_reading(self, unread: int) -> None:
        """End the connection of a client that has read nothing for the whole time."""
        if self.transport.get_write_buffer_size() < unread:
            self._start_reading_timer()
        else:
            self.transport.abort()

    def _refuse(self, problem: Problem) -> None:
        self._stop_header_timer()
        if not self.transport.is_closing():
            self.transport.write(problem.to_bytes())
            self.transport.close()

    def _start_header_timer(self) -> None:
        self._stop_header_timer()
        self._header_timer = self.loop.call_later(self.limits.header_seconds, self.transport.abort)

    def _stop_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None
