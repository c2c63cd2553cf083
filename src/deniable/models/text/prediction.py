"""What text classifiers predict of texts as they stand in a table."""

import dataclasses
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from scipy import special

from deniable.core.arrays import BoolArray, FloatArray
from deniable.learning.artifact import Artifact
from deniable.models.text.documents import Documents, TokenizedTexts, tokenize_texts
from deniable.models.text.model import TextModel, restore_text_model
from deniable.space import Space

_TEXTS_AT_ONCE = 4096
"""Texts that are cut into words together."""


class TextPredictor(Protocol):
    """A classifier of texts."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of its K classes."""

    def predict_probabilities(self, texts: Sequence[str]) -> FloatArray:
        """Return the probabilities (n, K) of the classes of n texts; NaN for a text that the classifier cannot read."""

    def count_unknown_words(self, texts: Sequence[str]) -> tuple[int, int]:
        """Return how many words of some texts the classifier does not know, and how many words there are."""


@dataclasses.dataclass(frozen=True)
class SpacePredictor:
    """A text classifier with the space whose words it reads.

    Attributes:
        model: trained on this space.
        space: of the model.
    """

    model: TextModel
    space: Space

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the K classes."""
        return self.model.classes

    def predict_probabilities(self, texts: Sequence[str], premises: Sequence[str] | None = None) -> FloatArray:
        """Return the probabilities (n, K) of the classes: the softmax of the logits.

        A text without a word of the space, or with more words than the network takes, has NaN: no text is cut.

        Args:
            texts: n texts.
            premises: n premises for a classifier of pairs, None for one of single texts.
        """
        probabilities = np.full((len(texts), len(self.classes)), np.nan)
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            part = slice(start, start + _TEXTS_AT_ONCE)
            probabilities[part] = self._predict_part(texts[part], None if premises is None else premises[part])
        return probabilities

    def count_unknown_words(self, texts: Sequence[str]) -> tuple[int, int]:
        """Return how many words of some texts the space lacks, and how many words there are."""
        tokenized = tokenize_texts(self.space, texts)
        return tokenized.unknown_count, tokenized.unknown_count + len(tokenized.texts.words)

    def _predict_part(self, texts: Sequence[str], premises: Sequence[str] | None) -> FloatArray:
        tokenized_texts = tokenize_texts(self.space, texts)
        tokenized_premises = None if premises is None else tokenize_texts(self.space, premises)
        is_readable = self._find_readable(tokenized_texts)
        if tokenized_premises is not None:
            is_readable &= self._find_readable(tokenized_premises)
        rows = np.flatnonzero(is_readable)
        probabilities = np.full((len(texts), len(self.classes)), np.nan)
        if len(rows):
            documents = Documents(
                tokenized_texts.texts.take(rows),
                np.zeros(len(rows), dtype=np.int64),
                self.classes,
                None if tokenized_premises is None else tokenized_premises.texts.take(rows),
            )
            logits = self.model.network.make_scorer(documents)(documents.texts, np.arange(len(rows)))
            probabilities[rows] = special.softmax(logits.astype(np.float64), axis=1)
        return probabilities

    def _find_readable(self, tokenized: TokenizedTexts) -> BoolArray:
        """Return (n,) whether the network takes each text."""
        lengths = tokenized.texts.lengths
        is_readable: BoolArray = (lengths > 0) & (lengths <= self.model.network.max_words)
        return is_readable


def restore_space_predictor(artifact: Artifact, space: Space) -> SpacePredictor:
    """Rebuild a text classifier from its file.

    Raises:
        InputError: the file is damaged, or the model was trained on another space.
    """
    return SpacePredictor(restore_text_model(artifact, space), space)
