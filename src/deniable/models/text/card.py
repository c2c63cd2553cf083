"""What the card of a text classifier says: its method, its words, its data and its accuracies."""

import dataclasses

from deniable.core.report import Fact, Report, Section, make_facts
from deniable.learning.card import NO_GUARANTEE, build_card, describe_data, describe_protection, make_share_fact
from deniable.measure.intervals import Estimate, estimate_share
from deniable.models.text.documents import Documents
from deniable.models.text.model import TextModel
from deniable.models.text.substitutions import SubstituteSource, describe_source
from deniable.text.release_certificate import CHOICE_DISCLOSURE, CHOSEN_FROM_DATA

_NOT_PROTECTED = (
    "the training texts: no guarantee is claimed of them; privatize them first if they are to be protected",
    "the test texts, and the figures about them",
)
_PLACES_NOTE = (
    "declared number of places for records; empty records fill those that are left, and of more rows than places a "
    "random choice has one. The number of records stands nowhere"
)
_NOT_PROTECTED_BY_DP_SGD = (
    "what the least significant bits of the weights may show: the noise is drawn and added in floating point",
    "a person with many records: this kind hides single records, and dp-linear hides people",
    "what everybody could know without any one record: which words go with which class",
    "the declared classes, places and options, and their choice if it was made by looking at the data",
)
_CERTIFIED_NOTE = (
    "right, by interval bounds, whatever choices from the substitution sets replace the words; nothing is certified of "
    "other changes"
)


def build_text_card(
    model: TextModel,
    train: Documents,
    test: Documents,
    commitment: str,
    accuracy: Estimate,
    certified_count: int | None,
    source: SubstituteSource | None,
) -> Report:
    """Return the card of a text classifier.

    Args:
        model: trained.
        train: what it was trained on.
        test: what it was tested on.
        commitment: to the data, see `deniable.cli.model_runs.commit_to_data`.
        accuracy: on the test documents.
        certified_count: test documents that are right whatever substitutes replace their words; None where no
            substitution sets were given.
        source: the sets or the mechanism of the training.
    """
    options, certified_accuracy = model.facts["options"], Fact("certified accuracy", None)
    if certified_count is not None and source is not None:
        share, sets = estimate_share(certified_count, len(test)), describe_source(source)
        value = {"substitutions": sets, **dataclasses.asdict(share)}
        text = f"{share.format_percent()}, with {sets}"
        certified_accuracy = Fact("certified accuracy", value, _CERTIFIED_NOTE, text)
    return build_card(
        model.name,
        f"a classifier of {'pairs of texts' if model.pairs else 'texts'}",
        model_facts=(
            Fact("method", options["method"]),
            Fact("drawn from", model.facts["drawn from"]),
            Fact("steps", model.facts["steps"], text=f"{model.facts['steps']:,}"),
            Fact("public seed", model.facts["seed"]),
        ),
        sections=(
            Section("training records", NO_GUARANTEE),
            Section("options", make_facts(options)),
            describe_data(
                commitment,
                Fact("training texts", len(train), text=f"{len(train):,}"),
                Fact("test texts", len(test), text=f"{len(test):,}"),
                Fact("classes", list(model.classes), text=", ".join(model.classes)),
                Fact("pairs", model.pairs),
                Fact("space", model.space_source, "words that it lacks are left out"),
                Fact("space fingerprint", model.space_fingerprint),
            ),
            Section("", (make_share_fact("clean accuracy", accuracy, "on the test texts"), certified_accuracy)),
        ),
        not_protected=_NOT_PROTECTED,
    )


def build_private_text_card(model: TextModel, commitment: str) -> Report:
    """Return the card of a private text classifier.

    Neither the number of records nor a figure about them, such as an accuracy, stands in it.

    Args:
        model: trained by DP-SGD.
        commitment: to the data, see `deniable.cli.model_runs.commit_to_data`.
    """
    facts, chosen = model.facts, model.facts["epsilon chosen"]
    protection = describe_protection(model.guarantee, model.verdict)
    return build_card(
        model.name,
        "a classifier of texts",
        model_facts=(),
        sections=(
            Section("training records", (*protection, Fact("epsilon chosen", chosen))),
            Section("accounting", make_facts(facts["accounting"])),
            Section("options", make_facts(facts["options"])),
            describe_data(
                commitment,
                Fact("places", facts["places"], _PLACES_NOTE, f"{facts['places']:,}"),
                Fact("classes", list(model.classes), text=", ".join(model.classes)),
                Fact("space", model.space_source, "a text is the mean of its words' vectors; other words are left out"),
                Fact("space fingerprint", model.space_fingerprint),
            ),
        ),
        not_protected=[*([CHOICE_DISCLOSURE] if chosen == CHOSEN_FROM_DATA else []), *_NOT_PROTECTED_BY_DP_SGD],
    )
