"""What every request passes before a route sees it, and what every response gets: access, limits, counts, no leaks."""

import dataclasses
import hashlib
import hmac
import logging
import traceback
from collections.abc import Collection, Iterable, Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deniable.core.errors import InputError
from deniable.serve.budgets import ANYBODY
from deniable.serve.problems import Problem, make_busy_problem
from deniable.serve.service import Service

MIN_TOKEN_LENGTH = 32
LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
HEALTH_PATH = "/v1/health"
_READING_METHODS = frozenset({"GET", "HEAD"})
_BODILESS_METHODS = _READING_METHODS | {"OPTIONS"}
_OWN_SITES = frozenset({"same-origin", "none"})
"""Values of Sec-Fetch-Site for this service's own page, and for an address that a person entered."""
_DEFAULT_HEADERS = {
    b"cache-control": b"no-store",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"cross-origin-resource-policy": b"same-origin",
    b"referrer-policy": b"no-referrer",
    b"x-content-type-options": b"nosniff",
}
"""Headers of every response, unless its route sets them."""
_CALLER = "deniable.caller"
_LOGGER = logging.getLogger("deniable.serve")


@dataclasses.dataclass(frozen=True)
class Access:
    """Who may send requests.

    Attributes:
        callers: names of those who may send requests, by the SHA-256 of the token that each bears; none for anybody.
        hosts: names that a request may call this service by, against DNS rebinding.
    """

    callers: Mapping[bytes, str] = dataclasses.field(default_factory=dict, repr=False)
    hosts: frozenset[str] = LOOPBACK_NAMES

    @classmethod
    def of(cls, token: str | Mapping[str, str] | None = None, hosts: Collection[str] = ()) -> "Access":
        """Return the access for a token, under the loopback names and further hosts.

        Args:
            token: that all requests bear; or the tokens of several callers, by their names; None for none.
            hosts: further names of the service.

        Raises:
            InputError: a token is too short, has characters that no header can hold, or is that of two callers.
        """
        names = LOOPBACK_NAMES | {name.lower().strip("[]") for name in hosts}
        tokens = token if isinstance(token, Mapping) else {} if token is None else {ANYBODY: token}
        callers = {_digest_token(check_token(one)): name for name, one in tokens.items()}
        if len(callers) < len(tokens):
            raise InputError("Two callers have one token: give each a token of its own.")
        return cls(callers, names)


