"""The file of a trained DPText: what is needed to release with it, and nothing of the readers from its training."""

import dataclasses
import io
from pathlib import Path
from typing import Any

import numpy as np
import torch

from deniable.errors import InputError, positive
from deniable.learning.stored import check_finite, damage_told, read_model
from deniable.rewrite.representation.model import Representation
from deniable.rewrite.representation.network import Architecture, Encoder
from deniable.rewrite.representation.noise import Noise
from deniable.rewrite.representation.training import Options
from deniable.rewrite.tokens import Vocabulary

FORMAT = "deniable-representation/1"
_NAMES = {field.name for field in dataclasses.fields(Options)}


def packed(model: Representation) -> bytes:
    """Return a model as a file holds it: tensors, numbers and texts only.

    The file holds the vocabulary and, as published, an epsilon learned from the training texts; it is as public as the
    texts that the model was trained on.
    """
    content = {
        "format": FORMAT,
        "options": _plain(dataclasses.asdict(model.options)),
        "weights": model.encoder.state_dict(),
        "words": list(model.vocabulary.words),
        "epsilon": _plain(model.epsilon),
        "facts": _plain(model.facts),
    }
    held = io.BytesIO()
    torch.save(content, held)
    return held.getvalue()


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever an option or a fact may be
    """Return a value with Python's own numbers in place of numpy's, which `torch.load` would refuse to read back."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return value.item() if isinstance(value, np.generic) else value


def load_representation(path: Path) -> Representation:
    """Read a model that `packed` made: it encodes as it did, and has the same guarantee.

    Raises:
        InputError: no such file, it is no representation, or it is damaged.
    """
    held = read_model(path, FORMAT)
    with damage_told(path):
        vocabulary = Vocabulary(tuple(map(str, held["words"])))
        options = _options(held["options"])
        encoder = _encoder(held["weights"], len(vocabulary), options)
        epsilon, facts = _epsilon(held["epsilon"], options), dict(held["facts"])
    return Representation(encoder, vocabulary, options, epsilon, facts)


def _options(given: dict[str, Any]) -> Options:
    """Return the options, each of them given: a default in place of a lost one could be another noise."""
    if given.keys() != _NAMES:
        raise InputError("other options than those of this version")
    options = Options(**given)
    Noise(options.variant, options.dimensions, options.epsilon, options.invalid)  # raises
    return options


def _epsilon(given: object, options: Options) -> float:
    """Return epsilon, which is that of the options where it was fixed, and at most that where it was learned."""
    epsilon = positive("DPText", "epsilon", given)
    if epsilon > options.epsilon or (options.variant != "published" and epsilon < options.epsilon):
        raise InputError(f"epsilon {epsilon:g}, and {options.epsilon:g} in its options")
    return epsilon


def _encoder(weights: dict[str, Any], words: int, options: Options) -> Encoder:
    """Return the encoder with its weights, in evaluation mode."""
    # The readers stay behind, so it does not matter how many classes they told apart.
    about = Architecture(words, options.dimensions, options.embedded, options.hidden, classes=1, attributes=())
    with torch.device("meta"):  # sizes without memory: those of a hostile file may be too large for any
        encoder = Encoder(about)
    encoder.load_state_dict(weights, assign=True)  # raises where a size is another
    for held in encoder.state_dict().values():
        if held.dtype != torch.float32 or not held.is_contiguous():
            raise InputError("weights that are stored as no network stores them")
    check_finite(encoder)
    return encoder.eval()
