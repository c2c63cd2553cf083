"""``deniable audit callable``: a Python callable, sampled."""

import dataclasses
import json
from typing import Annotated, Any

import typer

from deniable.cli.callables import import_callable
from deniable.cli.commandline import option
from deniable.cli.commands.audit.black_box import BlackBoxAudit, find_input_file, limit_call_time, read_text_file
from deniable.cli.options import JsonOption
from deniable.core.errors import InputError, shorten_text


@dataclasses.dataclass(frozen=True, kw_only=True)
class CallableInputs:
    """Black box.

    Attributes:
        inputs: two texts; @FILE for an input of another kind: its JSON value (a text, a number, a list).
        dimension: dimension of the default inputs.
        batched: the callable takes many inputs at once and returns as many outputs.
    """

    inputs: tuple[str, str] | None = dataclasses.field(
        default=None, metadata=option(metavar="A|@FILE B|@FILE", show_default="zeros and ones")
    )
    dimension: int = dataclasses.field(default=1, metadata=option(min=1))
    batched: bool = False

    def read(self) -> tuple[Any, Any]:
        """The two inputs, each a text or the value of a JSON file, or zeros and ones of the dimension."""
        import numpy as np

        if self.inputs is None:
            return np.zeros(self.dimension), np.ones(self.dimension)
        x, x_prime = map(_parse_input, self.inputs)
        is_array = isinstance(x, np.ndarray) or isinstance(x_prime, np.ndarray)
        if type(x) is type(x_prime) and np.array_equal(x, x_prime) if is_array else x == x_prime:
            shown = shorten_text(repr(self.inputs[0]))
            raise InputError(f"--inputs takes two different inputs, which an audit distinguishes. Got {shown} twice.")
        return x, x_prime


def run_audit_callable(
    target: Annotated[
        str,
        typer.Argument(
            metavar="PACKAGE.MODULE:CALLABLE",
            help="Callable to audit; modules of the current folder can be imported.",
        ),
    ],
    inputs: CallableInputs,
    sampling: BlackBoxAudit,
    *,
    as_json: JsonOption = False,
) -> None:
    """Audit a Python callable by sampling.

    Samples can refute a claim, but never prove one. Exits with 1 if the claim is refuted.

    Examples:
        deniable audit callable mypackage.noise:sample --claim 1 --dimension 8
    """
    function = limit_call_time(import_callable, sampling.time_limit, "Importing the module")(target)
    x, x_prime = inputs.read()
    sampling.run(target, function, as_json=as_json, x=x, x_prime=x_prime, batched=inputs.batched)


def _parse_input(argument: str) -> Any:  # noqa: ANN401 - whatever the file holds
    """Return a text, or the value of the JSON file that @FILE names, lists of numbers as arrays."""
    import numpy as np

    path = find_input_file(argument)
    if path is None:
        return argument
    text = read_text_file(path)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"The input {path!r} is not JSON: {error}. A text is written with quotes in the file, or given without @."
        ) from None
    if isinstance(value, list) and value and not any(isinstance(item, str) for item in value):
        try:
            return np.asarray(value, dtype=float)
        except (ValueError, TypeError):
            return value
    if value is None:
        raise InputError(f"The input {path!r} holds null: give a number, a list or a text.")
    return value
