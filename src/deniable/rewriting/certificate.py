"""The certificate that accompanies rewritten texts: what is guaranteed for each, why, and what is not.

It says nothing about the private texts beyond their number and whatever the table itself shows.
"""

import dataclasses
import hashlib
import math
from collections.abc import Sequence
from typing import Any

from deniable import __version__
from deniable.core.errors import check_count
from deniable.core.guarantees import Guarantee, Verdict, is_proved, limit_status
from deniable.core.numbers import format_exact, format_lower, format_odds, format_upper
from deniable.core.report import Fact
from deniable.rewriting.methods import RewritingMethod
from deniable.rewriting.model import Rewriter
from deniable.text.release_certificate import (
    CHOICE_DISCLOSURE,
    CHOSEN_BY_OWNER,
    CHOSEN_FROM_DATA,
    NOTHING_COPIED,
    ReleaseCertificate,
    list_copied,
    list_revealing,
)
from deniable.text.tables.layout import CopiedContent

REWRITE_CERTIFICATE_SCHEMA = "deniable-rewrite-certificate/5"
FRESH_NOISE = "fresh noise from the operating system; not repeatable"
PUBLIC_SEED_NOISE = "not private: public seed; anyone who knows the seed can undo the noise"
SHAPE = "number and order of the records, line ends"
SHAPE_WITH_NULLS = f"{SHAPE}, and which texts are null"
_TRAINING_LAWS = {"laplace": "laplace", "gaussian": "gaussian", "l2-norm": "l2-norm", "max-norm": "max-norm"}
"""Laws of the noise in a training, for files that may name anything."""
_MAX_STAGES = 20
"""Stages of a training that are named."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RewriteCertificate(ReleaseCertificate):
    """What accompanies rewritten texts; see `ReleaseCertificate` for the fields of every release.

    Attributes:
        chosen: how epsilon was chosen: from the private texts, or by the owner, who did not declare that.
        row: what the texts of one row spend together; None where the guarantee is not proved.
        model: what texts go through, and what it was trained on.
        texts: number of texts that were rewritten.
    """

    chosen: str
    row: dict[str, Any] | None
    model: dict[str, Any]
    texts: int

    def describe_amount(self) -> str:
        """Return the number of texts."""
        return f"{self.texts:,} texts"

    def describe_guarantee(self) -> str:
        """Return epsilon, delta and what they hold for."""
        line = f"{_format_budget(self.guarantee)} for {self.guarantee['of']}"
        return f"{line}; epsilon was chosen {self.chosen}" if self.chosen == CHOSEN_FROM_DATA else line

    def list_promises(self) -> Sequence[tuple[str, str]]:
        """Return what holds of every text, and of the texts of a row together."""
        promise = f"each text as a whole, {_format_budget(self.guarantee)} ({self.guarantee['status']})"
        return (
            ("protects", f"{promise}; only its first {self.model['limit']:,} tokens are used"),
            *((fact.label, fact.value) for fact in self._list_row_facts()),
        )

    def list_own_facts(self) -> Sequence[Fact]:
        """Return what the model was trained on, and what the texts of a row spend."""
        return [Fact("model", f"trained on {self.model['trained on']}"), *self._list_row_facts()]

    def _list_row_facts(self) -> list[Fact]:
        if self.row is None or self.row["texts"] == 1:
            return []
        return [Fact("rows", f"{self.row['texts']} texts of a row together: {_format_budget(self.row)}")]


def _format_budget(spent: dict[str, Any]) -> str:
    """Return epsilon, and delta where there is one."""
    return f"epsilon {format_upper(spent['epsilon'], 6)}" + (
        f" and delta {format_upper(spent['delta'], 6)}" if "delta" in spent else ""
    )


@dataclasses.dataclass(frozen=True)
class RewrittenTable:
    """What a certificate says of the table that was released.

    Attributes:
        records: number of them.
        texts: number of texts that were rewritten.
        columns: number of columns of texts.
        copied: what went with the texts unchanged.
        has_nulls: whether the table can hold nulls, which stay.
        steps: what was declared to be done to it beside the rewriting.
    """

    records: int
    texts: int
    columns: int = 1
    copied: CopiedContent = NOTHING_COPIED
    has_nulls: bool = False
    steps: Sequence[str] = ()


def certify_rewriting(
    method: RewritingMethod,
    table: RewrittenTable,
    *,
    model: dict[str, Any] | None = None,
    chosen_from_data: bool = False,
) -> RewriteCertificate:
    """Return the certificate of a release.

    Args:
        method: what rewrote the texts.
        table: what was released.
        model: what is said of the model, where the method's own has no weights; None to describe that.
        chosen_from_data: whether epsilon was chosen by looking at the private texts.
    """
    model = model or {
        "trained on": _describe_training_texts(method.model.facts),
        "words": len(method.model.vocabulary),
        "limit": method.model.limit,
        "coordinates": method.model.latent,
        "radius": method.model.radius,
        "fingerprint": fingerprint_rewriter(method.model),
    }
    verdict = method.verify()
    guarantee = limit_status(method.guarantee, verdict)
    is_private, columns = guarantee.status == "proved", table.columns
    unit = f"one text, whatever it says, of which the first {method.model.limit:,} tokens enter"
    row: dict[str, Any] = {"texts": columns, "epsilon": columns * guarantee.epsilon}
    if guarantee.delta:
        row["delta"] = columns * guarantee.delta
    training_leak = (
        f"what the model was trained on ({model['trained on']}): it can repeat their words and whole sentences; if "
        "they were private, that is a leak that the guarantee does not cover"
    )
    return RewriteCertificate(
        schema=REWRITE_CERTIFICATE_SCHEMA,
        deniable=__version__,
        private=is_private,
        mechanism={"name": method.name, **method.parameters},
        guarantee={**guarantee.to_dict(), "of": f"{unit} (local differential privacy)"},
        # Not how long it took: certificates of tables of one shape are equal.
        verification={name: value for name, value in verdict.to_dict().items() if name != "seconds"},
        chosen=CHOSEN_FROM_DATA if chosen_from_data else CHOSEN_BY_OWNER,
        row=row if is_private else None,
        model=model,
        noise=FRESH_NOISE if method.seed is None else PUBLIC_SEED_NOISE,
        arithmetic=method.arithmetic,
        steps=[*table.steps],
        meaning=_describe_meaning(guarantee, verdict, seeded=method.seed is not None),
        records=table.records,
        texts=table.texts,
        not_protected=[
            *list_revealing(table.copied),
            *([CHOICE_DISCLOSURE] if chosen_from_data else []),
            SHAPE_WITH_NULLS if table.has_nulls else SHAPE,
            *list_copied(table.copied),
            training_leak,
            "what the choice of epsilon, method and model reveals, if made by looking at the private texts",
        ],
    )


def _describe_training_texts(facts: dict[str, Any]) -> str:
    """Return in words what a model was trained on, as its file states: nothing can check that."""
    stages: list[str] = []
    try:
        while isinstance(facts, dict) and "records" in facts and len(stages) < _MAX_STAGES:
            noise, count = facts.get("options", {}).get("noise"), check_count("a model", "records", facts["records"])
            law = _TRAINING_LAWS[noise[0]] if noise else ""
            stages.append(f"{count:,} texts" + (f" with {law} noise of scale {noise[1]:.4g}" if noise else ""))
            facts = facts.get("first stage") or {}
    except (AttributeError, LookupError, TypeError, ValueError):  # a file may hold any facts
        stages = []
    return ", after ".join(stages) + ", as its file states" if stages else "texts that its file does not describe"


def fingerprint_rewriter(model: Rewriter) -> str:
    """Return hexadecimal BLAKE2b of weights, words and limit: it tells models apart."""
    digest = hashlib.blake2b(repr((model.vocabulary.words, model.limit, model.radius)).encode(), digest_size=16)
    for name, weights in sorted(model.network.state_dict().items()):
        digest.update(name.encode())
        digest.update(weights.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _describe_meaning(guarantee: Guarantee, verdict: Verdict, *, seeded: bool) -> list[str]:
    if seeded:
        return ["nothing is protected: the seed undoes the noise"]
    if verdict.status == "refuted":
        lower_bound = verdict.lower_bound
        odds_change = (
            f"{format_odds(lower_bound, format_lower)}-fold" if math.isfinite(lower_bound) else "without bound"
        )
        return [
            (
                "the claim is false: what is released of one text can change anyone's odds between two texts "
                f"{odds_change}"
            ),
            "nothing smaller is known of the texts decoded from it: treat them as not private",
        ]
    delta_clause = f", with delta {format_exact(guarantee.delta)} on top" if guarantee.delta else ""
    factor = f"{format_odds(guarantee.epsilon, format_upper)}{delta_clause}"
    scope = (
        "that holds for a text as a whole, whatever its words and its length; "
        "mechanisms that release word by word promise it for one word only, and less for words far apart"
    )
    condition = "" if is_proved(guarantee.status) else f"if the guarantee holds, which is {guarantee.status}: "
    return [
        f"{condition}one new text can change anyone's odds between any two private texts by a factor of up to {factor}",
        scope,
        "several texts of one person add up: k of them, k times epsilon",
    ]
