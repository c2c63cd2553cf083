"""``deniable audit``: what a claim is worth."""

import json
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable.cli.options import MetricOption, SpaceOption, build_mechanism_from_options, unknown_name_error
from deniable.cli.progress import show_passes
from deniable.core.errors import InputError, check_positive

if TYPE_CHECKING:
    from deniable.core.evidence import Verdict

EXIT_REFUTED = 1
_DEFAULT_SECONDS = 600.0
_MAXIMUM_SECONDS = 1e7
_SAMPLING_OPTIONS = {"claim", "delta", "distance", "confidence", "samples", "method", "seconds", "seed", "as_json"}
_OPTIONS_BY_FORM = {
    "a word mechanism": {"epsilon", "space", "metric", "no_cache", "as_json"},
    "a vector mechanism": {"epsilon", "delta", "dim", "no_cache", "as_json"},
    "a callable": _SAMPLING_OPTIONS | {"inputs", "dim", "batched"},
    "--command": _SAMPLING_OPTIONS | {"inputs", "lines", "timeout"},
    "--outputs": _SAMPLING_OPTIONS,
    "--zoo": {"seed", "as_json"},
}
"""The options that each form of the command takes."""


def run_audit(
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
    space: SpaceOption = "glove",
    metric: MetricOption = "euclidean",
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
    seconds: Annotated[float, typer.Option("--seconds", help="Budget of time for a black box.")] = _DEFAULT_SECONDS,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds for one run of a command.")] = 60.0,
    seed: Annotated[int | None, typer.Option("--seed", help="Of the run_audit's own coins.")] = None,
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
    given_forms = [name for name, value in forms.items() if value is not None]
    if len(given_forms) != 1:
        given_text = " and ".join(given_forms) or "none of them"
        raise InputError(
            f"Say what to audit: a mechanism, module:callable, --command, --outputs or --zoo. Got {given_text}."
        )
    form = _classify_target(target, given_forms[0])
    _refuse_unrelated_options(context, form)
    if zoo:
        _audit_zoo(seed or 0, as_json=as_json)
        return
    if target is not None and ":" not in target:
        if epsilon is None and target != "random":
            raise InputError("Missing option '--epsilon': a mechanism of this package needs it.")
        name, heading, verdict = _verify_known_mechanism(
            target, epsilon or 0.0, delta, dim, space, metric, no_cache=no_cache
        )
    else:
        from deniable.auditing import audit as sample  # noqa: PLC0415 - keeps --help fast
        from deniable.cli.audit import black_box  # noqa: PLC0415

        if claim is None:
            raise InputError("Missing option '--claim': the epsilon that the black box claims.")
        check_positive("audit", "seconds", seconds, _MAXIMUM_SECONDS)
        if target is not None:
            box = black_box.build_callable_box(target, inputs, dim, seconds, batched=batched)
        elif command is not None:
            box = black_box.build_command_box(command, inputs, timeout, lines=lines)
        else:
            box = black_box.build_recorded_box(outputs)  # type: ignore[arg-type]  # one of the three is given
        options: dict[str, Any] = {"claim": claim, "delta": delta, "confidence": confidence, "samples": samples}
        options |= {"method": method, "seconds": seconds, "seed": seed}
        options["distance"] = black_box.parse_distances(distance)
        with show_passes("sampling"):
            verdict = black_box.audit_black_box(box, sample, options)
        name, heading = box.name, [f"{box.name}, by its outputs alone"]
    if as_json:
        typer.echo(json.dumps({"mechanism": name, **verdict.to_dict()}, indent=2, ensure_ascii=False))
    else:
        typer.echo("\n".join([*heading, str(verdict)]))
    if verdict.status == "refuted":
        raise typer.Exit(EXIT_REFUTED)


def _verify_known_mechanism(
    name: str, epsilon: float, delta: float, dim: int, space: str, metric: str, *, no_cache: bool
) -> "tuple[str, list[str], Verdict]":
    """Return name, heading and verdict of a mechanism of this package."""
    from deniable.auditing import verify  # noqa: PLC0415 - keeps --help fast
    from deniable.core.cache import bypass_cache  # noqa: PLC0415
    from deniable.registry.vectors import VECTOR_MECHANISMS  # noqa: PLC0415

    if name in VECTOR_MECHANISMS:
        parameters = {} if name == "random" else {"epsilon": epsilon}
        if name in {"gaussian", "adept-gaussian"}:
            parameters["delta"] = delta
        vector_mechanism = VECTOR_MECHANISMS[name](**parameters)
        verdict = verify(vector_mechanism, dimension=dim)
        guarantee = vector_mechanism.guarantee
        return name, [f"{name} on vectors ({dim},), {guarantee}: {guarantee.source}"], verdict
    with bypass_cache() if no_cache else nullcontext(), show_passes("verifying"):
        word_mechanism = build_mechanism_from_options(name, space, metric, epsilon)
        verdict = verify(word_mechanism)
    heading = [
        f"{word_mechanism.name} over {len(word_mechanism.space):,} words of {word_mechanism.space.source}, {metric} distance"
    ]
    for parameter, value in word_mechanism.derived_parameters.items():
        heading.append(f"{parameter} {value if isinstance(value, str) else format(value, '.6g')}")
    return word_mechanism.name, heading, verdict


def _classify_target(target: str | None, given_form: str) -> str:
    """Return which form of the command it is."""
    from deniable.registry.vectors import VECTOR_MECHANISMS  # noqa: PLC0415 - keeps --help fast
    from deniable.registry.words import WORD_MECHANISMS  # noqa: PLC0415

    if target is None:
        return given_form
    if ":" in target:
        return "a callable"
    if target in VECTOR_MECHANISMS:
        return "a vector mechanism"
    known_names = ["auto", *WORD_MECHANISMS, *VECTOR_MECHANISMS]
    if target not in known_names:
        raise unknown_name_error("mechanism", target, known_names)
    return "a word mechanism"


def _refuse_unrelated_options(context: typer.Context, form: str) -> None:
    """Raise `InputError` for an option that this form would ignore."""
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in {"target", "command", "outputs", "zoo", *_OPTIONS_BY_FORM[form]}:
            continue
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InputError(f"The option {parameter.opts[0]} does not go with {form}.")


def _audit_zoo(seed: int, *, as_json: bool) -> None:
    """Print the verdicts on the zoo; exit with 1 unless all are as expected."""
    from deniable.cli.audit.zoo import build_zoo_records, examine_zoo, format_zoo_table  # noqa: PLC0415 - keeps --help fast

    with show_passes("auditing"):
        findings = examine_zoo(seed)
    typer.echo(
        json.dumps(build_zoo_records(findings), indent=2, ensure_ascii=False) if as_json else format_zoo_table(findings)
    )
    if not all(finding.is_as_expected for finding in findings):
        raise typer.Exit(EXIT_REFUTED)
