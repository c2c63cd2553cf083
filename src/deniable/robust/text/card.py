"""The card of a text classifier: what is known of it, for whoever is given the model."""

import dataclasses
from typing import Any

from deniable import __version__
from deniable.measure.estimate import Estimate, share
from deniable.robust.text.copies import Source
from deniable.robust.text.documents import Documents
from deniable.robust.text.model import TextModel, described

SCHEMA = "deniable-text-model-card/1"
_UNPROTECTED = "the training texts: no guarantee is claimed of them; privatize them first if they are to be protected"
_TESTED = "the test texts, and the figures about them"


def card(
    model: TextModel,
    train: Documents,
    test: Documents,
    commitment: str,
    accuracy: Estimate,
    certified: int | None,
    source: Source | None,
) -> dict[str, Any]:
    """Return the card, as JSON holds it.

    Args:
        model: trained.
        train: what it was trained on.
        test: what it was tested on.
        commitment: to the data, see `deniable.robust.card.commit`.
        accuracy: on the test documents.
        certified: test documents that are right whatever substitutes stand for their words; None where no
            substitution sets were given.
        source: the sets or the mechanism of the training.
    """
    return {
        "schema": SCHEMA,
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
            "space": model.source,
            "space fingerprint": model.space,
            "commitment": commitment,
        },
        "clean accuracy": dataclasses.asdict(accuracy),
        "certified accuracy": None
        if certified is None or source is None
        else {"substitutions": described(source), **dataclasses.asdict(share(certified, len(test)))},
        "not protected": [_UNPROTECTED, _TESTED],
    }


def text(about: dict[str, Any]) -> str:
    """Return a card as a page of plain text."""
    data, drawn, held = about["data"], about["drawn from"], about["certified accuracy"]
    kind = "pairs of texts" if data["pairs"] else "texts"
    lines = [
        f"Model card: {about['model']}, a classifier of {kind}, trained by deniable {about['deniable']}",
        "",
        f"Method: {about['method']}{'' if drawn is None else f', with {drawn}'}",
        *(f"  {name}: {value}" for name, value in about["options"].items() if name != "method"),
        "",
        f"Data: {data['training texts']:,} training and {data['test texts']:,} test texts",
        f"  classes: {', '.join(data['classes'])}",
        f"  words: {data['space']} (fingerprint {data['space fingerprint']}); others are left out",
        f"  commitment to the data: {data['commitment']} (the owner has the opening)",
        "",
        f"Clean accuracy: {_percent(about['clean accuracy'])} on the test texts",
    ]
    if held is not None:
        lines += [
            f"Certified accuracy: {_percent(held)}: right whatever choices of the sets stand for the words",
            f"  by interval bounds; sets: {held['substitutions']}; nothing is certified of other changes",
        ]
    lines += ["", "Not protected:", *(f"  - {line}" for line in about["not protected"])]
    return "\n".join(lines) + "\n"


def _percent(estimate: dict[str, Any]) -> str:
    return f"{100 * estimate['value']:.1f} % ({100 * estimate['low']:.1f} to {100 * estimate['high']:.1f})"
