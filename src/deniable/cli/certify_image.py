"""``deniable certify`` of a model of images."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from deniable.cli.options import listed
from deniable.cli.progress import passes
from deniable.cli.runs import Proof, memory_told, packed_json
from deniable.errors import InputError
from deniable.status import is_proved

if TYPE_CHECKING:
    from deniable.robust.certificates import Attacked, Refutation
    from deniable.robust.certify import Curve
    from deniable.robust.images import Dataset, Images
    from deniable.robust.model import Model


def certify_image(
    model: Path,
    data: Path,
    proof: Proof,
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

    from deniable.robust.certify import certify as certified  # noqa: PLC0415
    from deniable.robust.certify import smoothed  # noqa: PLC0415
    from deniable.robust.images import read_images  # noqa: PLC0415
    from deniable.robust.model import load  # noqa: PLC0415
    from deniable.text.tables.files import PIPE, writing  # noqa: PLC0415

    if law is not None and noise is None:
        raise InputError(f"--law {law} is that of --noise: give it, for example 0.25.")
    found = load(model) if noise is None else smoothed(load(model), noise, law or "gaussian")
    declared = found.declared
    images = read_images(data, pixel_range=declared.pixel_range, classes=declared.classes)
    test = _fitting(found, images, limit)
    source = torch.Generator().manual_seed(proof.seed % 2**63)
    with memory_told(), passes("certify"):
        radii = None if radius is None else (radius,)
        curve = certified(
            found, test.pixels, test.labels, source=source, radii=radii, draws=proof.draws, alpha=proof.alpha
        )
    tried = _attacked(found, test, curve, proof.attack, source) if proof.attack else None
    if output is not None:
        with writing(str(output), force=force, owner_only=[str(output)]) as (stream,):
            stream.write(packed_json(_record(found, test, curve, tried)))
    for line in [*_lines(found, curve), *([] if tried is None else [f"attack: {tried}"])]:
        typer.echo(line, err=str(output) == PIPE)
    return bool(tried is not None and tried.found and found.certificate and is_proved(found.certificate.standing))


def _fitting(model: "Model", data: "Dataset", limit: int | None) -> "Images":
    """Return the test images to look at.

    Raises:
        InputError: they are not of the model's shape and classes.
    """
    from deniable.robust.images import Images  # noqa: PLC0415

    test = data.test
    shape, expected = tuple(test.pixels.shape[1:]), model.architecture.shape
    if shape != expected:
        raise InputError(f"The model takes images of shape {expected}. Got {shape}: name the data it was trained for.")
    known = model.facts.get("classes")
    if len(data.classes) != model.architecture.classes or (known is not None and list(data.classes) != known):
        told = f"the classes {listed(known)}" if known else f"{model.architecture.classes} classes"
        raise InputError(f"The model knows {told}. Got {listed(data.classes)}: name the data it was trained for.")
    return Images(test.pixels[:limit], test.labels[:limit])


def _attacked(model: "Model", test: "Images", curve: "Curve", count: int, source: Any) -> "Refutation[Attacked]":  # noqa: ANN401 - torch's
    """Attack the first certified images inside their balls."""
    from deniable.robust.certificates import refute  # noqa: PLC0415

    if model.certificate is None:
        raise InputError("A model without a certificate has none to refute: leave out --attack.")
    at = [index for index, held in enumerate(curve.certified) if held.label is not None][:count]
    with passes("attack"):
        return refute(
            model.scores(source),
            test.pixels[at],
            [curve.certified[index] for index in at],
            model.certificate.norm,
            generator=source,
            certified_at=curve.alpha,
            decides=model.certificate.decides,
        )


def _lines(model: "Model", curve: "Curve") -> list[str]:
    """Return what is printed."""
    certificate = model.certificate
    if certificate is None:
        return []
    how = f"{len(curve.certified):,} images, {curve.draws:,} draws, alpha {curve.alpha:g}"
    lines = [f"{type(certificate).__name__}: {certificate.standing} ({certificate.source}); {how}"]
    lines += [
        f"{certificate.norm} radius above {radius:g}: certified accuracy {found.percent()}"
        for radius, found in zip(curve.radii, curve.accuracy, strict=True)
    ]
    return lines


def _record(model: "Model", test: "Images", curve: "Curve", tried: "Refutation[Attacked] | None") -> dict[str, Any]:
    """Return everything for JSON."""
    from deniable.robust.certificates import certificate_to  # noqa: PLC0415

    certificate = model.certificate
    return {
        "model": model.system,
        "certificate": None if certificate is None else certificate_to(certificate),
        "standing": None if certificate is None else certificate.standing,
        "norm": None if certificate is None else certificate.norm,
        "unit": "pixels in [0, 1]",
        "draws": curve.draws,
        "alpha": curve.alpha,
        "certified accuracy": [
            {"radius": radius, **dataclasses.asdict(found)}
            for radius, found in zip(curve.radii, curve.accuracy, strict=True)
        ],
        "images": [
            {"label": int(label), "certified": held.label, "radius": held.radius}
            for label, held in zip(test.labels, curve.certified, strict=True)
        ],
        "attack": None if tried is None else str(tried),
    }
