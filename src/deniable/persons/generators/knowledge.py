"""What every generator may see of a private collection, and how synthetic texts get their classes.

All fields of `ReleasedKnowledge` are public, declared, or functions of noisy sums. A generator is a randomized
function of them, of public texts and of a seed, so by post-processing (Dwork and Roth 2014, Proposition 2.1) its
texts satisfy whatever guarantee the noisy sums satisfy together, however many texts are drawn and whatever is chosen
among them.
"""

import abc
import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import check_count
from deniable.persons.classifier import LinearClassifier
from deniable.persons.histograms import LENGTH_EDGES
from deniable.persons.style import Style

UNCERTAIN_SHARE = 0.1
"""Share of the texts that are dropped: those of whose class the classifier is least certain."""
_BALANCING_STEPS = 50
_LEAST_PROBABILITY = 1e-12


@dataclasses.dataclass(frozen=True, eq=False)
class ReleasedKnowledge:
    """What was released of a collection with K classes.

    Attributes:
        classifier: of the K classes.
        class_shares: (K,) estimated shares; they sum to 1.
        length_shares: (L,) estimated shares of texts in the bins of `LENGTH_EDGES`; they sum to 1.
        style: shares of a language model's tokens; None where texts are written without one.
    """

    classifier: LinearClassifier
    class_shares: FloatArray
    length_shares: FloatArray
    style: Style | None = None

    def draw_codes(self, count: int, generator: np.random.Generator) -> IntArray:
        """Return (count,) classes whose frequencies are the shares up to rounding, in random order."""
        edges = np.rint(np.cumsum(self.class_shares) * count).astype(np.int64)
        return generator.permutation(np.repeat(np.arange(len(edges)), np.diff(edges, prepend=0)))

    def draw_lengths(self, count: int, generator: np.random.Generator) -> IntArray:
        """Return (count,) numbers of tokens: a bin by its share, and a number of the bin uniformly."""
        bins = generator.choice(len(self.length_shares), count, p=self.length_shares / self.length_shares.sum())
        return generator.integers(LENGTH_EDGES[bins], LENGTH_EDGES[bins + 1])

    def draft_by_class(
        self, codes: IntArray, generator: np.random.Generator, draft: Callable[[int, IntArray], list[str]]
    ) -> list[str]:
        """Return a text for each class number (n,), of drawn lengths; ``draft`` writes those of a class together."""
        lengths = self.draw_lengths(len(codes), generator)
        drafts = [""] * len(codes)
        for code in np.unique(codes).tolist():
            members = np.flatnonzero(codes == code)
            for place, text in zip(members.tolist(), draft(code, lengths[members]), strict=True):
                drafts[place] = text
        return drafts


class TextGenerator(abc.ABC):
    """A way to write texts from what was released, from what is public and from a public seed.

    Subclasses are frozen dataclasses, whose fields are public, declared or released.
    """

    def describe(self) -> dict[str, Any]:
        """Return what a certificate says of the generator beside its name, once it has written."""
        return {}

    @abc.abstractmethod
    def write_drafts(self, knowledge: ReleasedKnowledge, count: int, seed: int) -> list[str]:
        """Return so many texts, whose classes and lengths have about the released shares."""

    def write_texts(self, knowledge: ReleasedKnowledge, rows: int, *, seed: int) -> tuple[list[str], IntArray]:
        """Return texts and the numbers of their classes: those that are left when the least certain drafts are dropped.

        Raises:
            InputError: no row is asked for, or the generator cannot write.
        """
        check_count(type(self).__name__, "rows", rows)
        count = math.ceil(rows / (1 - UNCERTAIN_SHARE))
        return label_texts(knowledge, self.write_drafts(knowledge, count, seed), rows)


def label_texts(knowledge: ReleasedKnowledge, texts: Sequence[str], rows: int) -> tuple[list[str], IntArray]:
    """Return the texts of whose classes the classifier is most certain, in their order, and these classes.

    Args:
        knowledge: its classifier and the shares of its classes are used.
        texts: at least ``rows``.
        rows: number of texts to return.
    """
    probabilities = balance_probabilities(knowledge.classifier.predict_probabilities(texts), knowledge.class_shares)
    certainties = probabilities.max(axis=1)
    places = np.sort(np.argsort(-certainties, kind="stable")[:rows])
    return [texts[place] for place in places.tolist()], probabilities.argmax(axis=1)[places]


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
