"""What every generator may see of a private collection, and how synthetic texts get their classes.

All fields of `ReleasedKnowledge` are public, declared, or functions of noisy sums. A generator is a randomized
function of them, of public texts and of a seed, so by post-processing (Dwork and Roth 2014, Proposition 2.1) its
texts satisfy whatever guarantee the noisy sums satisfy together, however many texts are drawn and whatever is chosen
among them.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError

UNCERTAIN_SHARE = 0.1
"""Share of the texts that are dropped: those of whose class the classifier is least certain."""
_BALANCING_STEPS = 50
_LEAST_PROBABILITY = 1e-12


class ReleasedClassifier(Protocol):
    """A text classifier that was trained with noise."""

    def predict_probabilities(self, texts: Sequence[str]) -> FloatArray:
        """Return (n, K) the probability of each class."""


@dataclasses.dataclass(frozen=True, eq=False)
class ReleasedKnowledge:
    """What was released of a collection with K classes, and the public names of classes and words.

    Attributes:
        classes: K names.
        class_shares: (K,) estimated shares; they sum to 1.
        length_edges: (L + 1,) ascending; bin i holds texts of length_edges[i] ... length_edges[i + 1] - 1 tokens.
        length_shares: (L,) estimated shares; they sum to 1.
        classifier: of the K classes.
        words: V public words, as `split_tokens` spells them.
        word_weights: (V, K) what an occurrence of a word adds to the classifier's score of each class.

    Raises:
        InputError: the parts do not match, or shares are no shares.
    """

    classes: tuple[str, ...]
    class_shares: FloatArray
    length_edges: IntArray
    length_shares: FloatArray
    classifier: ReleasedClassifier
    words: tuple[str, ...]
    word_weights: FloatArray

    def __post_init__(self) -> None:
        classes = len(self.classes)
        if self.class_shares.shape != (classes,) or self.word_weights.shape != (len(self.words), classes):
            raise InputError(
                f"{classes} classes and {len(self.words)} words need a share of each class and a weight of "
                f"each word in each class. Got shapes {self.class_shares.shape}, {self.word_weights.shape}."
            )
        if len(self.length_edges) != len(self.length_shares) + 1 or self.length_edges[0] < 1:
            raise InputError(
                f"{len(self.length_shares)} shares of lengths need one edge more, from 1. "
                f"Got {self.length_edges.tolist()}."
            )
        for name, shares in (("classes", self.class_shares), ("lengths", self.length_shares)):
            if np.any(shares < 0) or not math.isclose(shares.sum(), 1, abs_tol=1e-6):
                raise InputError(f"Shares of {name} must not be negative and sum to 1. Got {shares.tolist()}.")

    def draw_codes(self, count: int, generator: np.random.Generator) -> IntArray:
        """Return (count,) classes whose frequencies are the shares up to rounding, in random order."""
        edges = np.rint(np.cumsum(self.class_shares) * count).astype(np.int64)
        return generator.permutation(np.repeat(np.arange(len(self.classes)), np.diff(edges, prepend=0)))

    def draw_lengths(self, count: int, generator: np.random.Generator) -> IntArray:
        """Return (count,) numbers of tokens: a bin by its share, and a number of the bin uniformly."""
        bins = generator.choice(len(self.length_shares), count, p=self.length_shares / self.length_shares.sum())
        return generator.integers(self.length_edges[bins], self.length_edges[bins + 1])


@dataclasses.dataclass(frozen=True, eq=False)
class SyntheticTexts:
    """Texts that a generator wrote, with their classes.

    Attributes:
        texts: n.
        codes: (n,) numbers of their classes.
        certainties: (n,) probability of the class.
    """

    texts: list[str]
    codes: IntArray
    certainties: FloatArray


def count_drafts(rows: int) -> int:
    """Return how many texts a generator writes so that ``rows`` remain after the least certain are dropped."""
    return math.ceil(rows / (1 - UNCERTAIN_SHARE))


def label_texts(knowledge: ReleasedKnowledge, texts: Sequence[str], rows: int) -> SyntheticTexts:
    """Return the texts of whose classes the classifier is most certain, in their order.

    Args:
        knowledge: its classifier and the shares of its classes are used.
        texts: at least ``rows``.
        rows: number of texts to return.
    """
    probabilities = balance_probabilities(knowledge.classifier.predict_probabilities(texts), knowledge.class_shares)
    certainties = probabilities.max(axis=1)
    places = np.sort(np.argsort(-certainties, kind="stable")[:rows])
    return SyntheticTexts(
        [texts[place] for place in places.tolist()], probabilities.argmax(axis=1)[places], certainties[places]
    )


def balance_probabilities(probabilities: FloatArray, shares: FloatArray) -> FloatArray:
    """Return probabilities (n, K) scaled by one factor per class, so that their mean over the texts is the shares (K,).

    Public texts may lean towards one class as a whole; synthetic texts made from them should not. With factors f the
    probability of class y for text t becomes f_y p(y|t) / sum_k f_k p(k|t).
    """
    probabilities = np.maximum(probabilities, _LEAST_PROBABILITY)
    factors = np.ones(len(shares))
    for _ in range(_BALANCING_STEPS):
        scaled = probabilities * factors
        means = (scaled / scaled.sum(axis=1, keepdims=True)).mean(axis=0)
        # A class that no text has keeps a bounded factor.
        factors = np.clip(factors * shares / np.maximum(means, 1e-12), 1e-6, 1e6)
    scaled = probabilities * factors
    balanced: FloatArray = scaled / np.maximum(scaled.sum(axis=1, keepdims=True), 1e-300)
    return balanced
