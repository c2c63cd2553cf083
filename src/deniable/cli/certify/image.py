"""``deniable certify`` of a model of images."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from deniable.cli.model_runs import CertifyOptions, encode_json, translate_memory_errors
from deniable.cli.options import format_names
from deniable.cli.progress import show_passes
from deniable.core.errors import InputError
from deniable.core.guarantees import is_proved

if TYPE_CHECKING:
    from deniable.models.images.certification import CertifiedAccuracyCurve
    from deniable.models.images.dataset import ImageDataset, LabelledImages
    from deniable.models.images.model import ImageModel
    from deniable.models.images.refutation import AttackedImage
    from deniable.models.shared.refutation import Refutation


def run_certify_image(
    model_path: Path,
    data_path: Path,
    certify_options: CertifyOptions,
    *,
    limit: int | None,
    radius: float | None,
    noise: float | None,
    law: Literal["gaussian", "laplace"] | None,
    output: Path | None,
    force: bool,
) -> bool:
    """Certify the predictions of a model on test images; the options are those of the command.

    Returns:
        Whether an attack inside the certified balls refuted a certificate that is said to be proved.
    """
    import torch  # noqa: PLC0415 - keeps --help fast

    from deniable.core.files import PIPE, open_outputs  # noqa: PLC0415
    from deniable.models.images.certification import certify_image_model as certified  # noqa: PLC0415
    from deniable.models.images.certification import smooth_image_model  # noqa: PLC0415
    from deniable.models.images.reading import read_images  # noqa: PLC0415
    from deniable.registry.models import load_image_model  # noqa: PLC0415

    if law is not None and noise is None:
        raise InputError(f"--law {law} is that of --noise: give it, for example 0.25.")
    image_model = (
        load_image_model(model_path)
        if noise is None
        else smooth_image_model(load_image_model(model_path), noise, law or "gaussian")
    )
    declared_domain = image_model.declaration
    dataset = read_images(data_path, pixel_range=declared_domain.pixel_range, classes=declared_domain.classes)
    test_images = _select_test_images(image_model, dataset, limit)
    generator = torch.Generator().manual_seed(certify_options.seed % 2**63)
    with translate_memory_errors(), show_passes("certify"):
        radii = None if radius is None else (radius,)
        curve = certified(
            image_model,
            test_images.pixels,
            test_images.labels,
            generator=generator,
            radii=radii,
            draws=certify_options.draws,
            alpha=certify_options.alpha,
        )
    refutation = (
        _attack_certified_images(image_model, test_images, curve, certify_options.attack_count, generator)
        if certify_options.attack_count
        else None
    )
    if output is not None:
        with open_outputs(str(output), force=force, owner_only=[str(output)]) as (stream,):
            stream.write(encode_json(_build_record(image_model, test_images, curve, refutation)))
    for line in [*_format_lines(image_model, curve), *([] if refutation is None else [f"attack: {refutation}"])]:
        typer.echo(line, err=str(output) == PIPE)
    return bool(
        refutation is not None
        and refutation.is_refuted
        and image_model.certificate
        and is_proved(image_model.certificate.status)
    )


def _select_test_images(model: "ImageModel", dataset: "ImageDataset", limit: int | None) -> "LabelledImages":
    """Return the test images to look at.

    Raises:
        InputError: they are not of the model's shape and classes.
    """
    from deniable.models.images.dataset import LabelledImages  # noqa: PLC0415

    test_images = dataset.test
    shape, expected_shape = tuple(test_images.pixels.shape[1:]), model.architecture.shape
    if shape != expected_shape:
        raise InputError(
            f"The model takes images of shape {expected_shape}. Got {shape}: name the data it was trained for."
        )
    class_names = model.facts.get("classes")
    if len(dataset.classes) != model.architecture.classes or (
        class_names is not None and list(dataset.classes) != class_names
    ):
        expected_classes = (
            f"the classes {format_names(class_names)}" if class_names else f"{model.architecture.classes} classes"
        )
        raise InputError(
            f"The model knows {expected_classes}. Got {format_names(dataset.classes)}: name the data it was trained for."
        )
    return LabelledImages(test_images.pixels[:limit], test_images.labels[:limit])


def _attack_certified_images(
    model: "ImageModel", test_images: "LabelledImages", curve: "CertifiedAccuracyCurve", count: int, generator: Any
) -> "Refutation[AttackedImage]":
    """Attack the first certified images inside their balls."""
    from deniable.models.images.refutation import refute_image_certificate  # noqa: PLC0415

    if model.certificate is None:
        raise InputError("A model without a certificate has none to refute: leave out --attack.")
    indices = [index for index, certified_image in enumerate(curve.certified) if certified_image.label is not None][
        :count
    ]
    with show_passes("attack"):
        return refute_image_certificate(
            model.scores(generator),
            test_images.pixels[indices],
            [curve.certified[index] for index in indices],
            model.certificate.norm,
            generator=generator,
            certified_at=curve.alpha,
            decision_rule=model.certificate.decision_rule,
        )


def _format_lines(model: "ImageModel", curve: "CertifiedAccuracyCurve") -> list[str]:
    """Return what is printed."""
    certificate = model.certificate
    if certificate is None:
        return []
    sampling = f"{len(curve.certified):,} images, {curve.draws:,} draws, alpha {curve.alpha:g}"
    lines = [f"{type(certificate).__name__}: {certificate.status} ({certificate.source}); {sampling}"]
    lines += [
        f"{certificate.norm} radius above {radius:g}: certified accuracy {accuracy.format_percent()}"
        for radius, accuracy in zip(curve.radii, curve.accuracy, strict=True)
    ]
    return lines


def _build_record(
    model: "ImageModel",
    test_images: "LabelledImages",
    curve: "CertifiedAccuracyCurve",
    refutation: "Refutation[AttackedImage] | None",
) -> dict[str, Any]:
    """Return everything for JSON."""
    from deniable.models.images.certificates import encode_certificate  # noqa: PLC0415

    certificate = model.certificate
    return {
        "model": model.trainer,
        "certificate": None if certificate is None else encode_certificate(certificate),
        "status": None if certificate is None else certificate.status,
        "norm": None if certificate is None else certificate.norm,
        "unit": "pixels in [0, 1]",
        "draws": curve.draws,
        "alpha": curve.alpha,
        "certified accuracy": [
            {"radius": radius, **dataclasses.asdict(accuracy)}
            for radius, accuracy in zip(curve.radii, curve.accuracy, strict=True)
        ],
        "images": [
            {"label": int(label), "certified": certified_image.label, "radius": certified_image.radius}
            for label, certified_image in zip(test_images.labels, curve.certified, strict=True)
        ],
        "attack": None if refutation is None else str(refutation),
    }
