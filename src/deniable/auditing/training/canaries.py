"""Canaries for classifiers of texts: texts of rare words, whose labels say nothing about the words."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from deniable.core.errors import InputError, check_count

WORDS_PER_CANARY = 8
_OWNER = "draw_canaries"


@dataclasses.dataclass(frozen=True)
class CanaryText:
    """A record that an audit adds to a training set.

    Attributes:
        text: words with spaces between.
        label: class number.
    """

    text: str
    label: int


def draw_canaries(
    words: Sequence[str], canaries: int, classes: int, *, words_per_canary: int = WORDS_PER_CANARY, seed: int = 0
) -> list[CanaryText]:
    """Return texts that share no word, with labels at random, as many of each class as of the others but for one.

    A model that learned such a text has nothing else to learn its words from, and what it learned of others cancels.

    Args:
        words: public words that the private records hardly use, in any order.
        canaries: m texts.
        classes: K; labels are below it.
        words_per_canary: words of each text.
        seed: public.

    Raises:
        InputError: fewer words than m texts need, or a number below 1.
    """
    check_count(_OWNER, "canaries", canaries)
    check_count(_OWNER, "classes", classes)
    check_count(_OWNER, "words_per_canary", words_per_canary)
    listed = list(dict.fromkeys(words))
    if len(listed) < canaries * words_per_canary:
        raise InputError(
            f"{canaries:,} canaries of {words_per_canary} words each need {canaries * words_per_canary:,} different "
            f"words. Got {len(listed):,}: give more words, or make fewer or shorter canaries."
        )
    random = np.random.default_rng(seed)
    places = random.permutation(len(listed))[: canaries * words_per_canary].reshape(canaries, words_per_canary)
    labels = random.permutation(np.arange(canaries) % classes)
    return [
        CanaryText(" ".join(listed[place] for place in row), label)
        for row, label in zip(places.tolist(), labels.tolist(), strict=True)
    ]
