"""A certificate checked: every field recomputed, contradicted, or only stated by the owner."""

import collections
import dataclasses
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from deniable.checking.cards import expect_card
from deniable.checking.document import FieldCheck, FieldStatus, Statements, compare_fields
from deniable.checking.earlier_wordings import REWRITE_CERTIFICATE_SCHEMA, restate
from deniable.checking.rewriting import expect_rewrite_certificate
from deniable.checking.synthesis import expect_synthesis_certificate
from deniable.checking.words import expect_word_certificate
from deniable.core.errors import InputError, escape_unprintable, make_parameter_error, shorten_text
from deniable.core.guarantees import UNIT_PLURALS
from deniable.core.numbers import format_exact, format_upper
from deniable.core.report import Fact, Report, Section, Tone, format_value
from deniable.core.signatures import UNSIGNED, SignatureCheck
from deniable.learning.card import CARD_SCHEMA
from deniable.persons.certificate import SYNTHESIS_CERTIFICATE_SCHEMA
from deniable.space import Space
from deniable.survey.limits import MAX_WHOLE_DELTA, MAX_WHOLE_EPSILON
from deniable.text.certificate import CERTIFICATE_SCHEMA
from deniable.words.prior import Prior

CHECK_SCHEMA = "deniable-certificate-check/1"

Overall = Literal["contradicted", "recomputed", "stated"]
"""Of a whole certificate: a field is contradicted; its guarantee was recomputed; or it rests on the owner's word."""

_KINDS = {
    CERTIFICATE_SCHEMA: "privatized words",
    REWRITE_CERTIFICATE_SCHEMA: "rewritten texts",
    SYNTHESIS_CERTIFICATE_SCHEMA: "synthetic records",
    CARD_SCHEMA: "a trained model",
}
_MAX_SHOWN = 300
"""Characters of a value that a report shows."""
_MAX_LISTED, _MAX_ITEMS = 200, 20
"""Fields of a status, and items of a list, that a report shows."""
_STATUS_TITLES: dict[FieldStatus, str] = {
    "contradicted": "contradicted",
    "stated": "only stated by the owner",
    "recomputed": "recomputed",
}
_OVERALL_TEXTS: dict[Overall, str] = {
    "contradicted": "CONTRADICTED: do not rely on this certificate",
    "recomputed": "the guarantee was recomputed, and nothing contradicts the certificate",
    "stated": "nothing contradicts the certificate, but its guarantee could not be recomputed here",
}


