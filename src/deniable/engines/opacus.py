"""Sees the steps of a training by Opacus: the sum before its noise, the noise, and what is released."""

from typing import Any

import numpy as np

from deniable.accounting.training import TrainingPlan
from deniable.auditing.training.observation import TrainingStep
from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError

_ATTRIBUTES = ("attach_step_hook", "noise_multiplier", "max_grad_norm", "params")


class OpacusWatch:
    """Watches the optimizer that Opacus made private, by the hook that it calls at the end of every step.

    The hook that is there, which counts steps for the accountant, is called first. Nothing of training changes.

    Args:
        optimizer: the second value of ``PrivacyEngine.make_private``.

    Raises:
        InputError: it is not an optimizer of Opacus.
    """

    def __init__(self, optimizer: Any) -> None:  # noqa: ANN401 - of a package that need not be installed
        if not all(hasattr(optimizer, name) for name in _ATTRIBUTES):
            raise InputError(
                "OpacusWatch takes the optimizer that PrivacyEngine.make_private returns. "
                f"Got {type(optimizer).__name__}: call make_private first."
            )
        self._optimizer = optimizer
        self._step: tuple[FloatArray, FloatArray] | None = None
        previous_hook = getattr(optimizer, "step_hook", None)

        def keep_step(watched: Any) -> None:  # noqa: ANN401 - the same optimizer
            if previous_hook is not None:
                previous_hook(watched)
            self._step = (
                _join([parameter.summed_grad for parameter in watched.params]),
                _join([parameter.grad for parameter in watched.params]),
            )

        optimizer.attach_step_hook(keep_step)

    def state_plan(self, records: int, batches: int, epochs: int = 1) -> TrainingPlan:
        """Return the plan that the accountant of Opacus assumes: Poisson sampling, whatever the loader does.

        Args:
            records: n.
            batches: of an epoch, the length of the loader; the accountant takes its reciprocal for the sampling rate.
            epochs: how often the loader is gone through.
        """
        return TrainingPlan(
            "poisson",
            records,
            records / batches,
            epochs * batches,
            float(self._optimizer.noise_multiplier),
            float(self._optimizer.max_grad_norm),
        )

    def take_step(self, batch: Any = None) -> TrainingStep:  # noqa: ANN401 - a tensor, an array or a list
        """Return the step that was just taken: its clipped sum, its noise, and the gradient that is released.

        Args:
            batch: numbers of the records in the batch; give the data set a column of them to know.

        Raises:
            InputError: there was no step since the last call.
        """
        if self._step is None:
            raise InputError("No step was taken since the last one: call take_step after optimizer.step().")
        (total, released), self._step = self._step, None
        clip, multiplier = float(self._optimizer.max_grad_norm), float(self._optimizer.noise_multiplier)
        return TrainingStep(released, None if batch is None else np.asarray(batch), total, multiplier * clip, clip)


def _join(tensors: list[Any]) -> FloatArray:
    """Return tensors as one vector (d,)."""
    return np.concatenate([tensor.detach().cpu().numpy().ravel() for tensor in tensors]).astype(np.float64)
