"""``deniable certify``: how far the predictions of a model hold under attack, proved image by image."""

import dataclasses
import enum
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable.cli.progress import passes
from deniable.cli.train import check_torch, memory_told
from deniable.errors import InputError

if TYPE_CHECKING:
    from deniable.robust.certificates import Refutation
    from deniable.robust.certify import Curve
    from deniable.robust.images import Dataset, Images
    from deniable.robust.model import Model

_SHOWN = 10
"""Classes that a message lists."""


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
    from deniable.text.tables.files import PIPE, check_target, writing  # noqa: PLC0415
    from deniable.verdict import finite  # noqa: PLC0415

    least = {"--limit": (limit, 1), "--draws": (draws, 1), "--attack": (attack, 0), "--radius": (radius, 0)}
    for name, (value, at_least) in least.items():
        if value is not None and not value >= at_least:
            raise InputError(f"{name} must be at least {at_least}. Got {value}.")
    if law is not Law.GAUSSIAN and noise is None:
        raise InputError(f"--law {law.value} is that of --noise: give it, for example 0.25.")
    if output is not None and str(output) != PIPE:
        check_target(str(output), force=force)
        if output.resolve() in {model.resolve(), data.resolve()}:
            raise InputError(f"The output {str(output)!r} would overwrite what is read: choose another name.")
    found = load(model) if noise is None else smoothed(load(model), noise, law.value)
    test = _fitting(found, read_images(data), limit)
    source = torch.Generator().manual_seed(seed % 2**63)
    with memory_told(), passes("certify"):
        radii = None if radius is None else (radius,)
        curve = certified(found, test.pixels, test.labels, source=source, radii=radii, draws=draws, alpha=alpha)
    tried = _attacked(found, test, curve, attack, source) if attack else None
    if output is not None:
        with writing(str(output), force=force) as (stream,):
            stream.write(json.dumps(finite(_record(found, test, curve, tried)), indent=1).encode() + b"\n")
    for line in [*_lines(found, curve), *([] if tried is None else [f"attack: {tried}"])]:
        typer.echo(line, err=str(output) == PIPE)
    if tried is not None and tried.found and found.certificate and found.certificate.standing == "proved":
        raise typer.Exit(1)


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
        told = f"the classes {_listed(known)}" if known else f"{model.architecture.classes} classes"
        raise InputError(f"The model knows {told}. Got {_listed(data.classes)}: name the data it was trained for.")
    return Images(test.pixels[:limit], test.labels[:limit])


def _listed(classes: Sequence[str]) -> str:
    shown = ", ".join(classes[:_SHOWN])
    return shown if len(classes) <= _SHOWN else f"{shown} and {len(classes) - _SHOWN} more"


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
