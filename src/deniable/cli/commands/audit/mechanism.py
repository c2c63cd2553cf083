"""``deniable audit mechanism``: a mechanism of this package, verified over all its inputs and outputs."""

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.building import build_space, build_word_mechanism, check_mechanism_epsilon
from deniable.cli.choices import MechanismName, MetricName, VerifiedMechanismName
from deniable.cli.commands.audit.black_box import report_verdict
from deniable.cli.options import (
    HIDE_DEFAULT,
    OUTPUT_PANEL,
    PRIVACY_PANEL,
    HideOption,
    JsonOption,
    MetricOption,
    SpaceOption,
    list_choices,
    make_option,
)
from deniable.cli.progress import show_passes
from deniable.core.errors import InputError
from deniable.core.parallel import expect_passes

if TYPE_CHECKING:
    from deniable.core.guarantees import Verdict
    from deniable.space import Space

_MECHANISMS_WITH_DELTA = frozenset({VerifiedMechanismName.GAUSSIAN, VerifiedMechanismName.ADEPT_GAUSSIAN})

NameArgument = Annotated[
    VerifiedMechanismName,
    typer.Argument(metavar="NAME", help=f"Mechanism: {list_choices(VerifiedMechanismName)}.", show_default=False),
]
EpsilonOption = Annotated[
    float | None, make_option(PRIVACY_PANEL, "--epsilon", "Privacy budget of the mechanism; random has none.")
]
DeltaOption = Annotated[
    float | None, make_option(PRIVACY_PANEL, "--delta", "Delta of the budget, for gaussian and adept-gaussian.")
]
DimensionOption = Annotated[
    int | None,
    make_option(PRIVACY_PANEL, "--dimension", "Dimension of the vectors, for vector mechanisms.", default_text="1"),
]
NoCacheOption = Annotated[bool, make_option(OUTPUT_PANEL, "--no-cache", "Compute everything again, and store nothing.")]


def run_audit_mechanism(
    name: NameArgument,
    *,
    epsilon: EpsilonOption = None,
    delta: DeltaOption = None,
    dimension: DimensionOption = None,
    space: SpaceOption = "glove",
    metric: MetricOption = MetricName.STEPS,
    hide: HideOption = HIDE_DEFAULT,
    no_cache: NoCacheOption = False,
    as_json: JsonOption = False,
) -> None:
    """Verify a mechanism of this package over all its inputs and outputs.

    The mechanisms listed before laplace are for words, the others for vectors. Exits with 1 if the claim is refuted.
    """
    if epsilon is None and name is not VerifiedMechanismName.RANDOM:
        raise InputError(f"The mechanism {name} needs a budget: give it with --epsilon.")
    is_word_mechanism = name.value in set(MechanismName)
    if delta is not None and name not in _MECHANISMS_WITH_DELTA:
        raise InputError(f"The mechanism {name} has no delta: leave out --delta.")
    if dimension is not None and is_word_mechanism:
        raise InputError(f"--dimension is for vector mechanisms. Got {name}, a word mechanism: leave it out.")
    if not is_word_mechanism and (space != "glove" or metric is not MetricName.STEPS or hide != HIDE_DEFAULT):
        raise InputError(f"--space, --metric and --hide are for word mechanisms. Got {name}: leave them out.")
    from deniable.core.cache import bypass_cache

    with bypass_cache() if no_cache else nullcontext():
        if is_word_mechanism:
            check_mechanism_epsilon(name.value, epsilon or 0.0)
            word_space = build_space(space, metric, hide)
            mechanism_name, heading, verdict = _verify_word_mechanism(name.value, epsilon or 0.0, word_space)
        else:
            mechanism_name, heading, verdict = _verify_vector_mechanism(
                name, epsilon, delta, 1 if dimension is None else dimension
            )
    report_verdict(mechanism_name, heading, verdict, as_json=as_json)


def _verify_word_mechanism(name: str, epsilon: float, space: "Space") -> "tuple[str, list[str], Verdict]":
    """Return name, heading and verdict of a word mechanism."""
    from deniable.auditing import verify

    with show_passes("verifying"), expect_passes(0):
        mechanism = build_word_mechanism(space, name, epsilon)
        verdict = verify(mechanism)
    words = f"{len(space):,} words of {space.source}"
    parameters = [
        f"{parameter} {value if isinstance(value, str) else format(value, '.6g')}"
        for parameter, value in mechanism.derived_parameters.items()
    ]
    return mechanism.name, [f"{mechanism.name} over {words}, {space.metric_name}", *parameters], verdict


def _verify_vector_mechanism(
    name: VerifiedMechanismName, epsilon: float | None, delta: float | None, dimension: int
) -> "tuple[str, list[str], Verdict]":
    """Return name, heading and verdict of a vector mechanism."""
    from deniable.auditing import verify
    from deniable.registry.vectors import VECTOR_MECHANISMS

    parameters = {} if name is VerifiedMechanismName.RANDOM else {"epsilon": epsilon}
    if name in _MECHANISMS_WITH_DELTA:
        parameters["delta"] = delta or 0.0
    mechanism = VECTOR_MECHANISMS[name](**parameters)
    verdict = verify(mechanism, dimension=dimension)
    return (
        name.value,
        [f"{name} on vectors ({dimension},), {mechanism.guarantee}: {mechanism.guarantee.source}"],
        verdict,
    )
