"""``deniable audit mechanism``: a mechanism of this package, verified over all its inputs and outputs."""

import dataclasses
import inspect
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from deniable.cli.commandline import option
from deniable.cli.commands.audit.black_box import report_verdict
from deniable.cli.options import JsonOption, SpaceOptions, WordPrivacy
from deniable.cli.progress import show_passes
from deniable.core.errors import InputError
from deniable.core.parallel import expect_passes
from deniable.registry import VECTOR_MECHANISMS, WORD_MECHANISMS

if TYPE_CHECKING:
    from deniable.core.guarantees import Verdict

_WORD_NAMES = ("auto", *WORD_MECHANISMS)
MECHANISM_NAMES = (*_WORD_NAMES, *VECTOR_MECHANISMS)


@dataclasses.dataclass(frozen=True, kw_only=True)
class MechanismParameters:
    """Privacy.

    Attributes:
        epsilon: privacy budget of the mechanism; random has none.
        delta: delta of the budget, for gaussian and adept-gaussian.
        dimension: dimension of the vectors, for vector mechanisms.
    """

    epsilon: float | None = None
    delta: float | None = None
    dimension: int | None = dataclasses.field(default=None, metadata=option(show_default="1"))


def run_audit_mechanism(
    name: Annotated[
        Literal[MECHANISM_NAMES],  # type: ignore[valid-type]
        typer.Argument(
            metavar="NAME",
            help=f"Mechanism: {', '.join(MECHANISM_NAMES[:-1])} or {MECHANISM_NAMES[-1]}.",
            show_default=False,
        ),
    ],
    parameters: MechanismParameters,
    words: SpaceOptions,
    *,
    no_cache: Annotated[
        bool,
        typer.Option("--no-cache", help="Compute everything again, and store nothing.", rich_help_panel="Output"),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Verify a mechanism of this package over all its inputs and outputs.

    The mechanisms listed before laplace are for words, the others for vectors. Exits with 1 if the claim is refuted.

    Examples:
        deniable audit mechanism auto --epsilon 2.8
        deniable audit mechanism dptext --epsilon 10 --dimension 64
    """
    is_word_mechanism = name in _WORD_NAMES
    takes = {"epsilon"} if is_word_mechanism else {*inspect.signature(VECTOR_MECHANISMS[name]).parameters}
    if parameters.epsilon is None and "epsilon" in takes:
        raise InputError(f"The mechanism {name} needs a budget: give it with --epsilon.")
    if parameters.delta is not None and "delta" not in takes:
        raise InputError(f"The mechanism {name} has no delta: leave out --delta.")
    if parameters.dimension is not None and is_word_mechanism:
        raise InputError(f"--dimension is for vector mechanisms. Got {name}, a word mechanism: leave it out.")
    if not is_word_mechanism and words != SpaceOptions():
        raise InputError(f"--space, --metric and --hide are for word mechanisms. Got {name}: leave them out.")
    from deniable.auditing import verify
    from deniable.core.cache import bypass_cache

    with bypass_cache() if no_cache else nullcontext():
        if is_word_mechanism:
            privacy = WordPrivacy(epsilon=parameters.epsilon or 0.0, mechanism=name)
            mechanism_name, heading, verdict = _verify_word_mechanism(privacy, words)
        else:
            given = {"epsilon": parameters.epsilon, "delta": parameters.delta or 0.0}
            mechanism = VECTOR_MECHANISMS[name](**{key: given[key] for key in given.keys() & takes})
            dimension = 1 if parameters.dimension is None else parameters.dimension
            verdict = verify(mechanism, dimension=dimension)
            mechanism_name, guarantee = name, mechanism.guarantee
            heading = [f"{name} on vectors ({dimension},), {guarantee}: {guarantee.source}"]
    report_verdict(mechanism_name, heading, verdict, as_json=as_json)


def _verify_word_mechanism(privacy: WordPrivacy, words: SpaceOptions) -> "tuple[str, list[str], Verdict]":
    """Return name, heading and verdict of a word mechanism."""
    from deniable.auditing import verify

    space = words.build()
    with show_passes("verifying"), expect_passes(0):
        mechanism = privacy.build(space)
        verdict = verify(mechanism)
    parameters = [
        f"{parameter} {value if isinstance(value, str) else format(value, '.6g')}"
        for parameter, value in mechanism.derived_parameters.items()
    ]
    heading = f"{mechanism.name} over {len(space):,} words of {space.source}, {space.metric_name}"
    return mechanism.name, [heading, *parameters], verdict
