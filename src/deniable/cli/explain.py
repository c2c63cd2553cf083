"""``deniable explain``: what becomes of a word."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.options import (
    EpsilonOption,
    MechanismOption,
    MetricOption,
    PriorOption,
    SpaceOption,
    build_space,
    build_word_mechanism,
    check_mechanism_options,
    load_word_prior,
)
from deniable.cli.progress import show_passes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from deniable.words import WordMechanism

SIMULATED_DRAWS = 100_000
SHOWN_OUTPUTS = 10
COVERED_SHARE = 0.9


def run_explain(
    word: Annotated[str, typer.Argument(metavar="WORD", help="A word.")],
    epsilon: EpsilonOption,
    mechanism: MechanismOption = "auto",
    space: SpaceOption = "glove",
    metric: MetricOption = "euclidean",
    prior: PriorOption = None,
) -> None:
    """Show what becomes of a word: its likeliest outputs, and how many words share the rest."""
    from deniable.auditing import verify  # noqa: PLC0415 - keeps --help fast
    from deniable.core.evidence import limit_status  # noqa: PLC0415 - keeps --help fast
    from deniable.text.certificate import describe_attacker  # noqa: PLC0415

    check_mechanism_options(mechanism, epsilon)
    word_space = build_space(space, metric)
    word_prior = load_word_prior(prior, word_space)
    with show_passes("calibrating and verifying"):
        word_mechanism = build_word_mechanism(word_space, mechanism, epsilon)
        is_known = word in word_space
        effective_word = word if is_known else word_space.unknown_word
        probabilities, law_source = _compute_output_law(word_mechanism, effective_word)
        verdict, attacker_line = verify(word_mechanism), describe_attacker(word_mechanism, word_prior)
    if not is_known:
        typer.echo(f"{word!r} is not in the vocabulary: it is read as the public word {effective_word!r}.")
    word_number = word_space.index_of(effective_word)
    order = (-probabilities).argsort(kind="stable")
    covering_count = int((probabilities[order].cumsum() < COVERED_SHARE).sum()) + 1
    guarantee = limit_status(word_mechanism.guarantee, verdict)
    typer.echo(f"{word_mechanism.name}, {guarantee}: {guarantee.status} by {guarantee.source}")
    typer.echo(f"verified: {verdict.status}, {verdict.method}")
    typer.echo(f"attacker: {attacker_line}")
    typer.echo(f"{law_source} over {len(word_space):,} words of {word_space.source}")
    typer.echo(f"\n{'output':<24}{'probability':>12}{'distance':>10}")
    distances = word_space.distances([word_space.point_by_word[word_number]])[0][word_space.point_by_word]
    for index in order[:SHOWN_OUTPUTS]:
        if probabilities[index] > 0:
            typer.echo(f"{word_space.words[index]:<24}{probabilities[index]:>12.6f}{distances[index]:>10.3f}")
    covering_text = "1 word makes" if covering_count == 1 else f"{covering_count:,} words make"
    typer.echo(
        f"\n{effective_word!r} stays as it is with probability {probabilities[word_number]:.4f}; {covering_text} up 90 % of the outputs"
    )


def _compute_output_law(word_mechanism: "WordMechanism", word: str) -> "tuple[npt.NDArray[np.float64], str]":
    """Return the law (n,) of a word's output and how it was found."""
    import numpy as np  # noqa: PLC0415 - keeps --help fast

    from deniable.core.errors import NotTractable  # noqa: PLC0415

    try:
        return word_mechanism.probabilities(word), "exact law"
    except NotTractable:
        counts = Counter(word_mechanism.sample([word] * SIMULATED_DRAWS))
        probabilities = np.zeros(len(word_mechanism.space))
        for output, count in counts.items():
            probabilities[word_mechanism.space.index_by_word[output]] = count / SIMULATED_DRAWS
        return probabilities, f"no exact law is known: shares of {SIMULATED_DRAWS:,} draws"
