"""The model card: what is claimed of a model and what is known of it, for whoever is given the model."""

import dataclasses
from typing import Any

from deniable import __version__
from deniable.guarantees import ApproxDP
from deniable.measure.estimate import Estimate
from deniable.robust.certify import Curve
from deniable.robust.images import Dataset
from deniable.robust.model import Model
from deniable.robust.training.accounting import NEIGHBOURS
from deniable.status import IDEAL, is_proved

SCHEMA = "deniable-model-card/1"
NOT_PRIVATE = "not private: the seed of the noise is public"
_NOT_PROTECTED = (
    "the test images, and the accuracy on them",
    "the number of training images, their shape and the name of their file, which count as public",
    "the choice of the options, if it was made by looking at the training images",
)
_CLASSES = "the classes, which were found in the training images and not declared"
_LAST_BITS = "what last bits of the weights may show: the noise is drawn and added in floating point"
_ELSEWHERE = {"options", "seed", "classes", "classes declared", "pixel range"}
"""Facts of a model that are no part of the accounting."""


def card(model: Model, data: Dataset, commitment: str, accuracy: Estimate, curve: Curve | None) -> dict[str, Any]:
    """Return the card, as JSON holds it.

    Args:
        model: trained.
        data: what it was trained on.
        commitment: to that data, see `deniable.learning.commitment.commit`.
        accuracy: on the test images.
        curve: of certified accuracy on test images; None for a model without a certificate.
    """
    public_seed = model.facts.get("seed") is not None
    return {
        "schema": SCHEMA,
        "deniable": __version__,
        "system": model.system,
        "training records": _protection(model, public_seed=public_seed),
        "accounting": {name: value for name, value in model.facts.items() if name not in _ELSEWHERE},
        "options": model.facts.get("options", {}),
        "data": {
            "name": data.name,
            "read as": data.note,
            "training images": len(data.train),
            "test images": len(data.test),
            "shape": list(data.train.pixels.shape[1:]),
            "classes": list(data.classes),
            "classes declared": data.declared.classes is not None,
            "commitment": commitment,
        },
        "clean accuracy": dataclasses.asdict(accuracy),
        "certificate": None if curve is None else _certificate(model, curve),
        "not protected": [*_unproven(model, public_seed=public_seed), *_NOT_PROTECTED, *_found(data)],
    }


def _unproven(model: Model, *, public_seed: bool) -> list[str]:
    """Return the line about what no proof protects of the training records."""
    if model.guarantee is None or not is_proved(model.guarantee.standing) or public_seed:
        return ["the training images: no guarantee about them holds by proof"]
    return [_LAST_BITS] if model.guarantee.standing == IDEAL else []


def _found(data: Dataset) -> list[str]:
    """Return the line about classes that nobody declared."""
    return [] if data.declared.classes is not None else [_CLASSES]


def _protection(model: Model, *, public_seed: bool) -> dict[str, Any]:
    """Return what is claimed of the training records, and the verdict."""
    guarantee, verdict = model.guarantee, model.verdict
    if guarantee is None or verdict is None:
        return {"guarantee": "none", "standing": "no privacy is claimed"}
    if public_seed and is_proved(guarantee.standing):
        return {"guarantee": "none", "standing": NOT_PRIVATE}
    return {
        "guarantee": str(guarantee),
        "adjacency": NEIGHBOURS if isinstance(guarantee, ApproxDP) else "replace one record",
        "standing": guarantee.standing,
        "source": guarantee.source,
        "verdict": verdict.to_dict(),
    }


def _certificate(model: Model, curve: Curve) -> dict[str, Any]:
    certificate = model.certificate
    if certificate is None:
        return {}
    return {
        "kind": type(certificate).__name__,
        "norm": certificate.norm,
        "standing": certificate.standing,
        "source": certificate.source,
        "unit": "pixels in [0, 1]",
        "images": len(curve.certified),
        "draws": curve.draws,
        "alpha of each image": curve.alpha,
        "certified accuracy": [
            {"radius": radius, **dataclasses.asdict(found)}
            for radius, found in zip(curve.radii, curve.accuracy, strict=True)
        ],
    }


def text(about: dict[str, Any]) -> str:
    """Return a card as a page of plain text."""
    held, data = about["training records"], about["data"]
    classes = f"{len(data['classes'])} classes, {'declared' if data['classes declared'] else 'found in the images'}"
    lines = [
        f"Model card: {about['system']}, trained by deniable {about['deniable']}",
        "",
        f"Training records: {held['guarantee']}, {held['standing']}",
    ]
    if "verdict" in held:
        lines += [f"  between data sets: {held['adjacency']}", f"  source: {held['source']}"]
        lines += [f"  verdict: {held['verdict']['status']}; {held['verdict']['method']}"]
    lines += [f"  {name}: {_plain(value)}" for name, value in about["accounting"].items()]
    lines += [
        "",
        f"Data: {data['name']}, {data['training images']:,} training and {data['test images']:,} test images",
        f"  {' x '.join(map(str, data['shape']))} pixels, {classes}; {data['read as']}",
        f"  commitment to the data: {data['commitment']} (the owner has the opening)",
        "",
        f"Clean accuracy: {_percent(about['clean accuracy'])} on the test images",
    ]
    certificate = about["certificate"]
    if certificate:
        lines += [
            "",
            f"Certificate: {certificate['kind']}, {certificate['standing']} ({certificate['source']})",
            f"  {certificate['images']} test images, {certificate['draws']:,} draws each",
            f"  chance, at most, that an image's is wrong: {certificate['alpha of each image']:g}",
            *(
                f"  {certificate['norm']} radius above {point['radius']:g}: {_percent(point)}"
                for point in certificate["certified accuracy"]
            ),
        ]
    lines += ["", "Not protected:", *(f"  - {line}" for line in about["not protected"])]
    return "\n".join(lines) + "\n"


def _percent(estimate: dict[str, Any]) -> str:
    return f"{100 * estimate['value']:.1f} % ({100 * estimate['low']:.1f} to {100 * estimate['high']:.1f})"


def _plain(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
