"""Remarks on private texts, on the owner's terminal alone: words that the space lacks, and HTML."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import typer

from deniable.cli.choices import EscapesName

if TYPE_CHECKING:
    from deniable.space import Space
    from deniable.text.escapes import Escapes

TextT = TypeVar("TextT", str, str | None)


def warn_owner(remarks: Sequence[str]) -> None:
    """Print remarks on the private texts to standard error, each marked as not to be published."""
    for remark in remarks:
        typer.echo(f"warning (for you only): {remark}", err=True)


def warn_of_texts(texts: Sequence[str], space: "Space") -> None:
    """Warn where texts hold HTML, or many words that a space lacks."""
    from deniable.text.escapes import MarkupCounts
    from deniable.text.remarks import describe_markup, describe_unknown_words
    from deniable.text.tokens import Lexer

    lexer = Lexer(space, "draw", "lower", ())
    unknown = words = 0
    for text in texts:
        lexed_text = lexer.lex(text)
        unknown += lexed_text.unknown_count
        words += len(lexed_text.words)
    warn_owner(describe_unknown_words(unknown, words) + describe_markup(MarkupCounts.count(texts)))


def get_escapes(choice: EscapesName | None) -> "Escapes | None":
    """Return what ``--unescape`` names, as the package takes it."""
    return None if choice is None else "html"


def decode_texts(texts: Sequence[TextT], choice: EscapesName | None) -> list[TextT]:
    """Return texts, or None for them, with their escapes decoded where that was asked for."""
    from deniable.text.escapes import decode_escapes

    return [decode_escapes(text, get_escapes(choice)) if text else text for text in texts]
