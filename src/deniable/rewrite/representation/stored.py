"""The file of a trained DPText: what is needed to release with it, and nothing of the readers from its training."""

import dataclasses
import io
from pathlib import Path
from typing import Any

import numpy as np
import torch

from deniable.errors import InputError, check_positive
from deniable.learning.stored import check_finite_weights, read_artifact, reraise_corrupt_file
from deniable.rewrite.representation.model import Representation
from deniable.rewrite.representation.network import RepresentationArchitecture, RepresentationEncoder
from deniable.rewrite.representation.noise import TrainableNoise
from deniable.rewrite.representation.training import RepresentationOptions
from deniable.rewrite.tokens import Vocabulary

REPRESENTATION_FORMAT = "deniable-representation/1"
_OPTION_NAMES = {field.name for field in dataclasses.fields(RepresentationOptions)}


def pack_representation(model: Representation) -> bytes:
    """Return a model as a file holds it: tensors, numbers and texts only.

    The file holds the vocabulary and, as published, an epsilon learned from the training texts; it is as public as the
    texts that the model was trained on.
    """
    content = {
        "format": REPRESENTATION_FORMAT,
        "options": _to_plain_values(dataclasses.asdict(model.options)),
        "weights": model.encoder.state_dict(),
        "words": list(model.vocabulary.words),
        "epsilon": _to_plain_values(model.epsilon),
        "facts": _to_plain_values(model.facts),
    }
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


def _to_plain_values(value: Any) -> Any:  # noqa: ANN401 - whatever an option or a fact may be
    """Return a value with Python's own numbers in place of numpy's, which `torch.load` would refuse to read back."""
    if isinstance(value, dict):
        return {name: _to_plain_values(item) for name, item in value.items()}
    return value.item() if isinstance(value, np.generic) else value


def load_representation(path: Path) -> Representation:
    """Read a model that `pack_representation` made: it encodes as it did, and has the same guarantee.

    Raises:
        InputError: no such file, it is no representation, or it is damaged.
    """
    content = read_artifact(path, REPRESENTATION_FORMAT)
    with reraise_corrupt_file(path):
        vocabulary = Vocabulary(tuple(map(str, content["words"])))
        options = _parse_options(content["options"])
        encoder = _load_encoder(content["weights"], len(vocabulary), options)
        epsilon, facts = _parse_epsilon(content["epsilon"], options), dict(content["facts"])
    return Representation(encoder, vocabulary, options, epsilon, facts)


def _parse_options(given: dict[str, Any]) -> RepresentationOptions:
    """Return the options, each of them given: a default in place of a lost one could be another noise."""
    if given.keys() != _OPTION_NAMES:
        raise InputError("other options than those of this version")
    options = RepresentationOptions(**given)
    TrainableNoise(options.variant, options.dimensions, options.epsilon, options.invalid)  # raises
    return options


def _parse_epsilon(given: object, options: RepresentationOptions) -> float:
    """Return epsilon, which is that of the options where it was fixed, and at most that where it was learned."""
    epsilon = check_positive("DPText", "epsilon", given)
    if epsilon > options.epsilon or (options.variant != "published" and epsilon < options.epsilon):
        raise InputError(f"epsilon {epsilon:g}, and {options.epsilon:g} in its options")
    return epsilon


def _load_encoder(weights: dict[str, Any], words: int, options: RepresentationOptions) -> RepresentationEncoder:
    """Return the encoder with its weights, in evaluation mode."""
    # The readers stay behind, so it does not matter how many classes they told apart.
    architecture = RepresentationArchitecture(
        words, options.dimensions, options.embedded, options.hidden, classes=1, attributes=()
    )
    with torch.device("meta"):  # sizes without memory: those of a hostile file may be too large for any
        encoder = RepresentationEncoder(architecture)
    encoder.load_state_dict(weights, assign=True)  # raises where a size is another
    for weight in encoder.state_dict().values():
        if weight.dtype != torch.float32 or not weight.is_contiguous():
            raise InputError("weights that are stored as no network stores them")
    check_finite_weights(encoder)
    return encoder.eval()
