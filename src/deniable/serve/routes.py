"""The routes of version 1: thin layers that read a request, ask the service, and write JSON."""

import dataclasses
import json
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from deniable import __version__
from deniable.serve.bodies import ChoiceBody, ExplainBody, PrivatizeBody, TuneBody, read_body
from deniable.serve.explanation import explain_word
from deniable.serve.guard import get_caller
from deniable.serve.ladder import describe_ladder
from deniable.serve.metrics import METRICS_TYPE
from deniable.serve.offers import Offer, PrivateTexts, WordOffer
from deniable.serve.pieces import has_pieces, split_pieces
from deniable.serve.problems import PROBLEM_TYPE, Problem, make_json_response
from deniable.serve.service import Service

_PROBLEM = {"description": "What is wrong, in one line (RFC 9457).", "content": {PROBLEM_TYPE: {}}}
MAX_SHOWN_CHARACTERS = 1_000_000
"""Characters whose words may be shown at a time: each takes some forty bytes of the answer."""
_ENCODED_PIECES = 1_000
_NO_PROOF = (
    "No proof of this mechanism at this epsilon is at hand, and a request does not start one: start the service with "
    "--mechanism and --epsilon, or run deniable privatize with them once."
)


def get_service(request: Request) -> Service:
    """Return the service of the application that a request came to."""
    service: Service = request.app.state.service
    return service


def describe_body(model: type[BaseModel]) -> dict[str, Any]:
    """Return what OpenAPI says of a body that a route reads by itself."""
    schema = model.model_json_schema()
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def add_routes(router: APIRouter) -> None:
    """Add all routes of version 1."""
    get, post = router.get, router.post
    errors: dict[int | str, dict[str, Any]] = {"default": _PROBLEM}
    get("/v1/health", responses=errors)(report_health)
    get("/v1/options", responses=errors)(list_options)
    get("/v1/metrics", responses=errors)(format_metrics)
    get("/v1/certificate", responses=errors)(issue_certificate)
    post("/v1/privatize", responses=errors, openapi_extra=describe_body(PrivatizeBody))(privatize_texts)
    post("/v1/explain", responses=errors, openapi_extra=describe_body(ExplainBody))(explain)
    post("/v1/tune", responses=errors, openapi_extra=describe_body(TuneBody))(list_ladder)
    post("/v1/verify", responses=errors, openapi_extra=describe_body(ChoiceBody))(verify_offer)


async def report_health(request: Request) -> Response:
    """Say whether the service takes requests: 200, or 503 while it stops."""
    if get_service(request).is_draining:
        raise Problem(503, "The service is stopping.")
    return make_json_response({"status": "ready"})


async def list_options(request: Request) -> Response:
    """Say what the service offers: whether its release is fixed, mechanisms, epsilons, limits, version.

    ``shows_words`` says whether a request may ask for the pieces of a text.
    """
    service = get_service(request)
    catalogue, default = service.catalogue, service.catalogue.default
    offer = catalogue.get(default)
    return make_json_response(
        {
            "deniable": __version__,
            "is_fixed": catalogue.is_fixed,
            "mechanisms": list(catalogue.mechanisms),
            "epsilons": list(catalogue.epsilons),
            "default": dataclasses.asdict(default),
            "release": None if offer is None else offer.description,
            "shows_words": isinstance(offer, WordOffer) and has_pieces(offer.release),
            "limits": dataclasses.asdict(service.limits),
            "budget": None if service.budgets is None else service.budgets.describe(),
        }
    )


async def format_metrics(request: Request) -> Response:
    """Return counts of requests in the text format of Prometheus."""
    service = get_service(request)
    return Response(service.metrics.format(service.list_gauges()), media_type=METRICS_TYPE)


