"""The card of a text classifier: what is known of it, for whoever is given the model."""

import dataclasses
from typing import Any

from deniable import __version__
from deniable.core.intervals import Estimate, estimate_share
from deniable.models.text.documents import Documents
from deniable.models.text.model import TextModel, describe_source
from deniable.models.text.substitutions import SubstituteSource

TEXT_CARD_SCHEMA = "deniable-text-model-card/1"
_TRAINING_UNPROTECTED = (
    "the training texts: no guarantee is claimed of them; privatize them first if they are to be protected"
)
_TEST_UNPROTECTED = "the test texts, and the figures about them"


def make_text_card(
    model: TextModel,
    train: Documents,
    test: Documents,
    commitment: str,
    accuracy: Estimate,
    certified_count: int | None,
    source: SubstituteSource | None,
) -> dict[str, Any]:
    """Return the card, as JSON holds it.

    Args:
        model: trained.
        train: what it was trained on.
        test: what it was tested on.
        commitment: to the data, see `deniable.learning.card.commit_to_data`.
        accuracy: on the test documents.
        certified_count: test documents that are right whatever substitutes stand for their words; None where no
            substitution sets were given.
        source: the sets or the mechanism of the training.
    """
    return {
        "schema": TEXT_CARD_SCHEMA,
        "deniable": __version__,
        "model": model.name,
        "method": model.facts["options"]["method"],
        "drawn from": model.facts["drawn from"],
        "options": model.facts["options"],
        "steps": model.facts["steps"],
        "public seed": model.facts["seed"],
        "training records": "no guarantee is claimed",
        "data": {
            "training texts": len(train),
            "test texts": len(test),
            "classes": list(model.classes),
            "pairs": model.pairs,
            "space": model.space_source,
            "space fingerprint": model.space_fingerprint,
            "commitment": commitment,
        },
        "clean accuracy": dataclasses.asdict(accuracy),
        "certified accuracy": None
        if certified_count is None or source is None
        else {
            "substitutions": describe_source(source),
            **dataclasses.asdict(estimate_share(certified_count, len(test))),
        },
        "not protected": [_TRAINING_UNPROTECTED, _TEST_UNPROTECTED],
    }


def render_text_card(card: dict[str, Any]) -> str:
    """Return a card as a page of plain text."""
    data, drawn_from, certified = card["data"], card["drawn from"], card["certified accuracy"]
    kind = "pairs of texts" if data["pairs"] else "texts"
    lines = [
        f"Model card: {card['model']}, a classifier of {kind}, trained by deniable {card['deniable']}",
        "",
        f"Method: {card['method']}{'' if drawn_from is None else f', with {drawn_from}'}",
        *(f"  {name}: {value}" for name, value in card["options"].items() if name != "method"),
        "",
        f"Data: {data['training texts']:,} training and {data['test texts']:,} test texts",
        f"  classes: {', '.join(data['classes'])}",
        f"  words: {data['space']} (fingerprint {data['space fingerprint']}); others are left out",
        f"  commitment to the data: {data['commitment']} (the owner has the opening)",
        "",
        f"Clean accuracy: {_format_percent(card['clean accuracy'])} on the test texts",
    ]
    if certified is not None:
        lines += [
            f"Certified accuracy: {_format_percent(certified)}: right whatever choices of the sets stand for the words",
            f"  by interval bounds; sets: {certified['substitutions']}; nothing is certified of other changes",
        ]
    lines += ["", "Not protected:", *(f"  - {line}" for line in card["not protected"])]
    return "\n".join(lines) + "\n"


def _format_percent(estimate: dict[str, Any]) -> str:
    return f"{100 * estimate['value']:.1f} % ({100 * estimate['low']:.1f} to {100 * estimate['high']:.1f})"
