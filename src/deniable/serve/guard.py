"""What every request passes before a route sees it, and what every response gets: access, limits, counts, no leaks."""

import asyncio
import hashlib
import hmac
import logging
import re
from collections.abc import Collection, Mapping
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deniable.core.errors import InputError
from deniable.serve.budgets import ANYBODY
from deniable.serve.problems import Problem, describe_failure, make_busy_problem
from deniable.serve.service import Service

_MIN_TOKEN_LENGTH, _TOKEN = 32, re.compile("[!-~]*")
LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
HEALTH_PATH = "/v1/health"
_READING_METHODS = frozenset({"GET", "HEAD"})
_BODILESS_METHODS = _READING_METHODS | {"OPTIONS"}
_OWN_SITES = frozenset({"same-origin", "none"})
"""Values of Sec-Fetch-Site for this service's own page, and for an address that a person entered."""
_DEFAULT_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""Headers of every response, unless its route sets them."""
_DRAINED_BODIES = 4
"""How many times the largest body is read of one that is too large."""
_CALLER = "deniable.caller"
_LOGGER = logging.getLogger("deniable.serve")


class Access:
    """Who may send requests, under the loopback names and further hosts.

    Args:
        token: that all requests bear; or the tokens of several callers, by their names; None for anybody.
        hosts: further names that a request may call this service by, against DNS rebinding.

    Attributes:
        callers: names of those who may send requests, by the SHA-256 of the token that each bears; none for anybody.
        hosts: all names of the service.

    Raises:
        InputError: a token is too short, has characters that no header can hold, or is that of two callers.
    """

    def __init__(self, token: str | Mapping[str, str] | None = None, hosts: Collection[str] = ()) -> None:
        self.hosts = LOOPBACK_NAMES | {name.lower().strip("[]") for name in hosts}
        self.callers: dict[bytes, str] = {}
        tokens = token if isinstance(token, Mapping) else {} if token is None else {ANYBODY: token}
        for name, one in tokens.items():
            stripped = one.strip()
            if len(stripped) < _MIN_TOKEN_LENGTH or not _TOKEN.fullmatch(stripped):
                raise InputError(
                    f"The token must have at least {_MIN_TOKEN_LENGTH} printable ASCII characters and no space. Got "
                    f"{len(stripped)} characters: make one with: openssl rand -hex 32"
                )
            self.callers[_digest_token(stripped)] = name
        if len(self.callers) < len(tokens):
            raise InputError("Two callers share a token: give each its own.")


class Guard:
    """ASGI middleware around all routes.

    Args:
        app: what it guards.
        service: whose limits and counts it keeps.
        access: who may send requests.
        public_paths: that hold nothing of anybody: a GET of them needs no token, and pages of other sites may link to
            them. Every other path, also one that does not exist, is checked.
    """

    def __init__(self, app: ASGIApp, service: Service, access: Access, public_paths: Collection[str]) -> None:
        self._app, self._service, self._access = app, service, access
        self._public_paths = frozenset(public_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request over HTTP; there are no others, such as web sockets, which would pass unchecked."""
        if scope["type"] != "http":
            is_lifespan = scope["type"] == "lifespan"
            await (self._app(scope, receive, send) if is_lifespan else send({"type": "websocket.close"}))
            return
        status = 0

        async def send_guarded(message: Message) -> None:
            """Send a response with the headers that all have; after an error what was not read may never end."""
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(raw=list(message["headers"]))
                for name, value in _DEFAULT_HEADERS.items():
                    headers.setdefault(name, value)
                if status >= HTTPStatus.BAD_REQUEST and scope["method"] not in _BODILESS_METHODS:
                    headers["connection"] = "close"
                message = {**message, "headers": headers.raw}
            await send(message)

        body = _LimitedBody(receive, self._service)
        self._service.open_requests += 1
        problem: Problem | None = None
        try:
            try:
                self._check(scope)
                await self._app(scope, body.receive, send_guarded)
            except ClientDisconnect:
                pass  # nobody is left to answer
            except Problem as error:
                problem = error
            except Exception as error:  # noqa: BLE001 - no traceback may show a text
                _LOGGER.error("%s %s", _get_route(scope), describe_failure(error))  # noqa: TRY400
                problem = Problem(500, "The service failed on this request; its log says where. No text was released.")
            if problem is not None and not status:  # one that has begun cannot be changed
                await problem.to_response()(scope, receive, send_guarded)
        finally:
            self._service.open_requests -= 1
            self._service.pending_bytes -= body.reserved
            method = scope["method"] if scope["method"] in {"GET", "HEAD", "POST"} else "other"
            self._service.metrics.requests.labels(_get_route(scope), method, status).inc()

    def _check(self, scope: Scope) -> None:
        """Raise `Problem` for a request that must not reach a route."""
        headers = Headers(scope=scope)
        host = _check_host(headers.getlist("host"), self._access.hosts)
        if scope["method"] not in _READING_METHODS or scope["path"] not in self._public_paths:
            _refuse_cross_site(headers, host)
            if self._access.callers:
                scope[_CALLER] = _find_bearer(headers.getlist("authorization"), self._access.callers)
        if scope["method"] == "POST" and not headers.get("content-type", "").lower().startswith("application/json"):
            raise Problem(415, "The content-type must be application/json.")


