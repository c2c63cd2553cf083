"""``deniable audit sampler``: a function that is said to be the inverse of a distribution function."""

import dataclasses
import json
from typing import Annotated

import typer

from deniable.cli.callables import import_callable
from deniable.cli.commandline import option
from deniable.cli.commands.audit.black_box import MAXIMUM_SECONDS, limit_call_time
from deniable.cli.options import JsonOption
from deniable.cli.process import EXIT_REFUTED
from deniable.cli.terminal import say
from deniable.core.errors import check_positive


@dataclasses.dataclass(frozen=True, kw_only=True)
class UniformNumbers:
    """Sampler.

    Attributes:
        interval: open interval from which the sampler draws its uniform numbers.
        points: number of points of the interval that are looked at.
        law: distribution that its values should have, around 0.
        scale: scale of the distribution: b of Laplace, standard deviation of normal.
        batched: the callable takes an array of numbers and returns an array.
        time_limit: maximum duration of a single call.
    """

    interval: tuple[float, float] = dataclasses.field(default=(0.0, 1.0), metadata=option(metavar="LOWER UPPER"))
    points: int = 10_000
    law: str | None = dataclasses.field(default=None, metadata=option(choices=("laplace", "normal"), panel="Claim"))
    scale: float = dataclasses.field(default=1.0, metadata=option(panel="Claim"))
    batched: bool = False
    time_limit: float = dataclasses.field(default=600.0, metadata=option(metavar="SECONDS"))

    def __post_init__(self) -> None:
        """Refuse a duration before anything runs; the audit checks the rest."""
        check_positive("audit", "time_limit", self.time_limit, MAXIMUM_SECONDS)


def run_audit_sampler(
    target: Annotated[
        str,
        typer.Argument(
            metavar="PACKAGE.MODULE:CALLABLE",
            help="Function from a uniform number to a value; modules of the current folder can be imported.",
        ),
    ],
    uniforms: UniformNumbers,
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

    lower, upper = uniforms.interval
    given = {"lower": lower, "upper": upper}
    given |= {name: getattr(uniforms, name) for name in ("law", "scale", "points")}
    InverseSamplerOptions(**given)  # type: ignore[arg-type]  # checked there
    function = limit_call_time(import_callable, uniforms.time_limit, "Importing the module")(target)
    function = limit_call_time(function, uniforms.time_limit, "One call of the function")
    found = audit_inverse_sampler(function, batched=uniforms.batched, **given)
    if as_json:
        typer.echo(json.dumps({"function": target, **found.to_dict()}, indent=2, ensure_ascii=False))
    else:
        say(f"{target}\n{found}")
    if found.status == "refuted":
        raise typer.Exit(EXIT_REFUTED)
