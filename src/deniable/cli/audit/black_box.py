"""What the options of ``deniable audit`` say of a black box: the sampler and its inputs."""

import contextlib
import dataclasses
import importlib
import json
import os
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from deniable.core.errors import InputError, check_positive

if TYPE_CHECKING:
    from deniable.core.evidence import Verdict

_MINIMUM_OUTPUTS = 22
"""Outputs of each input that make the least number of samples."""
_INPUT_NAMES = ("x", "x'")


@dataclasses.dataclass(frozen=True)
class BlackBox:
    """A black box to audit.

    Attributes:
        name: for the report.
        arguments: of `deniable.auditing.audit` that say what is run on what.
        samples: calls by default.
        method: by default.
    """

    name: str
    arguments: dict[str, Any]
    samples: int
    method: str = "auto"


def build_callable_box(
    target: str, inputs: tuple[str, str] | None, dimension: int, seconds: float, *, batched: bool
) -> BlackBox:
    """Return the black box ``package.module:callable``; the current folder is importable.

    Raises:
        InputError: it cannot be imported, or is no callable; an input file cannot be read.
    """
    import numpy as np  # noqa: PLC0415 - keeps --help fast

    if dimension < 1:
        raise InputError(f"The option --dim must be at least 1. Got {dimension}.")
    function = limit_call_time(_import_callable, seconds, "Importing the module")(target)
    input_values = tuple(map(_read_json_input, inputs)) if inputs else (np.zeros(dimension), np.ones(dimension))
    return BlackBox(
        target, {"sampler": function, "x": input_values[0], "x_prime": input_values[1], "batched": batched}, 10_000
    )


def build_command_box(command: str, inputs: tuple[str, str] | None, timeout: float, *, lines: bool) -> BlackBox:
    """Return the black box of an external program, run on texts, or on two files of texts, one a line.

    Raises:
        InputError: no inputs, files of different lengths, or a command that cannot be taken apart.
    """
    from deniable.auditing.samplers import make_command_sampler as run  # noqa: PLC0415 - keeps --help fast

    try:
        arguments = shlex.split(command)
    except ValueError as error:
        raise InputError(f"The command {command!r} cannot be taken apart: {error}.") from None
    if not arguments:
        raise InputError("The option --command needs a program and its arguments, in quotes.")
    if inputs is None:
        raise InputError("A command needs --inputs A B: two texts, or two files with one text a line.")
    first_texts, second_texts = map(_read_texts, inputs)
    if lines and any("\n" in text for text in (*first_texts, *second_texts)):
        raise InputError("With --lines a text of --inputs must be one line. Got one with a line end in it.")
    if len(first_texts) != len(second_texts):
        raise InputError(
            f"The two files of --inputs must have as many lines: they make pairs. Got {len(first_texts)} and {len(second_texts)}."
        )
    identical_texts = [text for text, other_text in zip(first_texts, second_texts, strict=True) if text == other_text]
    if identical_texts:
        raise InputError(f"A pair of --inputs must be two different texts. Got {identical_texts[0]!r} twice.")
    sampler = run(arguments, timeout=check_positive("audit", "timeout", timeout), line_by_line=lines)
    sampler_options = {"sampler": sampler, "batched": lines}
    if len(first_texts) == 1:
        return BlackBox(command, {**sampler_options, "x": first_texts[0], "x_prime": second_texts[0]}, 1_000, "anytime")
    return BlackBox(
        command, {**sampler_options, "pairs": list(zip(first_texts, second_texts, strict=True))}, 1_000, "anytime"
    )


def build_recorded_box(files: tuple[str, str]) -> BlackBox:
    """Return the black box whose outputs for two inputs lie in two files: .npy, .jsonl, or one a line of text.

    Raises:
        InputError: a file cannot be read, or they hold different numbers of outputs, or too few.
    """
    from deniable.auditing.black_box import MIN_SAMPLES  # noqa: PLC0415 - keeps --help fast
    from deniable.auditing.samplers import count_usable_samples, make_replay_sampler  # noqa: PLC0415

    first_outputs, second_outputs = map(_read_outputs, files)
    if len(first_outputs) != len(second_outputs):
        raise InputError(
            f"The two files of --outputs must hold as many outputs. Got {len(first_outputs)} and {len(second_outputs)}."
        )
    if count_usable_samples(len(first_outputs)) < MIN_SAMPLES:
        raise InputError(
            f"The files of --outputs must hold at least {_MINIMUM_OUTPUTS} outputs each. Got {len(first_outputs)}."
        )
    x, x_prime = _INPUT_NAMES
    sampler = make_replay_sampler({x: first_outputs, x_prime: second_outputs})
    return BlackBox(
        " and ".join(files), {"sampler": sampler, "x": x, "x_prime": x_prime}, count_usable_samples(len(first_outputs))
    )


def parse_distances(text: str) -> Any:  # noqa: ANN401 - a float, or a list of them
    """Return a distance, or those of a file, one a line, a distance for each pair."""
    with contextlib.suppress(ValueError):
        return float(text)
    lines = _read_lines(text)
    try:
        return [float(line) for line in lines]
    except ValueError:
        raise InputError(f"The distance {text!r} is neither a number nor a file of numbers, one a line.") from None