@dataclasses.dataclass(frozen=True)
class CertificateCheck:
    """What is known of a certificate.

    Attributes:
        kind: what was released, such as ``privatized words`` or ``a trained model``.
        document: the fields of the certificate, unchanged.
        fields: the status of every leaf of it, and of every field that is missing.
        unchecked: why the guarantee could not be recomputed; empty where it was.
        signature: what is known of its signature.
        table: how the released table compares with it, see `deniable.checking.released_table`; empty without one.
    """

    kind: str
    document: dict[str, Any]
    fields: tuple[FieldCheck, ...]
    unchecked: str = ""
    signature: SignatureCheck = UNSIGNED
    table: str = ""

    @property
    def overall(self) -> Overall:
        """The status of the whole certificate, an invalid signature included."""
        if self.signature.status == "invalid" or self.select("contradicted"):
            return "contradicted"
        return "stated" if self.unchecked else "recomputed"

    @property
    def caution(self) -> str:
        """What keeps a certificate without any contradiction from being good news; empty for nothing."""
        return describe_caution(Statements(self.document))

    @property
    def tone(self) -> Tone:
        """How a page shows the result: nobody shall sign for more than is protected because a box is green."""
        if self.overall == "contradicted":
            return "bad"
        if self.caution:
            return "caution"
        return "good" if self.overall == "recomputed" else "plain"

    def select(self, status: FieldStatus) -> list[FieldCheck]:
        """Return the fields of a status."""
        return [field for field in self.fields if field.status == status]

    def make_report(self) -> Report:
        """Return the result for people: what is promised, what contradicts it, and what rests on the owner's word."""
        statements = Statements(self.document)
        counts = [f"{len(self.select(status))} {title}" for status, title in _STATUS_TITLES.items()]
        result = [Fact("result", _OVERALL_TEXTS[self.overall], ", ".join(counts))]
        if self.caution:
            result.append(Fact("caution", self.caution))
        if self.unchecked:
            result.append(Fact("not recomputed", self.unchecked))
        result.append(Fact("signature", self.signature.status, self.signature.note))
        if self.table:
            compared, _, remark = self.table.partition("; ")
            result.append(Fact("table", compared, remark))
        return Report(
            f"Certificate of {self.kind}",
            (
                Section("", tuple(result)),
                Section("what the certificate says", _list_promises(statements)),
                *(
                    Section(_STATUS_TITLES[status], _describe_fields(self.select(status)))
                    for status in ("contradicted", "stated")
                ),
                Section("recomputed", _count_by_part(self.select("recomputed"))),
            ),
            CHECK_SCHEMA,
            self.tone,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result for programs, with every field of the certificate."""
        return {
            "schema": CHECK_SCHEMA,
            "kind": self.kind,
            "overall": self.overall,
            "tone": self.tone,
            "caution": self.caution,
            "table": self.table,
            "unchecked": self.unchecked,
            "signature": dataclasses.asdict(self.signature),
            "fields": [dataclasses.asdict(field) for field in self.fields],
        }

    def to_json(self) -> str:
        """Return the result for programs as JSON text, ended by a line break."""
        return json.dumps(self.to_dict(), indent=2) + "\n"

    def __str__(self) -> str:
        """Return the result for people."""
        return self.make_report().to_text().rstrip("\n")


def check_certificate(
    document: dict[str, Any],
    space: Space | Path | None = None,
    *,
    hide: Sequence[str | Path] = (),
    prior: Prior | Path | None = None,
) -> CertificateCheck:
    """Return which fields of a certificate are true, false, or only stated by the owner.

    For privatized words the law is built from the space, the mechanism and its parameters, and its proof is run. For
    rewritten texts the law of the noise is built for a model of the stated sizes; for synthetic records and private
    models the listed measurements are composed. Then the certificate is written anew, and compared field by field. The
    document may be anybody's: no path or address in it is opened.

    Args:
        document: as `parse_certificate` returns it.
        space: the words of the certificate, or their file, where they do not come with the package.
        hide: files with lists of hidden classes that do not come with the package.
        prior: public frequencies of words, or their file of counts, where the certificate names other than Zipf's law.

    Raises:
        InputError: the document is not a certificate of this version, or nothing can be computed from it.
    """
    if not isinstance(document, dict):
        raise make_parameter_error("check_certificate", "document", "what parse_certificate returns", type(document))
    document = restate(document)
    schema = document.get("schema")
    if not isinstance(schema, str) or schema not in _KINDS:
        raise InputError(
            f"This version cannot check the document: its schema must be one of {', '.join(_KINDS)}. "
            f"Got {shorten_text(repr(schema))}: check it with the version of deniable that wrote it."
        )
    statements = Statements(document)
    unchecked = ""
    if schema == CERTIFICATE_SCHEMA:
        expected, unchecked = expect_word_certificate(statements, space, hide, prior)
    elif schema == CARD_SCHEMA:
        expected, unchecked = expect_card(statements)
    elif schema == REWRITE_CERTIFICATE_SCHEMA:
        expected = expect_rewrite_certificate(statements)
    else:
        expected = expect_synthesis_certificate(statements)
    return CertificateCheck(_KINDS[schema], document, tuple(compare_fields(document, expected)), unchecked)


def describe_caution(statements: Statements) -> str:
    """Return why a certificate, true as it may be, does not protect whole records; nothing where it does.

    Of privatized words the record of median length counts, pure or with its delta, whichever says more.
    """
    if statements.get("private") is False:
        return "The certificate itself says that nothing is protected."
    if "refuted" in {_clean(statements.get(name, "status")) for name in ("guarantee", "training records")}:
        return "The guarantee is refuted: nothing is protected."
    if statements.get("training records", "guarantee") == "none":
        return "No privacy is claimed for the training records."
    which, promises = _find_whole_promises(statements)
    of_whole, plural = " ".join(which), UNIT_PLURALS.get(which[1], "units")
    epsilon, delta = min(promises, key=lambda one: (one[0] > MAX_WHOLE_EPSILON or one[1] > MAX_WHOLE_DELTA, one[1]))
    if epsilon > MAX_WHOLE_EPSILON:
        bound = "is not bounded" if math.isinf(epsilon) else f"is {format_upper(epsilon)}"
        return (
            f"Whole {plural} are not protected: epsilon of {of_whole} {bound}, and above "
            f"{format_exact(MAX_WHOLE_EPSILON)} it excludes next to nothing. Anybody who has an original can look for "
            "its private version, and will often find it."
        )
    if delta > MAX_WHOLE_DELTA:
        return (
            f"Whole {plural} are not protected: delta of {of_whole} is {format_upper(delta)}, and a release that shows "
            "them whole with that chance keeps such a guarantee."
        )
    return _describe_vectors_caution(Statements(Statements(statements.get_object("space")).get_object("vectors")))


def _describe_vectors_caution(vectors: Statements) -> str:
    """Return why the texts that vectors were made from are not protected; nothing where they are, or are public."""
    guarantee = Statements(vectors.get_object("guarantee"))
    epsilon, delta = (_read_epsilon(guarantee.get(name)) for name in ("epsilon", "delta"))
    if epsilon <= MAX_WHOLE_EPSILON and delta <= MAX_WHOLE_DELTA and guarantee.get("status") != "refuted":
        return ""
    return f"The texts that vectors were made from are not protected: they are {_clean(vectors.get('made_from'))}."


def _find_whole_promises(statements: Statements) -> tuple[tuple[str, str], list[tuple[float, float]]]:
    """Return what a certificate protects as a whole, and every epsilon with its delta; 0 where it speaks of none."""
    if statements.get("schema") == CERTIFICATE_SCHEMA:
        entry = Statements(next((one for one in statements.get_list("documents") if isinstance(one, dict)), {}))
        record = f"the {_clean(entry.get('record'))}"
        parts = [Statements(entry.get_object(name)) for name in ("pure", "approximate")]
        return (record, "record"), [_read_promise(part) for part in parts]
    guarantee = statements.get_object("guarantee")
    if statements.get("schema") == CARD_SCHEMA:
        verdict = Statements(statements.get_object("training records")).get_object("verdict")
        guarantee = Statements(verdict).get_object("guarantee")
    unit = guarantee.get("unit")
    return ("one", unit if unit in UNIT_PLURALS else "unit"), [_read_promise(Statements(guarantee))]


def _read_promise(guarantee: Statements) -> tuple[float, float]:
    """Return epsilon and delta of a guarantee."""
    return _read_epsilon(guarantee.get("epsilon")), _read_epsilon(guarantee.get("delta"))


def _read_epsilon(value: object) -> float:
    """Return an epsilon of a certificate; a text stands for an infinite one, and nothing for none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return 0.0 if value is None else math.inf


def _list_promises(statements: Statements) -> tuple[Fact, ...]:
    """Return what a privacy officer asks first: what is promised to whom, on what ground, and what is not."""
    if statements.get("schema") == CARD_SCHEMA:
        parts = statements.get_object("training records")
        kind, verdict = parts.get("guarantee"), Statements(parts).get_object("verdict")
    else:
        parts, verdict = statements.get_object("guarantee"), statements.get_object("verification")
        kind = parts.get("kind")
    epsilon = [f"{name} {_clean(parts[name])}" for name in ("epsilon", "delta") if name in parts]
    metric = [f"distance {_clean(parts['metric'])}"] if "metric" in parts else []
    facts = {
        "guarantee": ", ".join([_clean(kind), *epsilon, *metric]),
        "unit": parts.get("unit"),
        "adjacency": parts.get("adjacency"),
        "status": parts.get("status"),
        "verdict": ": ".join(_clean(verdict[name]) for name in ("status", "method") if name in verdict),
        "mechanism": statements.get("mechanism", "name") or statements.get("model"),
        "meaning": statements.get("meaning"),
        "not protected": statements.get("not_protected") or statements.get("not protected"),
    }
    return tuple(
        Fact(label, list(map(_clean, value[:_MAX_ITEMS])) if isinstance(value, list) else _clean(value))
        for label, value in facts.items()
        if value not in (None, "", [])
    )


def _describe_fields(fields: Sequence[FieldCheck]) -> tuple[Fact, ...]:
    """Return the first of some fields, and how many there are besides."""
    facts: dict[str, Fact] = {}
    for field in fields[:_MAX_LISTED]:
        path = _clean(field.path)
        # Long paths are cut, and may be equal then.
        label = path if path not in facts else f"{path} ({len(facts) + 1})"
        facts[label] = Fact(label, _clean(field.value), _clean(field.note))
    if len(fields) > _MAX_LISTED:
        facts["more"] = Fact("...", f"and {len(fields) - _MAX_LISTED:,} more")
    return tuple(facts.values())


def _count_by_part(fields: Sequence[FieldCheck]) -> tuple[Fact, ...]:
    """Return how many values of each part of a certificate were recomputed; a single one itself."""
    by_part: dict[str, list[FieldCheck]] = collections.defaultdict(list)
    for field in fields:  # their names are those of the schema
        by_part[field.path.partition(".")[0].partition("[")[0]].append(field)
    return tuple(
        Fact(_clean(part), f"{len(members)} values" if len(members) > 1 else _clean(members[0].value))
        for part, members in by_part.items()
    )


def _clean(value: Any) -> str:  # noqa: ANN401 - any JSON value of a document that may be anybody's
    """Return a value on one line, without characters that move a terminal's cursor or the reader's eye."""
    text = format_exact(value) if isinstance(value, float) else format_value(value)
    return escape_unprintable(shorten_text(text, _MAX_SHOWN))
