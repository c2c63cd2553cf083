"""``deniable audit outputs``: two files of recorded outputs."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer

from deniable.cli.choices import GameName
from deniable.cli.commands.audit.black_box import (
    DEFAULT_SECONDS,
    AuditSeedOption,
    BlackBox,
    ClaimOption,
    ConfidenceOption,
    DeltaOption,
    DistanceOption,
    GameOption,
    SamplingRequest,
    TimeLimitOption,
    audit_black_box,
    parse_distances,
)
from deniable.cli.commands.audit.values import read_outputs
from deniable.cli.options import SAMPLING_PANEL, JsonOption, make_option
from deniable.core.errors import InputError

_MINIMUM_OUTPUTS = 22
"""Outputs for each input that make the minimum number of samples."""
_INPUT_NAMES = ("x", "x'")

FirstArgument = Annotated[
    str, typer.Argument(metavar="A", help="Outputs for the first input: .npy, .jsonl, or text with one output a line.")
]
SecondArgument = Annotated[str, typer.Argument(metavar="B", help="Outputs for the second input, as many as in A.")]
RecordedSamplesOption = Annotated[
    int | None,
    make_option(
        SAMPLING_PANEL, "--samples", "Number of samples to take from the outputs.", default_text="as many as they make"
    ),
]


def run_audit_outputs(
    first: FirstArgument,
    second: SecondArgument,
    *,
    claim: ClaimOption,
    delta: DeltaOption = 0.0,
    distance: DistanceOption = "1",
    confidence: ConfidenceOption = 0.95,
    game: GameOption = GameName.AUTO,
    samples: RecordedSamplesOption = None,
    time_limit: TimeLimitOption = DEFAULT_SECONDS,
    seed: AuditSeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Audit two files of recorded outputs.

    Lines are compared byte by byte, and as numbers where they are numbers. Samples can refute a claim, but never prove
    one. Exits with 1 if the claim is refuted.
    """
    box, usable_count = _build_box(first, second)
    request = SamplingRequest(
        claim,
        delta,
        parse_distances(distance),
        confidence,
        usable_count if samples is None else samples,
        game.value,
        time_limit,
        seed,
    )
    audit_black_box(box, request, as_json=as_json)


def _build_box(first: str, second: str) -> tuple[BlackBox, int]:
    """Return the recorded outputs as a black box, and how many samples they make.

    Raises:
        InputError: a file cannot be read, or they have different numbers of outputs, or too few.
    """
    from deniable.auditing.black_box import MIN_SAMPLES

    first_outputs, second_outputs = read_outputs(first), read_outputs(second)
    has_blank_lines = any(isinstance(output, str) and not output for output in (*first_outputs, *second_outputs))
    if len(first_outputs) != len(second_outputs):
        raise InputError(
            f"The two files must have the same number of outputs. Got {len(first_outputs)} and {len(second_outputs)}"
            f"{' (blank lines are outputs too)' if has_blank_lines else ''}."
        )
    usable_count = count_usable_samples(len(first_outputs))
    if usable_count < MIN_SAMPLES:
        raise InputError(f"The files must have at least {_MINIMUM_OUTPUTS} outputs each. Got {len(first_outputs)}.")
    x, x_prime = _INPUT_NAMES
    sampler = make_replay_sampler({x: first_outputs, x_prime: second_outputs})
    return BlackBox(f"{first} and {second}", {"sampler": sampler, "x": x, "x_prime": x_prime}), usable_count


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
