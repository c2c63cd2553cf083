"""``deniable explain``: what becomes of a word."""

import difflib
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.options import WordOptions, WordPrivacy
from deniable.cli.progress import show_passes
from deniable.cli.terminal import say
from deniable.core.numbers import format_upper_percent
from deniable.core.parallel import expect_passes

if TYPE_CHECKING:
    from deniable.space import Space
    from deniable.words.explanation import WordExplanation


def run_explain(
    word: Annotated[str, typer.Argument(metavar="WORD", help="Word to explain.")],
    privacy: WordPrivacy,
    words: WordOptions,
) -> None:
    """Show what replaces a word: its most likely outputs, with their probabilities.

    Examples:
        deniable explain doctor --epsilon 2.8
    """
    from deniable.auditing import verify
    from deniable.core.guarantees import limit_status
    from deniable.text.certificate import describe_figures
    from deniable.words.explanation import explain_word

    space = words.build()
    prior = words.load_prior(space)
    for line in _describe_reading(word, space):
        say(line)
    with show_passes("calibrating and verifying"), expect_passes(0):
        with expect_passes(1):
            mechanism = privacy.build(space)
            verdict = verify(mechanism)
        figures = describe_figures(mechanism, prior)
        explained = explain_word(mechanism, word, prior=prior)
    guarantee = limit_status(mechanism.guarantee, verdict)
    drawn = f"no exact law is known: shares of {explained.draws:,} draws" if explained.draws else "exact law"
    for line in [
        f"{mechanism.name}, {guarantee}: {guarantee.status} by {guarantee.source}",
        f"verified: {verdict.status}, {verdict.method}",
        f"attacker: {figures['attacker']}",
        f"by frequency: {figures['bands']}",
        f"most exposed: {figures['most_exposed']}",
        f"{drawn} over {len(space):,} words of {space.source}",
        "",
        *_format_outputs(explained),
    ]:
        say(line)


def _describe_reading(word: str, space: "Space") -> list[str]:
    """Return how a word is read that is unknown or hidden, in one line; none for any other."""
    number = space.find_number(word)
    if number is None:
        close_words = difflib.get_close_matches(word.lower(), space.words, n=10, cutoff=0.8)
        # Spaces list frequent words first.
        hint = f" Did you mean {min(close_words, key=space.index_of)!r}?" if close_words else ""
        return [f"{word!r} is not in the vocabulary: it is read as the public word {space.unknown_word!r}.{hint}"]
    hidden = space.find_class(number)
    if hidden is None:
        return []
    among = f"the words of the class {hidden.name} ({len(hidden.members):,})"
    return [f"{word!r} is hidden among {among}: any may replace it, with epsilon 0 between any two"]


def _format_outputs(explained: "WordExplanation") -> list[str]:
    """Return the table of the most likely outputs, how the other words share the rest, and what an attacker guesses."""
    from deniable.words.explanation import COVERED_SHARE, DENIABILITY_RUNS

    rows = [
        f"{output.word if output.members == 1 else f'any of {output.members:,} {output.hidden_class}':<24}"
        f"{output.probability:>12.6f}{output.distance:>10.3f}"
        for output in explained.outputs
    ]
    word = explained.word if explained.is_known else explained.read_as
    covering = "1 word makes" if explained.covering == 1 else f"{explained.covering:,} words make"
    kept = f"{word!r} stays as it is with probability {explained.kept:.4f}"
    outputs = f"{covering} up {100 * COVERED_SHARE:.0f}% of the outputs"
    deniability = (
        f"deniability: in {DENIABILITY_RUNS:,} draws it stays {DENIABILITY_RUNS * explained.kept:.1f} times (N_w), and "
        f"{explained.distinct:.1f} different words are drawn (S_w)"
    )
    lines = [f"{'output':<24}{'probability':>12}{'distance':>10}", *rows, "", f"{kept}; {outputs}", deniability]
    if explained.guessed is None:
        return lines
    band, share = explained.band, format_upper_percent(explained.guessed)
    beside = "" if band is None else f"; words {band.name} in {format_upper_percent(band.guessed)} of theirs"
    word = f"{explained.read_as!r}, word {explained.rank:,} by frequency"
    return [*lines, f"{word}, is guessed in {share} of its draws{beside}"]
