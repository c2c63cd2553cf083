"""The certificate that accompanies a synthetic table: what is promised to a record or a person, and what is not."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from deniable import __version__
from deniable.core.guarantees import Guarantee, Unit, Verdict, limit_status
from deniable.core.numbers import as_percent, format_exact, format_odds, format_upper
from deniable.core.report import Fact
from deniable.persons.budget import Budget
from deniable.persons.classifier_training import judge_budget
from deniable.persons.group_privacy import describe_groups
from deniable.persons.synthesis import MeasuredCollection, SynthesisOptions
from deniable.text.release_certificate import (
    CHOICE_DISCLOSURE,
    CHOSEN_BY_OWNER,
    CHOSEN_FROM_DATA,
    ReleaseCertificate,
)

SYNTHESIS_CERTIFICATE_SCHEMA = "deniable-synthesis-certificate/1"
FRESH_NOISE = "fresh noise from the operating system; not repeatable"
PUBLIC_SEED_NOISE = "not private: public seed; anyone who knows the seed can undo the noise"
_ARITHMETIC = (
    "contributions rounded toward zero to integers, their norms checked, sums in 64-bit integers, discrete Gaussian "
    "noise from AES-128-CTR, so that the guarantee is computational in that step"
)
_PUBLIC_SENTENCES = "every sentence of a text is a sentence of the public texts, in lower case"
_WRITTEN_TEXTS: dict[str, str] = {
    "tilted": "words are drawn from a model of the public texts, tilted towards the words of each class",
    "recombined": _PUBLIC_SENTENCES,
    "candidates": "texts were proposed by a callable that saw released figures alone, and chosen by the released "
    "classifier",
    "counts": "words are drawn from released phrases alone",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class SynthesisCertificate(ReleaseCertificate):
    """What accompanies a synthetic table; see `ReleaseCertificate` for the fields of every release.

    Attributes:
        nominal: public number of units, and where it comes from.
        measurements: everything that was measured with noise, with its share of the budget.
        selection_delta: part of delta that the selection of words and phrases has; the measurements have the rest.
        groups: what persons with several records have; empty where persons are the units.
        chosen: how epsilon was chosen.
    """

    nominal: dict[str, Any]
    measurements: list[dict[str, Any]]
    selection_delta: float
    groups: list[str]
    chosen: str

    def describe_amount(self) -> str:
        """Return the public number of units that the table was made from."""
        return f"made from about {self.nominal['units']:,} {self.guarantee['unit']}s"

    def describe_guarantee(self) -> str:
        """Return epsilon, delta and what they hold for."""
        line = (
            f"epsilon {format_exact(self.guarantee['epsilon'])} and delta {format_exact(self.guarantee['delta'])} "
            "for one "
            f"{self.guarantee['unit']}: {self.guarantee['adjacency']} (central differential privacy)"
        )
        return f"{line}; epsilon was chosen {self.chosen}" if self.chosen == CHOSEN_FROM_DATA else line

    def list_own_facts(self) -> Sequence[Fact]:
        """Return what the budget was spent on, and what persons with several records have."""
        spent = [f"{one['name']}: {100 * one['share']:.3g} % of the budget" for one in self.measurements]
        facts = [
            Fact("nominal number", f"{self.nominal['units']:,}, {self.nominal['source']}"),
            Fact("measurements", spent),
            Fact("epsilon chosen", self.chosen),
        ]
        if self.selection_delta:
            facts.append(
                Fact(
                    "selection", f"{format_exact(self.selection_delta)} of delta, for which words and phrases are named"
                )
            )
        return [*facts, Fact("groups", self.groups)] if self.groups else facts


def certify_synthesis(measured: MeasuredCollection, options: SynthesisOptions) -> SynthesisCertificate:
    """Return the certificate of a synthetic table and of the classifier beside it, which share one budget.

    What the classifier's facts say of a ledger stands in it too.
    """
    facts = measured.classifier.facts
    nominal = {"units": facts["nominal number of units"], "source": facts["nominal number"]}
    certificate = certify_budget(measured.budget, options, nominal, facts["features"])
    return dataclasses.replace(certificate, steps=[*certificate.steps, *facts.get("ledger", ())])


def certify_budget(
    budget: Budget, options: SynthesisOptions, nominal: dict[str, Any], features: str
) -> SynthesisCertificate:
    """Return the certificate of everything that is made from the measurements of a budget.

    Args:
        budget: what was measured.
        options: what the synthetic table was made with.
        nominal: public number of ``units``, and its ``source``.
        features: where the words of the classifier come from.
    """
    seed = options.training.seed
    guarantee, verdict = judge_budget(budget, seed)
    return SynthesisCertificate(
        schema=SYNTHESIS_CERTIFICATE_SCHEMA,
        deniable=__version__,
        private=limit_status(guarantee, verdict).status == "proved",
        mechanism={
            "name": "synthesize",
            "generator": options.generator,
            "features": features,
            "classes": list(options.training.classes),
            "domains": {domain.name: list(domain.values) for domain in options.domains},
        },
        guarantee={**limit_status(guarantee, verdict).to_dict(), "of": f"one {budget.unit}"},
        # Not how long it took: certificates of tables of one shape are equal.
        verification={name: value for name, value in verdict.to_dict().items() if name != "seconds"},
        noise=FRESH_NOISE if seed is None else PUBLIC_SEED_NOISE,
        arithmetic=_ARITHMETIC,
        steps=[_WRITTEN_TEXTS[options.generator]],
        meaning=_describe_meaning(guarantee, verdict),
        records=options.rows,
        not_protected=[
            *([CHOICE_DISCLOSURE] if options.training.chosen_from_data else []),
            *_list_unprotected(options.generator, budget.unit),
        ],
        nominal=nominal,
        measurements=budget.describe_measurements(),
        selection_delta=budget.selection_delta,
        groups=describe_groups(budget),
        chosen=CHOSEN_FROM_DATA if options.training.chosen_from_data else CHOSEN_BY_OWNER,
    )


def _describe_meaning(guarantee: Guarantee, verdict: Verdict) -> list[str]:
    if verdict.status == "refuted":
        return ["nothing is protected: the seed undoes the noise"]
    is_person = guarantee.unit == "person"
    unit = "the records of one person are" if is_person else "one record is"
    certainty = format_upper(as_percent(1 / (1 + math.exp(-guarantee.epsilon))))
    lines = [
        (
            f"whether {unit} in the private table changes anyone's odds of anything at most "
            f"{format_odds(guarantee.epsilon, format_upper)}-fold, with delta {format_exact(guarantee.delta)} on top"
        ),
        f"who thinks it as likely as not that {unit} in it is at most {certainty} % sure afterwards, delta aside",
        "table, classifier and counts together have this guarantee, and whatever is made from them",
    ]
    if not is_person:
        lines.append("a person with several records has less: see the groups")
    return lines


def _list_unprotected(generator: str, unit: Unit) -> list[str]:
    lines = [
        f"what holds without any one {unit}: how classes differ in their words, lengths and columns on the whole",
        (
            "the declared classes, domains and numbers, and the choice of epsilon and generator, if they were made by "
            "a look at the private table"
        ),
        "the public texts, which count as known to all",
        "another release of the same private table: each spends its own budget, and epsilons add up",
    ]
    if generator == "candidates":
        lines.append("whatever the callable knows beside its request: it must not have seen the private table")
    return lines
