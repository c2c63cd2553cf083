"""``deniable audit``: what a mechanism's claim is worth."""

import json
from contextlib import nullcontext
from typing import Annotated

import typer

from deniable.cli.options import Epsilon, MetricName, SpaceSource, build_mechanism
from deniable.cli.progress import passes

REFUTED = 1


def audit(
    mechanism: Annotated[
        str,
        typer.Argument(
            metavar="MECHANISM", help="calibrated, tight, tem, multivariate-laplace, truncated-gumbel or auto."
        ),
    ],
    epsilon: Epsilon,
    space: SpaceSource = "glove",
    metric: MetricName = "euclidean",
    no_cache: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--no-cache", help="Compute anew, and keep nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,  # noqa: FBT002
) -> None:
    """Verify a mechanism's guarantee, exactly where its law is known.

    Compares the laws of all pairs of words at all outputs, as they are sampled. Exits with 1 if the
    claim is refuted.
    """
    from deniable.auditing import verify  # noqa: PLC0415 - keeps --help fast
    from deniable.cache import bypassed  # noqa: PLC0415

    with bypassed() if no_cache else nullcontext(), passes("verifying"):
        built = build_mechanism(mechanism, space, metric, epsilon)
        verdict = verify(built)
    if as_json:
        typer.echo(json.dumps({"mechanism": built.name, **verdict.to_dict()}, indent=2, ensure_ascii=False))
    else:
        typer.echo(f"{built.name} over {len(built.space):,} words of {built.space.source}, {metric} distance")
        for name, value in built.derived.items():
            typer.echo(f"{name} {value if isinstance(value, str) else format(value, '.6g')}")
        typer.echo(str(verdict))
    if verdict.status == "refuted":
        raise typer.Exit(REFUTED)
