"""What accompanies a synthetic table or a private classifier: what a record or a person is promised, and what not."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from deniable import __version__
from deniable.core.guarantees import UNIT_PLURALS, Guarantee, Unit, Verdict, limit_status
from deniable.core.numbers import as_percent, format_exact, format_odds, format_upper
from deniable.core.report import Fact, Report, Section, make_facts
from deniable.learning.card import build_card, describe_data, describe_protection
from deniable.persons.budget import Budget, describe_groups, judge_budget
from deniable.persons.classifier import LinearClassifier
from deniable.persons.options import GeneratorName, SynthesisOptions
from deniable.text.release_certificate import (
    CHOICE_DISCLOSURE,
    CHOSEN_BY_OWNER,
    CHOSEN_FROM_DATA,
    ReleaseCertificate,
)

SYNTHESIS_CERTIFICATE_SCHEMA = "deniable-synthesis-certificate/2"
FRESH_NOISE = "fresh noise from the operating system; not repeatable"
PUBLIC_SEED_NOISE = "not private: public seed; anyone who knows the seed can undo the noise"
_ARITHMETIC = (
    "contributions rounded toward zero to integers, their norms checked, sums in 64-bit integers, discrete Gaussian "
    "noise from AES-128-CTR, so that the guarantee is computational in that step"
)
_WRITTEN_TEXTS: dict[GeneratorName | None, str] = {
    "tilted": "words are drawn from a model of the public texts, tilted towards the words of each class",
    "recombined": "every sentence of a text is a sentence of the public texts, in lower case",
    "candidates": "texts were proposed by a callable that saw released figures alone, and chosen by the released "
    "classifier",
    "counts": "words are drawn from released phrases alone",
    "language-model": "tokens are drawn from a public language model, tilted towards the words of each class and "
    "towards the released shares of tokens",
}

_CARD_NOT_PROTECTED = (
    (
        "what everybody could know without any one {unit}: the model shows how the words of a class differ from those "
        "of others, and so tells something of people who are not in the data"
    ),
    "the declared classes and options, and their choice if it was made by looking at the data",
    "the public texts, whose words and pairs of words are the vocabulary, and which the model lists",
)
_RECORD_NOT_PROTECTED = "a person with many records, whose protection is that of the groups named above"


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
        return f"made from about {self.nominal['units']:,} {UNIT_PLURALS[self.guarantee['unit']]}"

    def describe_guarantee(self) -> str:
        """Return epsilon, delta and what they hold for."""
        line = (
            f"epsilon {format_exact(self.guarantee['epsilon'])} and delta {format_exact(self.guarantee['delta'])} "
            "for one "
            f"{self.guarantee['unit']}: {self.guarantee['adjacency']} (central differential privacy)"
        )
        return f"{line}; epsilon was chosen {self.chosen}" if self.chosen == CHOSEN_FROM_DATA else line

    def list_promises(self) -> Sequence[tuple[str, str]]:
        """Return what holds of every unit."""
        guarantee = self.guarantee
        budget = f"epsilon {format_exact(guarantee['epsilon'])}, delta {format_exact(guarantee['delta'])}"
        unit, several = f"each {guarantee['unit']} as a whole", ""
        if guarantee["unit"] == "record":
            several = "; a person with several records is protected less"
        return (("protects", f"{unit}, {budget} ({guarantee['status']}){several}"),)

    def list_own_facts(self) -> Sequence[Fact]:
        """Return what the budget was spent on, and what persons with several records have."""
        spent = [f"{one['name']}: {100 * one['share']:.3g}% of the budget" for one in self.measurements]
        selected = f"{format_exact(self.selection_delta)} of delta, for which words and phrases are named"
        return [
            Fact("nominal number", f"{self.nominal['units']:,}, {self.nominal['source']}"),
            Fact("measurements", spent),
            Fact("epsilon chosen", self.chosen),
            *([Fact("selection", selected)] if self.selection_delta else []),
            *([Fact("groups", self.groups)] if self.groups else []),
        ]


def certify_budget(
    budget: Budget,
    options: SynthesisOptions,
    nominal: dict[str, Any],
    mechanism: dict[str, Any],
    ledger_steps: Sequence[str] = (),
) -> SynthesisCertificate:
    """Return the certificate of everything that is made from the measurements of a budget.

    Args:
        budget: what was measured.
        options: what the synthetic table was made with; its generator is chosen.
        nominal: public number of ``units``, and its ``source``.
        mechanism: further facts of how the table was made, such as where the words of the classifier come from.
        ledger_steps: what a ledger had to do with the release.
    """
    seed = options.seed
    guarantee, verdict = judge_budget(budget, seed)
    return SynthesisCertificate(
        schema=SYNTHESIS_CERTIFICATE_SCHEMA,
        deniable=__version__,
        private=limit_status(guarantee, verdict).status == "proved",
        mechanism={
            "name": "synthesize",
            "generator": options.generator,
            "classes": list(options.classes),
            "domains": {name: list(map(str, values)) for name, values in options.domains.items()},
            **mechanism,
        },
        guarantee={**limit_status(guarantee, verdict).to_dict(), "of": f"one {budget.unit}"},
        # Not how long it took: certificates of tables of one shape are equal.
        verification={name: value for name, value in verdict.to_dict().items() if name != "seconds"},
        noise=FRESH_NOISE if seed is None else PUBLIC_SEED_NOISE,
        arithmetic=_ARITHMETIC,
        steps=[_WRITTEN_TEXTS[options.generator], *ledger_steps],
        meaning=_describe_meaning(guarantee, verdict),
        records=options.rows,
        not_protected=[
            *([CHOICE_DISCLOSURE] if options.chosen_from_data else []),
            *_list_unprotected(options.generator, budget.unit),
        ],
        nominal=nominal,
        measurements=budget.describe_measurements(),
        selection_delta=budget.selection_delta,
        groups=describe_groups(budget),
        chosen=CHOSEN_FROM_DATA if options.chosen_from_data else CHOSEN_BY_OWNER,
    )


def _describe_meaning(guarantee: Guarantee, verdict: Verdict) -> list[str]:
    if verdict.status == "refuted":
        return ["nothing is protected: the seed undoes the noise"]
    is_person = guarantee.unit == "person"
    unit = "the records of one person are" if is_person else "one record is"
    certainty = format_upper(as_percent(1 / (1 + math.exp(-guarantee.epsilon))))
    lines = [
        (
            f"whether {unit} in the private table can change anyone's odds of anything by a factor of up to "
            f"{format_odds(guarantee.epsilon, format_upper)}, with delta {format_exact(guarantee.delta)} on top"
        ),
        f"an observer who is 50% sure that {unit} in it is at most {certainty}% sure afterwards, delta aside",
        "table, classifier and counts together have this guarantee, and whatever is made from them",
    ]
    if not is_person:
        lines.append("a person with several records is protected less: see the groups")
    return lines


def _list_unprotected(generator: GeneratorName | None, unit: Unit) -> list[str]:
    lines = [
        f"patterns that do not depend on any one {unit}, such as which words, lengths and columns mark each class",
        (
            "the declared classes, domains and numbers, and the choice of epsilon and generator, if they were made by "
            "looking at the private table"
        ),
        "the public texts, which count as known to all",
        "another release of the same private table: each spends its own budget, and epsilons add up",
    ]
    if generator == "language-model":
        lines.append(
            "what the language model learned before; if it was trained on the private table, no epsilon covers that, "
            "and nobody can tell from here. That model, prompt and public texts are public is the owner's word"
        )
    if generator == "candidates":
        lines.append("whatever the callable knows besides its request: it must not have seen the private table")
    return lines


def build_linear_card(classifier: LinearClassifier, commitment: str) -> Report:
    """Return the card of a private classifier.

    Figures about private records, such as an accuracy on some that were held out, stand in no card.

    Args:
        classifier: trained.
        commitment: to the data, see `deniable.cli.model_runs.commit_to_data`.
    """
    facts, guarantee = classifier.facts, classifier.guarantee
    unit: Unit = "record" if guarantee is None else guarantee.unit
    measurements = (
        Fact(
            str(one["name"]),
            one,
            text=f"{100 * one['share']:.3g}% of the budget; {one['sums']} sums of {one['coordinates']:,} coordinates; "
            f"norm of a unit at most {one['norm bound of a unit']:,}, discrete Gaussian noise of parameter "
            f"{one['noise']:,}",
        )
        for one in facts["measurements"]
    )
    protection = (
        *describe_protection(guarantee, classifier.verdict),
        Fact("epsilon chosen", facts["epsilon chosen"]),
        *(Fact(name, facts[name]) for name in ("groups", "ledger") if facts.get(name)),
    )
    count = facts["nominal number of units"]
    return build_card(
        "dp-linear",
        "a linear classifier of texts",
        model_facts=(Fact("features", f"{len(classifier.feature_map):,} words and pairs of words"),),
        sections=(
            Section("training records", protection),
            Section("measurements", tuple(measurements)),
            Section("training", make_facts(facts["training"])),
            describe_data(
                commitment,
                Fact("nominal number", count, f"of {unit}s; {facts['nominal number']}", f"{count:,}"),
                Fact("classes", list(classifier.classes), text=", ".join(classifier.classes)),
                Fact("vocabulary", facts.get("features")),
                Fact("started from", facts["started from"]),
            ),
        ),
        not_protected=[
            *([CHOICE_DISCLOSURE] if facts["epsilon chosen"] == CHOSEN_FROM_DATA else []),
            *([_RECORD_NOT_PROTECTED] if unit == "record" else []),
            *(line.format(unit=unit) for line in _CARD_NOT_PROTECTED),
        ],
    )
