"""``deniable certify image``: the predictions of an image model on test images."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable.cli.choices import NoiseLaw
from deniable.cli.commandline import EXIT_REFUTED
from deniable.cli.commands.certify.options import (
    AlphaOption,
    AttackCountOption,
    CertifyOptions,
    CertifySeedOption,
    DrawsOption,
    ResultsOption,
    check_task,
    report_certification,
)
from deniable.cli.model_runs import check_torch, translate_memory_errors
from deniable.cli.options import CERTIFICATION_PANEL, ForceOption, ImagesArgument, format_names, make_option
from deniable.cli.progress import show_passes
from deniable.core.errors import InputError
from deniable.core.guarantees import is_proved
from deniable.core.numbers import format_exact

if TYPE_CHECKING:
    import torch

    from deniable.models.images.certification import CertifiedAccuracyCurve
    from deniable.models.images.dataset import ImageDataset, LabelledImages
    from deniable.models.images.model import ImageModel
    from deniable.models.images.refutation import AttackedImage
    from deniable.models.shared.refutation import Refutation

ImageModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model file written by deniable train image.", show_default=False)
]
RadiusOption = Annotated[
    float | None,
    make_option(
        CERTIFICATION_PANEL,
        "--radius",
        "Attack size to certify, in the norm of the certificate; pixels are in [0, 1].",
        min=0,
        default_text="several",
    ),
]
NoiseOption = Annotated[
    float | None,
    make_option(
        CERTIFICATION_PANEL,
        "--noise",
        "Scale of the noise added to a model that has none of its own; pixels are in [0, 1].",
    ),
]
NoiseLawOption = Annotated[
    NoiseLaw | None,
    make_option(
        CERTIFICATION_PANEL,
        "--noise-law",
        "Law of --noise: gaussian certifies in l2, laplace in l1.",
        default_text="gaussian",
    ),
]
ImageLimitOption = Annotated[
    int | None,
    make_option(
        CERTIFICATION_PANEL,
        "--limit",
        "Maximum number of test images to use (the first ones).",
        min=1,
        metavar="IMAGES",
        default_text="all",
    ),
]


def run_certify_image(
    model: ImageModelArgument,
    data: ImagesArgument,
    *,
    radius: RadiusOption = None,
    draws: DrawsOption = 1_000,
    alpha: AlphaOption = 0.001,
    attack_count: AttackCountOption = 0,
    noise: NoiseOption = None,
    noise_law: NoiseLawOption = None,
    limit: ImageLimitOption = None,
    output: ResultsOption = None,
    force: ForceOption = False,
    seed: CertifySeedOption = None,
) -> None:
    """Certify the predictions of an image model on the test images.

    Prints the share of images that are classified correctly and certified beyond each attack size. Exits with 1 if an
    attack refutes a certificate that is stated as proved. Requires the train extra of deniable.
    """
    check_torch()
    from deniable.core.files import check_outputs
    from deniable.models.images.reading import read_images
    from deniable.models.shared.draws import make_noise_generator

    certify_options = CertifyOptions(draws, alpha, attack_count, seed)
    if noise_law is not None and noise is None:
        raise InputError(f"--noise-law {noise_law} is the law of --noise: give it, for example --noise 0.25.")
    if output is not None:
        check_outputs([output], [model, data], force=force)
    check_task(model, "image")
    image_model = _load_model(model, noise, noise_law or NoiseLaw.GAUSSIAN)
    declaration = image_model.declaration
    dataset = read_images(data, pixel_range=declaration.pixel_range, classes=declaration.classes)
    test_images = _select_test_images(image_model, dataset, limit)
    generator = None if seed is None else make_noise_generator(seed)
    curve = _certify_images(image_model, test_images, certify_options, radius, generator)
    refutation = None
    if attack_count:
        generator = generator or make_noise_generator()
        refutation = _attack_certified_images(image_model, test_images, curve, attack_count, generator)
    lines = _format_lines(image_model, curve, certify_options)
    lines += [] if refutation is None else [f"attack: {refutation}"]
    report_certification(lines, _build_record(image_model, test_images, curve, refutation, seed), output, force=force)
    certificate = image_model.certificate
    if refutation is not None and refutation.is_refuted and certificate and is_proved(certificate.status):
        raise typer.Exit(EXIT_REFUTED)


def _load_model(path: Path, noise: float | None, noise_law: NoiseLaw) -> "ImageModel":
    """Return the model of a file, smoothed where noise is given."""
    from deniable.models.images.certification import smooth_image_model
    from deniable.registry.models import load_image_model

    image_model = load_image_model(path)
    return image_model if noise is None else smooth_image_model(image_model, noise, noise_law.value)


def _certify_images(
    model: "ImageModel",
    test_images: "LabelledImages",
    certify_options: CertifyOptions,
    radius: float | None,
    generator: "torch.Generator | None",
) -> "CertifiedAccuracyCurve":
    """Return the certified accuracy at one radius, or at several that the certificates make."""
    from deniable.models.images.certification import certify_image_model

    with translate_memory_errors(), show_passes("certify"):
        return certify_image_model(
            model,
            test_images.pixels,
            test_images.labels,
            generator=generator,
            radii=None if radius is None else (radius,),
            draws=certify_options.draws,
            alpha=certify_options.alpha,
        )


def _select_test_images(model: "ImageModel", dataset: "ImageDataset", limit: int | None) -> "LabelledImages":
    """Return the test images to look at.

    Raises:
        InputError: they are not of the model's shape and classes.
    """
    from deniable.models.images.dataset import LabelledImages

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
            f"The model knows {expected_classes}. Got {format_names(dataset.classes)}: name the data it "
            "was trained for."
        )
    return LabelledImages(test_images.pixels[:limit], test_images.labels[:limit])


def _attack_certified_images(
    model: "ImageModel",
    test_images: "LabelledImages",
    curve: "CertifiedAccuracyCurve",
    count: int,
    generator: "torch.Generator",
) -> "Refutation[AttackedImage]":
    """Attack the first certified images inside their balls."""
    from deniable.models.images.refutation import refute_image_certificate

    if model.certificate is None:
        raise InputError("A model without a certificate has none to refute: leave out --attack-count.")
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


def _format_lines(model: "ImageModel", curve: "CertifiedAccuracyCurve", certify_options: CertifyOptions) -> list[str]:
    """Return what is printed."""
    certificate = model.certificate
    if certificate is None:
        return []
    sampling = f"{len(curve.certified):,} images, {curve.draws:,} draws, alpha {format_exact(curve.alpha)}"
    lines = [f"{type(certificate).__name__}: {certificate.status} ({certificate.source}); {sampling}"]
    lines += [
        f"{certificate.norm} radius above {format_exact(radius)}: certified accuracy {accuracy.format_percent()}"
        for radius, accuracy in zip(curve.radii, curve.accuracy, strict=True)
    ]
    return [*lines, certify_options.describe_noise()]


def _build_record(
    model: "ImageModel",
    test_images: "LabelledImages",
    curve: "CertifiedAccuracyCurve",
    refutation: "Refutation[AttackedImage] | None",
    seed: int | None,
) -> dict[str, Any]:
    """Return everything for JSON."""
    from deniable.models.images.certificates import encode_certificate

    certificate = model.certificate
    return {
        "model": model.trainer,
        "certificate": None if certificate is None else encode_certificate(certificate),
        "status": None if certificate is None else certificate.status,
        "norm": None if certificate is None else certificate.norm,
        "unit": "pixels in [0, 1]",
        "draws": curve.draws,
        "seed": seed,
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
