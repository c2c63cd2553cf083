"""Remarks on private texts, on the owner's terminal alone: words that the space lacks, and HTML."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from deniable.cli.terminal import say

if TYPE_CHECKING:
    from deniable.space import Space
    from deniable.text.tables.layout import CopiedContent, TableLayout

_SAMPLED_TEXTS = 1_000
"""Texts that are looked at where only a share of words is asked for."""


def warn_owner(remarks: Sequence[str]) -> None:
    """Print remarks on the private texts to standard error, each marked as not to be published."""
    for remark in remarks:
        say(f"warning (for you only): {remark}", err=True)


def warn_of_copied_columns(layout: "TableLayout", copied: "CopiedContent") -> None:
    """Warn, while work is shown, of copied columns that look like texts, or like identifiers.

    It tells nothing that the released table does not show.

    Args:
        layout: of the table; the column that says whose a record is names people however it looks.
        copied: what goes with the texts unchanged.
    """
    from deniable.text.release_certificate import shorten_names

    identifiers, person_column = [*copied.identifiers], layout.person_column
    if person_column in copied.columns and person_column not in (*copied.texts, *identifiers):
        identifiers.append(str(person_column))
    way = "by naming the others with --columns" if layout.copied is None else "of --columns"
    kinds = (
        (copied.texts, "texts", f"release them too, each with --column NAME, or leave them out {way}"),
        (identifiers, "identifiers", f"leave out those that name people {way}"),
    )
    for names, kind, advice in kinds:
        parts = [advice] if {*names} - {layout.id_column} else []
        parts += ["record ids are never left out: name another column with --id"] * (layout.id_column in names)
        if names:
            shown = shorten_names(list(map(repr, names)))
            say("; ".join([f"warning: copied unchanged, and look like {kind}: {shown}", *parts]), err=True)


def warn_of_texts(texts: Sequence[str], space: "Space") -> None:
    """Warn where texts hold HTML, or many words that a space lacks."""
    from deniable.text.encoded import EncodedTexts
    from deniable.text.escapes import MarkupCounts
    from deniable.text.remarks import describe_markup, describe_unknown_words
    from deniable.text.tokens import Lexer

    lexer = Lexer(space, "draw", "lower", ())
    unknown = words = 0
    for text in texts:
        lexed_text = lexer.lex(text)
        unknown += lexed_text.unknown_count
        words += len(lexed_text.words)
    warn_owner(describe_unknown_words(unknown, words) + describe_markup(MarkupCounts.count(EncodedTexts.of(texts))))


def describe_source_markup(source: object, texts: Sequence[str]) -> list[str]:
    """Return remarks on HTML in the texts of a table that a model is to learn from."""
    from deniable.text.encoded import EncodedTexts
    from deniable.text.escapes import MarkupCounts
    from deniable.text.remarks import describe_markup

    return [
        f"{source}: {remark}"
        for remark in describe_markup(MarkupCounts.count(EncodedTexts.of(texts)), can_decode=False)
    ]


def describe_unlisted_words(source: object, texts: Sequence[str], vocabulary: Iterable[str], advice: str) -> list[str]:
    """Return a remark where a vocabulary lacks many words of the texts of a table.

    Args:
        source: path of the table.
        texts: of which a thousand are looked at, drawn with a public seed.
        vocabulary: words, as `split_tokens` spells them.
        advice: see `describe_unknown_words`.
    """
    from deniable.core.randomness import derive_key_from_seed, make_generator
    from deniable.text.remarks import describe_unknown_words
    from deniable.text.tokens import count_unknown_words

    # Drawn, not evenly spaced: languages may take turns in a table.
    order = make_generator(derive_key_from_seed(0), "texts that are looked at").permutation(len(texts))
    sample = (texts[row] for row in order[:_SAMPLED_TEXTS].tolist())
    unknown, words = count_unknown_words(sample, {*vocabulary})
    return [f"{source}: {remark}" for remark in describe_unknown_words(unknown, words, advice)]
