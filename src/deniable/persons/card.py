"""What the card of a private classifier says: its guarantee, what the budget was spent on, and what is public."""

from deniable.core.report import Fact, Report, Section, make_facts
from deniable.learning.card import build_card, describe_data, describe_protection
from deniable.persons.classifier import LinearClassifier
from deniable.text.release_certificate import CHOICE_DISCLOSURE, CHOSEN_FROM_DATA

_NOT_PROTECTED = (
    (
        "what everybody could know without any one {unit}: the model shows how the words of a class differ from those "
        "of others, and so tells something of people who are not in the data"
    ),
    "the declared classes and options, and their choice if it was made by looking at the data",
    "the public texts, whose words and pairs of words are the vocabulary, and which the model lists",
)
_RECORD_NOT_PROTECTED = "a person with many records, whose protection is that of the groups named above"


def build_linear_card(classifier: LinearClassifier, commitment: str) -> Report:
    """Return the card of a private classifier.

    Figures about private records, such as an accuracy on some that were held out, stand in no card.

    Args:
        classifier: trained.
        commitment: to the data, see `deniable.cli.model_runs.commit_to_data`.
    """
    facts = classifier.facts
    unit = "unit" if classifier.guarantee is None else classifier.guarantee.unit
    not_protected = [line.format(unit=unit) for line in _NOT_PROTECTED]
    if unit == "record":
        not_protected.insert(0, _RECORD_NOT_PROTECTED)
    if facts.get("epsilon chosen") == CHOSEN_FROM_DATA:
        not_protected.insert(0, CHOICE_DISCLOSURE)
    count = facts.get("nominal number of units")
    count_facts = (
        [] if count is None else [Fact("nominal number", count, f"of {unit}s; {facts['nominal number']}", f"{count:,}")]
    )
    return build_card(
        "dp-linear",
        "a linear classifier of texts",
        model_facts=(Fact("features", f"{len(classifier.feature_map):,} words and pairs of words"),),
        sections=(
            Section("training records", _describe_protection(classifier)),
            Section("measurements", _describe_measurements(classifier)),
            Section("training", make_facts(facts.get("training", {}))),
            describe_data(
                commitment,
                *count_facts,
                Fact("classes", list(classifier.classes), text=", ".join(classifier.classes)),
                Fact("vocabulary", facts.get("features")),
                Fact("started from", facts.get("started from", "zeros")),
            ),
        ),
        not_protected=not_protected,
    )


def _describe_protection(classifier: LinearClassifier) -> tuple[Fact, ...]:
    facts = describe_protection(classifier.guarantee, classifier.verdict)
    if classifier.guarantee is None:
        return facts
    chosen = Fact("epsilon chosen", classifier.facts.get("epsilon chosen"))
    further = [Fact(name, classifier.facts[name]) for name in ("groups", "ledger") if classifier.facts.get(name)]
    return (*facts, chosen, *further)


def _describe_measurements(classifier: LinearClassifier) -> tuple[Fact, ...]:
    """Return a fact for each noisy sum: its share of the budget, its bound and its noise."""
    return tuple(
        Fact(
            str(measurement["name"]),
            measurement,
            text=f"{100 * measurement['share']:.3g} % of the budget; {measurement['sums']} sums of "
            f"{measurement['coordinates']:,} coordinates; norm of a unit at most "
            f"{measurement['norm bound of a unit']:,}, discrete Gaussian noise of parameter {measurement['noise']:,}",
        )
        for measurement in classifier.facts.get("measurements", ())
    )
