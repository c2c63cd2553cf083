"""The bodies of requests: read within limits, strict JSON, and errors that show nothing of what was sent."""

import asyncio
import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request

from deniable.serve.problems import Problem, make_busy_problem
from deniable.serve.service import Service

_DRAINED_BODIES = 4
"""How many times the largest body is read and thrown away, so that the client gets to read why it is refused."""
_MAX_SMALL_BYTES = 64 << 10
"""Size of a body that the event loop parses itself: a few milliseconds, whatever it holds."""


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


MechanismField = Annotated[str | None, Field(description="One of those offered; the default if left out.")]
EpsilonField = Annotated[float | None, Field(description="One of those offered; the default if left out.")]


class PrivatizeBody(_Body):
    """Texts to privatize."""

    texts: list[str | None] = Field(min_length=1, description="Texts; null stays null.")
    mechanism: MechanismField = None
    epsilon: EpsilonField = None
    show: Literal["words"] | None = Field(None, description="words: each text comes also in pieces.")


class ChoiceBody(_Body):
    """A mechanism and an epsilon."""

    mechanism: MechanismField = None
    epsilon: EpsilonField = None


class ExplainBody(ChoiceBody):
    """A word whose law is asked for."""

    word: str = Field(min_length=1, max_length=200, description="One word.")


class TuneBody(_Body):
    """A mechanism whose ladder is asked for."""

    mechanism: MechanismField = None


Body = TypeVar("Body", bound=BaseModel)


async def read_body(request: Request, service: Service, model: type[Body]) -> Body:
    """Return the body of a request.

    Raises:
        Problem: it is too large or too slow, no JSON, or not of the model.
    """
    _check_headers(request)
    data = await read_bytes(request, service)
    if len(data) > _MAX_SMALL_BYTES:
        return await asyncio.to_thread(parse_body, data, model, service.limits.texts)
    return parse_body(data, model, service.limits.texts)


def parse_body(data: bytes, model: type[Body], max_texts: int) -> Body:
    """Return JSON as a model.

    Raises:
        Problem: it is no JSON, or not of the model.
    """
    try:
        content = json.loads(data, object_pairs_hook=_make_object, parse_constant=_refuse_constant)
    except Problem:
        raise
    except RecursionError:
        raise Problem(400, "The body is nested too deeply: send one JSON object.") from None
    except ValueError:
        raise Problem(400, "The body is no JSON in UTF-8: send one JSON object.") from None
    if not isinstance(content, dict):
        raise Problem(422, 'The body must be a JSON object, such as {"texts": ["..."]}.')
    for name in model.model_fields:  # before the model looks at each item, and tells what is wrong with it
        items = content.get(name)
        if isinstance(items, list) and len(items) > max_texts:
            raise Problem(
                422, f"{name}: there must be at most {max_texts:,}. Got {len(items):,}: send fewer at a time."
            )
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise Problem(422, describe_validation(error.errors(include_url=False, include_input=False))) from None


def describe_validation(errors: Any) -> str:  # noqa: ANN401 - of pydantic and FastAPI, which have types of their own
    """Return the first of some validation errors in one line that shows nothing of the input."""
    first = errors[0]
    if first["type"] == "extra_forbidden":  # its place is a name that the client made up
        return "The body has a field that is not known here: leave it out. See /openapi.json."
    places = [f"item {place}" if isinstance(place, int) else str(place) for place in first["loc"]]
    message = {"missing": "It is missing.", "string_type": "It must be a text."}.get(first["type"], first["msg"])
    return f"{', '.join(places)}: {message.rstrip('.')}."


async def read_bytes(request: Request, service: Service) -> bytes:
    """Return the bytes of a body; the caller's request holds them until it ends.

    Raises:
        Problem: 413, too large; 408, too slow; 503, too much is read at a time.
    """
    limits = service.limits
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for chunk in request.stream():
                size += len(chunk)
                if size <= limits.body_bytes:
                    _reserve_bytes(request, service, len(chunk))
                    chunks.append(chunk)
                else:
                    chunks.clear()
                if size > _DRAINED_BODIES * limits.body_bytes:
                    break
    except TimeoutError:
        detail = f"The body did not arrive within {limits.body_seconds:g} s: send it faster, or send less."
        raise Problem(408, detail) from None
    if size > limits.body_bytes:
        detail = f"The body must have at most {limits.body_bytes:,} bytes: send several requests."
        raise Problem(413, detail)
    return b"".join(chunks)


def _reserve_bytes(request: Request, service: Service, count: int) -> None:
    if service.pending_bytes + count > service.limits.pending_bytes:
        raise make_busy_problem("Too many bytes of requests are waiting already: try again later.")
    service.pending_bytes += count
    request.scope["deniable.bytes"] = request.scope.get("deniable.bytes", 0) + count


def _check_headers(request: Request) -> None:
    """Raise `Problem` for a body that is compressed or no JSON."""
    headers = request.headers
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem(415, "A compressed body is not taken: send it as it is.")
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Problem(415, "The content-type must be application/json.")


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise Problem(400, "The body has a field twice: send each once.")
    return content


def _refuse_constant(_: str) -> None:
    raise Problem(400, "The body is no JSON: NaN and Infinity are no numbers there.")
