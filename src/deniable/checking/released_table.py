"""A released table beside its certificate: what can be counted in it, whether or not anybody signed it."""

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from deniable.checking.certificate_check import CertificateCheck
from deniable.checking.document import FieldCheck, Statements
from deniable.core.errors import InputError, shorten_text
from deniable.core.report import format_value
from deniable.space.grammar import Grammar, split_words
from deniable.text.batches import Tally
from deniable.text.certificate import CERTIFICATE_SCHEMA
from deniable.text.release_certificate import COPIED_COLUMNS, shorten_names
from deniable.text.tokens import MASK_TOKEN

NOT_AUTHENTICATED = "not authenticated: anybody can write a table with these counts, and only a signature shows who did"
"""What is said of every table that was compared without a signature."""
_MORE_NAMES = re.compile(r" and [0-9]+ more$")
_SEEN, _NOT_SEEN = "found in the table that was given", "found in the table that was given: "


def find_text_columns(document: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a released table that hold its texts: those that were not copied.

    Args:
        document: the certificate.
        names: of all columns of the table.
    """
    listed = _find_copied_line(document)[1].removeprefix(f"{COPIED_COLUMNS}: ")
    return tuple(name for name in names if repr(name) not in listed)


def compare_table(
    check: CertificateCheck, names: Sequence[str], columns: Mapping[str, Sequence[str | None]]
) -> CertificateCheck:
    """Return a check in which whatever the released table shows is no longer only stated by the owner.

    Its rows are counted, its words, those of its median and of its longest record, and its columns are compared with
    those that the certificate says were copied.

    Args:
        check: of the certificate.
        names: of all columns of the table.
        columns: those that `find_text_columns` named, or one of the others where it named none.

    Raises:
        InputError: a certificate of something that is not a table.
    """
    if "records" not in check.document:
        raise InputError(f"This is the certificate of {check.kind}, which comes with no table: leave out the table.")
    found = _describe_table(check.document, names, columns)
    fields = tuple(_compare(field, found) for field in check.fields)
    differing = [field.path for field in fields if field.path in found and field.status == "contradicted"]
    compared = f"differs from the certificate in {', '.join(differing)}" if differing else "agrees with the certificate"
    return dataclasses.replace(check, fields=fields, table=f"{compared}; {NOT_AUTHENTICATED}")


def _describe_table(
    document: Mapping[str, Any], names: Sequence[str], columns: Mapping[str, Sequence[str | None]]
) -> dict[str, Any]:
    """Return the fields of a certificate that a table shows, by their paths."""
    text_columns = find_text_columns(document, names)
    rows = list(zip(*columns.values(), strict=True))
    path, line = _find_copied_line(document)
    copied = [repr(name) for name in names if name not in text_columns]
    found: dict[str, Any] = {"records": len(rows)}
    if _MORE_NAMES.search(line):
        return found  # the columns that are not named may be copied or texts
    if path:
        found[path] = f"{COPIED_COLUMNS}: {shorten_names(copied)}"
    if found.get(path, line) != line or document.get("schema") != CERTIFICATE_SCHEMA or not text_columns:
        return found  # which columns hold the texts is not known, or the certificate counts no words
    statements = Statements(dict(document))
    grammar: Grammar = "whole" if statements.get_object("space", "hidden") else "plain"
    is_masked = statements.get("release", "unknown") == "mask"
    lengths = [sum(_count_words(text or "", grammar, is_masked=is_masked) for text in row) for row in rows]
    tally = Tally(len(rows), sum(lengths), Counter(lengths))
    ends = {"median": tally.median_length(), "longest": max(lengths, default=0)}
    for place, entry in enumerate(statements.get_list("documents")):
        record = entry.get("record") if isinstance(entry, dict) else None
        found |= {f"documents[{place}].words": end for name, end in ends.items() if name == record}
    return {**found, "words": tally.words}


def _find_copied_line(document: Mapping[str, Any]) -> tuple[str, str]:
    """Return the path of the line that names the copied columns, and the line; two empty texts where there is none."""
    lines = Statements(dict(document)).get_list("not_protected")
    for place, line in enumerate(lines):
        if isinstance(line, str) and line.startswith(f"{COPIED_COLUMNS}: "):
            return f"not_protected[{place}]", line
    return "", ""


def _count_words(text: str, grammar: Grammar, *, is_masked: bool) -> int:
    """Return the number of words of a released text, but for those that stand for unknown ones."""
    return len(split_words(text, grammar)) // 2 - is_masked * text.count(MASK_TOKEN)


def _compare(field: FieldCheck, found: Mapping[str, Any]) -> FieldCheck:
    """Return a field that was only stated, compared with what the table shows; any other as it was."""
    if field.status != "stated" or field.path not in found:
        return field
    value = found[field.path]
    if value == field.value:
        return dataclasses.replace(field, status="recomputed", note=_SEEN)
    return dataclasses.replace(
        field, status="contradicted", note=f"{_NOT_SEEN}{shorten_text(format_value(value), 300)}"
    )
