"""The routes of version 1: thin layers that take a request, ask the service, and write JSON."""

import dataclasses
import json
import shlex
from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from deniable import __version__
from deniable.core.numbers import format_exact
from deniable.core.signatures import MAX_SIGNATURE_BYTES
from deniable.serve.checks import check_document
from deniable.serve.guard import HEALTH_PATH, get_caller
from deniable.serve.measurements import PLAN, measure_table
from deniable.serve.offers import WordOffer
from deniable.serve.problems import PROBLEM_TYPE, Problem, make_json_response
from deniable.serve.service import Service
from deniable.serve.views import describe_ladder, describe_word, has_pieces, split_pieces
from deniable.survey.summary import TableRelease

MAX_SHOWN_CHARACTERS = 200_000
"""Characters whose words may be shown at a time: each takes some forty bytes of the answer."""
_MAX_EPSILONS, _MAX_NAME = 7, 200
_NO_PROOF = (
    "This mechanism has not been proved at this epsilon yet, and a request does not start a proof: start the service "
    "with --mechanism and --epsilon, or run deniable privatize with them once."
)
_PROBLEM = {"description": "What is wrong, in one line (RFC 9457).", "content": {PROBLEM_TYPE: {}}}

router = APIRouter(responses={"default": _PROBLEM})


def _get_service(request: Request) -> Service:
    """Return the service of the application that a request came to."""
    service: Service = request.app.state.service
    return service


