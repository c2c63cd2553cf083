"""A linear classifier of texts, whose weights are private and whose features are public."""

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError
from deniable.core.guarantees import Guarantee, Verdict
from deniable.persons.collection import PublicKnowledge
from deniable.persons.features import FeatureMap
from deniable.persons.linear_training import compute_contrasts, fit_public_weights
from deniable.text.tokens import count_unknown_words

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from deniable.learning.artifact import Artifact

LINEAR_CLASSIFIER_KIND = "linear text classifier"
_TEXTS_PER_BATCH = 4_096
_MAX_CLASSES = 4_096
"""Classes of a file, whose contrasts take their square in memory; those of so many texts take no less."""


@dataclasses.dataclass(frozen=True)
class LinearClassifier:
    """A softmax classifier on public features of texts.

    Attributes:
        feature_map: public.
        classes: K names, declared or public.
        weights: (D, K - 1) in the contrasts of the classes.
        guarantee: of the training records; None where there were none, and for a model that was read from a file, which
            cannot show how it was trained.
        verdict: on that guarantee.
        facts: about the training, as JSON holds them; they go into the model card. Of a file they are what it states.
    """

    feature_map: FeatureMap
    classes: tuple[str, ...]
    weights: FloatArray
    guarantee: Guarantee | None
    verdict: Verdict | None
    facts: dict[str, Any]

    @functools.cached_property
    def class_weights(self) -> FloatArray:
        """Weights (D, K) of each class; those of one feature sum to 0."""
        class_weights: FloatArray = self.weights @ compute_contrasts(len(self.classes)).T
        return class_weights

    @functools.cached_property
    def word_weights(self) -> FloatArray:
        """What an occurrence of a word adds to the score of each class, before a text is scaled (V, K)."""
        words = slice(1, 1 + len(self.feature_map.words))
        word_weights: FloatArray = self.feature_map.weights[words, None] * self.class_weights[words]
        return word_weights

    def score_features(self, rows: "csr_array") -> FloatArray:
        """Return (n, K) the scores of texts, given their features (n, D)."""
        scores: FloatArray = rows @ self.class_weights
        return scores

    def predict_probabilities(self, texts: Sequence[str]) -> FloatArray:
        """Return (n, K) the probability of each class for each text."""
        probabilities = np.empty((len(texts), len(self.classes)))
        for start in range(0, len(texts), _TEXTS_PER_BATCH):
            batch = slice(start, start + _TEXTS_PER_BATCH)
            scores = self.score_features(self.feature_map.extract_features(texts[batch]))
            exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
            probabilities[batch] = exponentials / exponentials.sum(axis=1, keepdims=True)
        return probabilities

    def count_unknown_words(self, texts: Sequence[str]) -> tuple[int, int]:
        """Return how many words of some texts are not listed, and how many words there are."""
        return count_unknown_words(texts, self.feature_map)

    def to_artifact(self) -> "Artifact":
        """Return the model as a file holds it, without what is claimed of it."""
        import torch

        from deniable.learning.artifact import Artifact

        configuration = {
            "words": list(self.feature_map.words),
            "pairs": list(self.feature_map.pairs),
            "features": self.feature_map.source,
            "classes": list(self.classes),
        }
        tensors = {
            "weights": torch.from_numpy(self.weights),
            "feature weights": torch.from_numpy(self.feature_map.weights),
        }
        return Artifact(LINEAR_CLASSIFIER_KIND, configuration, tensors, self.facts)


def restore_linear_classifier(artifact: "Artifact") -> LinearClassifier:
    """Rebuild a classifier from what its file holds.

    Raises:
        InputError: the file is damaged.
    """
    from deniable.learning.artifact import reraise_corrupt_file

    content = artifact.configuration
    with reraise_corrupt_file(artifact.path):
        feature_weights = artifact.weights["feature weights"].double().numpy()
        feature_map = FeatureMap(
            tuple(map(str, content["words"])),
            tuple(map(str, content["pairs"])),
            feature_weights,
            np.zeros((len(feature_weights), 0)),  # only training needs the heavy directions
            str(content["features"]),
        )
        weights, classes = artifact.weights["weights"].double().numpy(), tuple(map(str, content["classes"]))
        if len({*classes}) < len(classes) or len(classes) > _MAX_CLASSES:
            raise InputError("a class twice, or too many of them")
        if weights.shape != (len(feature_map), len(classes) - 1) or not np.isfinite(weights).all():
            raise InputError("weights of another shape, or not finite")
    return LinearClassifier(feature_map, classes, weights, None, None, artifact.facts)


def load_linear_classifier(path: str | Path) -> LinearClassifier:
    """Read a private classifier that `deniable.learning.artifact.save_model` wrote.

    Raises:
        InputError: no such file, or it is no linear classifier of texts.
    """
    from deniable.learning.artifact import read_artifact

    return restore_linear_classifier(read_artifact(path, LINEAR_CLASSIFIER_KIND))


def fit_public_classifier(public: PublicKnowledge, classes: tuple[str, ...]) -> LinearClassifier:
    """Return a classifier that public texts with labels teach: the baseline that no private record had a part in.

    Raises:
        InputError: the public texts have no labels.
    """
    if public.labels is None or not public.has_labels:
        raise InputError("A public classifier needs public texts with labels: name their column with --public-label.")
    labelled_rows = np.flatnonzero(public.labels >= 0)
    feature_map = public.feature_map
    features = feature_map.extract_features([public.texts[row] for row in labelled_rows.tolist()])
    weights = fit_public_weights(features, public.labels[labelled_rows], feature_map, len(classes))
    return LinearClassifier(feature_map, classes, weights, None, None, {"features": feature_map.source})
