"""Training an auto-encoder of texts, without noise or with the noise of the mechanism that will release its vectors."""

import copy
import dataclasses
import math
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from deniable.core.errors import check_count, check_fraction, check_number_within, check_positive, make_parameter_error
from deniable.learning.loop import AdamRun
from deniable.rewriting.augmentation import AugmentedBatches, TokenRows
from deniable.rewriting.autoencoder import Autoencoder, clip_to_l2_ball, drop_words
from deniable.rewriting.tokens import END, PAD

TrainingNoise = tuple[Literal["laplace", "gaussian"], float]
"""Law of the noise on every coordinate, and its scale in units of the vector: b of Laplace, sigma of Gaussian."""
_MAX_COUNT = 100_000
_MAX_VALUE, _MAX_RADIUS = 1e30, 1e6
_TEXTS_PER_BATCH = 256


@dataclasses.dataclass(frozen=True)
class RewriterOptions:
    """What can be chosen of a training run.

    Attributes:
        latent: n, coordinates of the vector of a text.
        hidden: size of the decoder's state; each direction of the encoder has half of it.
        embedding: size of the vectors of tokens.
        spliced: new texts per text of the corpus, each made of two of its texts and fresh in every epoch; 0 for none.
        exchanged: share of the tokens of new texts that are exchanged, see `deniable.rewriting.augmentation`.
        epochs: maximum number of passes over the corpus and its new texts.
        batch_size: texts of a step.
        learning_rate: initial learning rate of the optimizer; it falls to 0 with the cosine of the share of steps done.
        word_dropout: share of the tokens that are hidden from the decoder when it predicts the next one.
        patience: number of epochs without a lower validation loss after which a run ends.
        clip: l2 norm to which a gradient is clipped.
        radius: radius C of the l2 ball to which vectors are clipped.
        noise: see `TrainingNoise`; None for none. With noise the run is the second stage of Krishna et al. 2021, and
            starts from a trained model.
    """

    latent: int = 64
    hidden: int = 384
    embedding: int = 128
    spliced: int = 9
    exchanged: float = 0.2
    epochs: int = 12
    batch_size: int = 64
    learning_rate: float = 3e-3
    word_dropout: float = 0.2
    patience: int = 2
    clip: float = 1.0
    radius: float = 1.0
    noise: TrainingNoise | None = None

    def __post_init__(self) -> None:
        for name in ("latent", "hidden", "embedding", "epochs", "batch_size", "patience"):
            check_count("training", name, getattr(self, name), maximum=_MAX_COUNT)
        check_count("training", "spliced", self.spliced, minimum=0, maximum=_MAX_COUNT)
        for name, maximum in (("learning_rate", _MAX_VALUE), ("clip", _MAX_VALUE), ("radius", _MAX_RADIUS)):
            check_number_within("training", name, getattr(self, name), 1 / maximum, maximum)
        for name in ("exchanged", "word_dropout"):
            check_fraction("training", name, getattr(self, name))
        if self.noise is not None:
            law, scale = self.noise
            if law not in {"laplace", "gaussian"}:
                raise make_parameter_error("training", "noise", "laplace or gaussian, and a scale", law)
            if not check_positive("training", "noise", scale) <= _MAX_VALUE:
                raise make_parameter_error("training", "noise", f"of a scale up to {_MAX_VALUE:g}", scale)

    @classmethod
    def quick(cls, **given: Any) -> "RewriterOptions":  # noqa: ANN401 - of several types
        """Return options for a small network and a short run, for trying out; ``given`` replaces them."""
        small = {"latent": 32, "hidden": 96, "embedding": 48, "spliced": 4, "epochs": 3, "batch_size": 32}
        return cls(**{**small, **given})


def pad_token_rows(token_rows: TokenRows, device: torch.device | None = None, width: int = 0) -> tuple[Tensor, Tensor]:
    """Return texts as int64 (b, L), L >= ``width``, with `PAD` behind their ends, and their lengths (b,)."""
    lengths = np.array([len(row_tokens) for row_tokens in token_rows], dtype=np.int64)
    tokens = np.full((len(lengths), int(lengths.max(initial=width))), PAD, dtype=np.int64)
    for row, row_tokens in enumerate(token_rows):
        tokens[row, : len(row_tokens)] = row_tokens
    return torch.from_numpy(tokens).to(device), torch.from_numpy(lengths).to(device)


def add_training_noise(vectors: Tensor, noise: TrainingNoise | None, rng: torch.Generator) -> Tensor:
    """Return vectors with independent noise on every coordinate, for training only: it gives no guarantee."""
    if noise is None:
        return vectors
    law, scale = noise
    if law == "gaussian":
        return vectors + scale * torch.randn(vectors.shape, generator=rng, device=vectors.device)
    exponentials = torch.empty((2, *vectors.shape), device=vectors.device).exponential_(generator=rng)
    return vectors + scale * (exponentials[0] - exponentials[1])


