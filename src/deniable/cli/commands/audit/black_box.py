"""What the audits of black boxes share: the claim, the sampling, calls, time limits and the verdict."""

import contextlib
import dataclasses
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from deniable.cli.callables import TimeLimitError, import_callable
from deniable.cli.commandline import option
from deniable.cli.process import EXIT_REFUTED
from deniable.cli.progress import show_passes
from deniable.cli.terminal import say
from deniable.core.errors import InputError, check_positive

if TYPE_CHECKING:
    from deniable.auditing.inverse_samplers import InverseSamplerAudit
    from deniable.auditing.sensitivity import SensitivityAudit
    from deniable.core.guarantees import Verdict

    Found = Verdict | InverseSamplerAudit | SensitivityAudit

MAXIMUM_SECONDS = 1e7
GAME = option(choices=("auto", "coin", "pooled", "precision", "anytime"), metavar="GAME")


@dataclasses.dataclass(frozen=True, kw_only=True)
class BlackBoxAudit:
    """Sampling.

    Attributes:
        claim: epsilon that the black box claims, per unit of --distance.
        delta: delta of the claim.
        distance: distance between the two inputs, or a file with one distance per line for each pair.
        confidence: confidence level of the lower bound.
        game: guessing game that is played (auto: chosen from the inputs).
        samples: total number of calls.
        time_limit: maximum duration of the whole audit, and of each single call.
        seed: seed of the auditor's own random draws.

    Raises:
        InputError: a duration out of range. `deniable.audit` checks the rest.
    """

    claim: float = dataclasses.field(metadata=option(panel="Claim"))
    delta: float = dataclasses.field(default=0.0, metadata=option(panel="Claim"))
    distance: str = dataclasses.field(default="1", metadata=option(metavar="NUMBER|FILE", panel="Claim"))
    confidence: float = 0.95
    game: str = dataclasses.field(default="auto", metadata=GAME)
    samples: int | None = 10_000
    time_limit: float = dataclasses.field(default=600.0, metadata=option(metavar="SECONDS"))
    seed: int | None = dataclasses.field(default=None, metadata=option(show_default="random"))

    def __post_init__(self) -> None:
        """Refuse a duration before anything runs."""
        check_positive("audit", "time_limit", self.time_limit, MAXIMUM_SECONDS)

    def run(self, name: str, sampler: Callable[..., Any], *, as_json: bool, **inputs: Any) -> None:  # noqa: ANN401
        """Sample a black box and print the verdict; exit with 1 if the claim is refuted.

        Args:
            name: of the black box, for the report.
            sampler: the black box.
            as_json: print JSON in place of text.
            inputs: further arguments of `deniable.audit`: what the sampler is run on.
        """
        from deniable.auditing import audit

        options: dict[str, Any] = {name: getattr(self, name) for name in ("claim", "delta", "confidence", "samples")}
        options |= {"distance": self._parse_distances(), "method": self.game, "seconds": self.time_limit}
        sampler = limit_call_time(sampler, self.time_limit, "One call of the sampler")
        with show_passes("sampling"):
            verdict = audit(sampler, seed=self.seed, **{**options, **inputs})
        report_verdict(name, [f"{name}, judged only by its outputs"], verdict, as_json=as_json)

    def _parse_distances(self) -> float | list[float]:
        """Return a distance, or those of a file, one a line, a distance for each pair."""
        with contextlib.suppress(ValueError):
            return float(self.distance)
        lines = read_text_lines(self.distance)
        try:
            return [float(line) for line in lines]
        except ValueError:
            message = f"The distance {self.distance!r} is neither a number nor a file of numbers, one per line."
            raise InputError(message) from None


@dataclasses.dataclass(frozen=True, kw_only=True)
class FunctionCalls:
    """Calls.

    Attributes:
        batched: the callable takes many inputs at once and returns as many outputs.
        time_limit: maximum duration of a single call.
    """

    batched: bool = False
    time_limit: float = dataclasses.field(default=600.0, metadata=option(metavar="SECONDS"))

    def __post_init__(self) -> None:
        """Refuse a duration before anything runs."""
        check_positive("audit", "time_limit", self.time_limit, MAXIMUM_SECONDS)


def report_verdict(name: str, heading: list[str], found: "Found", *, as_json: bool, kind: str = "mechanism") -> None:
    """Print a verdict; exit with 1 if the claim is refuted.

    Args:
        name: of what is audited, for JSON.
        heading: lines above the verdict.
        found: a verdict on the claim, or what says more than one.
        as_json: print JSON in place of text.
        kind: of what is audited, for JSON.
    """
    if as_json:
        typer.echo(json.dumps({kind: name, **found.to_dict()}, indent=2, ensure_ascii=False))
    else:
        say("\n".join([*heading, str(found)]))
    if found.status == "refuted":
        raise typer.Exit(EXIT_REFUTED)


def import_with_limit(target: str, seconds: float, name: str) -> Callable[..., Any]:
    """Return the callable of a module; importing it, and each call of what ``name`` names, has so many seconds."""
    function = limit_call_time(import_callable, seconds, "Importing the module")(target)
    return limit_call_time(function, seconds, f"One call of {name}")


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
