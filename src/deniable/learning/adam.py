"""Training without a privacy mechanism: Adam on any loss."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from deniable.core.randomness import make_generator

StepLoss = Callable[[int, torch.Generator], Tensor]
"""From the number of a step and a generator for its random draws to the loss, a scalar."""


class AdamRun:
    """One training run by Adam (Kingma and Ba 2015).

    Args:
        network: its parameters are trained in place.
        loss: computes the loss of a step.
        steps: T.
        learning_rate: learning rate of Adam.
        key: 32 bytes; step t draws from the stream named by t, so that an interrupted run can resume.
        project_parameters: called after every step, to project parameters onto the set that a theorem requires.
        weight_decay: l2 penalty on the parameters.
        clip_norm: l2 norm to which the gradient of all parameters together is clipped; None for no clipping.
    """

    def __init__(
        self,
        network: nn.Module,
        loss: StepLoss,
        steps: int,
        learning_rate: float,
        key: bytes,
        project_parameters: Callable[[], None] = lambda: None,
        *,
        weight_decay: float = 0.0,
        clip_norm: float | None = None,
    ) -> None:
        self.steps = steps
        self._network, self._loss, self._key = network, loss, key
        self._project_parameters, self._clip_norm = project_parameters, clip_norm
        self._optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate, weight_decay=weight_decay)
        self._device = next(network.parameters()).device

    def step(self, number: int) -> float:
        """Take step ``number`` (from 0), and return its loss."""
        generator = torch.Generator(self._device)
        generator.manual_seed(int(make_generator(self._key, "step", str(number)).integers(2**62)))
        self._network.train()
        self._optimizer.zero_grad(set_to_none=True)
        loss = self._loss(number, generator)
        loss.backward()  # type: ignore[no-untyped-call]
        if self._clip_norm is not None:
            nn.utils.clip_grad_norm_(self._network.parameters(), self._clip_norm)
        self._optimizer.step()
        self._project_parameters()
        return float(loss.detach())

    @property
    def result(self) -> dict[str, Tensor]:
        """The parameters and running statistics after the last step."""
        return self._network.state_dict()

    def state(self) -> dict[str, Any]:
        """Return what the next step depends on."""
        return {"network": self._network.state_dict(), "optimizer": self._optimizer.state_dict()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to where `state` was taken."""
        self._network.load_state_dict(state["network"])
        self._optimizer.load_state_dict(state["optimizer"])


def select_batch(count: int, batch_size: int, step: int, key: bytes) -> Tensor:
    """Return the record indices (b,) of a step: every epoch shuffles all records anew, and drops a last short batch."""
    batch_size = min(batch_size, count)
    batches_per_epoch = count // batch_size
    epoch, position = divmod(step, batches_per_epoch)
    order = make_generator(key, "epoch", str(epoch)).permutation(count)
    return torch.from_numpy(order[position * batch_size : (position + 1) * batch_size])
