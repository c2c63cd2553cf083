"""Texts as words and punctuation marks, and back: what generators, rewriters and linear classifiers read."""

from collections.abc import Container, Iterable

from deniable.space import grammar

_OPENING_MARKS, _CLOSING_MARKS = frozenset("([{$£€#"), frozenset(".,!?;:%)]}")
"""Marks that attach to the next token, and marks that attach to the previous one."""


def split_tokens(text: str) -> list[str]:
    """Return the tokens of a text: words, folded by `deniable.space.grammar.fold_word`, and single punctuation marks.

    A contraction is two tokens (what|'s, do|n't). White space and capitals are lost.
    """
    tokens: list[str] = []
    # Folded first: without an invisible character that held it together, a token would be several.
    for place, part in enumerate(grammar.split_words(grammar.fold_word(text))):
        tokens.extend([part] if place % 2 else "".join(part.split()))
    return tokens


def count_unknown_words(texts: Iterable[str], vocabulary: Container[str]) -> tuple[int, int]:
    """Return how many words of some texts a vocabulary lacks, and how many words there are; marks do not count.

    Args:
        texts: private ones.
        vocabulary: words, as `split_tokens` spells them.
    """
    words = [token for text in texts for token in split_tokens(text) if token[0].isalnum()]
    return sum(word not in vocabulary for word in words), len(words)


def join_tokens(tokens: Iterable[str]) -> str:
    """Return a text of some tokens, without spaces before punctuation and inside contractions.

    Tokens from `split_tokens` give a text with the same tokens; any others give one with no more tokens than these. A
    decoder may emit the second part of a contraction without a first part; its apostrophe is then left out.
    """
    parts: list[str] = []
    run: list[str] = []  # tokens since the last space
    is_attached = True  # whether the next token follows without a space
    for token in tokens:
        written = token
        if token in _CLOSING_MARKS:
            is_attached = True
        elif grammar.is_clitic(token):
            rejoins = split_tokens("".join(run) + token) == [*run, token]
            is_attached, written = is_attached or rejoins, token if rejoins else token.lstrip("'")
        parts.append(written if is_attached else f" {written}")
        run = [*run, written] if is_attached else [written]
        is_attached = token in _OPENING_MARKS
    return "".join(parts)
