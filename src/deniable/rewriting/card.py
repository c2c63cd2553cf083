"""The card of a model that rewrites texts: what is known of it, for whoever is given the model."""

import dataclasses
from typing import Any

from deniable import __version__
from deniable.core.intervals import Estimate
from deniable.rewriting.model import Rewriter

REWRITER_CARD_SCHEMA = "deniable-rewriter-card/1"
_TRAINING_UNPROTECTED = (
    "the training texts: the vocabulary lists their words, and the decoder can repeat whole texts of them; no "
    "guarantee is claimed of them, so train on public texts"
)
_MODEL_ALONE_UNPROTECTED = (
    "a text that goes through the model alone: it comes back; only a method of deniable rewrite adds noise to it"
)
_FIGURE_TITLES = {"exact match": "exact match", "token accuracy": "tokens in their places", "bleu": "BLEU-4"}


def make_rewriter_card(
    model: Rewriter,
    commitment: str,
    figures: dict[str, Estimate],
    test_count: int | None,
    training_noise: dict[str, Any] | None,
) -> dict[str, Any]:
    """Return the card, as JSON holds it.

    Args:
        model: trained.
        commitment: to the data, see `deniable.learning.card.commit_to_data`.
        figures: of `deniable.rewriting.model.measure_reconstruction`.
        test_count: how many texts of a table of their own they are of; None for the texts held out.
        training_noise: the method whose noise was added in training, and its parameters; None for no noise.
    """
    facts = model.facts
    return {
        "schema": REWRITER_CARD_SCHEMA,
        "deniable": __version__,
        "model": "autoencoder",
        "coordinates": model.latent,
        "radius": model.radius,
        "limit": model.limit,
        "words": len(model.vocabulary),
        "options": facts["options"],
        "best epoch": facts["best epoch"],
        "public seed": facts["seed"],
        "noise in training": training_noise,
        "training records": "no guarantee is claimed",
        "data": {
            "training texts": facts["records"],
            "texts held out": facts["held out"],
            "test texts": test_count,
            "commitment": commitment,
        },
        "reconstruction": {name: dataclasses.asdict(figure) for name, figure in figures.items()},
        "not protected": [_TRAINING_UNPROTECTED, _MODEL_ALONE_UNPROTECTED],
    }


def render_rewriter_card(card: dict[str, Any]) -> str:
    """Return a card as a page of plain text."""
    data, noise = card["data"], card["noise in training"]
    held_out_texts = "the texts held out, which also said when to stop"
    tested_texts = held_out_texts if data["test texts"] is None else f"{data['test texts']:,} test texts"
    lines = [
        f"Model card: {card['model']}, which rewrites texts, trained by deniable {card['deniable']}",
        "",
        f"Vectors of {card['coordinates']} coordinates, clipped to the l2 ball of radius {card['radius']:g}",
        f"  texts of up to {card['limit']:,} tokens; {card['words']:,} tokens are known",
        f"  best of the epochs: {card['best epoch']}",
        *(f"  {name}: {value}" for name, value in card["options"].items() if name not in {"latent", "radius", "noise"}),
        f"  noise in training: {'none' if noise is None else _describe_noise(noise)}",
        "",
        f"Data: {data['training texts']:,} training texts, {data['texts held out']:,} held out",
        f"  commitment to the data: {data['commitment']} (the owner has the opening)",
        "",
        f"Reconstruction without noise, on {tested_texts}:",
        *(f"  {title}: {_format_figure(card['reconstruction'][name], name)}" for name, title in _FIGURE_TITLES.items()),
        "",
        "Not protected:",
        *(f"  - {line}" for line in card["not protected"]),
    ]
    return "\n".join(lines) + "\n"


def _describe_noise(noise: dict[str, Any]) -> str:
    return ", ".join(f"{value}" if isinstance(value, str) else f"{name} {value:.4g}" for name, value in noise.items())


def _format_figure(figure: dict[str, Any], name: str) -> str:
    if name == "bleu":
        return f"{figure['value']:.1f}"
    return f"{100 * figure['value']:.1f} % ({100 * figure['low']:.1f} to {100 * figure['high']:.1f})"
