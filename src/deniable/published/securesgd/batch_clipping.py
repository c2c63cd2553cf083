"""DP-SGD as in public code of SecureSGD: the mean gradient of a batch is clipped. The privacy claim is refuted."""

import math
from typing import Any

import numpy as np
import torch
from scipy import stats
from torch import Tensor, nn
from torch.nn import functional

from deniable.core.errors import InputError
from deniable.core.evidence import Verdict, Witness, limit_status
from deniable.core.guarantees import EMPTY_RECORD, ApproxDP
from deniable.core.randomness import make_generator
from deniable.learning.accounting import SamplingSchedule, find_noise_multiplier
from deniable.learning.adam import select_batch
from deniable.models.images.model import ImageModel
from deniable.models.images.training.private import DP_SGD_OPTIONS
from deniable.models.images.training.trainer import (
    ImageTrainer,
    ImageTrainingOptions,
    ImageTrainingTask,
    PreparedTraining,
)

_MAX_WITNESS_RECORDS = 2_048
"""Number of training records among which the one with the largest gradient is the witness."""


class _BatchClippedRun:
    """Descent along the clipped mean gradient of a batch, with noise calibrated to clipped gradients of examples."""

    def __init__(self, task: ImageTrainingTask, network: nn.Module, multiplier: float) -> None:
        self.steps = task.options.steps
        self._task, self._network, self._multiplier = task, network, multiplier

    def step(self, number: int) -> float:
        options, parameters = self._task.options, list(self._network.parameters())
        indices = select_batch(len(self._task.images), options.batch_size, number, self._task.key)
        images = self._task.images.pixels[indices].to(self._task.device)
        loss = functional.cross_entropy(self._network(images), self._task.images.labels[indices].to(self._task.device))
        gradients = torch.autograd.grad(loss, parameters)
        norm = torch.stack([gradient.norm() for gradient in gradients]).norm()
        factor = (options.clip / norm.clamp(min=1e-30)).clamp(max=1)
        noise = make_generator(self._task.key, "noise", str(number))
        deviation = self._multiplier * options.clip / len(indices)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                normal = torch.from_numpy(noise.standard_normal(tuple(parameter.shape))).to(parameter)
                parameter.sub_(options.learning_rate / options.clip * (factor * gradient + deviation * normal))
        return float(loss.detach())

    @property
    def result(self) -> dict[str, Tensor]:
        return self._network.state_dict()

    def state(self) -> dict[str, Any]:
        return {"network": self._network.state_dict()}

    def restore(self, state: dict[str, Any]) -> None:
        self._network.load_state_dict(state["network"])


def _prepare_batch_clipped(task: ImageTrainingTask) -> PreparedTraining:
    options = task.options
    if options.epsilon is None or options.delta is None:
        raise InputError("Training dp-sgd-batch-clipped needs a budget: give --epsilon and --delta.")
    epsilon, delta = options.epsilon, options.delta
    network = task.architecture().build(0).to(task.device)
    rate = min(options.batch_size / len(task.images), 1.0)
    multiplier = find_noise_multiplier(SamplingSchedule(rate, options.steps), epsilon, delta)
    guarantee = ApproxDP(epsilon, delta, "claimed as DP-SGD's", "claimed", adjacency=EMPTY_RECORD)
    verdict = _judge_first_step(guarantee, options.clip, rate, multiplier, _find_largest_gradient(task, network))

    def build_model() -> ImageModel:
        return ImageModel(
            trainer=task.trainer,
            architecture=task.architecture(),
            network=network.eval(),
            noises=(),
            guarantee=limit_status(guarantee, verdict),
            verdict=verdict,
            certificate=None,
            facts={"steps": options.steps, "noise multiplier": multiplier, "clipping norm": options.clip},
        )

    run = _BatchClippedRun(task, network, multiplier)
    return PreparedTraining(run, build_model, lambda images, _: network(images), lambda done: epsilon if done else 0.0)


def _find_largest_gradient(task: ImageTrainingTask, network: nn.Module) -> float:
    """Return the largest l2 norm of one record's gradient at the initial parameters, which are public."""
    fixed_parameters = {name: value.detach() for name, value in network.named_parameters()}

    def compute_loss(parameters: dict[str, Tensor], image: Tensor, label: Tensor) -> Tensor:
        scores = torch.func.functional_call(network, parameters, (image[None],))
        return functional.cross_entropy(scores, label[None])

    gradients = torch.func.vmap(torch.func.grad(compute_loss), in_dims=(None, 0, 0))
    images, labels = task.images.pixels[:_MAX_WITNESS_RECORDS], task.images.labels[:_MAX_WITNESS_RECORDS]
    squares = [
        sum(gradient.flatten(1).square().sum(1) for gradient in gradients(fixed_parameters, *image_batch).values())
        for image_batch in zip(
            torch.split(images.to(task.device), 64), torch.split(labels.to(task.device), 64), strict=True
        )
    ]
    return math.sqrt(max(float(torch.as_tensor(batch_squares).max()) for batch_squares in squares))


def _judge_first_step(
    guarantee: ApproxDP, clip: float, rate: float, multiplier: float, gradient_norm: float
) -> Verdict:
    """Return the verdict of one step on that record, where the mean gradient is too small to be clipped.

    With the record in place of an empty one, the mean moves by its gradient over B, and the noise has the deviation
    C sigma / B: a Gaussian against its mixture with one shifted by G / (C sigma), where G is the norm of the gradient.
    """
    shift = gradient_norm / (multiplier * clip)
    epsilon_bound = _bound_first_step_epsilon(rate, shift, guarantee.delta)
    is_refuted = epsilon_bound > guarantee.epsilon
    witness = Witness(
        input="a data set with the record of the largest gradient",
        other="the same with that record made empty",
        output="first step's noisy mean",
        distance=1.0,
        loss=epsilon_bound,
    )
    return Verdict(
        guarantee=guarantee,
        status="refuted" if is_refuted else "undecided",
        epsilon=math.inf,
        lower_bound=epsilon_bound,
        confidence=1.0,
        samples=0,
        witness=witness if is_refuted else None,
        method=f"law of one step where the mean is not clipped: a gradient of norm {gradient_norm:.3g} under noise for "
        f"{clip:g}",
        seconds=0.0,
    )


def _bound_first_step_epsilon(rate: float, shift: float, delta: float) -> float:
    """Return max over t of ln[(P(N > t) - delta) / Q(N > t)], P the mixture and Q the Gaussian: a bound on epsilon."""
    thresholds = np.linspace(0.0, shift + 10.0, 10_001)  # each of them bounds epsilon
    log_tail = stats.norm.logsf(thresholds)
    excess = rate * stats.norm.sf(thresholds - shift) + (1 - rate) * np.exp(log_tail) - delta
    is_positive = excess > 0
    return float(np.max(np.log(excess[is_positive]) - log_tail[is_positive], initial=0.0))


BATCH_CLIPPED_TRAINER = ImageTrainer(
    name="dp-sgd-batch-clipped",
    summary="claims privacy; the claim is refuted: DP-SGD that clips the mean of a batch, as in public code",
    source="public code of Phan et al. 2019",
    option_names=DP_SGD_OPTIONS - {"views", "average", "noise_multiplier"},
    defaults=ImageTrainingOptions(steps=150, batch_size=2_048, learning_rate=0.5),
    prepare=_prepare_batch_clipped,
)
