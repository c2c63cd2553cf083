"""``deniable audit sensitivity``: how far apart a function takes two inputs, beside what is claimed."""

import dataclasses
import json
from typing import Annotated, Any

import typer

from deniable.cli.callables import import_callable
from deniable.cli.commandline import option
from deniable.cli.commands.audit.black_box import MAXIMUM_SECONDS, limit_call_time
from deniable.cli.commands.audit.values import read_values
from deniable.cli.options import JsonOption
from deniable.cli.process import EXIT_REFUTED
from deniable.cli.progress import show_passes
from deniable.cli.terminal import say
from deniable.core.errors import check_positive


@dataclasses.dataclass(frozen=True, kw_only=True)
class SensitivitySearch:
    """Search.

    Attributes:
        claim: largest distance that two outputs are said to have.
        norm: of the distance, as the noise needs it: l1 for Laplace noise, l2 for Gaussian.
        inputs: file of inputs, all pairs of which are compared: texts, one per line, rows of .npy, or values of
            .jsonl.
        dimension: dimension of the vectors that are searched, where there is no file.
        starts: number of pairs from which a search climbs.
        batched: the callable takes many inputs at once and returns as many vectors.
        time_limit: maximum duration of a single call.
        seed: seed of the pairs from which a search climbs.
    """

    claim: float | None = dataclasses.field(default=None, metadata=option(panel="Claim"))
    norm: str = dataclasses.field(default="l1", metadata=option(choices=("l1", "l2", "max"), panel="Claim"))
    inputs: str | None = dataclasses.field(default=None, metadata=option(metavar="FILE"))
    dimension: int = 1
    starts: int = 8
    batched: bool = False
    time_limit: float = dataclasses.field(default=600.0, metadata=option(metavar="SECONDS"))
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse a duration before anything runs; the search checks the rest."""
        check_positive("audit", "time_limit", self.time_limit, MAXIMUM_SECONDS)


def run_audit_sensitivity(
    target: Annotated[
        str,
        typer.Argument(
            metavar="PACKAGE.MODULE:CALLABLE",
            help="Function from an input to a vector, without noise; modules of the current folder can be imported.",
        ),
    ],
    search: SensitivitySearch,
    *,
    as_json: JsonOption = False,
) -> None:
    """Search for two inputs that a function takes farther apart than claimed.

    A pair refutes a claimed sensitivity; a search that finds none proves nothing. Exits with 1 if the claim is refuted.

    Examples:
        deniable audit sensitivity mypackage.encoder:encode --dimension 64 --norm l1 --claim 2
    """
    from deniable.auditing.sensitivity import SensitivityOptions, audit_sensitivity

    given: dict[str, Any] = {
        field.name: getattr(search, field.name) for field in dataclasses.fields(SensitivityOptions)
    }
    SensitivityOptions(**given)
    inputs = None if search.inputs is None else read_values(search.inputs, "inputs")
    function = limit_call_time(import_callable, search.time_limit, "Importing the module")(target)
    function = limit_call_time(function, search.time_limit, "One call of the function")
    with show_passes("searching"):
        found = audit_sensitivity(function, inputs, batched=search.batched, **given)
    if as_json:
        typer.echo(json.dumps({"function": target, **found.to_dict()}, indent=2, ensure_ascii=False))
    else:
        say(f"{target}\n{found}")
    if found.status == "refuted":
        raise typer.Exit(EXIT_REFUTED)
