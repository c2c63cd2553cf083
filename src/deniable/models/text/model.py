"""A trained text classifier: its network, the space whose words it reads, and what it predicts."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from scipy import special

from deniable.core.arrays import BoolArray, FloatArray
from deniable.core.errors import InputError, shorten_text
from deniable.core.guarantees import Guarantee, Verdict, limit_status
from deniable.learning.artifact import (
    Artifact,
    check_weight_shapes,
    load_weights,
    read_artifact,
    reraise_corrupt_file,
)
from deniable.learning.loop import build_with_seed
from deniable.measure.intervals import Estimate, estimate_share
from deniable.models.text.documents import Documents, RowIndices, tokenize_texts
from deniable.models.text.networks import build_text_network, select_text_network
from deniable.models.text.networks.base import TextNetwork, make_text_batch
from deniable.models.text.substitutions import Substitutions
from deniable.space import Space

TEXT_MODEL_KIND = "text model"
_DOCUMENTS_PER_BATCH = 64
"""Documents whose bounds are computed at once."""
_TEXTS_AT_ONCE = 4096
"""Texts that are cut into words together."""
_MAX_SHOWN = 200
"""Characters of what a file says of its space that a message shows."""


@dataclasses.dataclass(frozen=True)
class TextModel:
    """A classifier of texts.

    Attributes:
        name: one of `deniable.models.text.networks.TEXT_NETWORKS` or `PRIVATE_TEXT_NETWORKS`.
        network: with its weights, in evaluation mode.
        classes: their names.
        space_fingerprint: fingerprint of the space.
        space_source: of the space, in words.
        facts: about the run, as JSON holds them; they go into the model card. Of a file they are what it states.
        verdict: on what is claimed of the training records; None where nothing is claimed, and for a model that was
            read from a file, which cannot show how it was trained.
    """

    name: str
    network: TextNetwork
    classes: tuple[str, ...]
    space_fingerprint: str
    space_source: str
    facts: dict[str, Any]
    verdict: Verdict | None = None

    @property
    def pairs(self) -> bool:
        """Whether a document is a premise and a text."""
        return self.network.takes_pairs

    @property
    def guarantee(self) -> Guarantee | None:
        """What is claimed of the training records, with the status of its verdict; None where nothing is claimed."""
        return None if self.verdict is None else limit_status(self.verdict.guarantee, self.verdict)

    def to_artifact(self) -> Artifact:
        """Return the model as a file holds it, without the space's own vectors and without what is claimed of it."""
        configuration = {
            "network": self.name,
            "classes": list(self.classes),
            "pairs": self.pairs,
            "space": self.space_fingerprint,
            "source": self.space_source,
        }
        return Artifact(TEXT_MODEL_KIND, configuration, self.network.state_dict(), self.facts)

    def predict(self, documents: Documents) -> RowIndices:
        """Return the classes (n,) of documents."""
        rows = np.arange(len(documents))
        predictions: RowIndices = self.network.make_scorer(documents)(documents.texts, rows).argmax(axis=1)
        return predictions


def get_space_identity(space: Space) -> tuple[str, str]:
    """Return the fingerprint and the source of a space, by which the file of a model names it.

    Raises:
        InputError: a space that cannot be named.
    """
    if space.fingerprint is None:
        raise InputError(
            f"A model of texts needs a space whose metric has a name, so that its file can name the space. Got "
            f"{space.metric}: use 'euclidean'."
        )
    return space.fingerprint, space.source


def check_documents_fit(network: TextNetwork | type[TextNetwork], documents: Documents) -> None:
    """Raise `InputError` where a network does not take some documents; texts are never truncated."""
    if network.takes_pairs and documents.premises is None:
        raise InputError("The model is for pairs of texts: name the column of the premise with --premise.")
    if not network.takes_pairs and documents.premises is not None:
        raise InputError("The model is for single texts, not pairs: leave out --premise.")
    for name, texts in (("text", documents.texts), ("premise", documents.premises)):
        if texts is None or not len(texts):
            continue
        lengths = texts.lengths
        row = int(lengths.argmax())
        if lengths[row] > network.max_words:
            raise InputError(
                f"The {name} of row {row + 1} has {lengths[row]:,} words, and the model takes {network.max_words:,}: "
                "split it, or leave it out."
            )
        row = int(lengths.argmin())
        if lengths[row] == 0:
            raise InputError(f"The {name} of row {row + 1} has no word that the space knows: leave it out.")


