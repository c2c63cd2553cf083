"""Training a text classifier: as usual, with certified bounds, or on perturbed copies besides."""

import dataclasses
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from deniable.errors import InputError, bad_parameter, positive
from deniable.learning.deal import Deal
from deniable.learning.plain import PlainRun
from deniable.robust.text.copies import Source, copies
from deniable.robust.text.documents import Documents, texts
from deniable.robust.text.network import Batch, TextNetwork, batch
from deniable.robust.text.substitutions import Substitutions

METHODS = ("normal", "ibp", "augmented")
OF_METHOD = {"kappa": "ibp", "ramp": "ibp", "copies": "augmented"}
"""Options that one method alone looks at."""
_OF_MODEL: dict[str, dict[str, Any]] = {"fasttext": {"learning_rate": 1e-2, "weight_decay": 0.0, "clip": None}}
_EPOCHS, _STEPS = 10, 1_000
_MOST = 100_000
_SMALLEST, _LARGEST = 1e-30, 1e30
"""What float32 holds, with room."""


@dataclasses.dataclass(frozen=True)
class Options:
    """What can be chosen of a training run; the defaults are those of Jia et al. 2019, section 5.1 and Appendix A.

    Their 10 epochs are 6,000 steps on 20,000 reviews, and too few on a small table, which is passed over more often.

    Attributes:
        method: one of `METHODS`.
        epochs: passes over the documents; None for 10, or for as many as make 1,000 steps where 10 are fewer.
        batch_size: documents of a step.
        learning_rate: of Adam.
        weight_decay: of Adam.
        clip: l2 norm to which a gradient is cut; None for as it is.
        kappa: weight of the worst case at the end of the ramp.
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
        if self.method not in METHODS:
            raise bad_parameter("training", "method", f"one of {', '.join(METHODS)}", self.method)
        for name in ("learning_rate", "clip"):
            value = getattr(self, name)
            if (value is not None or name != "clip") and not _SMALLEST <= positive("training", name, value) <= _LARGEST:
                raise bad_parameter("training", name, f"a float from {_SMALLEST:g} to {_LARGEST:g}", value)
        for name in ("kappa", "ramp", "weight_decay"):
            if not 0 <= getattr(self, name) <= 1:
                raise bad_parameter("training", name, "a float from 0 to 1", getattr(self, name))
        for name in ("epochs", "batch_size", "copies"):
            value = getattr(self, name)
            if (value is not None or name != "epochs") and (not isinstance(value, int) or not 1 <= value <= _MOST):
                raise bad_parameter("training", name, f"an int from 1 to {_MOST}", value)

    def resolved(self, documents: int) -> "Options":
        """Return the options with the number of epochs over so many documents."""
        if self.epochs is not None:
            return self
        each = 1 + self.copies if self.method == "augmented" else 1
        batches = -(-documents * each // self.batch_size)
        return dataclasses.replace(self, epochs=max(_EPOCHS, -(-_STEPS // batches)))


def options_of(model: str, **given: object) -> Options:
    """Return the defaults for a model with what is given in their place.

    FastText learns embeddings, and a batch says nothing of a word that it lacks: it takes a larger rate, and no weight
    decay, of which Adam would make full steps to 0 for all such words.

    Args:
        model: one of `deniable.robust.text.models.MODELS`.
        given: of `Options`.

    Raises:
        InputError: an option that means nothing to the method, or a bad value.
    """
    chosen = Options(**{**_OF_MODEL.get(model, {}), **given})
    for name, method in OF_METHOD.items():
        if name in given and chosen.method != method:
            raise InputError(
                f"The {name!r} option is for the method {method} and means nothing to {chosen.method}: leave it out."
            )
    return chosen


def prepared(
    network: TextNetwork, documents: Documents, options: Options, source: Source | None, key: bytes
) -> PlainRun:
    """Return a training run that has not begun.

    Args:
        network: trained in place.
        documents: to learn from.
        options: see `Options`.
        source: of the word boxes of ibp, which are substitutions, or of the stand-ins of augmented.
        key: 32 bytes; batches, copies and dropout follow from it.

    Raises:
        InputError: documents that the network does not take, or a method without its source.
    """
    check_fits(network, documents)
    check_source(options, source)
    epochs = options.resolved(len(documents)).epochs or 0
    if options.method == "augmented" and source is not None:
        documents = augmented(documents, source, options.copies, key)
    device = next(network.parameters()).device
    deal = Deal(documents.texts.lengths, options.batch_size, key)
    steps = epochs * deal.batches

    def loss(number: int, coins: torch.Generator) -> Tensor:
        network.coins = coins
        given = batch(documents.take(deal(number)), device)
        if options.method != "ibp" or not isinstance(source, Substitutions):
            return functional.cross_entropy(network(given), given.labels)
        progress = min(1.0, number / max(1.0, options.ramp * steps))
        return ibp_loss(network, given, source, kappa=options.kappa * progress, scale=progress)

    return PlainRun(
        network,
        loss,
        steps,
        options.learning_rate,
        key,
        weight_decay=options.weight_decay,
        clip=options.clip,
    )


def ibp_loss(network: TextNetwork, given: Batch, sets: Substitutions, *, kappa: float, scale: float) -> Tensor:
    """Return (1 - kappa) of the usual loss and kappa of the worst case's (Jia et al. 2019, equation 10).

    The worst case's logits are 0 for the label and minus the lower bound on its margin for every other class.
    """
    logits, margins = network.both(given, sets, scale)  # (b, K) each
    usual = functional.cross_entropy(logits, given.labels)
    return (1 - kappa) * usual + kappa * functional.cross_entropy(-margins, given.labels)


def augmented(documents: Documents, source: Source, count: int, key: bytes) -> Documents:
    """Return documents and perturbed copies of each, with its label (paper 000, section 4)."""
    rows = np.arange(len(documents))
    held = [words for number in range(count) for words in copies(documents.texts, rows, source, key, number)]
    everyone = np.tile(rows, 1 + count)
    return dataclasses.replace(documents.take(everyone), texts=texts([*documents.texts, *held]))


def check_source(options: Options, source: Source | None) -> None:
    """Raise `InputError` where a method lacks the words that it draws from."""
    if options.method == "ibp" and not isinstance(source, Substitutions):
        raise InputError("The method ibp needs substitutions, whose boxes it bounds: give some.")
    if options.method == "augmented" and source is None:
        raise InputError("The method augmented needs substitutions or a mechanism to draw words from: give one.")


def check_fits(network: TextNetwork | type[TextNetwork], documents: Documents) -> None:
    """Raise `InputError` where a network does not take some documents; nothing is ever cut off."""
    if network.paired and documents.premises is None:
        raise InputError("The model is for pairs of texts: name the column of the premise with --premise.")
    if not network.paired and documents.premises is not None:
        raise InputError("The model is for single texts, not pairs: leave out --premise.")
    for name, held in (("text", documents.texts), ("premise", documents.premises)):
        if held is None or not len(held):
            continue
        lengths = held.lengths
        row = int(lengths.argmax())
        if lengths[row] > network.longest:
            raise InputError(
                f"The {name} of row {row + 1} has {lengths[row]:,} words, and the model takes {network.longest:,}: "
                "split it, or leave it out."
            )
        row = int(lengths.argmin())
        if lengths[row] == 0:
            raise InputError(f"The {name} of row {row + 1} has no word that the space knows: leave it out.")
