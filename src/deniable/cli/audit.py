"""``deniable audit``: what a claim is worth."""

import json
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable.cli.options import MetricName, SpaceSource, build_mechanism, unknown_name
from deniable.cli.progress import passes
from deniable.errors import InputError, positive

if TYPE_CHECKING:
    from deniable.verdict import Verdict

REFUTED = 1
_SECONDS = 600.0
_LONGEST = 1e7
_SAMPLED = {"claim", "delta", "distance", "confidence", "samples", "method", "seconds", "seed", "as_json"}
_FITTING = {
    "a word mechanism": {"epsilon", "space", "metric", "no_cache", "as_json"},
    "a vector mechanism": {"epsilon", "delta", "dim", "no_cache", "as_json"},
    "a callable": _SAMPLED | {"inputs", "dim", "batched"},
    "--command": _SAMPLED | {"inputs", "lines", "timeout"},
    "--outputs": _SAMPLED,
    "--zoo": {"seed", "as_json"},
}
"""The options that each form of the command takes."""


def audit(
    context: typer.Context,
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[MECHANISM | MODULE:CALLABLE]",
            help="A word mechanism (calibrated, tight, tem, multivariate-laplace, truncated-gumbel, auto), a vector "
            "mechanism (laplace, gaussian, adept, adept-l1, adept-true, adept-gaussian, dptext, dptext-fixed), or "
            "your own callable as package.module:callable.",
        ),
    ] = None,
    epsilon: Annotated[float | None, typer.Option("--epsilon", help="Of a mechanism of this package.")] = None,
    claim: Annotated[float | None, typer.Option("--claim", help="Epsilon that a black box claims.")] = None,
    space: SpaceSource = "glove",
    metric: MetricName = "euclidean",
    dim: Annotated[int, typer.Option("--dim", help="Dimension of vectors; inputs are zeros and ones.")] = 1,
    delta: Annotated[float, typer.Option("--delta", help="Of an (epsilon, delta) claim.")] = 0.0,
    inputs: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--inputs",
            metavar="A B",
            help="Two inputs. For a callable: .json files. For a command: two texts, or two files of texts, one a "
            "line, which make pairs.",
        ),
    ] = None,
    command: Annotated[
        str | None, typer.Option("--command", help="A program that reads a text on stdin and writes one to stdout.")
    ] = None,
    lines: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--lines", help="The command answers line by line: many texts in one run.")
    ] = False,
    batched: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--batched", help="The callable takes many inputs at once and returns as many outputs.")
    ] = False,
    outputs: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--outputs",
            metavar="A B",
            help="Two files of outputs, made from two inputs: .npy, .jsonl, or one a line of text.",
        ),
    ] = None,
    zoo: Annotated[bool, typer.Option("--zoo", help="Audit the zoo of broken mechanisms.")] = False,  # noqa: FBT002
    distance: Annotated[
        str,
        typer.Option(
            "--distance", help="Between the inputs, or a file with one a line: the claim is epsilon per unit."
        ),
    ] = "1",
    confidence: Annotated[float, typer.Option("--confidence", help="Of the lower bound.")] = 0.95,
    samples: Annotated[
        int | None, typer.Option("--samples", help="Total calls: 10,000 by default, 1,000 for a command.")
    ] = None,
    method: Annotated[
        str, typer.Option("--method", help="auto, coin, pooled, precision or anytime (a command's default).")
    ] = "auto",
    seconds: Annotated[float, typer.Option("--seconds", help="Budget of time for a black box.")] = _SECONDS,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds for one run of a command.")] = 60.0,
    seed: Annotated[int | None, typer.Option("--seed", help="Of the audit's own coins.")] = None,
    no_cache: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--no-cache", help="Compute anew, and keep nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,  # noqa: FBT002
) -> None:
    """Check a claim of privacy: exactly where the law is known, by sampling where it is a black box.

    A mechanism of this package is verified over all inputs and outputs. A callable, a command or two files of
    outputs are sampled: too many right guesses of which input it was refute the claim. Samples can refute a
    claim, and never prove one. Exits with 1 if the claim is refuted.
    """
    forms = {"a mechanism": target, "--command": command, "--outputs": outputs, "--zoo": zoo or None}
    given = [name for name, value in forms.items() if value is not None]
    if len(given) != 1:
        got = " and ".join(given) or "none of them"
        raise InputError(f"Say what to audit: a mechanism, module:callable, --command, --outputs or --zoo. Got {got}.")
    form = _form(target, given[0])
    _refuse_others(context, form)
    if zoo:
        _zoo(seed or 0, as_json=as_json)
        return
    if target is not None and ":" not in target:
        if epsilon is None and target != "random":
            raise InputError("Missing option '--epsilon': a mechanism of this package needs it.")
        name, heading, verdict = _known(target, epsilon or 0.0, delta, dim, space, metric, no_cache=no_cache)
    else:
        from deniable.auditing import audit as sample  # noqa: PLC0415 - keeps --help fast
        from deniable.cli import black_boxes  # noqa: PLC0415

        if claim is None:
            raise InputError("Missing option '--claim': the epsilon that the black box claims.")
        positive("audit", "seconds", seconds, _LONGEST)
        if target is not None:
            box = black_boxes.from_callable(target, inputs, dim, seconds, batched=batched)
        elif command is not None:
            box = black_boxes.from_command(command, inputs, timeout, lines=lines)
        else:
            box = black_boxes.from_outputs(outputs)  # type: ignore[arg-type]  # one of the three is given
        options: dict[str, Any] = {"claim": claim, "delta": delta, "confidence": confidence, "samples": samples}
        options |= {"method": method, "seconds": seconds, "seed": seed}
        options["distance"] = black_boxes.distance_of(distance)
        with passes("sampling"):
            verdict = black_boxes.play(box, sample, options)
        name, heading = box.name, [f"{box.name}, by its outputs alone"]
    if as_json:
        typer.echo(json.dumps({"mechanism": name, **verdict.to_dict()}, indent=2, ensure_ascii=False))
    else:
        typer.echo("\n".join([*heading, str(verdict)]))
    if verdict.status == "refuted":
        raise typer.Exit(REFUTED)


