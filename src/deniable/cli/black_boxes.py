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

from deniable.errors import InputError, positive

if TYPE_CHECKING:
    from deniable.verdict import Verdict

_FEWEST = 22
"""Outputs of each input that make the least number of samples."""
_NAMED_INPUTS = ("x", "x'")


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


def from_callable(
    target: str, inputs: tuple[str, str] | None, dimension: int, seconds: float, *, batched: bool
) -> BlackBox:
    """Return the black box ``package.module:callable``; the current folder is importable.

    Raises:
        InputError: it cannot be imported, or is no callable; an input file cannot be read.
    """
    import numpy as np  # noqa: PLC0415 - keeps --help fast

    if dimension < 1:
        raise InputError(f"The option --dim must be at least 1. Got {dimension}.")
    function = guarded(_load, seconds, "Importing the module")(target)
    given = tuple(map(_json_input, inputs)) if inputs else (np.zeros(dimension), np.ones(dimension))
    return BlackBox(target, {"sampler": function, "x": given[0], "x_prime": given[1], "batched": batched}, 10_000)


def from_command(command: str, inputs: tuple[str, str] | None, timeout: float, *, lines: bool) -> BlackBox:
    """Return the black box of an external program, run on texts, or on two files of texts, one a line.

    Raises:
        InputError: no inputs, files of different lengths, or a command that cannot be taken apart.
    """
    from deniable.auditing.samplers import command as run  # noqa: PLC0415 - keeps --help fast

    try:
        arguments = shlex.split(command)
    except ValueError as error:
        raise InputError(f"The command {command!r} cannot be taken apart: {error}.") from None
    if not arguments:
        raise InputError("The option --command needs a program and its arguments, in quotes.")
    if inputs is None:
        raise InputError("A command needs --inputs A B: two texts, or two files with one text a line.")
    one, other = map(_texts, inputs)
    if lines and any("\n" in text for text in (*one, *other)):
        raise InputError("With --lines a text of --inputs must be one line. Got one with a line end in it.")
    if len(one) != len(other):
        raise InputError(
            f"The two files of --inputs must have as many lines: they make pairs. Got {len(one)} and {len(other)}."
        )
    same = [text for text, twin in zip(one, other, strict=True) if text == twin]
    if same:
        raise InputError(f"A pair of --inputs must be two different texts. Got {same[0]!r} twice.")
    sampler = run(arguments, timeout=positive("audit", "timeout", timeout), lines=lines)
    chosen = {"sampler": sampler, "batched": lines}
    if len(one) == 1:
        return BlackBox(command, {**chosen, "x": one[0], "x_prime": other[0]}, 1_000, "anytime")
    return BlackBox(command, {**chosen, "pairs": list(zip(one, other, strict=True))}, 1_000, "anytime")


def from_outputs(files: tuple[str, str]) -> BlackBox:
    """Return the black box whose outputs for two inputs lie in two files: .npy, .jsonl, or one a line of text.

    Raises:
        InputError: a file cannot be read, or they hold different numbers of outputs, or too few.
    """
    from deniable.auditing.blackbox import LEAST  # noqa: PLC0415 - keeps --help fast
    from deniable.auditing.samplers import recorded, usable  # noqa: PLC0415

    one, other = map(_outputs, files)
    if len(one) != len(other):
        raise InputError(f"The two files of --outputs must hold as many outputs. Got {len(one)} and {len(other)}.")
    if usable(len(one)) < LEAST:
        raise InputError(f"The files of --outputs must hold at least {_FEWEST} outputs each. Got {len(one)}.")
    x, x_prime = _NAMED_INPUTS
    sampler = recorded({x: one, x_prime: other})
    return BlackBox(" and ".join(files), {"sampler": sampler, "x": x, "x_prime": x_prime}, usable(len(one)))


