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
from deniable.auditing import limit_standing
from deniable.guarantees import ApproxDP, PureDP
from deniable.rewrite.methods import Method
from deniable.rewrite.model import Rewriter
from deniable.status import is_proved
from deniable.text.certificate import list_copied, odds
from deniable.text.tables.layout import Copied
from deniable.verdict import Verdict, finite

SCHEMA = "deniable-rewrite-certificate/1"
_FRESH = "fresh noise from the operating system; not repeatable"
_SEED = "not private: public seed; anyone who knows the seed can undo the noise"
_NOTHING = Copied()
_STAGES = 20
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
        fields = {name: finite(value) for name, value in dataclasses.asdict(self).items()}
        return json.dumps(fields, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def summary(self) -> str:
        """Return the certificate as a few lines for a person."""
        guarantee, found = self.guarantee, self.verification
        delta = f" and delta {guarantee['delta']:g}" if "delta" in guarantee else ""
        least = found["lower_bound"]  # a text where it is infinite
        truth = "" if self.private else f"true epsilon >= {least if isinstance(least, str) else f'{least:.6g}'}; "
        lines = [
            f"{self.records:,} records, {self.texts:,} texts, by {self.method['name']}",
            f"guarantee      epsilon {guarantee['epsilon']:g}{delta} for {guarantee['of']}",
            f"{'':<15}{guarantee['standing']}: {guarantee['source']}",
            f"verification   {found['status']}: {truth}{found['method']}",
            f"noise          {self.noise}",
            f"model          trained on {self.model['trained on']}",
        ]
        if self.row is not None and self.row["texts"] > 1:
            spent = f"{self.row['texts']} texts of a row together: epsilon {self.row['epsilon']:g}"
            lines.append(f"{'rows':<15}{spent}" + (f" and delta {self.row['delta']:g}" if "delta" in self.row else ""))
        for title, entries in (("meaning", self.meaning), ("not protected", self.not_protected)):
            lines += [f"{title if not i else '':<15}{entry}" for i, entry in enumerate(entries)]
        return "\n".join(lines)


def certify(
    method: Method,
    records: int,
    texts: int,
    *,
    columns: Sequence[str] = ("text",),
    copied: Copied = _NOTHING,
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
    guarantee = limit_standing(method.guarantee, verdict)
    seeded = method.seed is not None
    private = guarantee.standing == "proved"
    limit = f"{method.model.limit:,}"
    of = f"one text, whatever it says, of which the first {limit} tokens enter (local differential privacy)"
    return RewriteCertificate(
        schema=SCHEMA,
        deniable=__version__,
        private=private,
        method={"name": method.name, **method.parameters},
        guarantee={"kind": type(guarantee).__name__, **dataclasses.asdict(guarantee), "of": of},
        # Not how long it took: certificates of tables of one shape are equal.
        verification={name: held for name, held in verdict.to_dict().items() if name != "seconds"},
        row=_row(guarantee, len(columns)) if private else None,
        model=_model(method.model),
        noise=_SEED if seeded else _FRESH,
        arithmetic=method.arithmetic,
        meaning=_meaning(guarantee, verdict, seeded=seeded),
        records=records,
        texts=texts,
        not_protected=_not_protected(method.model, copied, nulls=nulls),
    )


def trained_on(model: Rewriter) -> str:
    """Return in words what a model was trained on, as far as it says."""
    facts = model.facts
    stages: list[str] = []
    try:
        while isinstance(facts, dict) and "records" in facts and len(stages) < _STAGES:
            noise = facts.get("options", {}).get("noise")
            stages.append(
                f"{facts['records']:,} texts" + (f" with {noise[0]} noise of scale {noise[1]:.4g}" if noise else "")
            )
            facts = facts.get("first stage") or {}
    except (AttributeError, LookupError, TypeError, ValueError):  # a file may hold any facts
        stages = []
    return ", after ".join(stages) or "texts that it does not tell of"


def fingerprint(model: Rewriter) -> str:
    """Return hexadecimal BLAKE2b of weights, words and limit: it tells models apart."""
    state = hashlib.blake2b(repr((model.vocabulary.words, model.limit, model.radius)).encode(), digest_size=16)
    for name, weights in sorted(model.network.state_dict().items()):
        state.update(name.encode())
        state.update(weights.cpu().contiguous().numpy().tobytes())
    return state.hexdigest()


def _model(model: Rewriter) -> dict[str, Any]:
    return {
        "trained on": trained_on(model),
        "words": len(model.vocabulary),
        "limit": model.limit,
        "coordinates": model.latent,
        "radius": model.radius,
        "fingerprint": fingerprint(model),
    }


def _row(guarantee: PureDP | ApproxDP, texts: int) -> dict[str, Any]:
    """Return what so many texts of one row spend, by sequential composition."""
    held: dict[str, Any] = {"texts": texts, "epsilon": texts * guarantee.epsilon}
    return {**held, "delta": texts * guarantee.delta} if isinstance(guarantee, ApproxDP) else held


def _meaning(guarantee: PureDP | ApproxDP, verdict: Verdict, *, seeded: bool) -> list[str]:
    if seeded:
        return ["nothing is protected: the seed undoes the noise"]
    if verdict.status == "refuted":
        least = verdict.lower_bound
        truth = f"{odds(least)}-fold" if math.isfinite(least) else "without bound"
        return [
            f"the claim is false: what is released of one text can change anyone's odds between two texts {truth}",
            "nothing smaller is known of the texts decoded from it: treat them as not private",
        ]
    besides = f", with delta {guarantee.delta:g} on top" if isinstance(guarantee, ApproxDP) else ""
    fold = f"{odds(guarantee.epsilon)}-fold{besides}"
    whole = (
        "that holds for a text as a whole, whatever its words and its length; "
        "mechanisms that release word by word promise it for one word only, and less for words far apart"
    )
    condition = "" if is_proved(guarantee.standing) else f"if the guarantee holds, which is {guarantee.standing}: "
    return [
        f"{condition}one new text changes anyone's odds between any two private texts at most {fold}",
        whole,
        "several texts of one person add up: k of them, k times epsilon",
    ]


def _not_protected(model: Rewriter, copied: Copied, *, nulls: bool) -> list[str]:
    out = ["number and order of the records, line ends" + (", and which texts are null" if nulls else "")]
    out += list_copied(copied)
    leak = (
        f"what the model was trained on ({trained_on(model)}): it can repeat their words and whole sentences; if they "
        "were private, that is a leak that the guarantee does not cover"
    )
    return [*out, leak, "what the choice of epsilon, method and model shows, if made by a look at the private texts"]
