"""``deniable certify image``: the predictions of an image model on test images."""

import dataclasses
from typing import TYPE_CHECKING, Any

import typer

from deniable.cli.commandline import option
from deniable.cli.commands.certify.options import CertificationOptions
from deniable.cli.images import read_test_images
from deniable.cli.model_runs import check_torch
from deniable.cli.options import ImageModelArgument, ImagesArgument
from deniable.cli.process import EXIT_REFUTED
from deniable.cli.progress import show_passes
from deniable.core.errors import InputError
from deniable.core.guarantees import is_proved
from deniable.core.numbers import format_exact
from deniable.models.images.options import NetworkNoiseLaw

if TYPE_CHECKING:
    from deniable.models.images.certification import AttackedImage, CertifiedAccuracyCurve
    from deniable.models.images.dataset import LabelledImages
    from deniable.models.refutation import Refutation


@dataclasses.dataclass(frozen=True, kw_only=True)
class SmoothingOptions:
    """Certification.

    Attributes:
        radius: attack size to certify, in the norm of the certificate; pixels are in [0, 1].
        noise: scale of the noise added to a model that has none of its own; pixels are in [0, 1].
        noise_law: law of --noise: gaussian certifies in l2, laplace in l1.
        limit: maximum number of test images to use (the first ones).

    Raises:
        InputError: a law without noise.
    """

    radius: float | None = dataclasses.field(default=None, metadata=option(min=0, show_default="several"))
    noise: float | None = None
    noise_law: NetworkNoiseLaw | None = dataclasses.field(default=None, metadata=option(show_default="gaussian"))
    limit: int | None = dataclasses.field(default=None, metadata=option(min=1, metavar="IMAGES", show_default="all"))

    def __post_init__(self) -> None:
        """Refuse a law without noise."""
        if self.noise_law is not None and self.noise is None:
            raise InputError(f"--noise-law {self.noise_law} is the law of --noise: give it, for example --noise 0.25.")


def run_certify_image(
    model: ImageModelArgument,
    data: ImagesArgument,
    options: CertificationOptions,
    smoothing: SmoothingOptions,
) -> None:
    """Certify the predictions of an image model on the test images.

    Prints the share of images that are classified correctly and certified beyond each attack size. Exits with 1 if an
    attack refutes a certificate that is stated as proved. Requires the train extra of deniable.

    Examples:
        deniable certify image trained.model mnist.npz --limit 500
    """
    check_torch()
    from deniable.models.images.certification import CertificateAttack, certify_image_model, smooth_image_model
    from deniable.models.tally import make_noise_generator
    from deniable.registry import load_image_model

    options.check("image", model, data)
    image_model = load_image_model(model)
    if smoothing.noise is not None:
        image_model = smooth_image_model(image_model, smoothing.noise, smoothing.noise_law or "gaussian")
    tested = read_test_images(data, image_model, smoothing.limit)
    generator = None if options.seed is None else make_noise_generator(options.seed)
    with show_passes("certify"):
        curve = certify_image_model(
            image_model,
            tested.pixels,
            tested.labels,
            generator=generator,
            radii=None if smoothing.radius is None else (smoothing.radius,),
            draws=options.draws,
            alpha=options.alpha,
        )
    certificate = curve.certificate
    drawn = f"{curve.draws:,} draws, alpha {format_exact(curve.alpha)}" if curve.draws else "bounds, no draws"
    sampling = f"{len(curve.certified):,} images, {drawn}"
    lines = [f"{type(certificate).__name__}: {certificate.status} ({certificate.source}); {sampling}"]
    for radius, accuracy in zip(curve.radii, curve.accuracy, strict=True):
        share = accuracy.format_percent()
        lines.append(f"{certificate.norm} radius above {format_exact(radius)}: certified accuracy {share}")
    if curve.draws:
        lines.append(options.describe_noise())
    refutation = None
    if options.attack_count:
        rows = [row for row, image in enumerate(curve.certified) if image.label is not None][: options.attack_count]
        attack = CertificateAttack.from_curve(curve)
        certified, generator = [curve.certified[row] for row in rows], generator or make_noise_generator()
        with show_passes("attack"):
            refutation = attack.refute(image_model.scores(generator), tested.pixels[rows], certified, generator)
        lines.append(f"attack: {refutation}")
    options.report(lines, _build_record(image_model.trainer, tested, curve, refutation, options.seed))
    if refutation is not None and refutation.is_refuted and is_proved(certificate.status):
        raise typer.Exit(EXIT_REFUTED)


def _build_record(
    trainer: str,
    tested: "LabelledImages",
    curve: "CertifiedAccuracyCurve",
    refutation: "Refutation[AttackedImage] | None",
    seed: int | None,
) -> dict[str, Any]:
    """Return everything for JSON."""
    from deniable.models.images.certificates import encode_certificate

    return {
        "model": trainer,
        "certificate": encode_certificate(curve.certificate),
        "status": curve.certificate.status,
        "norm": curve.certificate.norm,
        "unit": "pixels in [0, 1]",
        "draws": curve.draws,
        "seed": seed,
        "alpha": curve.alpha,
        "certified accuracy": [
            {"radius": radius, **dataclasses.asdict(accuracy)}
            for radius, accuracy in zip(curve.radii, curve.accuracy, strict=True)
        ],
        "images": [
            {"label": int(label), "certified": image.label, "radius": image.radius}
            for label, image in zip(tested.labels, curve.certified, strict=True)
        ],
        "attack": None if refutation is None else str(refutation),
    }
