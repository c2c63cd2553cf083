"""``deniable explain``: what becomes of a word."""

import difflib
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.options import WordOptions, WordPrivacy
from deniable.cli.progress import show_passes
from deniable.core.numbers import format_upper_percent
from deniable.core.parallel import expect_passes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from deniable.core.guarantees import Verdict
    from deniable.space import Space
    from deniable.words import WordMechanism
    from deniable.words.prior import Prior

    Probabilities = npt.NDArray[np.float64]

_SIMULATED_DRAWS = 100_000
_SHOWN_OUTPUTS = 10
_COVERED_SHARE = 0.9
"""Share of the outputs whose most likely words are counted."""


def run_explain(
    word: Annotated[str, typer.Argument(metavar="WORD", help="Word to explain.")],
    privacy: WordPrivacy,
    words: WordOptions,
) -> None:
    """Show what happens to one word: its most likely outputs, and how many words share the rest."""
    from deniable.auditing import verify
    from deniable.text.certificate import describe_figures

    word_space = words.build()
    word_prior = words.load_prior(word_space)
    effective_word = word if word in word_space else word_space.unknown_word
    for line in _describe_reading(word, word_space):
        typer.echo(line)
    with show_passes("calibrating and verifying"), expect_passes(0):
        with expect_passes(1):
            word_mechanism = privacy.build(word_space)
            probabilities, law_source = _compute_output_law(word_mechanism, effective_word)
            verdict = verify(word_mechanism)
        figures = describe_figures(word_mechanism, word_prior)
        guesses = _describe_guesses(word_mechanism, word_space.index_of(effective_word), word_prior)
    for line in [
        *_describe_guarantee(word_mechanism, verdict),
        f"attacker: {figures['attacker']}",
        f"by frequency: {figures['bands']}",
        f"most exposed: {figures['most_exposed']}",
        f"{law_source} over {len(word_space):,} words of {word_space.source}",
        "",
        *_format_outputs(word_space, effective_word, probabilities),
        *guesses,
    ]:
        typer.echo(line)


def _describe_reading(word: str, space: "Space") -> list[str]:
    """Return how a word is read that is unknown or hidden, in one line; none for any other."""
    number = space.find_number(word)
    if number is None:
        return [_describe_unknown_word(word, space)]
    hidden = space.find_class(number)
    if hidden is None:
        return []
    count = len(hidden.members)
    return [f"{word!r} is hidden as one of {hidden.name}, of which {count:,} may come out: epsilon 0 between any two"]


def _describe_unknown_word(word: str, space: "Space") -> str:
    """Return how an unknown word is treated, and the known word that may have been meant."""
    close_words = difflib.get_close_matches(word.lower(), space.words, n=10, cutoff=0.8)
    # Spaces list frequent words first.
    hint = f" Did you mean {min(close_words, key=space.index_of)!r}?" if close_words else ""
    return f"{word!r} is not in the vocabulary: it is read as the public word {space.unknown_word!r}.{hint}"


def _describe_guarantee(mechanism: "WordMechanism", verdict: "Verdict") -> list[str]:
    """Return the guarantee with its status and source, and how it was verified."""
    from deniable.core.guarantees import limit_status

    guarantee = limit_status(mechanism.guarantee, verdict)
    return [
        f"{mechanism.name}, {guarantee}: {guarantee.status} by {guarantee.source}",
        f"verified: {verdict.status}, {verdict.method}",
    ]


def _describe_guesses(mechanism: "WordMechanism", number: int, prior: "Prior") -> list[str]:
    """Return how often an attacker guesses a word, beside its band; nothing where it is hidden or no law is known.

    Of the words of a hidden class always the same one is guessed, whichever was written.
    """
    from deniable.words.outcomes import rank_words

    space = mechanism.space
    if not mechanism.law.is_tabulated or space.find_class(number) is not None:
        return []
    rank = int(rank_words(prior.weights)[number])
    band = mechanism.outcomes(prior).find_band(rank)
    share = mechanism.word_shares(prior).guessed[number]
    beside = "" if band is None else f"; words {band.name} in {format_upper_percent(band.guessed)} of theirs"
    word = f"{space.words[number]!r}, word {rank:,} by frequency"
    return [f"{word}, is guessed in {format_upper_percent(share)} of its draws{beside}"]


def _format_outputs(space: "Space", word: str, probabilities: "Probabilities") -> list[str]:
    """Return the table of the most likely outputs, a hidden class as one, and how the other words share the rest.

    Args:
        space: of n words.
        word: a word of it.
        probabilities: (n,) law of the output.
    """
    import numpy as np

    word_number = space.index_of(word)
    distances = space.distances([space.point_by_word[word_number]])[0][space.point_by_word]
    names, shares = list(space.words), probabilities.copy()
    for hidden in space.hidden_classes:
        first = hidden.members[0]
        shares[hidden.members] = 0.0
        shares[first] = probabilities[hidden.members].sum()
        names[first] = f"any of {len(hidden.members):,} {hidden.name}" if len(hidden.members) > 1 else names[first]
    order = np.argsort(-shares, kind="stable")
    rows = [
        f"{names[index]:<24}{shares[index]:>12.6f}{distances[index]:>10.3f}"
        for index in order[:_SHOWN_OUTPUTS]
        if shares[index] > 0
    ]
    covering_count = int((np.sort(probabilities)[::-1].cumsum() < _COVERED_SHARE).sum()) + 1
    covering_text = "1 word makes" if covering_count == 1 else f"{covering_count:,} words make"
    kept_share, percent = probabilities[word_number], round(100 * _COVERED_SHARE)
    return [
        f"{'output':<24}{'probability':>12}{'distance':>10}",
        *rows,
        "",
        f"{word!r} stays as it is with probability {kept_share:.4f}; {covering_text} up {percent} % of the outputs",
    ]


def _compute_output_law(word_mechanism: "WordMechanism", word: str) -> "tuple[Probabilities, str]":
    """Return the law (n,) of the output for a word, and how it was computed."""
    import numpy as np

    from deniable.core.errors import NotTractable

    try:
        return word_mechanism.probabilities(word), "exact law"
    except NotTractable:
        counts = Counter(word_mechanism.sample([word] * _SIMULATED_DRAWS))
        probabilities = np.zeros(len(word_mechanism.space))
        for output, count in counts.items():
            probabilities[word_mechanism.space.index_by_word[output]] = count / _SIMULATED_DRAWS
        return probabilities, f"no exact law is known: shares of {_SIMULATED_DRAWS:,} draws"