def measure_text_accuracy(model: TextModel, documents: Documents) -> Estimate:
    """Return the share of documents that get their label.

    Raises:
        InputError: documents that the model does not take.
    """
    check_documents_fit(model.network, documents)
    return estimate_share(int((model.predict(documents) == documents.labels).sum()), len(documents))


def certify_by_intervals(model: TextModel, documents: Documents, sets: Substitutions) -> BoolArray:
    """Return (n,) whether each document is right, whatever choices stand for its words (Jia et al. 2019).

    Raises:
        InputError: documents that the model does not take.
    """
    check_documents_fit(model.network, documents)
    is_certified = []
    with torch.inference_mode():
        for start in range(0, len(documents), _DOCUMENTS_PER_BATCH):
            batch = make_text_batch(documents.take(np.arange(start, min(start + _DOCUMENTS_PER_BATCH, len(documents)))))
            margins = model.network.compute_margin_bounds(batch, sets)  # (b, K)
            is_other_class = torch.arange(margins.shape[1]) != batch.labels[:, None]
            is_certified.append(((margins > 0) | ~is_other_class).all(1).numpy())
    return np.concatenate(is_certified)


def restore_text_model(artifact: Artifact, space: Space) -> TextModel:
    """Rebuild a model from what its file holds.

    Args:
        artifact: of the file.
        space: that the model was trained on.

    Raises:
        InputError: the file is damaged, or the model was trained on another space.
    """
    content = artifact.configuration
    if content.get("space") != space.fingerprint:
        source, fingerprint = (shorten_text(str(content.get(name)), _MAX_SHOWN) for name in ("source", "space"))
        raise InputError(
            f"The model {str(artifact.path)!r} was trained on the words of {source} (fingerprint "
            f"{fingerprint}). Got {space.source} (fingerprint {space.fingerprint}): name the first with --space."
        )
    with reraise_corrupt_file(artifact.path):
        classes, pairs = tuple(map(str, content["classes"])), bool(content["pairs"])
        if len({*classes}) < len(classes):
            raise InputError("a class twice")
        vectors = torch.tensor(space.vectors, dtype=torch.float32)
        kind = select_text_network(content["network"], pairs=pairs)
        check_weight_shapes(lambda: kind(vectors, len(classes)), artifact.weights)
        network = build_with_seed(0, lambda: build_text_network(content["network"], space, len(classes), pairs=pairs))
        load_weights(network, artifact.weights)
        return TextModel(content["network"], network, classes, content["space"], content["source"], artifact.facts)


def load_text_model(path: str | Path, space: Space) -> TextModel:
    """Read a text model that `deniable.learning.artifact.save_model` wrote.

    Args:
        path: of the file.
        space: that the model was trained on.

    Raises:
        InputError: no such file, it is no text model, or it was trained on another space.
    """
    return restore_text_model(read_artifact(path, TEXT_MODEL_KIND), space)


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
            own = tokenize_texts(self.space, texts[part])
            before = None if premises is None else tokenize_texts(self.space, premises[part])
            lengths = np.array([one.texts.lengths for one in (own, before) if one is not None])
            rows = np.flatnonzero(((lengths > 0) & (lengths <= self.model.network.max_words)).all(axis=0))
            if len(rows):
                premise = None if before is None else before.texts.take(rows)
                labels = np.zeros(len(rows), dtype=np.int64)
                documents = Documents(own.texts.take(rows), labels, self.classes, premise)
                logits = self.model.network.make_scorer(documents)(documents.texts, np.arange(len(rows)))
                probabilities[start + rows] = special.softmax(logits.astype(np.float64), axis=1)
        return probabilities

    def count_unknown_words(self, texts: Sequence[str]) -> tuple[int, int]:
        """Return how many words of some texts the space lacks, and how many words there are."""
        tokenized = tokenize_texts(self.space, texts)
        return tokenized.unknown_count, tokenized.unknown_count + len(tokenized.texts.words)
