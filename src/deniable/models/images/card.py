"""The model card: what is claimed of a model and what is known of it, for whoever is given the model."""

import dataclasses
from typing import Any

from deniable import __version__
from deniable.core.evidence import limit_status
from deniable.core.guarantees import PROVED_IDEAL, is_proved
from deniable.core.intervals import Estimate
from deniable.models.images.certification import CertifiedAccuracyCurve
from deniable.models.images.dataset import ImageDataset
from deniable.models.images.model import ImageModel

IMAGE_CARD_SCHEMA = "deniable-model-card/2"
PUBLIC_SEED_STATUS = "not private: the seed of the noise is public"
_NOT_PROTECTED = (
    "the test images, and the accuracy on them",
    "the number of training images, their shape and the name of their file, which count as public",
    "the choice of the options, if it was made by looking at the training images",
)
_UNDECLARED_CLASSES = "the classes, which were found in the training images and not declared"
_FLOATING_POINT = "what last bits of the weights may show: the noise is drawn and added in floating point"
_OTHER_FACTS = {"options", "seed", "classes", "classes declared", "pixel range"}
"""Facts of a model that are no part of the accounting."""


def build_image_card(
    model: ImageModel, data: ImageDataset, commitment: str, accuracy: Estimate, curve: CertifiedAccuracyCurve | None
) -> dict[str, Any]:
    """Return the card, as JSON holds it.

    Args:
        model: trained.
        data: what it was trained on.
        commitment: to that data, see `deniable.learning.card.commit_to_data`.
        accuracy: on the test images.
        curve: of certified accuracy on test images; None for a model without a certificate.
    """
    public_seed = model.facts.get("seed") is not None
    return {
        "schema": IMAGE_CARD_SCHEMA,
        "deniable": __version__,
        "system": model.trainer,
        "training records": _describe_protection(model, public_seed=public_seed),
        "accounting": {name: value for name, value in model.facts.items() if name not in _OTHER_FACTS},
        "options": model.facts.get("options", {}),
        "data": {
            "name": data.name,
            "read as": data.note,
            "training images": len(data.train),
            "test images": len(data.test),
            "shape": list(data.train.pixels.shape[1:]),
            "classes": list(data.classes),
            "classes declared": data.declaration.classes is not None,
            "commitment": commitment,
        },
        "clean accuracy": dataclasses.asdict(accuracy),
        "certificate": None if curve is None else _describe_certificate(model, curve),
        "not protected": [*_list_unproven(model, public_seed=public_seed), *_NOT_PROTECTED, *_list_undeclared(data)],
    }


def _list_unproven(model: ImageModel, *, public_seed: bool) -> list[str]:
    """Return the line about what no proof protects of the training records."""
    if model.guarantee is None or not is_proved(model.guarantee.status) or public_seed:
        return ["the training images: no guarantee about them holds by proof"]
    return [_FLOATING_POINT] if model.guarantee.status == PROVED_IDEAL else []


def _list_undeclared(data: ImageDataset) -> list[str]:
    """Return the line about classes that nobody declared."""
    return [] if data.declaration.classes is not None else [_UNDECLARED_CLASSES]


def _describe_protection(model: ImageModel, *, public_seed: bool) -> dict[str, Any]:
    """Return what is claimed of the training records, and the verdict."""
    guarantee, verdict = model.guarantee, model.verdict
    if guarantee is None or verdict is None:
        return {"guarantee": "none", "status": "no privacy is claimed"}
    if public_seed and is_proved(guarantee.status):
        return {"guarantee": "none", "status": PUBLIC_SEED_STATUS}
    return {
        "guarantee": str(guarantee),
        "unit": guarantee.unit,
        "adjacency": guarantee.adjacency,
        "status": limit_status(guarantee, verdict).status,
        "source": guarantee.source,
        "verdict": verdict.to_dict(),
    }


def _describe_certificate(model: ImageModel, curve: CertifiedAccuracyCurve) -> dict[str, Any]:
    certificate = model.certificate
    if certificate is None:
        return {}
    return {
        "kind": type(certificate).__name__,
        "norm": certificate.norm,
        "status": certificate.status,
        "source": certificate.source,
        "unit": "pixels in [0, 1]",
        "images": len(curve.certified),
        "draws": curve.draws,
        "alpha of each image": curve.alpha,
        "certified accuracy": [
            {"radius": radius, **dataclasses.asdict(accuracy)}
            for radius, accuracy in zip(curve.radii, curve.accuracy, strict=True)
        ],
    }


def render_image_card(card: dict[str, Any]) -> str:
    """Return a card as a page of plain text."""
    protection, data = card["training records"], card["data"]
    classes = f"{len(data['classes'])} classes, {'declared' if data['classes declared'] else 'found in the images'}"
    lines = [
        f"Model card: {card['system']}, trained by deniable {card['deniable']}",
        "",
        f"Training records: {protection['guarantee']}, {protection['status']}",
    ]
    if "verdict" in protection:
        lines += [f"  between data sets: {protection['adjacency']}", f"  source: {protection['source']}"]
        lines += [f"  verdict: {protection['verdict']['status']}; {protection['verdict']['method']}"]
    lines += [f"  {name}: {_format_value(value)}" for name, value in card["accounting"].items()]
    lines += [
        "",
        f"Data: {data['name']}, {data['training images']:,} training and {data['test images']:,} test images",
        f"  {' x '.join(map(str, data['shape']))} pixels, {classes}; {data['read as']}",
        f"  commitment to the data: {data['commitment']} (the owner has the opening)",
        "",
        f"Clean accuracy: {_format_percent(card['clean accuracy'])} on the test images",
    ]
    certificate = card["certificate"]
    if certificate:
        lines += [
            "",
            f"Certificate: {certificate['kind']}, {certificate['status']} ({certificate['source']})",
            f"  {certificate['images']} test images, {certificate['draws']:,} draws each",
            f"  chance, at most, that an image's is wrong: {certificate['alpha of each image']:g}",
            *(
                f"  {certificate['norm']} radius above {point['radius']:g}: {_format_percent(point)}"
                for point in certificate["certified accuracy"]
            ),
        ]
    lines += ["", "Not protected:", *(f"  - {line}" for line in card["not protected"])]
    return "\n".join(lines) + "\n"


def _format_percent(estimate: dict[str, Any]) -> str:
    return f"{100 * estimate['value']:.1f} % ({100 * estimate['low']:.1f} to {100 * estimate['high']:.1f})"


def _format_value(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
