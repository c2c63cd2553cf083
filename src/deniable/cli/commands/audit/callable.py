"""``deniable audit callable``: a Python callable, sampled."""

import json
from typing import Annotated, Any

import typer

from deniable.cli.callables import import_callable
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
    limit_call_time,
    parse_distances,
    read_text_file,
)
from deniable.cli.options import BLACK_BOX_PANEL, JsonOption, make_option
from deniable.core.errors import InputError, shorten_text

TargetArgument = Annotated[
    str,
    typer.Argument(
        metavar="PACKAGE.MODULE:CALLABLE",
        help="Callable to audit; modules of the current folder can be imported.",
    ),
]
InputsOption = Annotated[
    tuple[str, str] | None,
    make_option(
        BLACK_BOX_PANEL,
        "--inputs",
        "Two texts; @FILE for an input of another kind: its JSON value (a text, a number, a list).",
        metavar="A|@FILE B|@FILE",
        default_text="zeros and ones",
    ),
]
DimensionOption = Annotated[int, make_option(BLACK_BOX_PANEL, "--dimension", "Dimension of the default inputs.", min=1)]
BatchedOption = Annotated[
    bool,
    make_option(BLACK_BOX_PANEL, "--batched", "The callable takes many inputs at once and returns as many outputs."),
]


def run_audit_callable(
    target: TargetArgument,
    *,
    inputs: InputsOption = None,
    dimension: DimensionOption = 1,
    batched: BatchedOption = False,
    claim: ClaimOption,
    delta: DeltaOption = 0.0,
    distance: DistanceOption = "1",
    confidence: ConfidenceOption = 0.95,
    game: GameOption = GameName.AUTO,
    samples: SamplesOption = 10_000,
    time_limit: TimeLimitOption = DEFAULT_SECONDS,
    seed: AuditSeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Audit a Python callable by sampling.

    Samples can refute a claim, but never prove one. Exits with 1 if the claim is refuted.
    """
    request = SamplingRequest(
        claim, delta, parse_distances(distance), confidence, samples, game.value, time_limit, seed
    )
    function = limit_call_time(import_callable, request.seconds, "Importing the module")(target)
    x, x_prime = _parse_inputs(inputs, dimension)
    box = BlackBox(target, {"sampler": function, "x": x, "x_prime": x_prime, "batched": batched})
    audit_black_box(box, request, as_json=as_json)


def _parse_inputs(arguments: tuple[str, str] | None, dimension: int) -> tuple[Any, Any]:
    """Return the two inputs, each a text or the value of a JSON file, or zeros and ones of the dimension."""
    import numpy as np

    if arguments is None:
        return np.zeros(dimension), np.ones(dimension)
    x, x_prime = map(_parse_input, arguments)
    if _are_equal(x, x_prime):
        shown = shorten_text(repr(arguments[0]))
        raise InputError(f"--inputs takes two different inputs, which an audit tells apart. Got {shown} twice.")
    return x, x_prime


def _are_equal(x: Any, x_prime: Any) -> bool:  # noqa: ANN401 - whatever the files hold
    """Return whether two inputs are one value, however they were given."""
    import numpy as np

    if isinstance(x, np.ndarray) or isinstance(x_prime, np.ndarray):
        return type(x) is type(x_prime) and np.array_equal(x, x_prime)
    return bool(x == x_prime)


def _parse_input(argument: str) -> Any:  # noqa: ANN401 - whatever the file holds
    """Return a text, or the value of the JSON file that @FILE names."""
    path = find_input_file(argument)
    return argument if path is None else _read_json_input(path)


def _read_json_input(path: str) -> Any:  # noqa: ANN401 - whatever the file holds
    """Return an input: the value of a .json file, lists of numbers as arrays."""
    import numpy as np

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
