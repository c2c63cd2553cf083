"""Texts that a released one may come from: those of a corpus, and those that a model of its language proposes."""

import collections
import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from deniable.errors import InputError, bad_parameter
from deniable.measure.estimate import Estimate, clustered_share, share
from deniable.rewrite.tokens import END, START, UNKNOWN, Vocabulary, split

WEIGHTS = (0.75, 0.2, 0.05)
"""How often the next token is drawn given the last two, the last one, and none."""
_TRIES = 50
"""Draws for each proposal asked for, before a corpus is taken to be too small."""


def distinct(texts: Iterable[str], vocabulary: Vocabulary) -> list[str]:
    """Return the texts in their order, the first of each that a model reads alike.

    Two texts whose tokens have the same numbers have the same vector, and no attacker can tell one from the other.
    """
    found: dict[tuple[int, ...], str] = {}
    for text in texts:
        found.setdefault(tuple(vocabulary.numbers(text)), text)
    return list(found.values())


@dataclasses.dataclass(frozen=True)
class Trigrams:
    """A language model that knows two tokens back: an interpolation of relative frequencies (Jelinek and Mercer 1980).

    Attributes:
        followers: of contexts of two, one and no tokens, whatever came next in the corpus, as often as it came.
    """

    followers: tuple[Mapping[tuple[int, ...], Sequence[int]], ...]

    @classmethod
    def fitted(cls, texts: Iterable[Sequence[int]]) -> "Trigrams":
        """Return the model of texts, each the numbers of its tokens.

        Raises:
            InputError: no texts.
        """
        held: tuple[dict[tuple[int, ...], list[int]], ...] = tuple(collections.defaultdict(list) for _ in WEIGHTS)
        for text in texts:
            tokens = (START, START, *text, END)
            for place in range(2, len(tokens)):
                for back, followers in zip((2, 1, 0), held, strict=True):
                    followers[tokens[place - back : place]].append(tokens[place])
        if not held[-1]:
            raise InputError("A language model needs at least one text. Got none: give a corpus.")
        return cls(tuple(dict(followers) for followers in held))

    def draw(self, coins: np.random.Generator, most: int) -> tuple[int, ...]:
        """Return the numbers of one text; cut off behind ``most`` tokens."""
        tokens = [START, START]
        while len(tokens) < most + 2:
            context = (tokens[-2], tokens[-1])
            known = [followers[context[2 - back :]] for back, followers in zip((2, 1, 0), self.followers, strict=True)
                     if context[2 - back :] in followers]  # fmt: skip
            shares = np.cumsum(WEIGHTS[-len(known) :])
            chosen = known[int(np.searchsorted(shares, coins.random() * shares[-1], "right"))]
            following = chosen[int(coins.integers(len(chosen)))]
            if following == END:
                break
            tokens.append(following)
        return tuple(tokens[2:])


def proposals(texts: Sequence[str], vocabulary: Vocabulary, count: int, *, most: int, seed: int) -> list[str]:
    """Return distinct texts, none of them among those given, that a language model of these proposes.

    "We can train a LM on ATIS to generate a feasible search space of input utterances" (Habernal 2021, Appendix C).

    Args:
        texts: the attacker's corpus.
        vocabulary: of the model under attack, which is public.
        count: how many to propose.
        most: tokens of the longest.
        seed: of the draws.

    Raises:
        InputError: a count below 1, or so small a corpus that so many new texts are not found.
    """
    if count < 1:
        raise bad_parameter("proposals", "count", "an int of at least 1", count)
    known = {tuple(vocabulary.numbers(text)) for text in texts}
    model = Trigrams.fitted(sorted(known))
    coins = np.random.default_rng(seed)
    found: dict[tuple[int, ...], None] = {}
    for _ in range(_TRIES * count):
        drawn = model.draw(coins, most)
        if drawn and drawn not in known and UNKNOWN not in drawn:
            found[drawn] = None
        if len(found) == count:
            return [vocabulary.text(numbers) for numbers in found]
    raise InputError(f"The corpus of {len(texts)} texts leads to {len(found)} new ones only. Got a count of {count}.")


def recovered(truths: Sequence[str], guesses: Sequence[str]) -> dict[str, Estimate]:
    """Return how much of some texts there is in guesses at them.

    Returns:
        ``exact``: share of the texts that are guessed token by token. ``tokens``: share of their tokens that the
        guesses hold, each as often as both hold it, wherever they stand.
    """
    pairs = [(split(truth), split(guess)) for truth, guess in zip(truths, guesses, strict=True)]
    kept = [(collections.Counter(wanted) & collections.Counter(found)).total() for wanted, found in pairs]
    same = sum(wanted == found for wanted, found in pairs)
    return {"exact": share(same, len(pairs)), "tokens": clustered_share(kept, [len(wanted) for wanted, _ in pairs])}
