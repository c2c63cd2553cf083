"""``deniable certificate check`` for a certificate in memory, in a process of its own; no path in it is opened."""

import dataclasses
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from deniable.checking import CertificateCheck, check_certificate, parse_certificate
from deniable.core.errors import InputError
from deniable.core.numbers import format_exact
from deniable.core.signatures import (
    MAX_SIGNATURE_BYTES,
    NOT_CHECKED,
    UNSIGNED,
    SignatureCheck,
    check_signature,
    parse_public_key,
)
from deniable.serve.bodies import read_body
from deniable.serve.jobs import JobResponse, JobSlot, Report
from deniable.serve.offers import WordOffer
from deniable.serve.routes import describe_body, get_service
from deniable.space import Space
from deniable.text.certificate import CERTIFICATE_SCHEMA

CHECKING_SECONDS = 180.0
"""How long a check may take; a proof in the default space takes some ten seconds on an idle machine."""
MIN_CHECKED_EPSILON = 1e-9
"""Of certificates of words that are checked: below it rounding alone decides."""


class CheckBody(BaseModel):
    """A certificate, and what its signature is checked with; the contents of files, and never their paths."""

    model_config = ConfigDict(extra="forbid", strict=True)

    certificate: str = Field(max_length=4 << 20, description="The file, character by character.")
    signature: str | None = Field(None, max_length=MAX_SIGNATURE_BYTES, description="The file that ends in .sig.")
    public_key: str | None = Field(
        None, max_length=MAX_SIGNATURE_BYTES, description="The owner's file, ending in .pub."
    )
    table_sha256: str | None = Field(
        None, pattern="^[0-9a-f]{64}$", description="SHA-256 of the released table, to compare with what was signed."
    )


@dataclasses.dataclass(frozen=True)
class CheckRequest:
    """A certificate to check.

    Attributes:
        body: the certificate and what belongs to it.
        space: that of the service; used if it is the one that the certificate is about.
    """

    body: CheckBody
    space: Space | None


def check_document(request: CheckRequest, _: Report) -> dict[str, Any]:
    """Return every field of a certificate with its status, and the report for people.

    Args:
        request: the certificate.

    Raises:
        InputError: the document is no certificate that can be checked here, the key is none, or nothing says which
            table was signed.
    """
    if request.body.table_sha256 is not None and request.body.public_key is None:
        raise InputError("The table is compared with what was signed: give the owner's public key, or leave it out.")
    content = request.body.certificate.encode("utf-8", "surrogatepass")
    document = parse_certificate(content)
    _check_epsilon(document)
    signature = _check_signature(request.body, content)
    check = check_certificate(document, _choose_space(document, request.space))
    return _encode_check(dataclasses.replace(check, signature=signature))


def _check_epsilon(document: dict[str, Any]) -> None:
    """Raise `InputError` for a mechanism of words whose epsilon is so small that a check may take minutes."""
    stated = document.get("mechanism")
    epsilon = (
        stated.get("epsilon") if document.get("schema") == CERTIFICATE_SCHEMA and isinstance(stated, dict) else None
    )
    if isinstance(epsilon, int | float) and 0 < epsilon < MIN_CHECKED_EPSILON:
        raise InputError(
            f"The service checks epsilons of at least {format_exact(MIN_CHECKED_EPSILON)}. Got "
            f"{format_exact(epsilon)}: use deniable "
            "certificate check FILE."
        )


def _choose_space(document: dict[str, Any], space: Space | None) -> Space | None:
    """Return the service's space if the certificate is about it; None for what comes with the package."""
    stated = document.get("space")
    fingerprint = stated.get("fingerprint") if isinstance(stated, dict) else None
    return space if space is not None and fingerprint == space.fingerprint else None


def _check_signature(body: CheckBody, content: bytes) -> SignatureCheck:
    if body.signature is None:
        if body.public_key is None:
            return UNSIGNED
        return SignatureCheck("invalid", f"a public key is given, but no signature: {UNSIGNED.note}")
    if body.public_key is None:
        return NOT_CHECKED
    public_key = parse_public_key(body.public_key.encode("utf-8", "surrogatepass"), "given")
    signature = body.signature.encode("utf-8", "surrogatepass")
    return check_signature(signature, content, public_key, body.table_sha256)


def _encode_check(check: CertificateCheck) -> dict[str, Any]:
    """Return a check as JSON, with the sections of its report as lines of text."""
    sections = [
        {
            "title": section.title,
            "facts": [{"label": fact.label, "lines": fact.format_lines()} for fact in section.facts],
        }
        for section in check.make_report().sections
    ]
    return {**check.to_dict(), "sections": sections}


def add_check_routes(router: APIRouter) -> None:
    """Add the route that checks a certificate."""
    slot = JobSlot("A check", CHECKING_SECONDS)

    async def check(request: Request) -> Response:
        """Check a certificate field by field, and its signature; lines of JSON, the last of them the result."""
        service = get_service(request)
        body = await read_body(request, service, CheckBody)
        offer = service.catalogue.get(service.catalogue.default)
        space = offer.release.mechanism.space if isinstance(offer, WordOffer) else None
        return JobResponse(slot, check_document, CheckRequest(body, space))

    router.post("/v1/certificate/check", openapi_extra=describe_body(CheckBody))(check)