class _LimitedBody:
    """The body of a request, of limited size, in limited time; what was read of it is reserved until the request ends.

    Problems: 413, too large; 408, too slow; 503, too much is read at a time.
    """

    def __init__(self, receive: Receive, service: Service) -> None:
        self.reserved = 0
        self._receive, self._service = receive, service
        self._size, self._is_complete = 0, False
        self._deadline = asyncio.get_running_loop().time() + service.limits.body_seconds

    async def receive(self) -> Message:
        """Return the next part of the body; after the last one, the end of the connection."""
        if self._is_complete:
            return await self._receive()
        limits = self._service.limits
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive_part()
                # What is too large is thrown away for a while, so that the client gets to read why it is refused.
                while limits.body_bytes < self._size < _DRAINED_BODIES * limits.body_bytes and not self._is_complete:
                    await self._receive_part()
        except TimeoutError:
            detail = f"The body did not arrive within {limits.body_seconds:g} s: send it faster, or send less."
            raise Problem(408, detail) from None
        if self._size > limits.body_bytes:
            raise Problem(413, f"The body must have at most {limits.body_bytes:,} bytes: send several requests.")
        count = len(message.get("body", b""))
        if self._service.pending_bytes + count > limits.pending_bytes:
            raise make_busy_problem("Too many bytes of requests are waiting already: try again later.")
        self._service.pending_bytes += count
        self.reserved += count
        return message

    async def _receive_part(self) -> Message:
        message = await self._receive()
        self._size += len(message.get("body", b""))
        self._is_complete = not message.get("more_body", False)
        return message


def _check_host(values: list[str], allowed: Collection[str]) -> str:
    """Return the Host header of a request.

    Raises:
        Problem: there is not exactly one, or it names a host that is not allowed.
    """
    host = values[0].strip().lower() if len(values) == 1 else ""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    if not name or name not in allowed:
        raise Problem(
            421, "The Host header is not a host of this service: add it with --allow-host, or use a known one."
        )
    return host


def _refuse_cross_site(headers: Headers, host: str) -> None:
    """Raise `Problem` for a request that another site's page made.

    Browsers say so in one of two headers: a GET that a page starts without CORS has no Origin. Programs send neither.
    """
    is_foreign_site = any(site not in _OWN_SITES for site in headers.getlist("sec-fetch-site"))
    is_foreign_origin = any(origin not in {f"http://{host}", f"https://{host}"} for origin in headers.getlist("origin"))
    if is_foreign_site or is_foreign_origin:
        raise Problem(403, "A page of another site may not use this service.")


def _find_bearer(values: list[str], callers: Mapping[bytes, str]) -> str:
    """Return the name of the caller whose token a request bears; the comparison takes the same time for all.

    Raises:
        Problem: it bears none.
    """
    scheme, _, token = (values[0] if len(values) == 1 else "").partition(" ")
    digest = _digest_token(token.strip())
    found = [name for known, name in callers.items() if hmac.compare_digest(digest, known)]
    if not found or scheme.lower() != "bearer":
        detail = "The request must carry the token of this service: Authorization: Bearer TOKEN."
        raise Problem(401, detail, {"www-authenticate": "Bearer"})
    return found[0]


def get_caller(scope: Scope) -> str:
    """Return the name of the caller whose request this is, as the guard found it."""
    return str(scope.get(_CALLER, ANYBODY))


def _digest_token(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _get_route(scope: Scope) -> str:
    """Return the path as the service declares it, ``other`` for one that it does not know."""
    return str(getattr(scope.get("route"), "path", "other"))
