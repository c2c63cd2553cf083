"""``deniable audit sensitivity``: how far apart a function takes two inputs, beside what is claimed."""

import dataclasses
from typing import Annotated

import typer

from deniable.cli.commandline import option
from deniable.cli.commands.audit.black_box import FunctionCalls, import_with_limit, report_verdict
from deniable.cli.commands.audit.values import read_values
from deniable.cli.options import JsonOption
from deniable.cli.progress import show_passes


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
        seed: seed of the pairs from which a search climbs.
    """

    claim: float | None = dataclasses.field(default=None, metadata=option(panel="Claim"))
    norm: str = dataclasses.field(default="l1", metadata=option(choices=("l1", "l2", "max"), panel="Claim"))
    inputs: str | None = dataclasses.field(default=None, metadata=option(metavar="FILE"))
    dimension: int = 1
    starts: int = 8
    seed: int = 0


def run_audit_sensitivity(
    target: Annotated[
        str,
        typer.Argument(
            metavar="PACKAGE.MODULE:CALLABLE",
            help="Function from an input to a vector, without noise; modules of the current folder can be imported.",
        ),
    ],
    search: SensitivitySearch,
    calls: FunctionCalls,
    *,
    as_json: JsonOption = False,
) -> None:
    """Search for two inputs that a function takes farther apart than claimed.

    A pair refutes a claimed sensitivity; a search that finds none proves nothing. Exits with 1 if the claim is refuted.

    Examples:
        deniable audit sensitivity mypackage.encoder:encode --dimension 64 --norm l1 --claim 2
    """
    from deniable.auditing.sensitivity import SensitivityOptions, audit_sensitivity

    given = {name: value for name, value in vars(search).items() if name != "inputs"}
    SensitivityOptions(**given)
    inputs = None if search.inputs is None else read_values(search.inputs, "inputs")
    function = import_with_limit(target, calls.time_limit, "the function")
    with show_passes("searching"):
        found = audit_sensitivity(function, inputs, batched=calls.batched, **given)
    report_verdict(target, [target], found, kind="function", as_json=as_json)
