"""Training on interval bounds (Gowal et al. 2018): models that are certified in l_inf, and by DP-SGD private too."""

import functools
import math

import torch
from torch import Tensor
from torch.nn import functional

from deniable.learning.clipping import ExampleLosses
from deniable.models.images.interval_bounds import (
    IntervalBounds,
    Parameters,
    compute_features,
    compute_margins,
    get_last_parameters,
    make_box,
)
from deniable.models.images.networks import ImageNetwork
from deniable.models.images.options import ImageTrainingOptions
from deniable.models.images.plain_training import ADAM_OPTIONS, prepare_adam
from deniable.models.images.private_training import DP_SGD_OPTIONS, prepare_dp_sgd
from deniable.models.images.training import ImageTrainer, ImageTrainingTask, PreparedTraining, Robustness

_RAMP = 0.5
"""Share of the steps over which the radius and kappa grow from 0."""


def compute_interval_losses(
    network: ImageNetwork, options: ImageTrainingOptions, step: int, parameters: Parameters, *records: Tensor
) -> Tensor:
    """Return (1 - kappa) times the usual losses plus kappa times the worst-case losses (b,), Gowal et al. 2018, eq. 12.

    The worst-case logits are 0 for the label and minus the lower bound on its lead for every other class. Radius and
    kappa grow linearly from 0 at the first step to ``attack_size`` and ``kappa`` after a share of the steps.

    Args:
        network: whose layers they pass through.
        options: of the training.
        step: number of the step, from 0.
        parameters: (b, ...) or (1, ...).
        records: images (b, channels, height, width), pixels in [0, 1], and labels (b,).
    """
    images, labels = records
    growth = min(1.0, step / max(1.0, _RAMP * options.steps))
    kappa, box = growth * options.kappa, make_box(images, growth * options.attack_size)
    weight, bias = get_last_parameters(network, parameters)
    features = compute_features(network, parameters, images)
    logits = (weight @ features.unsqueeze(2)).squeeze(2) + bias
    margins = compute_margins(network, parameters, compute_features(network, parameters, box), labels)
    usual_losses, worst_losses = (
        functional.cross_entropy(scores, labels, reduction="none") for scores in (logits, -margins)
    )
    return (1 - kappa) * usual_losses + kappa * worst_losses


def _build_network(task: ImageTrainingTask) -> tuple[ImageNetwork, Robustness]:
    """Return a network, and the certificate that it has after training.

    The first weights of a layer of n inputs have the deviation sqrt(2 pi) / n (Shi et al. 2021, Section 3.1), and not
    1 / sqrt(3 n): the bounds then are as wide behind a layer as before it.
    """
    network = task.build_network()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if name.endswith(".weight"):
                parameter.mul_(math.sqrt(6 * math.pi / parameter[0].numel()))
    return network, Robustness(certify=lambda noises: IntervalBounds.from_network(network, task.shape, noises))


def _prepare_dp_ibp(task: ImageTrainingTask) -> PreparedTraining:
    """Return a DP-SGD run on the interval losses: each is made of its own example, so that the accounting holds."""
    network, robustness = _build_network(task)

    def choose_losses(step: int) -> ExampleLosses:
        return functools.partial(compute_interval_losses, network, task.options, step)

    return prepare_dp_sgd(task, network, robustness=robustness, losses=choose_losses)


DP_IBP_TRAINER = ImageTrainer(
    name="dp-ibp",
    summary="private, and certified in l_inf: DP-SGD on interval bounds",
    source="Gowal et al. 2018; Abadi et al. 2016",
    option_names=DP_SGD_OPTIONS - {"views"} | {"attack_size", "kappa"},
    defaults=ImageTrainingOptions(network="shallow", steps=150, batch_size=2_048, learning_rate=4.0, attack_size=0.05),
    prepare=_prepare_dp_ibp,
)


def _prepare_ibp(task: ImageTrainingTask) -> PreparedTraining:
    network, robustness = _build_network(task)

    def compute_loss(number: int, generator: torch.Generator) -> Tensor:  # noqa: ARG001 - a `StepLoss`
        parameters = {name: parameter.unsqueeze(0) for name, parameter in network.named_parameters()}
        return compute_interval_losses(network, task.options, number, parameters, *task.draw_batch(number)).mean()

    return prepare_adam(task, network, compute_loss, robustness)


IBP_TRAINER = ImageTrainer(
    name="ibp",
    summary="certified in l_inf, not private: interval bounds",
    source="Gowal et al. 2018",
    option_names=ADAM_OPTIONS | {"attack_size", "kappa"},
    defaults=ImageTrainingOptions(network="shallow", attack_size=0.05),
    prepare=_prepare_ibp,
)
