"""DP-SGD (Abadi et al. 2016, Algorithm 1), with the views of an example averaged inside its own gradient."""

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from deniable.accounting.training import TrainingPlan
from deniable.core.arrays import IntArray
from deniable.core.randomness import make_generator
from deniable.learning.clipping import ExampleLosses, sum_clipped_gradients, sum_clipped_losses

ViewFunction = Callable[[Tensor, Tensor, torch.Generator], Tensor]
"""From inputs (b, ...) and labels (b,) to views (b, v, ...) of each, made of that input alone."""
LossOfStep = Callable[[int], ExampleLosses]
"""From the number of a step to the losses of its examples."""
NoisyForwardFunction = Callable[[Tensor, torch.Generator], Tensor]
"""From inputs (b, ...) to logits (b, K), with the model's robustness noise from the generator."""

_CHUNK_VIEWS = 512
"""Views in one pass of the network: the sums fit in cache."""
_CHUNK_GRADIENTS = 128
"""Examples whose gradients are stored at a time."""


@dataclasses.dataclass(frozen=True)
class DPSGDSettings:
    """The parameters of DP-SGD.

    Attributes:
        plan: sampling rate, steps, noise, and the norm to which the gradient of each example is clipped.
        learning_rate: step along the noisy sum, divided by the clipping norm and the expected size of a batch, so
            that it means the same at any of them.
        averaging_decay: decay of the running mean of the parameters, which is what the model gets; 0 for the last ones.
        views: number of views of each example, averaged inside its gradient.
    """

    plan: TrainingPlan
    learning_rate: float
    averaging_decay: float = 0.0
    views: int = 1


@dataclasses.dataclass(frozen=True)
class NoisySums:
    """What one step draws and sums before it moves the parameters; all but the noisy sums is private.

    Attributes:
        batch_rows: numbers of the records that were drawn, (b,).
        clipped: float64 sum of the clipped gradients by name of the parameter, what the noise hides; one record moves
            it by at most C, see `deniable.learning.clipping`.
        noisy: the same with noise, all that the step reads of the records.
        loss: sum of the losses of the batch.
    """

    batch_rows: IntArray
    clipped: dict[str, Tensor]
    noisy: dict[str, Tensor]
    loss: float


@dataclasses.dataclass(eq=False, repr=False)
class DPSGDRun:
    """One private training run.

    The number of records is public. An empty record in the place of one changes nothing but one term of the clipped
    sums: coins, noise and divisor are those of its place.

    Step number t draws its batch, its noise and its views from streams of the key that are named by t. So a step
    that is repeated after an interruption gives the same parameters, and nothing is spent twice.

    Attributes:
        network: its parameters are trained in place.
        inputs: the training records, (n, ...).
        labels: their classes, int64 (n,); `deniable.learning.clipping.EMPTY_LABEL` for an empty record.
        settings: of DP-SGD.
        key: 32 bytes, secret: the noise can be removed with it.
        forward: evaluates the network, with its robustness noise.
        views: makes the views of each example.
        project_parameters: called after every step, to project parameters onto the set that a theorem requires; it may
            read nothing but parameters.
        losses: of the examples of each step, in place of the cross-entropy of their views; None for that.
    """

    network: nn.Module
    inputs: Tensor
    labels: Tensor
    settings: DPSGDSettings
    key: bytes
    forward: NoisyForwardFunction
    views: ViewFunction
    project_parameters: Callable[[], None] = lambda: None
    losses: LossOfStep | None = None

    def __post_init__(self) -> None:
        self.steps = self.settings.plan.steps
        self._device = next(self.network.parameters()).device
        self._mean = {name: parameter.detach().clone() for name, parameter in self.network.named_parameters()}

    def step(self, number: int) -> float:
        """Take step ``number`` (from 0), and return the mean loss of the batch, which is not private."""
        sums = self.measure(number)
        settings = self.settings
        # A public number (see `EMPTY_RECORD`), not the number of records that were drawn.
        expected = settings.plan.rate * len(self.labels)
        # The decay of the running mean is smaller at first, to forget the initial parameters.
        decay = min(settings.averaging_decay, (1 + number) / (10 + number))
        with torch.no_grad():
            for name, parameter in self.network.named_parameters():
                parameter.sub_(settings.learning_rate * sums.noisy[name] / (settings.plan.clip * expected))
            self.project_parameters()
            for name, parameter in self.network.named_parameters():
                self._mean[name].lerp_(parameter, 1 - decay)
        return sums.loss / max(len(sums.batch_rows), 1)

    def measure(self, number: int) -> NoisySums:
        """Return the batch and the sums of step ``number`` (from 0) at the present parameters: what an audit looks at.

        Whatever else the step does is computed from the noisy sums, the parameters and public numbers.
        """
        settings = self.settings
        draws = make_generator(self.key, "batch", str(number)).random(len(self.labels))
        batch_rows = np.flatnonzero(draws < settings.plan.rate)
        sums, loss = self._sum_gradients(torch.from_numpy(batch_rows), number)
        noise = make_generator(self.key, "noise", str(number))
        clipped, noisy = {}, {}
        for name, parameter in self.network.named_parameters():
            normal = torch.from_numpy(noise.standard_normal(tuple(parameter.shape))).to(self._device)
            clipped[name] = sums.get(name, torch.zeros_like(normal))
            noisy[name] = (clipped[name] + settings.plan.noise_multiplier * settings.plan.clip * normal).to(parameter)
        return NoisySums(batch_rows, clipped, noisy, loss)

    @property
    def result(self) -> dict[str, Tensor]:
        """The parameters to release: the last ones, or their running mean, which is made of released steps alone."""
        if self.settings.averaging_decay:
            return self._mean
        return {name: parameter.detach() for name, parameter in self.network.named_parameters()}

    def state(self) -> dict[str, Any]:
        """Return what the next step depends on."""
        return copy.deepcopy({"network": self.network.state_dict(), "mean": self._mean})

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to where `state` was taken."""
        self.network.load_state_dict(state["network"])
        self._mean = {name: parameter.to(self._device, copy=True) for name, parameter in state["mean"].items()}

    def _sum_gradients(self, batch_rows: Tensor, number: int) -> tuple[dict[str, Tensor], float]:
        """Return the clipped sum over the drawn records, chunk by chunk, and the sum of their losses."""
        sums, loss, clip = dict[str, Tensor](), 0.0, self.settings.plan.clip
        generator = torch.Generator(self._device)
        generator.manual_seed(int(make_generator(self.key, "views", str(number)).integers(2**62)))
        size = max(1, _CHUNK_VIEWS // self.settings.views) if self.losses is None else _CHUNK_GRADIENTS
        for chunk in torch.split(batch_rows, size):
            inputs, labels = self.inputs[chunk].to(self._device), self.labels[chunk].to(self._device)
            if self.losses is None:
                views = self.views(inputs, labels, generator)
                chunk_sums, chunk_loss = sum_clipped_gradients(
                    self.network, lambda inputs: self.forward(inputs, generator), views, labels, clip
                )
            else:
                chunk_sums, chunk_loss = sum_clipped_losses(self.network, self.losses(number), inputs, labels, clip)
            loss += chunk_loss
            for name, value in chunk_sums.items():
                sums[name] = sums[name] + value if name in sums else value
        return sums, loss