async def privatize_texts(request: Request) -> Response:
    """Privatize texts, each with fresh noise of its own."""
    service = get_service(request)
    body = await read_body(request, service, PrivatizeBody)
    offer = await service.find_offer(body.mechanism, body.epsilon)
    shown = _check_shown(offer, body)
    released = await service.privatize(offer, body.texts, get_caller(request.scope))
    response = make_json_response({"texts": released.texts, "release": offer.description})
    if shown is None:
        return response
    pieces = await service.compute(_encode_pieces, shown, body.texts, released)
    return Response(b'%b,"pieces":%b}' % (bytes(response.body)[:-1], pieces), media_type="application/json")


def _check_shown(offer: Offer, body: PrivatizeBody) -> WordOffer | None:
    """Return the offer if its words are to be shown.

    Raises:
        Problem: they cannot be shown.
    """
    if body.show is None:
        return None
    if not isinstance(offer, WordOffer) or not has_pieces(offer.release):
        raise Problem(422, "show: the words of this service's release cannot be shown one by one: leave it out.")
    characters = sum(len(text or "") for text in body.texts)
    if characters > MAX_SHOWN_CHARACTERS:
        detail = (
            f"at most {MAX_SHOWN_CHARACTERS:,} characters are shown. Got {characters:,}: send fewer texts at a time"
        )
        raise Problem(422, f"show: {detail}, or leave it out.")
    return offer


def _encode_pieces(offer: WordOffer, texts: list[str | None], released: PrivateTexts) -> bytes:
    """Return the pieces of all texts as JSON, encoded in parts: one call for all would stop the event loop."""
    rows = ["null" if text is None else "[]" for text in texts]
    for row, text in enumerate(texts):
        if text:
            pieces = split_pieces(offer, text, released, row)
            parts = [pieces[first : first + _ENCODED_PIECES] for first in range(0, len(pieces), _ENCODED_PIECES)]
            rows[row] = f"[{','.join(json.dumps(part, separators=(',', ':'))[1:-1] for part in parts)}]"
    return f"[{','.join(rows)}]".encode("ascii")


async def explain(request: Request) -> Response:
    """Say what becomes of a word: its likely outputs, and how often an attacker guesses it."""
    service = get_service(request)
    body = await read_body(request, service, ExplainBody)
    offer = await service.find_offer(body.mechanism, body.epsilon)
    if not isinstance(offer, WordOffer):
        raise Problem(422, "The service rewrites texts as a whole: there is no law of a word.")
    return make_json_response(await service.compute(explain_word, offer, body.word))


async def list_ladder(request: Request) -> Response:
    """Say for each epsilon how many words an attacker guesses, and how many stay, under a public prior."""
    service = get_service(request)
    body = await read_body(request, service, TuneBody)
    mechanism = service.catalogue.choose(body.mechanism, None).mechanism
    rungs = service.prepare_ladder(mechanism)
    return make_json_response(describe_ladder(mechanism, rungs))


async def verify_offer(request: Request) -> Response:
    """Return the verdict on a guarantee that is proved already."""
    service = get_service(request)
    body = await read_body(request, service, ChoiceBody)
    offer = await service.find_offer(body.mechanism, body.epsilon)
    verdict = await service.compute(offer.find_verdict)
    if verdict is None:
        raise Problem(409, _NO_PROOF)
    return make_json_response({"verdict": verdict.to_dict(), "release": offer.description})


async def issue_certificate(request: Request, mechanism: str | None = None, epsilon: float | None = None) -> Response:
    """Return the certificate of all that was released to this caller since the service started.

    A GET computes no law: any page, program or crawler may send one.
    """
    service = get_service(request)
    offer = service.catalogue.get(service.catalogue.choose(mechanism, epsilon))
    if offer is None:
        raise Problem(409, "This choice has released nothing since the service started: send texts with it first.")
    if await service.compute(offer.find_verdict) is None:
        raise Problem(409, _NO_PROOF)
    certificate = await service.compute(offer.certify, get_caller(request.scope))
    return make_json_response(json.loads(certificate.to_json()))