ServiceOf = Annotated[Service, Depends(_get_service)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class MechanismBody(_Body):
    """A mechanism."""

    mechanism: str | None = Field(None, description="One of those offered; the default if left out.")


class ChoiceBody(MechanismBody):
    """A mechanism and an epsilon."""

    epsilon: float | None = Field(None, description="One of those offered; the default if left out.")


class PrivatizeBody(ChoiceBody):
    """Texts to privatize."""

    texts: list[str | None] = Field(min_length=1, fail_fast=True, description="Texts; null stays null.")
    show: Literal["words"] | None = Field(None, description="words: each text comes also in pieces.")


class ExplainBody(ChoiceBody):
    """A word whose law is asked for."""

    word: str = Field(min_length=1, max_length=200, description="One word.")


class CheckBody(_Body):
    """A certificate, and what its signature is checked with; the contents of files, and never their paths."""

    certificate: str = Field(max_length=4 << 20, description="The file, character by character.")
    signature: str | None = Field(None, max_length=MAX_SIGNATURE_BYTES, description="The file that ends in .sig.")
    public_key: str | None = Field(
        None, max_length=MAX_SIGNATURE_BYTES, description="The owner's file, ending in .pub."
    )
    table_sha256: str | None = Field(
        None, pattern="^[0-9a-f]{64}$", description="SHA-256 of the released table, to compare with what was signed."
    )
    table: dict[str, list[str | None]] | None = Field(
        None, description="Columns of the released table, to compare rows, words and columns where there is no key."
    )


class MeasureBody(MechanismBody):
    """A table to measure."""

    texts: list[str | None] = Field(min_length=1, fail_fast=True, description="Private texts; null for none.")
    labels: list[str | None] | None = Field(
        None, fail_fast=True, description="Their classes, to measure what classifiers learn."
    )
    epsilons: list[float] | None = Field(
        None,
        min_length=1,
        max_length=_MAX_EPSILONS,
        description="Of those offered; needed unless the release is fixed.",
    )
    table: str = Field("table.csv", max_length=_MAX_NAME, description="Name of the file, for the report.")
    column: str = Field("text", max_length=_MAX_NAME, description="Name of the column, for the report.")
    label: str | None = Field(None, max_length=_MAX_NAME, description="Name of the column of classes, for the report.")


@router.get(HEALTH_PATH)
async def report_health() -> Response:
    """Say that the service takes requests."""
    return make_json_response({"status": "ready"})


@router.get("/v1/options")
async def list_options(service: ServiceOf) -> Response:
    """Say what the service offers: whether its release is fixed, mechanisms, epsilons, limits, version.

    ``shows_words`` says whether a request may ask for the pieces of a text.
    """
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


@router.get("/v1/metrics")
async def format_metrics(service: ServiceOf) -> Response:
    """Return counts of requests in the text format of Prometheus."""
    return Response(service.metrics.format(), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.post("/v1/privatize")
async def privatize_texts(body: PrivatizeBody, request: Request, service: ServiceOf) -> Response:
    """Privatize texts, each with fresh noise of its own."""
    offer = await service.find_offer(body.mechanism, body.epsilon)
    if body.show is not None and not (isinstance(offer, WordOffer) and has_pieces(offer.release)):
        raise Problem(422, "show: the words of this service's release cannot be shown one by one: leave it out.")
    characters = sum(len(text or "") for text in body.texts)
    if body.show is not None and characters > MAX_SHOWN_CHARACTERS:
        detail = f"at most {MAX_SHOWN_CHARACTERS:,} characters are shown. Got {characters:,}"
        raise Problem(422, f"show: {detail}: send fewer texts at a time, or leave it out.")
    released = await service.privatize(offer, body.texts, get_caller(request.scope))
    content: dict[str, object] = {"texts": [one.text for one in released], "release": offer.description}
    if body.show is not None and isinstance(offer, WordOffer):
        pairs = zip(body.texts, released, strict=True)
        content["pieces"] = await service.compute(lambda: [split_pieces(offer, text, one) for text, one in pairs])
    return make_json_response(content)


@router.post("/v1/explain")
async def explain(body: ExplainBody, service: ServiceOf) -> Response:
    """Return the law of one word, with what an attacker guesses."""
    offer = await service.find_offer(body.mechanism, body.epsilon)
    if not isinstance(offer, WordOffer):
        raise Problem(422, "This service rewrites texts as a whole: there are no probabilities for a single word.")
    return make_json_response(await service.compute(describe_word, offer, body.word))


@router.post("/v1/tune")
async def list_ladder(body: MechanismBody, service: ServiceOf) -> Response:
    """Say for each epsilon how many words an attacker guesses, and how many stay, under a public prior."""
    mechanism = service.catalogue.choose(body.mechanism, None).mechanism
    return make_json_response(describe_ladder(mechanism, service.prepare_ladder(mechanism)))


@router.post("/v1/verify")
async def verify_offer(body: ChoiceBody, service: ServiceOf) -> Response:
    """Return the verdict on a guarantee that is proved already."""
    offer = await service.find_offer(body.mechanism, body.epsilon)
    verdict = await service.compute(offer.find_verdict)
    if verdict is None:
        raise Problem(409, _NO_PROOF)
    return make_json_response({"verdict": verdict.to_dict(), "release": offer.description})


@router.get("/v1/certificate")
async def issue_certificate(
    request: Request, service: ServiceOf, mechanism: str | None = None, epsilon: float | None = None
) -> Response:
    """Return the certificate of all that was released to this caller since the service started.

    A GET computes no law: any page, program or crawler may send one.
    """
    offer = service.catalogue.get(service.catalogue.choose(mechanism, epsilon))
    if offer is None:
        raise Problem(409, "This choice has released nothing since the service started: send texts with it first.")
    if await service.compute(offer.find_verdict) is None:
        raise Problem(409, _NO_PROOF)
    certificate = await service.compute(offer.certify, get_caller(request.scope))
    return make_json_response(json.loads(certificate.to_json()))


@router.post("/v1/certificate/check")
async def check_certificate(body: CheckBody, service: ServiceOf) -> Response:
    """Check a certificate field by field, and its signature; lines of JSON, the last of them the result."""
    offer = service.catalogue.get(service.catalogue.default)
    space = offer.release.mechanism.space if isinstance(offer, WordOffer) else None
    files = body.signature, body.public_key, body.table_sha256, body.table
    return service.checks.respond(check_document, body.certificate, *files, space)


@router.post("/v1/measure")
async def measure_texts(body: MeasureBody, request: Request, service: ServiceOf) -> Response:
    """Measure what each epsilon protects on a table, and what it costs; lines of JSON say how far it is."""
    if service.budgets is not None:
        raise Problem(
            422,
            "This service counts what callers spend, and a measurement shows private texts that nobody paid for: run "
            "deniable measure.",
        )
    service.check_count("texts", body.texts)
    service.check_count("labels", body.labels or [])
    epsilons = sorted(set(body.epsilons or [service.catalogue.default.epsilon]))
    choices = [service.catalogue.choose(body.mechanism, epsilon) for epsilon in epsilons]
    offer = await service.find_offer(None, None)
    if not isinstance(offer, WordOffer):
        raise Problem(422, "The service rewrites texts as a whole, which deniable compare measures.")
    options = ["--column", body.column]
    options += [] if body.labels is None or body.label is None else ["--label", body.label]
    options += ["--mechanism", choices[0].mechanism, "--epsilons", ",".join(map(format_exact, epsilons))]
    options += ["--limit", str(PLAN.rows), *request.app.state.command_options, "--output", "measure.html"]
    command = shlex.join(["deniable", "measure", body.table, *options])
    table = body.texts, body.labels, TableRelease(body.table, body.column)
    return service.measurements.respond(measure_table, offer.release.mechanism.space, choices, *table, command)
