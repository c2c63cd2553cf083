"""Training a text classifier: with the usual loss, with certified bounds, or with perturbed copies of the texts."""

import dataclasses
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from deniable.core.errors import InputError, check_count, check_number_within, make_parameter_error
from deniable.learning.loop import AdamRun, LengthBucketSampler
from deniable.models.text.documents import Documents, concatenate_texts
from deniable.models.text.networks.base import TextBatch, TextNetwork, make_text_batch
from deniable.models.text.substitutions import SubstituteSource, Substitutions, draw_copies

TEXT_TRAINING_METHODS = ("normal", "ibp", "augmented")
METHOD_OF_OPTION = {"kappa": "ibp", "ramp": "ibp", "copies": "augmented"}
"""Options of a single method."""
_DEFAULTS_OF_MODEL: dict[str, dict[str, Any]] = {"fasttext": {"learning_rate": 1e-2, "weight_decay": 0.0, "clip": None}}
_DEFAULT_EPOCHS, _MIN_STEPS = 10, 1_000
_MAX_COUNT = 100_000
_MIN_VALUE, _MAX_VALUE = 1e-30, 1e30
"""Range of values, well inside that of float32."""


@dataclasses.dataclass(frozen=True)
class TextTrainingOptions:
    """Options of a training run; the defaults are those of Jia et al. 2019, section 5.1 and Appendix A.

    Their 10 epochs are 6,000 steps on 20,000 reviews, but too few steps on a small table, which gets more epochs.

    Attributes:
        method: one of `TEXT_TRAINING_METHODS`.
        epochs: passes over the documents; None for 10, or for as many as make 1,000 steps where 10 are fewer.
        batch_size: documents of a step.
        learning_rate: learning rate of the optimizer.
        weight_decay: weight decay of the optimizer.
        clip: l2 norm to which a gradient is clipped; None for no clipping.
        kappa: weight of the worst-case loss at the end of the ramp.
        ramp: share of the steps over which kappa and the size of the boxes grow from 0, linearly.
        copies: perturbed copies of each document, for the method augmented.
    """

    method: str = "normal"
    epochs: int | None = None
    batch_size: int = 32
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    clip: float | None = 0.25
    kappa: float = 0.8
    ramp: float = 2 / 3
    copies: int = 4

    def __post_init__(self) -> None:
        if self.method not in TEXT_TRAINING_METHODS:
            raise make_parameter_error("training", "method", f"one of {', '.join(TEXT_TRAINING_METHODS)}", self.method)
        check_number_within("training", "learning_rate", self.learning_rate, _MIN_VALUE, _MAX_VALUE)
        if self.clip is not None:
            check_number_within("training", "clip", self.clip, _MIN_VALUE, _MAX_VALUE)
        for name in ("kappa", "ramp", "weight_decay"):
            check_number_within("training", name, getattr(self, name), 0, 1)
        if self.epochs is not None:
            check_count("training", "epochs", self.epochs, maximum=_MAX_COUNT)
        for name in ("batch_size", "copies"):
            check_count("training", name, getattr(self, name), maximum=_MAX_COUNT)

    def resolve_epochs(self, documents: int) -> "TextTrainingOptions":
        """Return the options with the number of epochs over so many documents."""
        if self.epochs is not None:
            return self
        texts_per_document = 1 + self.copies if self.method == "augmented" else 1
        batches = -(-documents * texts_per_document // self.batch_size)
        return dataclasses.replace(self, epochs=max(_DEFAULT_EPOCHS, -(-_MIN_STEPS // batches)))


def make_text_training_options(model: str, **given: object) -> TextTrainingOptions:
    """Return the default options of a model, with the given ones in their place.

    FastText learns embeddings, and a batch has no gradient for a word that it lacks: it takes a larger learning rate,
    and no weight decay, by which Adam would move all such words towards 0 at full speed.

    Args:
        model: one of `deniable.models.text.networks.TEXT_NETWORKS`.
        given: fields of `TextTrainingOptions`.

    Raises:
        InputError: an option of another method, or a bad value.
    """
    options = TextTrainingOptions(**{**_DEFAULTS_OF_MODEL.get(model, {}), **given})
    for name, method in METHOD_OF_OPTION.items():
        if name in given and options.method != method:
            raise InputError(
                f"The {name!r} option belongs to the method {method}, not to {options.method}: leave it out."
            )
    return options


def prepare_text_run(
    network: TextNetwork,
    documents: Documents,
    options: TextTrainingOptions,
    source: SubstituteSource | None,
    key: bytes,
) -> AdamRun:
    """Return a training run that has not begun.

    Args:
        network: trained in place.
        documents: to learn from.
        options: see `TextTrainingOptions`.
        source: the substitutions that ibp bounds, or the source of the replacement words of augmented.
        key: 32 bytes, which determine batches, copies and dropout.

    Raises:
        InputError: documents that the network does not take, or a method without its source.
    """
    check_documents_fit(network, documents)
    check_substitute_source(options, source)
    epochs = options.resolve_epochs(len(documents)).epochs or 0
    if options.method == "augmented" and source is not None:
        documents = augment_documents(documents, source, options.copies, key)
    device = next(network.parameters()).device
    sampler = LengthBucketSampler(documents.texts.lengths, options.batch_size, key)
    steps = epochs * sampler.batches_per_epoch

    def loss(number: int, rng: torch.Generator) -> Tensor:
        network.rng = rng
        batch = make_text_batch(documents.take(sampler(number)), device)
        if options.method != "ibp" or not isinstance(source, Substitutions):
            return functional.cross_entropy(network(batch), batch.labels)
        progress = min(1.0, number / max(1.0, options.ramp * steps))
        return compute_ibp_loss(network, batch, source, kappa=options.kappa * progress, scale=progress)

    return AdamRun(
        network,
        loss,
        steps,
        options.learning_rate,
        key,
        weight_decay=options.weight_decay,
        clip_norm=options.clip,
    )


def compute_ibp_loss(
    network: TextNetwork, batch: TextBatch, sets: Substitutions, *, kappa: float, scale: float
) -> Tensor:
    """Return (1 - kappa) times the usual loss plus kappa times the worst-case loss (Jia et al. 2019, equation 10).

    The worst-case logits are 0 for the label and minus the lower bound on its margin for every other class.
    """
    logits, margins = network.compute_logits_and_bounds(batch, sets, scale)  # (b, K) each
    usual_loss = functional.cross_entropy(logits, batch.labels)
    return (1 - kappa) * usual_loss + kappa * functional.cross_entropy(-margins, batch.labels)


def augment_documents(documents: Documents, source: SubstituteSource, count: int, key: bytes) -> Documents:
    """Return documents and perturbed copies of each, with its label (Xu et al. 2021, section 4)."""
    rows = np.arange(len(documents))
    copied_texts = [
        words for number in range(count) for words in draw_copies(documents.texts, rows, source, key, number)
    ]
    repeated_rows = np.tile(rows, 1 + count)
    return dataclasses.replace(
        documents.take(repeated_rows), texts=concatenate_texts([*documents.texts, *copied_texts])
    )


def check_substitute_source(options: TextTrainingOptions, source: SubstituteSource | None) -> None:
    """Raise `InputError` where a method lacks its source of words."""
    if options.method == "ibp" and not isinstance(source, Substitutions):
        raise InputError("The method ibp needs substitutions, over which it bounds the loss: give some.")
    if options.method == "augmented" and source is None:
        raise InputError("The method augmented needs substitutions or a mechanism to draw words from: give one.")


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
