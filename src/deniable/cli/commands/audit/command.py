"""``deniable audit command``: an external program, sampled."""

import dataclasses
import shlex
import subprocess
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from deniable.cli.commandline import option
from deniable.cli.commands.audit.black_box import GAME, BlackBoxAudit, find_input_file, read_text_lines
from deniable.cli.options import JsonOption
from deniable.core.errors import InputError, check_positive, shorten_text


@dataclasses.dataclass(frozen=True, kw_only=True)
class CommandInputs:
    """Black box.

    Attributes:
        inputs: two texts, or @FILE twice: files with one text per line, which are paired by line.
        lines: the program answers line by line: many texts in one run.
        run_timeout: maximum duration of one run of the program.
    """

    inputs: tuple[str, str] = dataclasses.field(metadata=option(metavar="A|@FILE B|@FILE"))
    lines: bool = False
    run_timeout: float = dataclasses.field(default=60.0, metadata=option(metavar="SECONDS"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class CommandAudit(BlackBoxAudit):
    """Sampling."""

    game: str = dataclasses.field(default="anytime", metadata=GAME)
    samples: int | None = 1_000


def run_audit_command(
    command: Annotated[
        str,
        typer.Argument(
            metavar="COMMAND",
            help="Program and its arguments, in quotes. It reads a text on standard input and writes one to standard "
            "output.",
        ),
    ],
    inputs: CommandInputs,
    sampling: CommandAudit,
    *,
    as_json: JsonOption = False,
) -> None:
    """Audit an external program by sampling.

    Samples can refute a claim, but never prove one. Exits with 1 if the claim is refuted.

    Examples:
        deniable audit command "./privatize.sh" --lines --inputs "food in rome" "food in paris" --claim 1.5
    """
    try:
        arguments = shlex.split(command)
    except ValueError as error:
        raise InputError(f"The command {command!r} cannot be parsed: {error}.") from None
    if not arguments:
        raise InputError("COMMAND must be a program and its arguments, in quotes.")
    pairs = _read_pairs(inputs.inputs, lines=inputs.lines)
    check_positive("audit", "run_timeout", inputs.run_timeout)
    sampler = make_command_sampler(arguments, timeout=inputs.run_timeout, line_by_line=inputs.lines)
    what_is_run = {"x": pairs[0][0], "x_prime": pairs[0][1]} if len(pairs) == 1 else {"pairs": pairs}
    sampling.run(command, sampler, as_json=as_json, batched=inputs.lines, **what_is_run)


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
        raise InputError(f"The input file {path!r} is empty: write one text per line.")
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
                "write an empty text as a line end."
            )
        return output

    def run_lines(texts: Sequence[str]) -> list[str]:
        answers = run_program("".join(f"{text}\n" for text in texts)).removesuffix("\n").split("\n")
        if len(answers) != len(texts):
            raise InputError(f"The command must answer each line with one line. Got {len(answers)} for {len(texts)}.")
        return answers

    return run_lines if line_by_line else (lambda text: run_program(f"{text}\n"))
