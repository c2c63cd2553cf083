"""Training an auto-encoder of texts, without noise or with that of the mechanism it will stand behind."""

import copy
import dataclasses
import math
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from deniable.errors import bad_parameter, positive
from deniable.learning.plain import PlainRun
from deniable.rewrite.autoencoder import Autoencoder, clipped, dropped
from deniable.rewrite.splices import Numbers, Varied
from deniable.rewrite.tokens import END, PAD

Noise = tuple[Literal["laplace", "gaussian"], float]
"""Law of the noise on every coordinate, and its scale in units of the latent: b of Laplace, sigma of a Gaussian."""
_MOST = 100_000
_LARGEST, _WIDEST = 1e30, 1e6
_TOGETHER = 256


@dataclasses.dataclass(frozen=True)
class Options:
    """What can be chosen of a training run.

    Attributes:
        latent: n, coordinates of the vector of a text.
        hidden: size of the decoder's state; each direction of the encoder has half of it.
        embedding: size of the vectors of tokens.
        spliced: texts made of two of the corpus, others in every epoch, for each text of it; 0 for none.
        exchanged: share of the tokens of these that are exchanged, see `deniable.rewrite.splices`.
        epochs: passes over all of them, at most.
        batch_size: texts of a step.
        learning_rate: of Adam at first; it falls to 0 with the cosine of the share of the steps taken.
        word_dropout: share of the tokens that the decoder does not see before it says the next one.
        patience: epochs in a row without a better loss on the texts held out, after which a run ends.
        clip: l2 norm to which a gradient is cut.
        radius: C, of the l2 ball into which vectors are clipped.
        noise: see `Noise`; None for none. With it the run is the second stage of ADePT (Krishna et al. 2021), and needs
            a model to go on from.
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
    noise: Noise | None = None

    def __post_init__(self) -> None:
        for name in ("latent", "hidden", "embedding", "spliced", "epochs", "batch_size", "patience"):
            value, least = getattr(self, name), 0 if name == "spliced" else 1
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST:
                raise bad_parameter("training", name, f"an int from {least} to {_MOST}", value)
        for name, most in (("learning_rate", _LARGEST), ("clip", _LARGEST), ("radius", _WIDEST)):
            if not 1 / most <= positive("training", name, getattr(self, name)) <= most:
                raise bad_parameter("training", name, f"a float from {1 / most:g} to {most:g}", getattr(self, name))
        for name in ("exchanged", "word_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise bad_parameter("training", name, "a float in [0, 1)", getattr(self, name))
        if self.noise is not None:
            law, scale = self.noise
            if law not in {"laplace", "gaussian"}:
                raise bad_parameter("training", "noise", "laplace or gaussian, and a scale", law)
            if not positive("training", "noise", scale) <= _LARGEST:
                raise bad_parameter("training", "noise", f"of a scale up to {_LARGEST:g}", scale)

    @classmethod
    def quick(cls, **given: Any) -> "Options":  # noqa: ANN401 - of several types
        """Return options for a small network and a short run, for trying out; ``given`` stands in their place."""
        small = {"latent": 32, "hidden": 96, "embedding": 48, "spliced": 4, "epochs": 3, "batch_size": 32}
        return cls(**{**small, **given})


def side_by_side(numbers: Numbers, device: torch.device | None = None, width: int = 0) -> tuple[Tensor, Tensor]:
    """Return texts as int64 (b, L), L at least ``width``, with `PAD` behind their ends, and their lengths (b,)."""
    lengths = np.array([len(one) for one in numbers], dtype=np.int64)
    found = np.full((len(lengths), int(lengths.max(initial=width))), PAD, dtype=np.int64)
    for row, one in enumerate(numbers):
        found[row, : len(one)] = one
    return torch.from_numpy(found).to(device), torch.from_numpy(lengths).to(device)


def noisy(vectors: Tensor, noise: Noise | None, coins: torch.Generator) -> Tensor:
    """Return vectors with independent noise on every coordinate, for training alone: it protects nothing."""
    if noise is None:
        return vectors
    law, scale = noise
    if law == "gaussian":
        return vectors + scale * torch.randn(vectors.shape, generator=coins, device=vectors.device)
    drawn = torch.empty((2, *vectors.shape), device=vectors.device).exponential_(generator=coins)
    return vectors + scale * (drawn[0] - drawn[1])


def loss_of(network: Autoencoder, numbers: Numbers, options: Options, coins: torch.Generator) -> tuple[Tensor, int]:
    """Return the negative log-likelihood, summed over the tokens of texts and their ends, and how many those are.

    Args:
        network: in training mode words are dropped.
        numbers: of the texts.
        options: radius, noise and word dropout.
        coins: for noise and dropout.
    """
    tokens, lengths = side_by_side(numbers, next(network.parameters()).device)
    held = noisy(clipped(network.encode(tokens, lengths), options.radius), options.noise, coins)
    seen = dropped(tokens, options.word_dropout, coins) if network.training else tokens
    targets = functional.pad(tokens, (0, 1), value=PAD).scatter(1, lengths[:, None], END)
    scores = network.logits(held, seen).flatten(0, 1)
    total = functional.cross_entropy(scores, targets.flatten(), ignore_index=PAD, reduction="sum")
    return total, int(lengths.sum()) + len(lengths)


class Training(PlainRun):
    """One training run, which ends early and keeps the best of its epochs by the loss on texts held out.

    Args:
        network: trained in place.
        numbers: of the texts to learn from.
        held_out: of the texts held out.
        options: see `Options`.
        key: 32 bytes; spliced texts, batches, dropout and noise follow from it.
    """

    def __init__(self, network: Autoencoder, numbers: Numbers, held_out: Numbers, options: Options, key: bytes) -> None:
        self.deal = Varied(numbers, options.spliced, options.exchanged, options.batch_size, key)
        self._autoencoder, self._held_out, self._options = network, held_out, options
        self.best, self.epoch, self._kept = math.inf, 0, copy.deepcopy(network.state_dict())
        """Least loss for each token on the texts held out, and the epoch, from 1, after which it was found."""
        self.stopped = 0
        """The epoch after which the run ended early; 0 for not yet."""

        def loss(number: int, coins: torch.Generator) -> Tensor:
            total, count = loss_of(network, self.deal(number), options, coins)
            return total / count

        steps = options.epochs * self.deal.batches
        super().__init__(network, loss, steps, options.learning_rate, key, clip=options.clip)

    def step(self, number: int) -> float:
        """Take step ``number`` (from 0), and return its loss; behind an early end it does nothing."""
        if self.stopped:
            return self.best
        for group in self._optimizer.param_groups:
            group["lr"] = self._options.learning_rate * (1 + math.cos(math.pi * number / self.steps)) / 2
        loss = super().step(number)
        epoch, place = divmod(number + 1, self.deal.batches)
        if place == 0:
            self._look(epoch)
        return loss

    @property
    def result(self) -> dict[str, Tensor]:
        """The parameters of the best epoch."""
        return self._kept

    def state(self) -> dict[str, Any]:
        """Return what the next step depends on."""
        mine = {"best": self.best, "epoch": self.epoch, "kept": self._kept, "stopped": self.stopped}
        return {**super().state(), **mine}

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to where `state` was taken."""
        super().restore(state)
        self.best, self.epoch, self._kept, self.stopped = (state[name] for name in ("best", "epoch", "kept", "stopped"))

    def _look(self, epoch: int) -> None:
        loss = held_out_loss(self._autoencoder, self._held_out, self._options)
        if loss < self.best:
            self.best, self.epoch, self._kept = loss, epoch, copy.deepcopy(self._autoencoder.state_dict())
        elif epoch - self.epoch >= self._options.patience:
            self.stopped = epoch


@torch.inference_mode()
def held_out_loss(network: Autoencoder, numbers: Numbers, options: Options) -> float:
    """Return the mean negative log-likelihood of a token, nothing dropped, under the same noise at every call."""
    network.eval()
    coins = torch.Generator(next(network.parameters()).device).manual_seed(0)
    total, count = 0.0, 0
    order = sorted(numbers, key=len)
    for start in range(0, len(order), _TOGETHER):
        lost, tokens = loss_of(network, order[start : start + _TOGETHER], options, coins)
        total, count = total + float(lost), count + tokens
    return total / count
