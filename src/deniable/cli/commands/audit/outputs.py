"""``deniable audit outputs``: two files of recorded outputs."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer

from deniable.cli.commandline import option
from deniable.cli.commands.audit.black_box import BlackBoxAudit
from deniable.cli.commands.audit.values import read_outputs
from deniable.cli.options import JsonOption
from deniable.core.errors import InputError

_MINIMUM_OUTPUTS = 22
"""Outputs for each input that make the minimum number of samples."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class OutputsAudit(BlackBoxAudit):
    """Sampling.

    Attributes:
        samples: number of samples to take from the outputs.
    """

    samples: int | None = dataclasses.field(default=None, metadata=option(show_default="as many as they make"))


def run_audit_outputs(
    first: Annotated[
        str,
        typer.Argument(
            metavar="A", help="Outputs for the first input: .npy, .jsonl, or text with one output per line."
        ),
    ],
    second: Annotated[str, typer.Argument(metavar="B", help="Outputs for the second input, as many as for the first.")],
    sampling: OutputsAudit,
    *,
    as_json: JsonOption = False,
) -> None:
    """Audit two files of recorded outputs.

    Lines are compared byte by byte, and as numbers where they are numbers. Samples can refute a claim, but never prove
    one. Exits with 1 if the claim is refuted.

    Examples:
        deniable audit outputs first.npy second.npy --claim 1
    """
    from deniable.auditing.black_box import MIN_SAMPLES

    first_outputs, second_outputs = read_outputs(first), read_outputs(second)
    if len(first_outputs) != len(second_outputs):
        has_blank_lines = any(isinstance(output, str) and not output for output in (*first_outputs, *second_outputs))
        raise InputError(
            f"The two files must have the same number of outputs. Got {len(first_outputs)} and {len(second_outputs)}"
            f"{' (blank lines are outputs too)' if has_blank_lines else ''}."
        )
    usable_count = count_usable_samples(len(first_outputs))
    if usable_count < MIN_SAMPLES:
        raise InputError(f"The files must have at least {_MINIMUM_OUTPUTS} outputs each. Got {len(first_outputs)}.")
    sampler = make_replay_sampler({"x": first_outputs, "x'": second_outputs})
    samples = usable_count if sampling.samples is None else sampling.samples
    sampling.run(f"{first} and {second}", sampler, as_json=as_json, samples=samples, x="x", x_prime="x'")


def make_replay_sampler(outputs: Mapping[str, Sequence[Any]]) -> Callable[[str], Any]:
    """Return a sampler that hands out outputs drawn before, each once, in order, by the name of their input.

    Raises:
        InputError: when asked for more outputs than there are.
    """
    streams = {name: iter(outputs_of_input) for name, outputs_of_input in outputs.items()}

    def sampler(name: str) -> Any:  # noqa: ANN401 - whatever was recorded
        try:
            return next(streams[name])
        except StopIteration:
            raise InputError(
                f"Only {len(outputs[name])} outputs of {name!r} are there: ask for fewer samples."
            ) from None

    return sampler


def count_usable_samples(count: int) -> int:
    """Return how many of ``count`` outputs of each of two inputs an audit can be sure to find when it tosses coins.

    Half of s samples come from each input, but for 6 standard deviations of the two thirds that are tossed.
    """
    spread = 6 * math.sqrt(2 / 3) / 2
    return int((math.sqrt(spread**2 + 2 * count) - spread) ** 2)