def check_token(token: str) -> str:
    """Return a token without white space around it.

    Raises:
        InputError: it is too short, or has characters that no header can hold. The message never shows it.
    """
    stripped = token.strip()
    if len(stripped) < MIN_TOKEN_LENGTH or not stripped.isascii() or not stripped.isprintable() or " " in stripped:
        raise InputError(
            f"The token must have at least {MIN_TOKEN_LENGTH} printable ASCII characters and no space. Got "
            f"{len(stripped)} characters: make one with: openssl rand -hex 32"
        )
    return stripped


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
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close"})
            return
        response = _GuardedResponse(send, may_have_body=scope["method"] not in _BODILESS_METHODS)
        self._service.open_requests += 1
        try:
            self._check(scope)
            await self._app(scope, receive, response.send)
        except ClientDisconnect:
            pass  # nobody is left to answer
        except Problem as problem:
            await self._refuse(problem, scope, receive, response)
        except Exception as error:  # noqa: BLE001 - no traceback may show a text
            _LOGGER.error("%s %s", get_route(scope), describe_failure(error))  # noqa: TRY400
            failure = Problem(500, "The service failed on this request; its log says where. No text was released.")
            await self._refuse(failure, scope, receive, response)
        finally:
            self._service.open_requests -= 1
            self._service.pending_bytes -= scope.get("deniable.bytes", 0)
            method = scope["method"] if scope["method"] in {"GET", "HEAD", "POST"} else "other"
            self._service.metrics.count_request(get_route(scope), method, response.status)

    def _check(self, scope: Scope) -> None:
        """Raise `Problem` for a request that must not reach a route."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        host = check_host(_list_values(headers, b"host"), self._access.hosts)
        if scope["method"] not in _READING_METHODS or scope["path"] not in self._public_paths:
            _refuse_cross_site(headers, host)
            if self._access.callers:
                scope[_CALLER] = _find_bearer(_list_values(headers, b"authorization"), self._access.callers)
        if self._service.is_draining and scope["path"] != HEALTH_PATH:
            raise make_busy_problem("The service is stopping: send the request to another one, or later.", 5)

    async def _refuse(self, problem: Problem, scope: Scope, receive: Receive, response: "_GuardedResponse") -> None:
        if response.status:  # it has begun, and cannot be changed
            return
        await problem.to_response()(scope, receive, response.send)


class _GuardedResponse:
    """Sends a response with the headers that all have, and remembers its status, 0 before it began.

    After an error the connection of a request that may have a body is closed: what was not read of it may never end.
    """

    def __init__(self, send: Send, *, may_have_body: bool) -> None:
        self.status = 0
        self._send, self._may_have_body = send, may_have_body

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message["headers"])
            names = {name for name, _ in headers}
            headers += [header for header in _DEFAULT_HEADERS.items() if header[0] not in names]
            if self.status >= HTTPStatus.BAD_REQUEST and self._may_have_body:
                headers.append((b"connection", b"close"))
            message = {**message, "headers": headers}
        await self._send(message)


def check_host(values: list[str], allowed: Collection[str]) -> str:
    """Return the Host header of a request.

    Raises:
        Problem: there is not exactly one, or it names a host that is not allowed.
    """
    host = values[0].strip().lower() if len(values) == 1 else ""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    if not name or name not in allowed:
        raise Problem(421, "The Host header names no host of this service: add it with --allow-host, or call another.")
    return host


def _refuse_cross_site(headers: Iterable[tuple[bytes, bytes]], host: str) -> None:
    """Raise `Problem` for a request that another site's page made.

    Browsers say so in one of two headers: a GET that a page starts without CORS has no Origin. Programs send neither.
    """
    headers = list(headers)
    is_foreign_site = any(site not in _OWN_SITES for site in _list_values(headers, b"sec-fetch-site"))
    is_foreign_origin = any(_get_netloc(origin) != host for origin in _list_values(headers, b"origin"))
    if is_foreign_site or is_foreign_origin:
        raise Problem(403, "A page of another site may not use this service.")


def _get_netloc(origin: str) -> str:
    """Return host and port of a web page's origin; empty for that of anything else, such as an app's own scheme."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return ""
    return parts.netloc.lower() if parts.scheme in {"http", "https"} else ""


def _find_bearer(values: list[str], callers: Mapping[bytes, str]) -> str:
    """Return the name of the caller whose token a request bears; the comparison takes the same time for all.

    Raises:
        Problem: it bears none.
    """
    scheme, _, token = (values[0] if len(values) == 1 else "").partition(" ")
    digest = _digest_token(token.strip())
    found = [name for known, name in callers.items() if hmac.compare_digest(digest, known)]
    if not found or scheme.lower() != "bearer":
        detail = "The request must bear the token of this service: Authorization: Bearer TOKEN."
        raise Problem(401, detail, {"www-authenticate": "Bearer"})
    return found[0]


def get_caller(scope: Scope) -> str:
    """Return the name of the caller whose request this is, as the guard found it."""
    return str(scope.get(_CALLER, ANYBODY))


def _digest_token(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _list_values(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[str]:
    return [value.decode("latin-1") for header, value in headers if header == name]


def get_route(scope: Scope) -> str:
    """Return the path as the service declares it, ``other`` for one that it does not know."""
    return str(getattr(scope.get("route"), "path", "other"))


def describe_failure(error: BaseException) -> str:
    """Return type and place of an error, and nothing that it says: that may be a text."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "an unknown place"
    return f"{type(error).__name__} at {place}"
