"""``deniable audit command``: an external program, sampled."""

import shlex
import subprocess
from collections.abc import Callable, Sequence
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
    SamplesOption,
    SamplingRequest,
    TimeLimitOption,
    audit_black_box,
    find_input_file,
    parse_distances,
    read_text_lines,
)
from deniable.cli.options import BLACK_BOX_PANEL, JsonOption, make_option
from deniable.core.errors import InputError, check_positive, shorten_text

CommandArgument = Annotated[
    str,
    typer.Argument(
        metavar="COMMAND",
        help=(
            "Program and its arguments, in quotes. It reads a text on standard input and writes one to standard output."
        ),
    ),
]
InputsOption = Annotated[
    tuple[str, str],
    make_option(
        BLACK_BOX_PANEL,
        "--inputs",
        "Two texts, or @FILE twice: files with one text a line, which are paired by line.",
        metavar="A|@FILE B|@FILE",
    ),
]
LinesOption = Annotated[
    bool, make_option(BLACK_BOX_PANEL, "--lines", "The program answers line by line: many texts in one run.")
]
RunTimeoutOption = Annotated[
    float,
    make_option(BLACK_BOX_PANEL, "--run-timeout", "Maximum duration of one run of the program.", metavar="SECONDS"),
]


def run_audit_command(
    command: CommandArgument,
    *,
    inputs: InputsOption,
    lines: LinesOption = False,
    run_timeout: RunTimeoutOption = 60.0,
    claim: ClaimOption,
    delta: DeltaOption = 0.0,
    distance: DistanceOption = "1",
    confidence: ConfidenceOption = 0.95,
    game: GameOption = GameName.ANYTIME,
    samples: SamplesOption = 1_000,
    time_limit: TimeLimitOption = DEFAULT_SECONDS,
    seed: AuditSeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Audit an external program by sampling.

    Samples can refute a claim, but never prove one. Exits with 1 if the claim is refuted.
    """
    request = SamplingRequest(
        claim, delta, parse_distances(distance), confidence, samples, game.value, time_limit, seed
    )
    audit_black_box(_build_box(command, inputs, run_timeout, lines=lines), request, as_json=as_json)


def _build_box(command: str, inputs: tuple[str, str], timeout: float, *, lines: bool) -> BlackBox:
    """Return the program as a black box, run on two texts or on pairs of texts.

    Raises:
        InputError: a command that cannot be parsed, or texts that make no pairs.
    """
    try:
        arguments = shlex.split(command)
    except ValueError as error:
        raise InputError(f"The command {command!r} cannot be parsed: {error}.") from None
    if not arguments:
        raise InputError("COMMAND must be a program and its arguments, in quotes.")
    pairs = _read_pairs(inputs, lines=lines)
    check_positive("audit", "run_timeout", timeout)
    sampler = make_command_sampler(arguments, timeout=timeout, line_by_line=lines)
    what_is_run = {"x": pairs[0][0], "x_prime": pairs[0][1]} if len(pairs) == 1 else {"pairs": pairs}
    return BlackBox(command, {"sampler": sampler, "batched": lines, **what_is_run})


def _read_pairs(inputs: tuple[str, str], *, lines: bool) -> list[tuple[str, str]]:
    """Return the pairs of texts that two texts or two files make."""
    first_texts, second_texts = map(_read_texts, inputs)
    if lines and any("\n" in text for text in (*first_texts, *second_texts)):
        raise InputError("With --lines a text of --inputs must be one line. Got one with a line end in it.")
    if len(first_texts) != len(second_texts):
        raise InputError(
            "The two files of --inputs must have the same number of lines, since they make pairs. Got "
            f"{len(first_texts)} and {len(second_texts)}."
        )
    pairs = list(zip(first_texts, second_texts, strict=True))
    identical_texts = [first for first, second in pairs if first == second]
    if identical_texts:
        raise InputError(
            f"A pair of --inputs must be two different texts. Got {shorten_text(repr(identical_texts[0]))} twice."
        )
    return pairs


def _read_texts(argument: str) -> list[str]:
    """Return the one text that is given, or those of the file that @FILE names, one a line."""
    path = find_input_file(argument)
    if path is None:
        return [argument]
    texts = read_text_lines(path)
    if not texts:
        raise InputError(f"The input file {path!r} is empty: write one text a line.")
    return texts


def make_command_sampler(
    arguments: Sequence[str], *, timeout: float, line_by_line: bool = False
) -> Callable[[Any], Any]:
    """Return a sampler that runs an external program: text on standard input, text on standard output.

    Args:
        arguments: program and arguments; no shell.
        timeout: seconds for one run.
        line_by_line: the program answers line by line, so that one run serves many inputs; the sampler is
            then a batched one.
    """

    def run_program(text: str) -> str:
        try:
            process = subprocess.run(  # noqa: S603 - running the user's program is the purpose
                list(arguments),
                input=text.encode(errors="surrogateescape"),
                capture_output=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise InputError(
                f"The command {arguments[0]!r} did not end within {timeout:g} seconds: fix it, or raise --run-timeout."
            ) from None
        except OSError as error:
            raise InputError(f"The command {arguments[0]!r} cannot be run: {error.strerror}.") from None
        if process.returncode:
            error_lines = process.stderr.decode(errors="replace").strip().splitlines()
            last_line = f" ({shorten_text(error_lines[-1])})" if error_lines else ""
            raise InputError(f"The command {arguments[0]!r} failed with exit code {process.returncode}{last_line}.")
        output = process.stdout.decode(errors="surrogateescape")
        if not output:
            raise InputError(
                f"The command {arguments[0]!r} wrote nothing for the input {shorten_text(repr(text))}: "
                "an empty text is a line end."
            )
        return output

    def run_lines(texts: Sequence[str]) -> list[str]:
        answers = run_program("".join(f"{text}\n" for text in texts)).removesuffix("\n").split("\n")
        if len(answers) != len(texts):
            raise InputError(f"The command must answer each line by one line. Got {len(answers)} for {len(texts)}.")
        return answers

    return run_lines if line_by_line else (lambda text: run_program(f"{text}\n"))
