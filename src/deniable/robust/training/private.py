"""DP-SGD (Abadi et al. 2016, Algorithm 1), with the views of an example averaged inside its own gradient."""

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deniable.randomness import generator
from deniable.robust.images.dataset import Images
from deniable.robust.networks import Network
from deniable.robust.training.accounting import Schedule
from deniable.robust.training.gradients import clipped_sum

Views = Callable[[Tensor, Tensor, torch.Generator], Tensor]
"""From images (b, c, h, w) and labels (b,) to views (b, v, c, h, w) of each, made of that image alone."""
NoisyForward = Callable[[Tensor, torch.Generator], Tensor]
"""From images (b, c, h, w) to logits (b, K), with the model's robustness noise from the generator."""

_CHUNK = 512
"""Views that are worked on at a time: the sums fit in cache."""


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How DP-SGD descends.

    Attributes:
        schedule: sampling rate and steps.
        multiplier: standard deviation of the noise per unit of the clipping norm.
        clip: C, the norm to which the gradient of each example is clipped.
        learning_rate: step along the noisy sum, divided by the clipping norm and the expected size of a batch, so
            that it means the same at any of them.
        average: decay of the running mean of the parameters that the model is given; 0 for the last ones.
        views: of each example, averaged inside its gradient.
    """

    schedule: Schedule
    multiplier: float
    clip: float
    learning_rate: float
    average: float = 0.0
    views: int = 1


class PrivateRun:
    """One private training run.

    The number of records is public. An empty record in the place of one changes nothing but one term of the clipped
    sums: coins, noise and divisor are those of its place.

    Step number t draws its batch, its noise and its views from streams of the key that are named by t. So a step
    that is taken again after an interruption gives the same parameters, and nothing is spent twice.

    Args:
        network: whose parameters are trained, in place.
        images: the training records.
        recipe: how.
        key: 32 bytes, secret; whoever has it can take the noise away.
        forward: of the network, with its robustness noise.
        views: of an example.
        settle: called after every step, to bring parameters back to where a theorem needs them; it may read
            nothing but parameters.
    """

    def __init__(
        self,
        network: Network,
        images: Images,
        recipe: Recipe,
        key: bytes,
        forward: NoisyForward,
        views: Views,
        settle: Callable[[], None] = lambda: None,
    ) -> None:
        self._network, self._images, self._recipe, self._key = network, images, recipe, key
        self._forward, self._views, self._settle = forward, views, settle
        self._device = next(network.parameters()).device
        self._mean = {name: held.detach().clone() for name, held in network.named_parameters()}

    @property
    def steps(self) -> int:
        """T."""
        return self._recipe.schedule.steps

    def step(self, number: int) -> float:
        """Take step ``number`` (from 0), and return the batch's mean loss, which is the owner's to see only."""
        recipe, count = self._recipe, len(self._images.labels)
        drawn = np.flatnonzero(generator(self._key, "batch", str(number)).random(count) < recipe.schedule.rate)
        sums, loss = self._gradient(torch.from_numpy(drawn), number)
        noise = generator(self._key, "noise", str(number))
        # Of public numbers (see `NEIGHBOURS` of the accounting), not the number of records that were drawn.
        expected = recipe.schedule.rate * count
        with torch.no_grad():
            for name, held in self._network.named_parameters():
                normal = torch.from_numpy(noise.standard_normal(tuple(held.shape))).to(held)
                noisy = sums.get(name, 0) + recipe.multiplier * recipe.clip * normal
                held.sub_(recipe.learning_rate * noisy / (recipe.clip * expected))
            self._settle()
            for name, held in self._network.named_parameters():
                self._mean[name].lerp_(held, 1 - self._decay(number))
        return loss / max(len(drawn), 1)

    @property
    def result(self) -> dict[str, Tensor]:
        """The parameters to release: the running mean, which is made of what the steps released anyway."""
        if self._recipe.average:
            return self._mean
        return {name: held.detach() for name, held in self._network.named_parameters()}

    def state(self) -> dict[str, Any]:
        """Return what the next step depends on."""
        return copy.deepcopy({"network": self._network.state_dict(), "mean": self._mean})

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to where `state` was taken."""
        self._network.load_state_dict(state["network"])
        self._mean = {name: held.to(self._device, copy=True) for name, held in state["mean"].items()}

    def _decay(self, number: int) -> float:
        """Return the decay after so many steps: at first the mean forgets the start sooner."""
        return min(self._recipe.average, (1 + number) / (10 + number))

    def _gradient(self, drawn: Tensor, number: int) -> tuple[dict[str, Tensor], float]:
        """Return the clipped sum over the drawn records, chunk by chunk, and the sum of their losses."""
        sums: dict[str, Tensor] = {}
        loss = 0.0
        source = torch.Generator(self._device)
        source.manual_seed(int(generator(self._key, "views", str(number)).integers(2**62)))
        for chunk in torch.split(drawn, max(1, _CHUNK // self._recipe.views)):
            images = self._images.pixels[chunk].to(self._device)
            labels = self._images.labels[chunk].to(self._device)
            views = self._views(images, labels, source)
            found, lost = clipped_sum(
                self._network, lambda given: self._forward(given, source), views, labels, self._recipe.clip
            )
            loss += lost
            for name, value in found.items():
                sums[name] = sums[name] + value if name in sums else value
        return sums, loss
