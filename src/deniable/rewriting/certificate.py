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
from deniable.rewriting.methods.base import RewritingMethod
from deniable.rewriting.model import Rewriter
from deniable.text.escapes import Escapes
from deniable.text.release_certificate import (
    CHOICE_DISCLOSURE,
    CHOSEN_BY_OWNER,
    CHOSEN_FROM_DATA,
    NOTHING_COPIED,
    ReleaseCertificate,
    list_copied,
    list_revealing,
    list_steps,
)
from deniable.text.tables.layout import CopiedContent

REWRITE_CERTIFICATE_SCHEMA = "deniable-rewrite-certificate/4"
FRESH_NOISE = "fresh noise from the operating system; not repeatable"
PUBLIC_SEED_NOISE = "not private: public seed; anyone who knows the seed can undo the noise"
_TRAINING_LAWS = {"laplace": "laplace", "gaussian": "gaussian"}
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

    def list_own_facts(self) -> Sequence[Fact]:
        """Return what the model was trained on, and what the texts of a row spend."""
        facts = [Fact("model", f"trained on {self.model['trained on']}")]
        if self.row is not None and self.row["texts"] > 1:
            facts.append(Fact("rows", f"{self.row['texts']} texts of a row together: {_format_budget(self.row)}"))
        return facts


def _format_budget(spent: dict[str, Any]) -> str:
    """Return epsilon, and delta where there is one."""
    return f"epsilon {format_upper(spent['epsilon'], 6)}" + (
        f" and delta {format_upper(spent['delta'], 6)}" if "delta" in spent else ""
    )


def certify_rewriting(
    method: RewritingMethod,
    records: int,
    texts: int,
    *,
    columns: Sequence[str] = ("text",),
    copied: CopiedContent = NOTHING_COPIED,
    nulls: bool = False,
    unescape: Escapes | None = None,
    model: dict[str, Any] | None = None,
    ledger_steps: Sequence[str] = (),
    chosen_from_data: bool = False,
) -> RewriteCertificate:
    """Return the certificate of a release.

    Args:
        method: what rewrote the texts.
        records: of the table.
        texts: that were rewritten.
        columns: names of the columns of texts.
        copied: what went with the texts unchanged.
        nulls: whether the table can hold nulls, which stay.
        unescape: how texts were decoded before they were rewritten.
        model: what is said of the model, where the method's own has no weights; None to describe that.
        ledger_steps: what a ledger had to do with the release.
        chosen_from_data: whether epsilon was chosen by looking at the private texts.
    """
    model = _describe_rewriter(method.model) if model is None else model
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
        mechanism={"name": method.name, **method.parameters},
        guarantee={**guarantee.to_dict(), "of": unit},
        # Not how long it took: certificates of tables of one shape are equal.
        verification={name: value for name, value in verdict.to_dict().items() if name != "seconds"},
        chosen=CHOSEN_FROM_DATA if chosen_from_data else CHOSEN_BY_OWNER,
        row=_compose_row(guarantee, len(columns)) if private else None,
        model=model,
        noise=PUBLIC_SEED_NOISE if seeded else FRESH_NOISE,
        arithmetic=method.arithmetic,
        steps=[*list_steps(unescape, copied), *ledger_steps],
        meaning=_describe_meaning(guarantee, verdict, seeded=seeded),
        records=records,
        texts=texts,
        not_protected=[
            *list_revealing(copied),
            *([CHOICE_DISCLOSURE] if chosen_from_data else []),
            *_list_unprotected(model["trained on"], copied, nulls=nulls),
        ],
    )


def describe_training_texts(model: Rewriter) -> str:
    """Return in words what a model was trained on, as its file states: nothing can check that."""
    facts = model.facts
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


def _describe_rewriter(model: Rewriter) -> dict[str, Any]:
    return {
        "trained on": describe_training_texts(model),
        "words": len(model.vocabulary),
        "limit": model.limit,
        "coordinates": model.latent,
        "radius": model.radius,
        "fingerprint": fingerprint_rewriter(model),
    }


def _compose_row(guarantee: Guarantee, texts: int) -> dict[str, Any]:
    """Return what so many texts of one row spend, by sequential composition."""
    spent: dict[str, Any] = {"texts": texts, "epsilon": texts * guarantee.epsilon}
    return {**spent, "delta": texts * guarantee.delta} if guarantee.delta else spent


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
    fold = f"{format_odds(guarantee.epsilon, format_upper)}-fold{delta_clause}"
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


def _list_unprotected(trained_on: str, copied: CopiedContent, *, nulls: bool) -> list[str]:
    unprotected = ["number and order of the records, line ends" + (", and which texts are null" if nulls else "")]
    unprotected += list_copied(copied)
    training_leak = (
        f"what the model was trained on ({trained_on}): it can repeat their words and whole "
        "sentences; if they were private, that is a leak that the guarantee does not cover"
    )
    return [
        *unprotected,
        training_leak,
        "what the choice of epsilon, method and model shows, if made by a look at the private texts",
    ]
