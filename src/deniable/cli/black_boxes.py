"""What the options of ``deniable audit`` say of a black box: the sampler and its inputs."""

import contextlib
import dataclasses
import importlib
import json
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from deniable.errors import InputError, positive

if TYPE_CHECKING:
    from deniable.verdict import Verdict

_GRACE = 1.0
"""Seconds after the budget before a call that hangs is interrupted."""
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


def from_callable(target: str, inputs: tuple[str, str] | None, dimension: int, *, batched: bool) -> BlackBox:
    """Return the black box ``package.module:callable``; the current folder is importable.

    Raises:
        InputError: it cannot be imported, or is no callable; an input file cannot be read.
    """
    import numpy as np  # noqa: PLC0415 - keeps --help fast

    function = _load(target)
    if dimension < 1:
        raise InputError(f"The option --dim must be at least 1. Got {dimension}.")
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
    from deniable.auditing.samplers import recorded, usable  # noqa: PLC0415 - keeps --help fast

    one, other = map(_outputs, files)
    if len(one) != len(other):
        raise InputError(f"The two files of --outputs must hold as many outputs. Got {len(one)} and {len(other)}.")
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


@contextlib.contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Interrupt a call that hangs beyond the budget of time, where the system has timers."""

    def ring(signum: int, frame: object) -> NoReturn:  # noqa: ARG001 - a signal handler
        raise InputError(
            f"One call of the sampler did not end within the {seconds:g} seconds given: mend it, or raise --seconds."
        )

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def play(box: BlackBox, audit: "Callable[..., Verdict]", options: dict[str, Any]) -> "Verdict":
    """Return the verdict on a black box, with options of the command line in place of its defaults."""
    chosen = {**options, "samples": options["samples"] or box.samples}
    if options["method"] == "auto":
        chosen["method"] = box.method
    with deadline(options["seconds"]):
        return audit(**box.arguments, **chosen)


def _load(target: str) -> Callable[..., Any]:
    module, _, name = target.partition(":")
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - a string is what the path holds
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise InputError(f"No module named {error.name!r}: run from its folder, or install it.") from None
    except Exception as error:
        raise InputError(f"The module {module!r} cannot be imported: {type(error).__name__}: {error}.") from error
    finally:
        sys.path.pop(0)
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
    """Return the texts of a file, one a line, or the text itself where it cannot be a file's name."""
    if Path(given).is_file() or not (" " in given or "." not in given) or os.sep in given:
        texts = _lines(given)
        if not texts:
            raise InputError(f"The input file {given!r} is empty: write one text a line.")
        return texts
    return [given]


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
            except json.JSONDecodeError as error:
                raise InputError(f"Line {number} of {path!r} is not JSON: {error}.") from None
    else:
        out = _lines(path)
    if not out:
        raise InputError(f"The file {path!r} holds no outputs.")
    return out


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
