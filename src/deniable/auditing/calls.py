"""Calls of functions that users wrote: what these raise, print and return."""

import contextlib
import copy
import io
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.auditing.outputs import abbreviate
from deniable.core.errors import DeniableError, InputError, is_interruption, shorten_text


def call_user_function(function: Callable[..., Any], name: str, *inputs: Any) -> Any:  # noqa: ANN401 - whatever it takes and returns
    """Return what a user's function returns; what it raises is one line.

    Args:
        function: of the user.
        name: of it, to begin a sentence.
        *inputs: that it is called on, of which the line shows the first. It may write into them.

    Raises:
        InputError: it raises anything but an error of this package.
    """
    try:
        return function(*map(copy_value, inputs))
    except DeniableError:  # such as that of a time limit
        raise
    except BaseException as error:  # SystemExit too: it does not end an audit
        if is_interruption(error):
            raise
        subject = f"{name}, for {abbreviate(inputs[0])}," if inputs else name
        advice = f"run it on {'that input' if inputs else 'its own'} to debug it"
        raise InputError(f"{subject} raised {describe_error(error)}: {advice}.") from error


def guard_function(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a user's function of one input such that it refuses what it raises or prints."""

    def call(value: Any) -> Any:  # noqa: ANN401 - any input, any output
        with refuse_printing(f"The function, for {abbreviate(value)},"):
            # A copy: some functions return the same array every time.
            return copy_value(call_user_function(function, "The function", value))

    return call


@contextlib.contextmanager
def refuse_printing(subject: str) -> Iterator[None]:
    """Refuse what is printed meanwhile: it is an output that an audit of returned values would miss.

    Args:
        subject: whose output it is, to begin a sentence.
    """
    printed = io.StringIO()
    # Standard output belongs to the whole process: only its main thread can lend it.
    in_main_thread = threading.current_thread() is threading.main_thread()
    with contextlib.redirect_stdout(printed) if in_main_thread else contextlib.nullcontext():
        yield
    if printed.closed or printed.getvalue():
        shown = "closed standard output" if printed.closed else f"printed {abbreviate(printed.getvalue())}"
        raise InputError(
            f"{subject} {shown}: what is printed is an output that an audit of returned values would miss. "
            "Return it, or silence it."
        )


def describe_error(error: BaseException) -> str:
    """An exception in one line."""
    return shorten_text(repr(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__))


def copy_value(value: Any) -> Any:  # noqa: ANN401 - an input or an output
    """A copy, or the value itself where it cannot be copied: such outputs are refused."""
    with contextlib.suppress(Exception):
        if isinstance(value, (np.ndarray, list, tuple, dict)):
            return copy.deepcopy(value)
    return value


def copy_records(records: Any) -> Any:  # noqa: ANN401 - any records
    """A copy of records for one call, which may change them: no other call must see that."""
    try:
        return copy.deepcopy(records)
    except Exception as error:
        raise InputError(f"Records must be values that can be copied. Got {describe_error(error)}.") from error


def read_array(returned: Any) -> npt.NDArray[Any]:  # noqa: ANN401 - any output
    """What a user's function returned, as an array; an empty one where it is none, or masks a part."""
    try:
        # A copy: some functions return the same array or tensor every time.
        return np.array([] if isinstance(returned, np.ma.MaskedArray) else returned)
    except Exception:  # noqa: BLE001 - of tensors that need gradients, or lists of several lengths
        return np.empty(0, dtype=object)
