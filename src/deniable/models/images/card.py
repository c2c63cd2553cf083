"""What the card of an image model says: its guarantee and verdict, its accounting, its data and its certificate."""

import dataclasses

from deniable.core.guarantees import PROVED_IDEAL, is_proved
from deniable.core.numbers import format_exact
from deniable.core.report import Fact, Report, Section, make_facts
from deniable.learning.card import build_card, describe_data, describe_protection, make_share_fact
from deniable.measure.intervals import Estimate
from deniable.models.images.certification import CertifiedAccuracyCurve
from deniable.models.images.dataset import ImageDataset
from deniable.models.images.model import ImageModel

PUBLIC_SEED_STATUS = "not private: the seed of the noise is public"
_NOT_PROTECTED = (
    "the test images, and the accuracy on them",
    "the number of training images, their shape and the name of their file, which count as public",
    "the choice of the options, if it was made by looking at the training images",
)
_UNDECLARED_CLASSES = "the classes, which were taken from the training images and not declared"
_FLOATING_POINT = (
    "what the least significant bits of the weights may show: the noise is drawn and added in floating point"
)
_OTHER_FACTS = {"options", "seed", "classes", "classes declared", "pixel range"}
"""Facts of a model that are no part of the accounting."""


def build_image_card(
    model: ImageModel, data: ImageDataset, commitment: str, accuracy: Estimate, curve: CertifiedAccuracyCurve | None
) -> Report:
    """Return the card of an image model.

    Args:
        model: trained.
        data: what it was trained on.
        commitment: to that data, see `deniable.cli.model_runs.commit_to_data`.
        accuracy: on the test images.
        curve: of certified accuracy on test images; None for a model without a certificate.
    """
    guarantee, not_protected = model.guarantee, [*_NOT_PROTECTED]
    protection, is_public = describe_protection(guarantee, model.verdict), model.facts.get("seed") is not None
    if guarantee is None or not is_proved(guarantee.status) or is_public:
        not_protected.insert(0, "the training images: no guarantee about them holds by proof")
    elif guarantee.status == PROVED_IDEAL:
        not_protected.insert(0, _FLOATING_POINT)
    if guarantee is not None and is_proved(guarantee.status) and is_public:
        protection = (Fact("guarantee", "none"), Fact("status", PUBLIC_SEED_STATUS))
    is_declared, shape = data.declaration.classes is not None, list(data.train.pixels.shape[1:])
    if not is_declared:
        not_protected.append(_UNDECLARED_CLASSES)
    data_facts = (
        Fact("name", data.name),
        Fact("read as", data.note),
        Fact("training images", len(data.train), text=f"{len(data.train):,}"),
        Fact("test images", len(data.test), text=f"{len(data.test):,}"),
        Fact("shape", shape, "channels, height and width", " x ".join(map(str, shape))),
        Fact("classes", list(data.classes), text=f"{len(data.classes)}: {', '.join(data.classes)}"),
        Fact("classes declared", is_declared, text="yes" if is_declared else "no: taken from the training images"),
    )
    accounting = {name: value for name, value in model.facts.items() if name not in _OTHER_FACTS}
    return build_card(
        model.trainer,
        "an image model",
        model_facts=(),
        sections=(
            Section("training records", protection),
            Section("accounting", make_facts(accounting)),
            Section("options", make_facts(model.facts.get("options", {}))),
            describe_data(commitment, *data_facts),
            Section("", (make_share_fact("clean accuracy", accuracy, "on the test images"),)),
            Section("", (Fact("certificate", None),)) if curve is None else _describe_certificate(curve),
        ),
        not_protected=not_protected,
    )


def _describe_certificate(curve: CertifiedAccuracyCurve) -> Section:
    """Return what is certified of the predictions."""
    certificate = curve.certificate
    points = list(zip(curve.radii, curve.accuracy, strict=True))
    radius_lines = "; ".join(
        f"{accuracy.format_percent()} beyond {format_exact(radius)}" for radius, accuracy in points
    )
    return Section(
        "certificate",
        (
            Fact("kind", type(certificate).__name__),
            Fact("norm", certificate.norm),
            Fact("status", certificate.status),
            Fact("source", certificate.source),
            Fact("unit", "pixels in [0, 1]"),
            Fact("images", len(curve.certified), text=f"{len(curve.certified):,} test images"),
            *(_describe_draws(curve) if curve.draws else ()),
            Fact(
                "certified accuracy",
                [{"radius": radius, **dataclasses.asdict(accuracy)} for radius, accuracy in points],
                f"share of images that are right, and stay so within this {certificate.norm} radius",
                radius_lines,
            ),
        ),
    )


def _describe_draws(curve: CertifiedAccuracyCurve) -> tuple[Fact, ...]:
    """Return how a certificate by draws was made."""
    return (
        Fact("draws", curve.draws, text=f"{curve.draws:,} for each image"),
        Fact(
            "noise",
            "fresh" if curve.is_noise_fresh else "from a seed",
            "with a seed alpha holds for models that were made without knowledge of it",
        ),
        Fact("alpha of each image", curve.alpha, "the probability, at most, that the image's certificate is wrong"),
    )
