"""An attack on released vectors: a decoder trained on releases of public texts."""

import copy
import dataclasses
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError
from deniable.core.randomness import derive_key_from_seed, generate_key
from deniable.learning.loop import AdamRun, LengthBucketSampler, run_training
from deniable.rewriting.autoencoder import Autoencoder
from deniable.rewriting.methods.base import VectorMethod
from deniable.rewriting.tokens import END, PAD, look_up_tokens
from deniable.rewriting.training import pad_token_rows

_GRADIENT_CLIP = 1.0


@dataclasses.dataclass(frozen=True)
class Inverter:
    """The attacker's decoder, and the method whose releases it reads.

    Attributes:
        method: under attack.
        network: whose decoder is the attacker's.
    """

    method: VectorMethod
    network: Autoencoder

    def invert(self, released: FloatArray) -> list[str]:
        """Return the likeliest text of each release (k, n), token after token."""
        model = dataclasses.replace(self.method.model, network=self.network)
        return dataclasses.replace(self.method, model=model).decode(released)


def fit_inverter(
    method: VectorMethod,
    texts: Sequence[str],
    *,
    epochs: int = 5,
    batch_size: int = 64,
    learning_rate: float = 1e-3,
    seed: int | None = None,
) -> Inverter:
    """Train a decoder on fresh releases of public texts, starting from the public decoder.

    Any attacker can do this, because model and method are public. The public decoder was trained on vectors without
    noise, this one learns from noisy ones. Its output is post-processing: no better than a true claim permits.

    Args:
        method: under attack; it releases each text anew in every epoch.
        texts: public ones.
        epochs: passes over them.
        batch_size: texts of a step.
        learning_rate: learning rate of the optimizer.
        seed: of the batches; None for a fresh key.

    Raises:
        InputError: no texts, or one that is too long.
    """
    if not len(texts):
        raise InputError("There are no texts to learn from. Got 0: give at least 1.")
    model = method.model
    token_rows = look_up_tokens(model.vocabulary, texts, model.limit)
    encoded = method.encode(texts)
    network = copy.deepcopy(model.network)
    key = generate_key() if seed is None else derive_key_from_seed(seed)
    sampler = LengthBucketSampler(np.array([len(row) for row in token_rows]), batch_size, key)

    def loss(number: int, rng: torch.Generator) -> Tensor:  # noqa: ARG001 - the method draws its own noise
        batch_rows = sampler(number)
        released = method.mechanism.sample(encoded[batch_rows]) * method.stretch
        tokens, lengths = pad_token_rows([token_rows[row] for row in batch_rows.tolist()])
        targets = functional.pad(tokens, (0, 1), value=PAD).scatter(1, lengths[:, None], END)
        scores = network.compute_logits(torch.from_numpy(released.astype(np.float32)), tokens)
        return functional.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=PAD)

    run_training(
        AdamRun(network, loss, epochs * sampler.batches_per_epoch, learning_rate, key, clip_norm=_GRADIENT_CLIP), key
    )
    return Inverter(method, network.eval())
