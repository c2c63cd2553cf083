"""``deniable audit lm``: a next-token sampler, exactly over its vocabulary."""

import dataclasses
import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable.cli.commandline import option
from deniable.cli.commands.audit.black_box import MAXIMUM_SECONDS, import_with_limit
from deniable.cli.commands.audit.values import read_values
from deniable.cli.options import JsonOption
from deniable.cli.process import EXIT_REFUTED
from deniable.cli.progress import show_passes
from deniable.cli.terminal import say
from deniable.core.errors import InputError, check_positive, shorten_text

if TYPE_CHECKING:
    from deniable.auditing.samplers.findings import LanguageAudit

_KEYS = ("records", "other", "prefix")


@dataclasses.dataclass(frozen=True, kw_only=True)
class SamplerClaim:
    """Claim.

    Attributes:
        claim: how tokens share epsilon: pure epsilons add up, zcdp costs add up, approx lets one token spend all.
        epsilon: epsilon that a text claims.
        delta: delta that a text claims.
        tokens: maximum number of tokens of a text.
    """

    claim: str = dataclasses.field(metadata=option(choices=("pure", "zcdp", "approx"), metavar="KIND"))
    epsilon: float
    delta: float = 0.0
    tokens: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class SamplerInputs:
    """Looked at.

    Attributes:
        neighbours: file with one JSON object per line; records, other (their neighbour), and prefix (tokens) if any.
        steps: number of prefixes for each pair, each a token longer than the last, drawn from the law.
        public: function like LAW that returns what the claim calls public, to see what moves it.
        time_limit: maximum duration of a call of LAW.

    Raises:
        InputError: a duration out of range.
    """

    neighbours: str = dataclasses.field(metadata=option(metavar="FILE"))
    steps: int = 1
    public: str | None = dataclasses.field(
        default=None, metadata=option(metavar="PACKAGE.MODULE:FUNCTION", show_default="none")
    )
    time_limit: float = dataclasses.field(default=600.0, metadata=option(metavar="SECONDS"))

    def __post_init__(self) -> None:
        """Refuse a duration before anything runs."""
        check_positive("audit", "time_limit", self.time_limit, MAXIMUM_SECONDS)

    def read_pairs(self) -> list[tuple[Any, Any, tuple[int, ...]]]:
        """The pairs of the file.

        Raises:
            InputError: a line that is no object with these keys.
        """
        pairs = []
        for number, value in enumerate(read_values(self.neighbours, "pairs of neighbours"), 1):
            place = f"Line {number} of {self.neighbours!r}"
            if not isinstance(value, dict) or not {"records", "other"} <= {*value} <= {*_KEYS}:
                hint = ": name a file of JSON .jsonl" if isinstance(value, str) else ""
                raise InputError(
                    f'{place} must be a JSON object with "records" and "other", and "prefix" if there is one. Got '
                    f"{shorten_text(repr(value))}{hint}."
                )
            prefix = value.get("prefix", [])
            if not isinstance(prefix, list) or not all(type(token) is int and token >= 0 for token in prefix):
                raise InputError(
                    f"{place} must have a list of token numbers as prefix. Got {shorten_text(repr(prefix))}."
                )
            pairs.append((value["records"], value["other"], tuple(prefix)))
        return pairs


@dataclasses.dataclass(frozen=True, kw_only=True)
class SamplerDraws:
    """Sampling.

    Attributes:
        samples: number of draws, where LAW draws a token; without it LAW returns probabilities.
        confidence: confidence level of the lower bound, where LAW draws.
        seed: seed of the auditor's own random draws.
    """

    samples: int | None = dataclasses.field(default=None, metadata=option(show_default="LAW returns probabilities"))
    confidence: float = 0.95
    seed: int | None = dataclasses.field(default=None, metadata=option(show_default="random"))


def run_audit_lm(
    target: Annotated[
        str,
        typer.Argument(
            metavar="PACKAGE.MODULE:LAW",
            help="Function law(records, prefix) that returns the probabilities of the next token, or integer weights; "
            "modules of the current folder can be imported.",
        ),
    ],
    claim: SamplerClaim,
    inputs: SamplerInputs,
    draws: SamplerDraws,
    *,
    as_json: JsonOption = False,
) -> None:
    """Audit a next-token sampler, exactly over its vocabulary for pairs of neighbours.

    What is found refutes a claim, and never proves one. Exits with 1 if the claim is refuted.

    Examples:
        deniable audit lm my_writer:law --claim pure --epsilon 1 --tokens 100 --neighbours pairs.jsonl
    """
    from deniable.auditing.samplers.audit import audit_language_model

    pairs = inputs.read_pairs()
    law = import_with_limit(target, inputs.time_limit, "the law")
    options: dict[str, Any] = {**vars(claim), **vars(draws), "steps": inputs.steps}
    if inputs.public is not None:
        options["public"] = import_with_limit(inputs.public, inputs.time_limit, "the public part")
    with show_passes("auditing"):
        found = audit_language_model(law, pairs, **options)
    _report(target, found, as_json=as_json)


def _report(target: str, found: "LanguageAudit", *, as_json: bool) -> None:
    if as_json:
        content = {"mechanism": target, **found.verdict.to_dict(), "report": found.to_report().to_dict()}
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        say(f"{target}\n{found}")
    if found.verdict.status == "refuted":
        raise typer.Exit(EXIT_REFUTED)
