"""The certificate that goes with rewritten texts: what is promised of each, on what ground, and what is not.

It says nothing about the private texts beyond their number and whatever the table itself shows.
"""

import dataclasses
import hashlib
import json
import math
from collections.abc import Sequence
from typing import Any

from deniable import __version__
from deniable.core.evidence import Verdict, encode_nonfinite_numbers, limit_status
from deniable.core.guarantees import ApproxDP, PureDP, encode_guarantee, is_proved
from deniable.rewriting.methods.base import RewritingMethod
from deniable.rewriting.model import Rewriter
from deniable.text.certificate import format_odds, list_copied
from deniable.text.tables.layout import CopiedContent

REWRITE_CERTIFICATE_SCHEMA = "deniable-rewrite-certificate/2"
_FRESH_NOISE = "fresh noise from the operating system; not repeatable"
_PUBLIC_SEED_NOISE = "not private: public seed; anyone who knows the seed can undo the noise"
_NOTHING_COPIED = CopiedContent()
_MAX_STAGES = 20
"""Stages of a training that are told."""


@dataclasses.dataclass(frozen=True)
class RewriteCertificate:
    """What accompanies rewritten texts; field for field the JSON file of the command line.

    Attributes:
        schema: version of this layout.
        deniable: version of the software.
        private: whether the guarantee is proved: False where it is refuted, or the noise came from a public seed.
        method: name and parameters.
        guarantee: kind, epsilon, delta, of what, source, and whether the source proves it or it is refuted.
        verification: what was computed of this very method; infinite numbers are texts.
        row: what the texts of one row spend together; None where the guarantee is refuted.
        model: what texts go through, and what it was trained on.
        noise: where it came from.
        arithmetic: how draws were made.
        meaning: what one new text can tell, in plain words.
        records: number of records of the table.
        texts: number of texts that were rewritten.
        not_protected: what the table shows of the private one, and what the guarantee does not speak of.
    """

    schema: str
    deniable: str
    private: bool
    method: dict[str, Any]
    guarantee: dict[str, Any]
    verification: dict[str, Any]
    row: dict[str, Any] | None
    model: dict[str, Any]
    noise: str
    arithmetic: str
    meaning: list[str]
    records: int
    texts: int
    not_protected: list[str]

    def to_json(self) -> str:
        """Return the certificate as JSON text, ended by a line break."""
        fields = {name: encode_nonfinite_numbers(value) for name, value in dataclasses.asdict(self).items()}
        return json.dumps(fields, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def summary(self) -> str:
        """Return the certificate as a few lines for a person."""
        guarantee, verification = self.guarantee, self.verification
        delta = f" and delta {guarantee['delta']:g}" if "delta" in guarantee else ""
        lower_bound = verification["lower_bound"]  # a text where it is infinite
        true_epsilon = (
            ""
            if self.private
            else f"true epsilon >= {lower_bound if isinstance(lower_bound, str) else f'{lower_bound:.6g}'}; "
        )
        lines = [
            f"{self.records:,} records, {self.texts:,} texts, by {self.method['name']}",
            f"guarantee      epsilon {guarantee['epsilon']:g}{delta} for {guarantee['of']}",
            f"{'':<15}{guarantee['status']}: {guarantee['source']}",
            f"verification   {verification['status']}: {true_epsilon}{verification['method']}",
            f"noise          {self.noise}",
            f"model          trained on {self.model['trained on']}",
        ]
        if self.row is not None and self.row["texts"] > 1:
            spent = f"{self.row['texts']} texts of a row together: epsilon {self.row['epsilon']:g}"
            lines.append(f"{'rows':<15}{spent}" + (f" and delta {self.row['delta']:g}" if "delta" in self.row else ""))
        for title, entries in (("meaning", self.meaning), ("not protected", self.not_protected)):
            lines += [f"{title if not i else '':<15}{entry}" for i, entry in enumerate(entries)]
        return "\n".join(lines)


def certify_rewriting(
    method: RewritingMethod,
    records: int,
    texts: int,
    *,
    columns: Sequence[str] = ("text",),
    copied: CopiedContent = _NOTHING_COPIED,
    nulls: bool = False,
) -> RewriteCertificate:
    """Return the certificate of a release.

    Args:
        method: what rewrote the texts.
        records: of the table.
        texts: that were rewritten.
        columns: names of the columns of texts.
        copied: what went with the texts unchanged.
        nulls: whether the table can hold nulls, which stay.
    """
    verdict = method.verify()
    guarantee = limit_status(method.guarantee, verdict)
    seeded = method.seed is not None
    private = guarantee.status == "proved"
    limit = f"{method.model.limit:,}"
    unit = f"one text, whatever it says, of which the first {limit} tokens enter (local differential privacy)"
    return RewriteCertificate(
        schema=REWRITE_CERTIFICATE_SCHEMA,
        deniable=__version__,
        private=private,
        method={"name": method.name, **method.parameters},
        guarantee={**encode_guarantee(guarantee), "of": unit},
        # Not how long it took: certificates of tables of one shape are equal.
        verification={name: value for name, value in verdict.to_dict().items() if name != "seconds"},
        row=_compose_row(guarantee, len(columns)) if private else None,
        model=_describe_rewriter(method.model),
        noise=_PUBLIC_SEED_NOISE if seeded else _FRESH_NOISE,
        arithmetic=method.arithmetic,
        meaning=_describe_meaning(guarantee, verdict, seeded=seeded),
        records=records,
        texts=texts,
        not_protected=_list_unprotected(method.model, copied, nulls=nulls),
    )


def describe_training_texts(model: Rewriter) -> str:
    """Return in words what a model was trained on, as far as it says."""
    facts = model.facts
    stages: list[str] = []
    try:
        while isinstance(facts, dict) and "records" in facts and len(stages) < _MAX_STAGES:
            noise = facts.get("options", {}).get("noise")
            stages.append(
                f"{facts['records']:,} texts" + (f" with {noise[0]} noise of scale {noise[1]:.4g}" if noise else "")
            )
            facts = facts.get("first stage") or {}
    except (AttributeError, LookupError, TypeError, ValueError):  # a file may hold any facts
        stages = []
    return ", after ".join(stages) or "texts that it does not tell of"


def fingerprint_rewriter(model: Rewriter) -> str:
    """Return hexadecimal BLAKE2b of weights, words and limit: it tells models apart."""
    digest = hashlib.blake2b(repr((model.vocabulary.words, model.limit, model.radius)).encode(), digest_size=16)
    for name, weights in sorted(model.network.state_dict().items()):
        digest.update(name.encode())
        digest.update(weights.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _describe_rewriter(model: Rewriter) -> dict[str, Any]:
    return {
        "trained on": describe_training_texts(model),
        "words": len(model.vocabulary),
        "limit": model.limit,
        "coordinates": model.latent,
        "radius": model.radius,
        "fingerprint": fingerprint_rewriter(model),
    }


def _compose_row(guarantee: PureDP | ApproxDP, texts: int) -> dict[str, Any]:
    """Return what so many texts of one row spend, by sequential composition."""
    spent: dict[str, Any] = {"texts": texts, "epsilon": texts * guarantee.epsilon}
    return {**spent, "delta": texts * guarantee.delta} if isinstance(guarantee, ApproxDP) else spent


def _describe_meaning(guarantee: PureDP | ApproxDP, verdict: Verdict, *, seeded: bool) -> list[str]:
    if seeded:
        return ["nothing is protected: the seed undoes the noise"]
    if verdict.status == "refuted":
        lower_bound = verdict.lower_bound
        odds_change = f"{format_odds(lower_bound)}-fold" if math.isfinite(lower_bound) else "without bound"
        return [
            f"the claim is false: what is released of one text can change anyone's odds between two texts {odds_change}",
            "nothing smaller is known of the texts decoded from it: treat them as not private",
        ]
    delta_clause = f", with delta {guarantee.delta:g} on top" if isinstance(guarantee, ApproxDP) else ""
    fold = f"{format_odds(guarantee.epsilon)}-fold{delta_clause}"
    scope = (
        "that holds for a text as a whole, whatever its words and its length; "
        "mechanisms that release word by word promise it for one word only, and less for words far apart"
    )
    condition = "" if is_proved(guarantee.status) else f"if the guarantee holds, which is {guarantee.status}: "
    return [
        f"{condition}one new text changes anyone's odds between any two private texts at most {fold}",
        scope,
        "several texts of one person add up: k of them, k times epsilon",
    ]


def _list_unprotected(model: Rewriter, copied: CopiedContent, *, nulls: bool) -> list[str]:
    unprotected = ["number and order of the records, line ends" + (", and which texts are null" if nulls else "")]
    unprotected += list_copied(copied)
    training_leak = (
        f"what the model was trained on ({describe_training_texts(model)}): it can repeat their words and whole sentences; if they "
        "were private, that is a leak that the guarantee does not cover"
    )
    return [
        *unprotected,
        training_leak,
        "what the choice of epsilon, method and model shows, if made by a look at the private texts",
    ]
