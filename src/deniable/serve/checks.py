"""``deniable certificate check`` for a certificate in memory, in a process of its own; no path in it is opened."""

import dataclasses
from typing import Any

from deniable.checking import check_certificate, parse_certificate
from deniable.core.errors import InputError
from deniable.core.numbers import format_exact
from deniable.core.signatures import NOT_CHECKED, UNSIGNED, SignatureCheck, check_signature, parse_public_key
from deniable.serve.jobs import Report
from deniable.space import Space
from deniable.text.certificate import CERTIFICATE_SCHEMA

MIN_CHECKED_EPSILON = 1e-9
"""Of certificates of words that are checked: below it rounding alone decides."""


def check_document(
    _: Report,
    certificate: str,
    signature: str | None = None,
    public_key: str | None = None,
    table_sha256: str | None = None,
    space: Space | None = None,
) -> dict[str, Any]:
    """Return every field of a certificate with its status, and the sections of the report for people.

    Args:
        certificate: the document.
        signature: the content of its signature file.
        public_key: that of the owner's file.
        table_sha256: of the released table.
        space: that of the service; used if it is the one that the certificate is about.

    Raises:
        InputError: the document is no certificate that can be checked here, the key is none, or nothing says which
            table was signed.
    """
    if table_sha256 is not None and public_key is None:
        raise InputError("The table is compared with what was signed: give the owner's public key, or leave it out.")
    content = certificate.encode("utf-8", "surrogatepass")
    document = parse_certificate(content)
    stated, stated_space = (document.get(name) for name in ("mechanism", "space"))
    epsilon = stated.get("epsilon") if isinstance(stated, dict) else None
    is_words = document.get("schema") == CERTIFICATE_SCHEMA
    if is_words and isinstance(epsilon, int | float) and 0 < epsilon < MIN_CHECKED_EPSILON:  # which may take minutes
        raise InputError(
            f"The service checks epsilons of at least {format_exact(MIN_CHECKED_EPSILON)}. Got "
            f"{format_exact(epsilon)}: use deniable certificate check FILE."
        )
    fingerprint = stated_space.get("fingerprint") if isinstance(stated_space, dict) else None
    signature_check = _check_signature(content, signature, public_key, table_sha256)  # before the proof
    check = check_certificate(document, space if space is not None and fingerprint == space.fingerprint else None)
    check = dataclasses.replace(check, signature=signature_check)
    sections = [
        {
            "title": section.title,
            "facts": [{"label": fact.label, "lines": fact.format_lines()} for fact in section.facts],
        }
        for section in check.make_report().sections
    ]
    return {**check.to_dict(), "sections": sections}


def _check_signature(
    content: bytes, signature: str | None, public_key: str | None, table_sha256: str | None
) -> SignatureCheck:
    """Return what is known of the signature of a certificate."""
    if signature is None and public_key is None:
        return UNSIGNED
    if signature is None:
        return SignatureCheck("invalid", f"a public key is given, but no signature: {UNSIGNED.note}")
    if public_key is None:
        return NOT_CHECKED
    key = parse_public_key(public_key.encode("utf-8", "surrogatepass"), "given")
    return check_signature(signature.encode("utf-8", "surrogatepass"), content, key, table_sha256)
