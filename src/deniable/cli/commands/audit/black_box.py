"""What the audits of black boxes share: the claim, the sampling, time limits and the verdict."""

import contextlib
import dataclasses
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from deniable.cli.callables import TimeLimitError
from deniable.cli.choices import GameName
from deniable.cli.commandline import EXIT_REFUTED
from deniable.cli.options import CLAIM_PANEL, SAMPLING_PANEL, list_choices, make_option
from deniable.cli.progress import show_passes
from deniable.core.errors import InputError, check_positive

if TYPE_CHECKING:
    from deniable.auditing.black_box import AuditMethod
    from deniable.core.guarantees import Verdict

DEFAULT_SECONDS = 600.0
_MAXIMUM_SECONDS = 1e7

ClaimOption = Annotated[
    float, make_option(CLAIM_PANEL, "--claim", "Epsilon that the black box claims, per unit of --distance.")
]
DeltaOption = Annotated[float, make_option(CLAIM_PANEL, "--delta", "Delta of the claim.")]
DistanceOption = Annotated[
    str,
    make_option(
        CLAIM_PANEL,
        "--distance",
        "Distance between the two inputs, or a file with one distance per pair, one a line.",
        metavar="NUMBER|FILE",
    ),
]
ConfidenceOption = Annotated[float, make_option(SAMPLING_PANEL, "--confidence", "Confidence level of the lower bound.")]
GameOption = Annotated[
    GameName,
    make_option(
        SAMPLING_PANEL,
        "--game",
        f"Guessing game that is played: {list_choices(GameName)}. auto: chosen from the inputs.",
        metavar="GAME",
    ),
]
SamplesOption = Annotated[int, make_option(SAMPLING_PANEL, "--samples", "Total number of calls.")]
TimeLimitOption = Annotated[
    float,
    make_option(
        SAMPLING_PANEL,
        "--time-limit",
        "Maximum duration of the whole audit, and of each single call.",
        metavar="SECONDS",
    ),
]
AuditSeedOption = Annotated[
    int | None, make_option(SAMPLING_PANEL, "--seed", "Seed of the auditor's own random draws.", default_text="random")
]


@dataclasses.dataclass(frozen=True)
class BlackBox:
    """A black box to audit.

    Attributes:
        name: for the report.
        arguments: of `deniable.auditing.audit`: the sampler, and what it is run on.
    """

    name: str
    arguments: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class SamplingRequest:
    """What is claimed, and how it is tested.

    Attributes:
        claim: epsilon per unit of distance.
        delta: of the claim.
        distance: between the two inputs; a list has one for each pair.
        confidence: of the lower bound.
        samples: total number of calls.
        game: a `GameName`.
        seconds: maximum duration of the audit, and of each call.
        seed: of the auditor's own draws; None for fresh ones.

    Raises:
        InputError: a duration out of range. `deniable.audit` checks the rest.
    """

    claim: float
    delta: float
    distance: float | list[float]
    confidence: float
    samples: int
    game: "AuditMethod"
    seconds: float
    seed: int | None

    def __post_init__(self) -> None:
        check_positive("audit", "time_limit", self.seconds, _MAXIMUM_SECONDS)


def audit_black_box(box: BlackBox, request: SamplingRequest, *, as_json: bool) -> None:
    """Sample a black box and print the verdict; exit with 1 if the claim is refuted."""
    from deniable.auditing import audit

    sampler = limit_call_time(box.arguments["sampler"], request.seconds, "One call of the sampler")
    options = {name: value for name, value in vars(request).items() if name != "game"}
    with show_passes("sampling"):
        verdict = audit(**{**box.arguments, "sampler": sampler}, method=request.game, **options)
    report_verdict(box.name, [f"{box.name}, by its outputs alone"], verdict, as_json=as_json)


def report_verdict(name: str, heading: list[str], verdict: "Verdict", *, as_json: bool) -> None:
    """Print a verdict; exit with 1 if the claim is refuted.

    Args:
        name: of the mechanism, for JSON.
        heading: lines above the verdict.
        verdict: on the claim.
        as_json: print JSON in place of text.
    """
    if as_json:
        typer.echo(json.dumps({"mechanism": name, **verdict.to_dict()}, indent=2, ensure_ascii=False))
    else:
        typer.echo("\n".join([*heading, str(verdict)]))
    if verdict.status == "refuted":
        raise typer.Exit(EXIT_REFUTED)


def parse_distances(text: str) -> Any:  # noqa: ANN401 - a float, or a list of them
    """Return a distance, or those of a file, one a line, a distance for each pair."""
    with contextlib.suppress(ValueError):
        return float(text)
    lines = read_text_lines(text)
    try:
        return [float(line) for line in lines]
    except ValueError:
        raise InputError(f"The distance {text!r} is neither a number nor a file of numbers, one a line.") from None


def limit_call_time(function: Callable[..., Any], seconds: float, description: str) -> Callable[..., Any]:
    """Return the function with each call limited to so many seconds, where the system has timers.

    Compiled code that does not return to the interpreter cannot be interrupted.
    """

    def raise_time_limit(signum: int, frame: object) -> NoReturn:  # noqa: ARG001 - a signal handler
        raise TimeLimitError

    def call_with_limit(*arguments: Any) -> Any:  # noqa: ANN401 - whatever the function takes and returns
        previous_handler = signal.signal(signal.SIGALRM, raise_time_limit)
        signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
        try:
            return function(*arguments)
        except TimeLimitError:
            raise InputError(
                f"{description} did not end within the {seconds:g} seconds given: fix it, or raise --time-limit."
            ) from None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous_handler)

    return call_with_limit if hasattr(signal, "setitimer") else function


def find_input_file(argument: str) -> str | None:
    """Return the path of an input that is written as @FILE; None for a text, which stands for itself.

    Raises:
        InputError: a text that is the name of a file here: nothing tells which of both is meant.
    """
    if argument.startswith("@"):
        return argument[1:]
    is_file = False
    with contextlib.suppress(OSError, ValueError):  # too long for a name, or a NUL in it
        is_file = Path(argument).is_file()
    if is_file:
        raise InputError(
            f"The input {argument!r} is a file here: write @{argument} to read it. For the text itself, write it into "
            "a file and give that with @."
        )
    return None


def read_text_lines(path: str) -> list[str]:
    """Return the lines of a file, without their ends."""
    text = read_text_file(path)
    return text.removesuffix("\n").split("\n") if text else []


def read_text_file(path: str) -> str:
    """Return the text of a file.

    Raises:
        InputError: it cannot be read, or is not UTF-8.
    """
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"The file {path!r} is not UTF-8: convert it.") from None
    except OSError as error:
        raise InputError(f"The file {path!r} cannot be read: {error.strerror}.") from None