def _known(
    name: str, epsilon: float, delta: float, dim: int, space: str, metric: str, *, no_cache: bool
) -> "tuple[str, list[str], Verdict]":
    """Return name, heading and verdict of a mechanism of this package."""
    from deniable.auditing import verify  # noqa: PLC0415 - keeps --help fast
    from deniable.cache import bypassed  # noqa: PLC0415
    from deniable.vectors import VECTOR_MECHANISMS  # noqa: PLC0415

    if name in VECTOR_MECHANISMS:
        parameters = {} if name == "random" else {"epsilon": epsilon}
        if name in {"gaussian", "adept-gaussian"}:
            parameters["delta"] = delta
        vectors = VECTOR_MECHANISMS[name](**parameters)
        verdict = verify(vectors, dimension=dim)
        claim = vectors.guarantee
        return name, [f"{name} on vectors ({dim},), {claim}: {claim.source}"], verdict
    with bypassed() if no_cache else nullcontext(), passes("verifying"):
        built = build_mechanism(name, space, metric, epsilon)
        verdict = verify(built)
    heading = [f"{built.name} over {len(built.space):,} words of {built.space.source}, {metric} distance"]
    for what, value in built.derived.items():
        heading.append(f"{what} {value if isinstance(value, str) else format(value, '.6g')}")
    return built.name, heading, verdict


def _form(target: str | None, given: str) -> str:
    """Return which form of the command it is."""
    from deniable.vectors import VECTOR_MECHANISMS  # noqa: PLC0415 - keeps --help fast
    from deniable.words import MECHANISMS  # noqa: PLC0415

    if target is None:
        return given
    if ":" in target:
        return "a callable"
    if target in VECTOR_MECHANISMS:
        return "a vector mechanism"
    known = ["auto", *MECHANISMS, *VECTOR_MECHANISMS]
    if target not in known:
        raise unknown_name("mechanism", target, known)
    return "a word mechanism"


def _refuse_others(context: typer.Context, form: str) -> None:
    """Raise `InputError` for an option that this form would ignore."""
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in {"target", "command", "outputs", "zoo", *_FITTING[form]}:
            continue
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InputError(f"The option {parameter.opts[0]} does not go with {form}.")


def _zoo(seed: int, *, as_json: bool) -> None:
    """Print the verdicts on the zoo; exit with 1 unless all are as expected."""
    from deniable.cli.zoo import record, run_zoo, table  # noqa: PLC0415 - keeps --help fast

    with passes("auditing"):
        findings = run_zoo(seed)
    typer.echo(json.dumps(record(findings), indent=2, ensure_ascii=False) if as_json else table(findings))
    if not all(found.expected for found in findings):
        raise typer.Exit(REFUTED)
