"""What the card of a text classifier says: its method, its words, its data and its accuracies."""

import dataclasses

from deniable.core.intervals import Estimate, estimate_share
from deniable.core.report import Fact, Report, Section, make_facts
from deniable.learning.card import build_card, make_share_fact
from deniable.models.text.documents import Documents
from deniable.models.text.model import TextModel, describe_source
from deniable.models.text.substitutions import SubstituteSource

_NOT_PROTECTED = (
    "the training texts: no guarantee is claimed of them; privatize them first if they are to be protected",
    "the test texts, and the figures about them",
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
        commitment: to the data, see `deniable.learning.card.commit_to_data`.
        accuracy: on the test documents.
        certified_count: test documents that are right whatever substitutes replace their words; None where no
            substitution sets were given.
        source: the sets or the mechanism of the training.
    """
    options = model.facts["options"]
    return build_card(
        model.name,
        f"a classifier of {'pairs of texts' if model.pairs else 'texts'}",
        model_facts=(
            Fact("method", options["method"]),
            Fact("drawn from", model.facts["drawn from"]),
            Fact("steps", model.facts["steps"], text=f"{model.facts['steps']:,}"),
            Fact("public seed", model.facts["seed"]),
        ),
        training=(Section("options", make_facts(options)),),
        data=(
            Fact("training texts", len(train), text=f"{len(train):,}"),
            Fact("test texts", len(test), text=f"{len(test):,}"),
            Fact("classes", list(model.classes), text=", ".join(model.classes)),
            Fact("pairs", model.pairs),
            Fact("space", model.space_source, "words that it lacks are left out"),
            Fact("space fingerprint", model.space_fingerprint),
        ),
        commitment=commitment,
        results=(
            Section(
                "",
                (
                    make_share_fact("clean accuracy", accuracy, "on the test texts"),
                    _describe_certified_accuracy(certified_count, len(test), source),
                ),
            ),
        ),
        not_protected=_NOT_PROTECTED,
    )


def _describe_certified_accuracy(certified_count: int | None, test_count: int, source: SubstituteSource | None) -> Fact:
    if certified_count is None or source is None:
        return Fact("certified accuracy", None)
    share, sets = estimate_share(certified_count, test_count), describe_source(source)
    return Fact(
        "certified accuracy",
        {"substitutions": sets, **dataclasses.asdict(share)},
        _CERTIFIED_NOTE,
        f"{share.format_percent()}, with {sets}",
    )
