"""``deniable certify``: how far the predictions of a model hold under attack, proved image by image."""

import dataclasses
import enum
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable.cli.progress import passes
from deniable.cli.train import check_torch
from deniable.errors import InputError

if TYPE_CHECKING:
    from deniable.robust.certificates import Refutation
    from deniable.robust.certify import Curve
    from deniable.robust.images import Images
    from deniable.robust.model import Model


class Law(enum.StrEnum):
    """Of the noise that smooths a deterministic model."""

    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"


def certify(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="What deniable train wrote.")],
    data: Annotated[Path, typer.Option(metavar="PATH", help="Images, as for deniable train; the test half is used.")],
    limit: Annotated[int | None, typer.Option(help="Test images, the first ones; all by default.")] = None,
    radius: Annotated[
        float | None, typer.Option(help="Size of the attack, in the norm of the certificate and pixels of [0, 1].")
    ] = None,
    noise: Annotated[float | None, typer.Option(help="Smooths a model that has no noise of its own.")] = None,
    law: Annotated[Law, typer.Option(help="Of that noise: gaussian certifies in l2, laplace in l1.")] = Law.GAUSSIAN,
    draws: Annotated[int, typer.Option(help="Of the noise for each image.")] = 1_000,
    alpha: Annotated[float, typer.Option(help="Chance, at most, that the certificate of an image is wrong.")] = 0.001,
    attack: Annotated[
        int, typer.Option(metavar="N", help="Certified images to attack inside their balls, to refute the certificate.")
    ] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="JSON with every image.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the noise; the numbers follow from it.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output.")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Certify the predictions of a model on test images.

    Prints the share of images that are right and certified beyond each size of attack. Exit code 1 if an attack
    inside the certified balls refutes a certificate that is said to be proved.
    """
    check_torch()
    import torch  # noqa: PLC0415 - keeps --help fast

    from deniable.robust.certify import certify as certified  # noqa: PLC0415
    from deniable.robust.certify import smoothed  # noqa: PLC0415
    from deniable.robust.images import read_images  # noqa: PLC0415
    from deniable.robust.model import load  # noqa: PLC0415
    from deniable.text.tables.files import check_target, writing  # noqa: PLC0415

    for name, value, least in (("--limit", limit, 1), ("--draws", draws, 1), ("--attack", attack, 0)):
        if value is not None and value < least:
            raise InputError(f"{name} must be at least {least}. Got {value}.")
    if output is not None:
        check_target(str(output), force=force)
    found = load(model)
    if noise is not None:
        found = smoothed(found, noise, law.value)
    test = _fitting(found, read_images(data).test, limit)
    source = torch.Generator().manual_seed(seed)
    with passes("certify"):
        radii = None if radius is None else (radius,)
        curve = certified(found, test.pixels, test.labels, source=source, radii=radii, draws=draws, alpha=alpha)
    tried = _attacked(found, test, curve, attack, source) if attack else None
    if output is not None:
        with writing(str(output), force=force) as (stream,):
            stream.write(json.dumps(_record(found, test, curve, tried), indent=1).encode() + b"\n")
    for line in _lines(found, curve):
        typer.echo(line)
    if tried is not None:
        typer.echo(f"attack: {tried}")
        if tried.found and found.certificate is not None and found.certificate.standing == "proved":
            raise typer.Exit(1)


def _fitting(model: "Model", test: "Images", limit: int | None) -> "Images":
    """Return the test images to look at.

    Raises:
        InputError: they are not of the model's shape.
    """
    from deniable.robust.images import Images  # noqa: PLC0415

    shape, expected = tuple(test.pixels.shape[1:]), model.architecture.shape
    if shape != expected:
        raise InputError(f"The model takes images of shape {expected}. Got {shape}: name the data it was trained for.")
    if int(test.labels.max()) >= model.architecture.classes:
        raise InputError(
            f"The model knows {model.architecture.classes} classes. Got {int(test.labels.max()) + 1}: "
            "name the data it was trained for."
        )
    return Images(test.pixels[:limit], test.labels[:limit])


def _attacked(model: "Model", test: "Images", curve: "Curve", count: int, source: Any) -> "Refutation":  # noqa: ANN401 - torch's
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


def _record(model: "Model", test: "Images", curve: "Curve", tried: "Refutation | None") -> dict[str, Any]:
    """Return everything for JSON."""
    from deniable.robust.certificates import certificate_to  # noqa: PLC0415
    from deniable.verdict import finite  # noqa: PLC0415

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
            finite({"label": int(label), "certified": held.label, "radius": held.radius})
            for label, held in zip(test.labels, curve.certified, strict=True)
        ],
        "attack": None if tried is None else str(tried),
    }