def compute_reconstruction_loss(
    network: Autoencoder, token_rows: TokenRows, options: RewriterOptions, rng: torch.Generator
) -> tuple[Tensor, int]:
    """Return the negative log-likelihood, summed over the tokens of texts and their ends, and the number of these.

    Args:
        network: in training mode words are dropped.
        token_rows: of the texts.
        options: radius, noise and word dropout.
        rng: for noise and dropout.
    """
    tokens, lengths = pad_token_rows(token_rows, next(network.parameters()).device)
    latents = add_training_noise(clip_to_l2_ball(network.encode(tokens, lengths), options.radius), options.noise, rng)
    inputs = drop_words(tokens, options.word_dropout, rng) if network.training else tokens
    targets = functional.pad(tokens, (0, 1), value=PAD).scatter(1, lengths[:, None], END)
    scores = network.compute_logits(latents, inputs).flatten(0, 1)
    total = functional.cross_entropy(scores, targets.flatten(), ignore_index=PAD, reduction="sum")
    return total, int(lengths.sum()) + len(lengths)


class RewriterTraining(AdamRun):
    """One training run, which ends early and keeps the weights of the epoch with the lowest validation loss.

    Args:
        network: trained in place.
        token_rows: of the texts to learn from.
        held_out: of the texts of the validation loss.
        options: see `RewriterOptions`.
        key: 32 bytes; spliced texts, batches, dropout and noise follow from it.
    """

    def __init__(
        self, network: Autoencoder, token_rows: TokenRows, held_out: TokenRows, options: RewriterOptions, key: bytes
    ) -> None:
        self.sampler = AugmentedBatches(token_rows, options.spliced, options.exchanged, options.batch_size, key)
        self._autoencoder, self._held_out, self._options = network, held_out, options
        self.best_loss, self.best_epoch, self._best_weights = math.inf, 0, copy.deepcopy(network.state_dict())
        """Lowest validation loss per token, and the epoch, from 1, after which it was reached."""
        self.stopped = 0
        """The epoch after which the run ended early; 0 for not yet."""

        def loss(number: int, rng: torch.Generator) -> Tensor:
            total, count = compute_reconstruction_loss(network, self.sampler(number), options, rng)
            return total / count

        steps = options.epochs * self.sampler.batches
        super().__init__(network, loss, steps, options.learning_rate, key, clip_norm=options.clip)

    def step(self, number: int) -> float:
        """Take step ``number`` (from 0), and return its loss; after an early end it does nothing."""
        if self.stopped:
            return self.best_loss
        for group in self._optimizer.param_groups:
            group["lr"] = self._options.learning_rate * (1 + math.cos(math.pi * number / self.steps)) / 2
        loss = super().step(number)
        epoch, place = divmod(number + 1, self.sampler.batches)
        if place == 0:
            self._check_held_out_loss(epoch)
        return loss

    @property
    def result(self) -> dict[str, Tensor]:
        """The parameters of the best epoch."""
        return self._best_weights

    def state(self) -> dict[str, Any]:
        """Return the state that the next step depends on."""
        own_state = {
            "best": self.best_loss,
            "epoch": self.best_epoch,
            "kept": self._best_weights,
            "stopped": self.stopped,
        }
        return {**super().state(), **own_state}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a state that `state` returned."""
        super().restore(state)
        self.best_loss, self.best_epoch, self._best_weights, self.stopped = (
            state[name] for name in ("best", "epoch", "kept", "stopped")
        )

    def _check_held_out_loss(self, epoch: int) -> None:
        loss = compute_held_out_loss(self._autoencoder, self._held_out, self._options)
        if loss < self.best_loss:
            self.best_loss, self.best_epoch, self._best_weights = (
                loss,
                epoch,
                copy.deepcopy(self._autoencoder.state_dict()),
            )
        elif epoch - self.best_epoch >= self._options.patience:
            self.stopped = epoch


@torch.inference_mode()
def compute_held_out_loss(network: Autoencoder, token_rows: TokenRows, options: RewriterOptions) -> float:
    """Return the mean negative log-likelihood of a token, without word dropout, under the same noise at every call."""
    network.eval()
    rng = torch.Generator(next(network.parameters()).device).manual_seed(0)
    total, count = 0.0, 0
    sorted_rows = sorted(token_rows, key=len)
    for start in range(0, len(sorted_rows), _TEXTS_PER_BATCH):
        batch_loss, batch_count = compute_reconstruction_loss(
            network, sorted_rows[start : start + _TEXTS_PER_BATCH], options, rng
        )
        total, count = total + float(batch_loss), count + batch_count
    return total / count