def distance_of(given: str) -> Any:  # noqa: ANN401 - a float, or a list of them
    """Return a distance, or those of a file, one a line, a distance for each pair."""
    with contextlib.suppress(ValueError):
        return float(given)
    lines = _lines(given)
    try:
        return [float(line) for line in lines]
    except ValueError:
        raise InputError(f"The distance {given!r} is neither a number nor a file of numbers, one a line.") from None


class _HangError(BaseException):
    """A call that hangs is interrupted; no handler of errors in it stops that."""


def guarded(function: Callable[..., Any], seconds: float, what: str) -> Callable[..., Any]:
    """Return the function with each call limited to so many seconds, where the system has timers.

    Compiled code that does not return to the interpreter cannot be interrupted.
    """

    def ring(signum: int, frame: object) -> NoReturn:  # noqa: ARG001 - a signal handler
        raise _HangError

    def calling(*arguments: Any) -> Any:  # noqa: ANN401 - whatever the function takes and returns
        before = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
        try:
            return function(*arguments)
        except _HangError:
            raise InputError(
                f"{what} did not end within the {seconds:g} seconds given: mend it, or raise --seconds."
            ) from None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    return calling if hasattr(signal, "setitimer") else function


def play(box: BlackBox, audit: "Callable[..., Verdict]", options: dict[str, Any]) -> "Verdict":
    """Return the verdict on a black box, with options of the command line in place of its defaults."""
    chosen = {**options, "samples": box.samples if options["samples"] is None else options["samples"]}
    if options["method"] == "auto":
        chosen["method"] = box.method
    sampler = guarded(box.arguments["sampler"], options["seconds"], "One call of the sampler")
    return audit(**{**box.arguments, "sampler": sampler}, **chosen)


def _load(target: str) -> Callable[..., Any]:
    module, _, name = target.partition(":")
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise InputError(f"No module named {error.name!r}: run from its folder, or install it.") from None
    except (KeyboardInterrupt, _HangError):
        raise
    except BaseException as error:  # SystemExit too
        raise InputError(f"The module {module!r} cannot be imported: {type(error).__name__}: {error}.") from error
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(folder)
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise InputError(f"The module {module!r} has no callable {name!r}: write package.module:callable.")
    function: Callable[..., Any] = found
    return function


def _json_input(path: str) -> Any:  # noqa: ANN401 - whatever the file holds
    """Return an input: the value of a .json file, lists of numbers as arrays."""
    import numpy as np  # noqa: PLC0415 - keeps --help fast

    try:
        value = json.loads(_read(path))
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


def _texts(given: str) -> list[str]:
    """Return the texts of a file, one a line, or the text itself where it is neither a file nor named like one."""
    named = not any(letter.isspace() for letter in given) and (
        os.sep in given or Path(given).suffix.lower() in {".txt", ".text", ".csv", ".tsv", ".json", ".jsonl"}
    )
    with contextlib.suppress(OSError, ValueError):  # too long for a name, or a NUL in it
        named = named or Path(given).is_file()
    if not named:
        return [given]
    texts = _lines(given)
    if not texts:
        raise InputError(f"The input file {given!r} is empty: write one text a line.")
    return texts


def _outputs(path: str) -> list[Any]:
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
        out = []
        for number, line in enumerate(_lines(path), 1):
            try:
                out.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise InputError(f"Line {number} of {path!r} cannot be read as JSON: {error}.") from None
    else:
        out = _numbers(_lines(path))
    if not out:
        raise InputError(f"The file {path!r} holds no outputs.")
    return out


def _numbers(lines: list[str]) -> list[Any]:
    """Return lines as rows of numbers if all of them are, separated by commas or spaces, else as they are."""
    try:
        return [[float(cell) for cell in line.replace(",", " ").split()] for line in lines if line.strip()]
    except ValueError:
        return lines


def _lines(path: str) -> list[str]:
    text = _read(path)
    return text.removesuffix("\n").split("\n") if text else []


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"The file {path!r} is not UTF-8: convert it.") from None
    except OSError as error:
        raise InputError(f"The file {path!r} cannot be read: {error.strerror}.") from None
