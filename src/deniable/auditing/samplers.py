"""Running a mechanism under audit: calls that are counted, timed and checked."""

import contextlib
import copy
import inspect
import io
import math
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.auditing.outputs import Outputs, collect, short
from deniable.errors import InputError
from deniable.parallel import reporter

Sampler = Callable[[Any], Any]
Numbers = npt.NDArray[np.int64]


class OutOfTimeError(InputError):
    """The budget of seconds is spent before all samples are drawn."""


class Runs:
    """The runs of one audit.

    Attributes:
        calls: outputs drawn so far.
    """

    def __init__(self, sampler: Sampler, inputs: Sequence[Any], *, batched: bool, seconds: float | None) -> None:
        self._sampler = sampler
        self._inputs = inputs
        self._batched = batched
        self._seconds = seconds
        self._start = time.perf_counter()
        self.calls = 0

    @property
    def elapsed(self) -> float:
        """Seconds since the audit began."""
        return time.perf_counter() - self._start

    def draw(self, numbers: Numbers) -> Outputs:
        """Return one output for each input, given by number.

        Raises:
            InputError: the sampler raises, prints, or returns what cannot be audited.
            OutOfTimeError: the budget of seconds is spent.
        """
        given = [self._inputs[number] for number in numbers]
        printed = io.StringIO()
        # Standard output belongs to the whole process: only its main thread can lend it.
        alone = threading.current_thread() is threading.main_thread()
        with contextlib.redirect_stdout(printed) if alone else contextlib.nullcontext():
            raw = self._batch(given) if self._batched else self._each(given)
        if printed.closed:
            raise InputError("The sampler closed standard output: leave it open, and return the output.")
        if printed.getvalue():
            raise InputError(
                f"The sampler printed {short(printed.getvalue())}: what is printed is an output that an audit of "
                "returned values would miss. Return it, or silence it."
            )
        return collect(raw)

    def _each(self, given: Sequence[Any]) -> list[Any]:
        report = reporter()
        report(0, len(given))
        out = []
        for value in given:
            self._watch()
            out.append(self._call(value, value))
            self.calls += 1
            report(len(out), len(given))
        return out

    def _batch(self, given: Sequence[Any]) -> list[Any]:
        self._watch()
        out = self._call(_stacked(given), given[0])
        many = out.ndim > 0 if isinstance(out, np.ndarray) else isinstance(out, Sequence) and not isinstance(out, str)
        if not many or len(out) != len(given):
            size = f"{len(out)}" if many else short(out)
            raise InputError(f"A batched sampler must return one output for each input. Got {size} for {len(given)}.")
        self.calls += len(given)
        return list(out)

    def _call(self, argument: Any, example: Any) -> Any:  # noqa: ANN401 - whatever a sampler takes and returns
        try:
            # A copy each way: some samplers write into their input, or return the same array every time.
            out = self._sampler(_owned(argument))
            if not inspect.iscoroutine(out):
                return _owned(out)
        except (InputError, KeyboardInterrupt):
            raise
        except BaseException as error:  # SystemExit too: a sampler does not end an audit
            raise InputError(f"The sampler raised {_why(error)} for the input {short(example)}.") from error
        out.close()
        raise InputError("The sampler is asynchronous: give a function that runs it, by asyncio.run.")

    def _watch(self) -> None:
        if self._seconds is not None and self.elapsed > self._seconds:
            raise OutOfTimeError(
                f"The sampler made {self.calls:,} calls in {self._seconds:g} seconds, fewer than asked for: ask for "
                "fewer samples, give it more seconds, or choose the method anytime, which stops with what it has."
            )


def _why(error: BaseException) -> str:
    """Return what an exception says, in a line, though it may fail to say anything."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - a broken message is no reason to break
        said = ""
    return short(f"{type(error).__name__}: {said}" if said else type(error).__name__)


def _owned(value: Any) -> Any:  # noqa: ANN401 - an input or an output
    """Return a copy of what can be written into, and anything else as it is."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, (list, dict)):
        with contextlib.suppress(Exception):  # of things that cannot be copied, a refusal follows
            return copy.deepcopy(value)
    return value


def _stacked(given: Sequence[Any]) -> Any:  # noqa: ANN401 - an array or a list
    """Return inputs for a batched sampler: numbers of one shape stacked in the first axis, others as a list."""
    if not isinstance(given[0], (np.ndarray, float, int)):
        return list(given)
    shapes = {np.shape(value) for value in given}
    return np.stack(given) if len(shapes) == 1 else list(given)


def recorded(outputs: Mapping[str, Sequence[Any]]) -> Sampler:
    """Return a sampler that hands out outputs drawn before, each once, in order, by the name of their input.

    Raises:
        InputError: when asked for more outputs than there are.
    """
    streams = {name: iter(given) for name, given in outputs.items()}

    def sampler(name: str) -> Any:  # noqa: ANN401 - whatever was recorded
        try:
            return next(streams[name])
        except StopIteration:
            raise InputError(
                f"Only {len(outputs[name])} outputs of {name!r} are there: ask for fewer samples."
            ) from None

    return sampler


def usable(count: int) -> int:
    """Return how many of ``count`` outputs of each of two inputs an audit can be sure to find when it tosses coins.

    Half of s samples come from each input, but for 6 standard deviations of the two thirds that are tossed.
    """
    spread = 6 * math.sqrt(2 / 3) / 2
    return int((math.sqrt(spread**2 + 2 * count) - spread) ** 2)


def command(arguments: Sequence[str], *, timeout: float, lines: bool = False) -> Sampler:
    """Return a sampler that runs an external program: text on standard input, text on standard output.

    Args:
        arguments: program and arguments; no shell.
        timeout: seconds for one run.
        lines: the program answers line by line, so that one run serves many inputs; the sampler is
            then a batched one.
    """

    def run(text: str) -> str:
        try:
            done = subprocess.run(  # noqa: S603 - running the user's program is the purpose
                list(arguments),
                input=text.encode(errors="surrogateescape"),
                capture_output=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise InputError(
                f"The command {arguments[0]!r} did not end within {timeout:g} seconds: mend it, or raise --timeout."
            ) from None
        except OSError as error:
            raise InputError(f"The command {arguments[0]!r} cannot be run: {error.strerror}.") from None
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            last = f" ({said[-1]})" if said else ""
            raise InputError(f"The command {arguments[0]!r} failed with exit code {done.returncode}{last}.")
        out = done.stdout.decode(errors="surrogateescape")
        if not out:
            raise InputError(
                f"The command {arguments[0]!r} wrote nothing for the input {short(text)}: an empty text is a line end."
            )
        return out.removesuffix("\n").removesuffix("\r")

    def batch(texts: Sequence[str]) -> list[str]:
        answer = run("".join(f"{text}\n" for text in texts)).split("\n")
        if len(answer) != len(texts):
            raise InputError(f"The command must answer each line by one line. Got {len(answer)} for {len(texts)}.")
        return answer

    return batch if lines else (lambda text: run(f"{text}\n"))
