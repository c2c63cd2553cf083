"""The reference of certificates: every field, what it means, its unit, and who can compute it again.

The fields and who can compute them come from three certificates that are issued here and checked like any other; what
they mean comes from ``certificate_fields.tsv``, which must describe each of them and nothing else.
"""

import collections
import csv
import dataclasses
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import deniable as dn
from deniable.rewriting.certificate import RewrittenTable, certify_rewriting
from deniable.text.release_certificate import ReleaseCertificate

from .markdown import code, escape, make_table

_INTRODUCTION = """# Certificates

Every release comes with a certificate: a JSON file that says what is guaranteed, how that was established, and what is
not protected. This page lists every field. [Read and check a certificate](../howto/certificate.md) explains how to use
one, and [`deniable certificate check`](commands.md#certificate-check) checks one.

**Who can compute it** says how far you have to trust whoever wrote the certificate. *Anyone*: `deniable certificate
check` computes the field again from the others, and says *contradicted* if it differs. *Owner's word*: the field
depends on the private table or on a choice, and you take the owner's word for it; the reason is given. To compute the
fields of privatized words again you need their vocabulary; the built-in one comes with the package.

A model's card has a schema of its own, `deniable-model-card/2`: it lists the guarantee and what it was computed from,
and the rest of it depends on the model. `deniable certificate check` checks cards too. A signature is a separate file,
`CERTIFICATE.sig`.
"""
_FOOTER = "<!-- Written by python -m tools.reference, from certificate_fields.tsv and three certificates. -->\n"
_TITLES = {
    "words": ("Privatized words", "privatize"),
    "rewrite": ("Rewritten texts", "rewrite"),
    "synthesis": ("Synthetic records", "synthesize"),
}


@dataclasses.dataclass(frozen=True)
class Field:
    """One line of the file of fields.

    Attributes:
        path: of one value or of everything below it; ``[]`` is any entry of a list.
        unit: of the value; empty for none.
        meaning: in one sentence.
    """

    path: str
    unit: str
    meaning: str

    def covers(self, path: str) -> bool:
        """Return whether a value's path is that of this field, or below it."""
        return path == self.path or path.startswith((f"{self.path}.", f"{self.path}["))


def read_fields() -> dict[str, list[Field]]:
    """Return the fields of each kind of certificate, and under ``all`` those that every certificate has."""
    fields: dict[str, list[Field]] = collections.defaultdict(list)
    with Path(__file__).with_name("certificate_fields.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            fields[row["certificates"]].append(Field(row["field"], row["unit"], row["meaning"]))
    return fields


def _certify_words() -> tuple[ReleaseCertificate, dn.Space]:
    """Return a certificate of privatized words, and their space."""
    space = dn.Space(["good", "bad", "fine", "room"], [[0.0], [1.0], [2.0], [4.0]])
    release = dn.Release(dn.mechanism("calibrated", space, epsilon=1.0))
    tally = release.batch(["a good room", "fine"]).tally
    return dn.Certificate.of(release, tally, copied=["id"]), space


def _certify_rewriting() -> ReleaseCertificate:
    """Return a certificate of rewritten texts, by the method that has a delta."""
    options = dn.rewriting.RewriterOptions(latent=1, hidden=2, embedding=1, epochs=1, spliced=0)
    model = dn.rewriting.fit_rewriter(["good"], ["good"], options, seed=0)
    method = dn.rewriting_method("adept-gaussian", model, epsilon=5.0, delta=1e-5)
    return certify_rewriting(method, RewrittenTable(records=3, texts=6, columns=2))


def _certify_synthesis() -> ReleaseCertificate:
    """Return a certificate of synthetic records with a further column."""
    texts, labels = ["a good room", "a bad room"] * 6, ["yes", "no"] * 6
    options = dn.SynthesisOptions(
        epsilon=2.0, delta=1e-6, classes=("yes", "no"), rows=2, records=12, domains={"stars": ("1", "2")}
    )
    columns = {"stars": [1, 2] * 6}
    return dn.synthesize(texts, labels, options, columns=columns, public=dn.PublicTexts(texts)).certificate


def describe_certificates() -> str:
    """Return the page."""
    words, space = _certify_words()
    samples = {"words": words, "rewrite": _certify_rewriting(), "synthesis": _certify_synthesis()}
    fields = read_fields()
    common: dict[str, list[dn.FieldCheck]] = collections.defaultdict(list)
    sections = []
    for kind, certificate in samples.items():
        document = json.loads(certificate.to_json())
        check = dn.check_certificate(document, space if kind == "words" else None)
        if wrong := check.select("contradicted"):
            raise ValueError(f"A certificate that was issued here is contradicted: {wrong[0]}.")
        found = assign_checks([*fields["all"], *fields[kind]], check.fields)
        for field in fields["all"]:
            common[field.path] += found[field.path]
        title, command = _TITLES[kind]
        sections += [
            f"## {title} {{ #{kind} }}\n",
            f"Written by [`deniable {command}`](commands.md#{command}), schema `{document['schema']}`.\n",
            _make_table(fields[kind], found),
        ]
    everywhere = "## Fields of every certificate { #every-certificate }\n"
    return "\n".join([_INTRODUCTION, everywhere, _make_table(fields["all"], common), *sections, _FOOTER])


def _make_table(fields: Sequence[Field], found: Mapping[str, Sequence[dn.FieldCheck]]) -> str:
    """Return the table of some fields."""
    rows = [(code(field.path), field.unit, field.meaning, _describe_checks(found[field.path])) for field in fields]
    return make_table(("field", "unit", "meaning", "who can compute it"), rows)


def assign_checks(fields: Sequence[Field], checks: Iterable[dn.FieldCheck]) -> Mapping[str, list[dn.FieldCheck]]:
    """Return the checked values of a certificate by the field that describes them, the most particular one.

    Raises:
        ValueError: a value has no field, or a field no value.
    """
    found: dict[str, list[dn.FieldCheck]] = {field.path: [] for field in fields}
    for check in checks:
        path = re.sub(r"\[\d+\]", "[]", re.sub(r'\["([^"]*)"\]', r".\1", check.path))
        fitting = [field.path for field in fields if field.covers(path)]
        if not fitting:
            raise ValueError(f"certificate_fields.tsv does not describe {path}: say what it means.")
        found[max(fitting, key=len)].append(check)
    if empty := [path for path, values in found.items() if not values]:
        raise ValueError(f"certificate_fields.tsv describes what no certificate has: {', '.join(empty)}.")
    return found


def _describe_checks(checks: Sequence[dn.FieldCheck]) -> str:
    """Return who can compute some values again, with the reasons why others cannot."""
    notes = list(dict.fromkeys(check.note.partition(";")[0] for check in checks if check.status == "stated"))
    if not notes:
        return "anyone"
    word = f"owner's word ({escape('; '.join(notes))})"
    return word if all(check.status == "stated" for check in checks) else f"anyone; parts are the {word}"
