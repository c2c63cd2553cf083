"""Texts that a released one may come from: those of a corpus, and those that a model of its language proposes."""

import collections
import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from deniable.core.errors import InputError, make_parameter_error
from deniable.core.intervals import Estimate, estimate_clustered_share, estimate_share
from deniable.rewriting.tokens import END, START, UNKNOWN, Vocabulary, split_tokens

TRIGRAM_WEIGHTS = (0.75, 0.2, 0.05)
"""How often the next token is drawn given the last two, the last one, and none."""
_DRAWS_PER_PROPOSAL = 50
"""Draws for each proposal asked for, before a corpus is taken to be too small."""


def drop_indistinguishable_texts(texts: Iterable[str], vocabulary: Vocabulary) -> list[str]:
    """Return the texts in their order, the first of each that a model reads alike.

    Two texts whose tokens have the same numbers have the same vector, and no attacker can tell one from the other.
    """
    distinct_texts: dict[tuple[int, ...], str] = {}
    for text in texts:
        distinct_texts.setdefault(tuple(vocabulary.to_ids(text)), text)
    return list(distinct_texts.values())


@dataclasses.dataclass(frozen=True)
class TrigramModel:
    """A language model that knows two tokens back: an interpolation of relative frequencies (Jelinek and Mercer 1980).

    Attributes:
        followers: of contexts of two, one and no tokens, whatever came next in the corpus, as often as it came.
    """

    followers: tuple[Mapping[tuple[int, ...], Sequence[int]], ...]

    @classmethod
    def fit(cls, texts: Iterable[Sequence[int]]) -> "TrigramModel":
        """Return the model of texts, each the numbers of its tokens.

        Raises:
            InputError: no texts.
        """
        followers_by_order: tuple[dict[tuple[int, ...], list[int]], ...] = tuple(
            collections.defaultdict(list) for _ in TRIGRAM_WEIGHTS
        )
        for text in texts:
            tokens = (START, START, *text, END)
            for position in range(2, len(tokens)):
                for order, followers in zip((2, 1, 0), followers_by_order, strict=True):
                    followers[tokens[position - order : position]].append(tokens[position])
        if not followers_by_order[-1]:
            raise InputError("A language model needs at least one text. Got none: give a corpus.")
        return cls(tuple(dict(followers) for followers in followers_by_order))

    def draw_tokens(self, rng: np.random.Generator, max_tokens: int) -> tuple[int, ...]:
        """Return the numbers of one text; cut off behind ``max_tokens`` tokens."""
        tokens = [START, START]
        while len(tokens) < max_tokens + 2:
            context = (tokens[-2], tokens[-1])
            known_followers = [followers[context[2 - order :]] for order, followers in zip((2, 1, 0), self.followers, strict=True)
                     if context[2 - order :] in followers]  # fmt: skip
            shares = np.cumsum(TRIGRAM_WEIGHTS[-len(known_followers) :])
            chosen_followers = known_followers[int(np.searchsorted(shares, rng.random() * shares[-1], "right"))]
            next_token = chosen_followers[int(rng.integers(len(chosen_followers)))]
            if next_token == END:
                break
            tokens.append(next_token)
        return tuple(tokens[2:])


def propose_texts(texts: Sequence[str], vocabulary: Vocabulary, count: int, *, max_tokens: int, seed: int) -> list[str]:
    """Return distinct texts, none of them among those given, that a language model of these proposes.

    "We can train a LM on ATIS to generate a feasible search space of input utterances" (Habernal 2021, Appendix C).

    Args:
        texts: the attacker's corpus.
        vocabulary: of the model under attack, which is public.
        count: how many to propose.
        max_tokens: tokens of the longest.
        seed: of the draws.

    Raises:
        InputError: a count below 1, or so small a corpus that so many new texts are not found.
    """
    if count < 1:
        raise make_parameter_error("proposals", "count", "an int of at least 1", count)
    known = {tuple(vocabulary.to_ids(text)) for text in texts}
    model = TrigramModel.fit(sorted(known))
    rng = np.random.default_rng(seed)
    proposed: dict[tuple[int, ...], None] = {}
    for _ in range(_DRAWS_PER_PROPOSAL * count):
        tokens = model.draw_tokens(rng, max_tokens)
        if tokens and tokens not in known and UNKNOWN not in tokens:
            proposed[tokens] = None
        if len(proposed) == count:
            return [vocabulary.to_text(token_ids) for token_ids in proposed]
    raise InputError(
        f"The corpus of {len(texts)} texts leads to {len(proposed)} new ones only. Got a count of {count}."
    )


def measure_guesses(truths: Sequence[str], guesses: Sequence[str]) -> dict[str, Estimate]:
    """Return how much of some texts there is in guesses at them.

    Returns:
        ``exact``: share of the texts that are guessed token by token. ``tokens``: share of their tokens that the
        guesses hold, each as often as both hold it, wherever they stand.
    """
    pairs = [(split_tokens(truth), split_tokens(guess)) for truth, guess in zip(truths, guesses, strict=True)]
    shared_counts = [
        (collections.Counter(true_tokens) & collections.Counter(guessed_tokens)).total()
        for true_tokens, guessed_tokens in pairs
    ]
    exact_matches = sum(true_tokens == guessed_tokens for true_tokens, guessed_tokens in pairs)
    return {
        "exact": estimate_share(exact_matches, len(pairs)),
        "tokens": estimate_clustered_share(shared_counts, [len(true_tokens) for true_tokens, _ in pairs]),
    }
