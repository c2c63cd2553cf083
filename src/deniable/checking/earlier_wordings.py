"""Certificates in the words of the schemas before: the same statements, said as today's schema says them.

A certificate is compared with one that is written anew, text by text. So a change of words would contradict every older
certificate, were its own words not replaced first. No figure is touched.
"""

import re
from typing import Any

from deniable.checking.document import MAX_TEXT_CHARACTERS
from deniable.persons.certificate import SYNTHESIS_CERTIFICATE_SCHEMA
from deniable.text.certificate import CERTIFICATE_SCHEMA, PUBLIC_VECTORS
from deniable.text.release_certificate import (
    CHOICE_DISCLOSURE,
    CHOSEN_BY_OWNER,
    COLUMNS_LEFT_OUT,
    COPIED_TEXTS,
    LEDGER_STEP,
    ROWS_NOT_COVERED,
)
from deniable.words.outcomes import NOT_KNOWN

REWRITE_CERTIFICATE_SCHEMA = "deniable-rewrite-certificate/5"
"""That of `deniable.rewriting.certificate`, which loads torch."""
_TODAYS_SCHEMAS = {
    "deniable-certificate/8": CERTIFICATE_SCHEMA,
    "deniable-certificate/9": CERTIFICATE_SCHEMA,
    "deniable-rewrite-certificate/4": REWRITE_CERTIFICATE_SCHEMA,
    "deniable-synthesis-certificate/1": SYNTHESIS_CERTIFICATE_SCHEMA,
}
_BEGINNINGS = {
    "by the owner, who did not declare that the private texts had a part in it": CHOSEN_BY_OWNER,
    "columns were left out: every column of the private table that is not in the released one is wholly absent": (
        COLUMNS_LEFT_OUT
    ),
    "columns copied unchanged that look like texts, with whatever they say of people": COPIED_TEXTS,
    "what is released was charged to a ledger before its noise was drawn; what the ledger refuses depends on what was "
    "spent and on whether the very same was released before; it allows ": LEDGER_STEP,
    "rows are missing that the ledger's budget did not cover, or that name no person, if there were any": (
        ROWS_NOT_COVERED
    ),
    "what the choice of epsilon, made from the private texts, shows of them": CHOICE_DISCLOSURE,
}
"""How a text began, and how it begins today."""
_NOT_KNOWN = (r"not known, since no exact law of this mechanism is$", NOT_KNOWN)
_REPLACEMENTS = {
    ("approximate", "source"): (
        (r"^the pure bound, on which composition does not improve$", "the sum over words; composition is no better"),
    ),
    ("expected_kept",): ((r"([0-9]) %", r"\1%"),),
    ("attacker",): (
        (r"([0-9]) % of words", r"\1% of words"),
        (
            r"\(without any output: ([0-9.]+) %; by reading words in context: more\)$",
            r"(\1% without any output; more for attackers who read words in context)",
        ),
    ),
    ("metric",): ((r", with (.+), ([^,]+) hidden$", r", with \1 and \2 hidden"),),
    ("bands",): ((r"([0-9]) %", r"\1%"), _NOT_KNOWN),
    ("most_exposed",): (
        _NOT_KNOWN,
        (
            r" comes out unchanged in ([0-9.]+) % of draws: no other word that is not hidden does more often$",
            r" stays unchanged in \1% of draws, and no other word that is not hidden does more often",
        ),
    ),
    ("meaning",): (
        (
            r"one (output word|new text) changes anyone's odds between (.*) at most ([0-9.^einf,]+)-fold",
            r"one \1 can change anyone's odds between \2 by a factor of up to \3",
        ),
        (
            r"^over a text these add up: L words, L times the exponent at worst$",
            "for a text of L words the factor is raised to the power of L at worst",
        ),
        (
            r"^whether (.+) in the private table changes anyone's odds of anything at most ([0-9.^einf,]+)-fold",
            r"whether \1 in the private table can change anyone's odds of anything by a factor of up to \2",
        ),
        (
            r"^who thinks it as likely as not that (.+) in it is at most ([0-9.,]+) % sure afterwards, delta aside$",
            r"an observer who is 50% sure that \1 in it is at most \2% sure afterwards, delta aside",
        ),
        (
            r"^a person with several records has less: see the groups$",
            "a person with several records is protected less: see the groups",
        ),
    ),
    ("not_protected",): (
        (
            r"^what holds without any one (\w+): how classes differ in their words, lengths and columns on the whole$",
            r"patterns that do not depend on any one \1, such as which words, lengths and columns mark each class",
        ),
        (
            r" and generator, if they were made by a look at the private table$",
            " and generator, if they were made by looking at the private table",
        ),
        (r"^whatever the callable knows beside its request: ", "whatever the callable knows besides its request: "),
        (
            r" and model shows, if made by a look at the private texts$",
            " and model reveals, if made by looking at the private texts",
        ),
        (r"^which words the vocabulary does not know, shown", "which words are not in the vocabulary, shown"),
        (r"^that words the vocabulary does not know are absent$", "that words outside the vocabulary are absent"),
        (r" pass through wherever they stand, with", " pass through wherever they occur, with"),
    ),
}
"""Field -> patterns of its texts, and what replaces them."""


def restate(document: dict[str, Any]) -> dict[str, Any]:
    """Return a certificate in the words of today's schema; any other document as it is."""
    schema = document.get("schema")
    if not isinstance(schema, str) or schema not in _TODAYS_SCHEMAS:
        return document
    restated = {name: _restate_value(value, (name,)) for name, value in document.items()}
    if isinstance(restated.get("space"), dict):  # of privatized words, which some did not say
        restated["space"] = {"vectors": {"made_from": PUBLIC_VECTORS, "guarantee": None}, **restated["space"]}
    return {**restated, "schema": _TODAYS_SCHEMAS[schema]}


def _restate_value(value: Any, names: tuple[str, ...]) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        return {name: _restate_value(member, (*names, name)) for name, member in value.items()}
    if isinstance(value, list):
        return [_restate_value(item, names) for item in value]
    if not isinstance(value, str) or len(value) > MAX_TEXT_CHARACTERS:
        return value
    for before, today in _BEGINNINGS.items():
        if value.startswith(before):
            return today + value[len(before) :]
    for field, replacements in _REPLACEMENTS.items():
        if names[-len(field) :] == field:
            for pattern, replacement in replacements:
                value = re.sub(pattern, replacement, value)
    return value
