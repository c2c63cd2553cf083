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

from deniable.auditing.forms import abbreviate
from deniable.auditing.outputs import Outputs, parse_outputs
from deniable.core.arrays import IntArray
from deniable.core.errors import InputError, is_interruption, shorten_text
from deniable.core.progress import get_progress_reporter

Sampler = Callable[[Any], Any]


class OutOfTimeError(InputError):
    """The budget of seconds is spent before all samples are drawn."""


class SamplerRunner:
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
        self._columns: int | None = None
        self.calls = 0

    @property
    def elapsed(self) -> float:
        """Seconds since the audit began."""
        return time.perf_counter() - self._start

    def collect_outputs(self, numbers: IntArray) -> Outputs:
        """Return one output for each input, given by number.

        Raises:
            InputError: the sampler raises, prints, or returns what cannot be audited.
            OutOfTimeError: the budget of seconds is spent.
        """
        inputs = [self._inputs[number] for number in numbers]
        printed = io.StringIO()
        # Standard output belongs to the whole process: only its main thread can lend it.
        in_main_thread = threading.current_thread() is threading.main_thread()
        with contextlib.redirect_stdout(printed) if in_main_thread else contextlib.nullcontext():
            raw_outputs = self._call_batch(inputs) if self._batched else self._call_each(inputs)
        if printed.closed:
            raise InputError("The sampler closed standard output: leave it open, and return the output.")
        if printed.getvalue():
            raise InputError(
                f"The sampler printed {abbreviate(printed.getvalue())}: what is printed is an output that an audit of "
                "returned values would miss. Return it, or silence it."
            )
        outputs = parse_outputs(raw_outputs, self._columns)
        if outputs.is_textual:
            self._columns = outputs.values.shape[1]
        return outputs

    def _call_each(self, inputs: Sequence[Any]) -> list[Any]:
        report = get_progress_reporter()
        report(0, len(inputs))
        outputs = []
        for value in inputs:
            self._check_time()
            outputs.append(self._call_sampler(value, value))
            self.calls += 1
            report(len(outputs), len(inputs))
        return outputs

    def _call_batch(self, inputs: Sequence[Any]) -> list[Any]:
        self._check_time()
        outputs = self._call_sampler(_stack_inputs(inputs), inputs[0])
        is_sequence = (
            outputs.ndim > 0
            if isinstance(outputs, np.ndarray)
            else isinstance(outputs, Sequence) and not isinstance(outputs, str)
        )
        if not is_sequence or len(outputs) != len(inputs):
            size = f"{len(outputs)}" if is_sequence else abbreviate(outputs)
            raise InputError(f"A batched sampler must return one output for each input. Got {size} for {len(inputs)}.")
        self.calls += len(inputs)
        return list(outputs)

    def _call_sampler(self, argument: Any, example: Any) -> Any:  # noqa: ANN401 - whatever a sampler takes and returns
        try:
            # A copy each way: some samplers write into their input, or return the same array every time.
            output = self._sampler(_copy_mutable(argument))
            if not inspect.iscoroutine(output):
                return _copy_mutable(output)
        except InputError:
            raise
        except BaseException as error:  # SystemExit too: a sampler does not end an audit
            if is_interruption(error):
                raise
            raise InputError(
                f"The sampler raised {describe_error(error)} for the input {abbreviate(example)}."
            ) from error
        output.close()
        raise InputError("The sampler is asynchronous: give a function that runs it, by asyncio.run.")

    def _check_time(self) -> None:
        if self._seconds is not None and self.elapsed > self._seconds:
            raise OutOfTimeError(
                f"The sampler made {self.calls:,} calls in {self._seconds:g} seconds, fewer than asked for: ask for "
                "fewer samples, give it more seconds, or choose the method anytime, which stops with what it has."
            )


def describe_error(error: BaseException) -> str:
    """Return an exception in one line, even if its own message cannot be computed."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - a broken message is no reason to break
        message = ""
    return shorten_text(repr(f"{type(error).__name__}: {message}" if message else type(error).__name__))


def _copy_mutable(value: Any) -> Any:  # noqa: ANN401 - an input or an output
    """Return a copy of what can be written into, and anything else as it is."""
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    if isinstance(value, (list, tuple, dict)):
        with contextlib.suppress(Exception):  # of things that cannot be copied, a refusal follows
            return copy.deepcopy(value)
    return value


def _stack_inputs(inputs: Sequence[Any]) -> Any:  # noqa: ANN401 - an array or a list
    """Return inputs for a batched sampler: numbers of one shape stacked in the first axis, others as a list."""
    # Stacked, a masked array would lose its mask, and any other kind of array what it adds.
    if not all(type(value) is np.ndarray or isinstance(value, (float, int)) for value in inputs):
        return list(inputs)
    shapes = {np.shape(value) for value in inputs}
    return np.stack(inputs) if len(shapes) == 1 else list(inputs)


def make_replay_sampler(outputs: Mapping[str, Sequence[Any]]) -> Sampler:
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


def make_command_sampler(arguments: Sequence[str], *, timeout: float, line_by_line: bool = False) -> Sampler:
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
                f"The command {arguments[0]!r} wrote nothing for the input {abbreviate(text)}: an empty text is a "
                "line end."
            )
        return output

    def run_lines(texts: Sequence[str]) -> list[str]:
        answers = run_program("".join(f"{text}\n" for text in texts)).removesuffix("\n").split("\n")
        if len(answers) != len(texts):
            raise InputError(f"The command must answer each line by one line. Got {len(answers)} for {len(texts)}.")
        return answers

    return run_lines if line_by_line else (lambda text: run_program(f"{text}\n"))
