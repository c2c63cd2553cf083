"""New texts out of a corpus, so that a small one teaches more of its words in other company."""

from collections import defaultdict
from collections.abc import Sequence

from deniable.randomness import generator

Numbers = Sequence[Sequence[int]]
"""Numbers of the tokens of each text."""


def spliced(numbers: Numbers, count: int, key: bytes, longest: int) -> list[list[int]]:
    """Return texts that begin as one text of a corpus and end as another, which share the token where they are joined.

    The text, the place where it is cut, and the place in the corpus where that token stands again are drawn evenly:
    "flights from boston to denver" and "i go to dallas" make "flights from boston to dallas". Two neighbouring tokens
    of what comes out are neighbours somewhere in the corpus, so this is a draw from a bigram model of it that keeps
    long runs of words whole.

    Args:
        numbers: of a corpus.
        count: how many texts.
        key: 32 bytes, from which the draws follow.
        longest: most tokens of a text; longer ones are drawn anew.

    Returns:
        ``count`` texts; none where the corpus has no tokens.
    """
    coins = generator(key, "splices")
    whole = [text for text in numbers if 0 < len(text) <= longest]
    places = defaultdict(list)
    for row, text in enumerate(whole):
        for place, token in enumerate(text):
            places[token].append((row, place))
    found: list[list[int]] = []
    while whole and len(found) < count:
        begun = whole[coins.integers(len(whole))]
        cut = int(coins.integers(len(begun)))
        again = places[begun[cut]]
        row, place = again[coins.integers(len(again))]
        made = [*begun[:cut], *whole[row][place:]]
        if len(made) <= longest:
            found.append(made)
    return found
