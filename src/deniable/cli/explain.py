"""``deniable explain``: what becomes of a word."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.options import (
    Epsilon,
    Mechanism,
    MetricName,
    PriorFile,
    SpaceSource,
    build_space,
    check_mechanism,
    load_prior,
    mechanism_on,
)
from deniable.cli.progress import passes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from deniable.words import WordMechanism

DRAWS = 100_000
SHOWN = 10
MOST = 0.9


def explain(
    word: Annotated[str, typer.Argument(metavar="WORD", help="A word.")],
    epsilon: Epsilon,
    mechanism: Mechanism = "auto",
    space: SpaceSource = "glove",
    metric: MetricName = "euclidean",
    prior: PriorFile = None,
) -> None:
    """Show what becomes of a word: its likeliest outputs, and how many words share the rest."""
    from deniable.auditing import limit_standing, verify  # noqa: PLC0415 - keeps --help fast
    from deniable.text.certificate import attacker  # noqa: PLC0415

    check_mechanism(mechanism, epsilon)
    domain = build_space(space, metric)
    public = load_prior(prior, domain)
    with passes("calibrating and verifying"):
        built = mechanism_on(domain, mechanism, epsilon)
        known = word in domain
        shown = word if known else domain.unknown
        law, how = _law(built, shown)
        verdict, guesses = verify(built), attacker(built, public)
    if not known:
        typer.echo(f"{word!r} is not in the vocabulary: it is read as the public word {shown!r}.")
    number = domain.number(shown)
    order = (-law).argsort(kind="stable")
    reach = int((law[order].cumsum() < MOST).sum()) + 1
    guarantee = limit_standing(built.guarantee, verdict)
    typer.echo(f"{built.name}, {guarantee}: {guarantee.standing} by {guarantee.source}")
    typer.echo(f"verified: {verdict.status}, {verdict.method}")
    typer.echo(f"attacker: {guesses}")
    typer.echo(f"{how} over {len(domain):,} words of {domain.source}")
    typer.echo(f"\n{'output':<24}{'probability':>12}{'distance':>10}")
    distances = domain.distances([domain.point_of[number]])[0][domain.point_of]
    for index in order[:SHOWN]:
        if law[index] > 0:
            typer.echo(f"{domain.words[index]:<24}{law[index]:>12.6f}{distances[index]:>10.3f}")
    share = "1 word makes" if reach == 1 else f"{reach:,} words make"
    typer.echo(f"\n{shown!r} stays as it is with probability {law[number]:.4f}; {share} up 90 % of the outputs")


def _law(built: "WordMechanism", word: str) -> "tuple[npt.NDArray[np.float64], str]":
    """Return the law (n,) of a word's output and how it was found."""
    import numpy as np  # noqa: PLC0415 - keeps --help fast

    from deniable.errors import NotTractable  # noqa: PLC0415

    try:
        return built.probabilities(word), "exact law"
    except NotTractable:
        counts = Counter(built.privatize([word] * DRAWS))
        law = np.zeros(len(built.space))
        for output, count in counts.items():
            law[built.space.index[output]] = count / DRAWS
        return law, f"no exact law is known: shares of {DRAWS:,} draws"