class _TimeLimitError(BaseException):
    """A call that hangs is interrupted; no handler of errors in it stops that."""


def limit_call_time(function: Callable[..., Any], seconds: float, description: str) -> Callable[..., Any]:
    """Return the function with each call limited to so many seconds, where the system has timers.

    Compiled code that does not return to the interpreter cannot be interrupted.
    """

    def raise_time_limit(signum: int, frame: object) -> NoReturn:  # noqa: ARG001 - a signal handler
        raise _TimeLimitError

    def call_with_limit(*arguments: Any) -> Any:  # noqa: ANN401 - whatever the function takes and returns
        previous_handler = signal.signal(signal.SIGALRM, raise_time_limit)
        signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
        try:
            return function(*arguments)
        except _TimeLimitError:
            raise InputError(
                f"{description} did not end within the {seconds:g} seconds given: mend it, or raise --seconds."
            ) from None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous_handler)

    return call_with_limit if hasattr(signal, "setitimer") else function


def audit_black_box(black_box: BlackBox, audit_sampler: "Callable[..., Verdict]", options: dict[str, Any]) -> "Verdict":
    """Return the verdict on a black box, with options of the command line in place of its defaults."""
    audit_options = {**options, "samples": black_box.samples if options["samples"] is None else options["samples"]}
    if options["method"] == "auto":
        audit_options["method"] = black_box.method
    sampler = limit_call_time(black_box.arguments["sampler"], options["seconds"], "One call of the sampler")
    return audit_sampler(**{**black_box.arguments, "sampler": sampler}, **audit_options)


def _import_callable(target: str) -> Callable[..., Any]:
    module, _, name = target.partition(":")
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            target_object: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise InputError(f"No module named {error.name!r}: run from its folder, or install it.") from None
    except (KeyboardInterrupt, _TimeLimitError):
        raise
    except BaseException as error:  # SystemExit too
        raise InputError(f"The module {module!r} cannot be imported: {type(error).__name__}: {error}.") from error
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(folder)
    for part in name.split("."):
        target_object = getattr(target_object, part, None)
    if not callable(target_object):
        raise InputError(f"The module {module!r} has no callable {name!r}: write package.module:callable.")
    function: Callable[..., Any] = target_object
    return function


def _read_json_input(path: str) -> Any:  # noqa: ANN401 - whatever the file holds
    """Return an input: the value of a .json file, lists of numbers as arrays."""
    import numpy as np  # noqa: PLC0415 - keeps --help fast

    try:
        value = json.loads(_read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"The input {path!r} is not JSON: {error}.") from None
    if isinstance(value, list) and value and not any(isinstance(item, str) for item in value):
        try:
            return np.asarray(value, dtype=float)
        except (ValueError, TypeError):
            return value
    if value is None:
        raise InputError(f"The input {path!r} holds null: give a number, a list or a text.")
    return value


def _read_texts(text_or_path: str) -> list[str]:
    """Return the texts of a file, one a line, or the text itself where it is neither a file nor named like one."""
    is_file_name = not any(letter.isspace() for letter in text_or_path) and (
        os.sep in text_or_path
        or Path(text_or_path).suffix.lower() in {".txt", ".text", ".csv", ".tsv", ".json", ".jsonl"}
    )
    with contextlib.suppress(OSError, ValueError):  # too long for a name, or a NUL in it
        is_file_name = is_file_name or Path(text_or_path).is_file()
    if not is_file_name:
        return [text_or_path]
    texts = _read_lines(text_or_path)
    if not texts:
        raise InputError(f"The input file {text_or_path!r} is empty: write one text a line.")
    return texts


def _read_outputs(path: str) -> list[Any]:
    """Return the outputs that a file holds."""
    import numpy as np  # noqa: PLC0415 - keeps --help fast

    if path.endswith(".npy"):
        try:
            return list(np.load(path, allow_pickle=False))
        except (ValueError, EOFError, TypeError) as error:
            raise InputError(f"The file {path!r} holds no array of outputs: {error}.") from None
        except OSError as error:
            raise InputError(f"The file {path!r} cannot be read: {error.strerror or error}.") from None
    if path.endswith((".jsonl", ".ndjson")):
        outputs = []
        for number, line in enumerate(_read_lines(path), 1):
            try:
                outputs.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise InputError(f"Line {number} of {path!r} cannot be read as JSON: {error}.") from None
    else:
        outputs = _parse_numbers(_read_lines(path))
    if not outputs:
        raise InputError(f"The file {path!r} holds no outputs.")
    return outputs


def _parse_numbers(lines: list[str]) -> list[Any]:
    """Return lines as rows of numbers if all of them are, separated by commas or spaces, else as they are."""
    try:
        return [[float(cell) for cell in line.replace(",", " ").split()] for line in lines if line.strip()]
    except ValueError:
        return lines


def _read_lines(path: str) -> list[str]:
    text = _read_text(path)
    return text.removesuffix("\n").split("\n") if text else []


def _read_text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"The file {path!r} is not UTF-8: convert it.") from None
    except OSError as error:
        raise InputError(f"The file {path!r} cannot be read: {error.strerror}.") from None
