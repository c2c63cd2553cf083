"""``deniable audit sampler``: a function that is said to be the inverse of a distribution function."""

import dataclasses
from typing import Annotated, Any

import typer

from deniable.cli.commandline import option
from deniable.cli.commands.audit.black_box import FunctionCalls, import_with_limit, report_verdict
from deniable.cli.options import JsonOption


@dataclasses.dataclass(frozen=True, kw_only=True)
class UniformNumbers:
    """Sampler.

    Attributes:
        interval: open interval from which the sampler draws its uniform numbers.
        points: number of points of the interval that are looked at.
        law: distribution that its values should have, around 0.
        scale: scale of the distribution: b of Laplace, standard deviation of normal.
    """

    interval: tuple[float, float] = dataclasses.field(default=(0.0, 1.0), metadata=option(metavar="LOWER UPPER"))
    points: int = 10_000
    law: str | None = dataclasses.field(default=None, metadata=option(choices=("laplace", "normal"), panel="Claim"))
    scale: float = dataclasses.field(default=1.0, metadata=option(panel="Claim"))


def run_audit_sampler(
    target: Annotated[
        str,
        typer.Argument(
            metavar="PACKAGE.MODULE:CALLABLE",
            help="Function from a uniform number to a value; modules of the current folder can be imported.",
        ),
    ],
    uniforms: UniformNumbers,
    calls: FunctionCalls,
    *,
    as_json: JsonOption = False,
) -> None:
    """Audit a sampler that puts uniform numbers into a function, such as an inverse distribution function.

    The function must be defined and monotone in the interval, and its values must have the claimed distribution.
    Exits with 1 if not.

    Examples:
        deniable audit sampler mypackage.noise:draw --interval -0.5 0.5 --law laplace
    """
    from deniable.auditing.inverse_samplers import InverseSamplerOptions, audit_inverse_sampler

    given: dict[str, Any] = {**vars(uniforms)}
    given["lower"], given["upper"] = given.pop("interval")
    InverseSamplerOptions(**given)
    function = import_with_limit(target, calls.time_limit, "the function")
    found = audit_inverse_sampler(function, batched=calls.batched, **given)
    report_verdict(target, [target], found, kind="function", as_json=as_json)
