"""``deniable certificate check`` for a certificate in memory, in a process of its own; no path in it is opened."""

import dataclasses
from typing import Any

from deniable.checking import check_certificate, parse_certificate
from deniable.checking.released_table import compare_table, find_text_columns
from deniable.core.errors import InputError
from deniable.core.numbers import format_exact
from deniable.core.signatures import NOT_CHECKED, UNSIGNED, SignatureCheck, check_signature, parse_public_key
from deniable.serve.jobs import Report
from deniable.space import Space
from deniable.text.certificate import CERTIFICATE_SCHEMA
from deniable.text.tables.base import TextColumns

MIN_CHECKED_EPSILON = 1e-9
"""Of certificates of words that are checked: below it rounding alone decides."""
NOT_COMPARED = (
    "not compared: its hash says nothing without the owner's public key; deniable certificate check --table compares "
    "rows, words and columns"
)


def check_document(
    _: Report,
    certificate: str,
    signature: str | None = None,
    public_key: str | None = None,
    table_sha256: str | None = None,
    table: TextColumns | None = None,
    space: Space | None = None,
) -> dict[str, Any]:
    """Return every field of a certificate with its status, and the sections of the report for people.

    Args:
        certificate: the document.
        signature: the content of its signature file.
        public_key: that of the owner's file.
        table_sha256: of the released table, which is compared with what was signed.
        table: the columns of the released table; without a key its rows, words and columns are compared.
        space: that of the service; used if it is the one that the certificate is about.

    Raises:
        InputError: the document is no certificate that can be checked here, the key is none, or the columns of the
            table differ in length.
    """
    if len({*map(len, (table or {}).values())}) > 1:
        raise InputError("The columns of the table must have one cell for each row: give the table as it was released.")
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
    if table and public_key is None:
        text_columns = find_text_columns(document, [*table]) or [*table][:1]
        check = compare_table(check, [*table], {name: table[name] for name in text_columns})
    elif table_sha256 is not None and public_key is None:
        check = dataclasses.replace(check, table=NOT_COMPARED)
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
