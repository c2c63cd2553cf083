"""Private training: DP-SGD on shifted, noisy (DP-CERT) or adversarial views, or with noise after the first layer."""

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from deniable.accounting.planning import build_training_verdict, describe_accounting, plan_training
from deniable.accounting.training import compute_poisson_epsilon
from deniable.core.guarantees import Verdict
from deniable.learning.dp_sgd import DPSGDRun, DPSGDSettings, LossOfStep, ViewFunction
from deniable.models.images.attacks import SignAttack
from deniable.models.images.certificates import GaussianSmoothing, RobustnessCertificate
from deniable.models.images.networks import ImageNetwork, NetworkNoise, compute_noisy_scores
from deniable.models.images.options import ImageTrainingOptions
from deniable.models.images.pixeldp import PixelDP, compute_pixeldp_sigma, limit_first_layer_norm
from deniable.models.images.plain_training import ADAM_OPTIONS, CONSTRUCTION_DELTA, CONSTRUCTION_EPSILON, INPUT_SCALE
from deniable.models.images.training import (
    ImageTrainer,
    ImageTrainingTask,
    PreparedTraining,
    Robustness,
    prepare_training,
)

_MAX_SHIFT = 1
"""Largest shift of an image in pixels, each way."""


def shift_images(images: Tensor, views: int, generator: torch.Generator) -> Tensor:
    """Return the image itself and further views of it, each shifted by at most a pixel and padded with black.

    Args:
        images: (b, channels, height, width), pixels in [0, 1].
        views: v, number of views of each image.
        generator: source of the shifts.

    Returns:
        (b, v, channels, height, width).
    """
    batch, _, height, width = images.shape
    padded = functional.pad(images, (_MAX_SHIFT,) * 4)
    # All windows of the padded image: (b, channels, 3, 3, height, width).
    windows = padded.unfold(2, height, 1).unfold(3, width, 1)
    image_indices = torch.arange(batch, device=images.device)
    shifted_views = [images]
    for _ in range(views - 1):
        down, right = torch.randint(2 * _MAX_SHIFT + 1, (2, batch), generator=generator, device=images.device)
        shifted_views.append(windows[image_indices, :, down, right])
    return torch.stack(shifted_views, dim=1)


DP_SGD_OPTIONS = ADAM_OPTIONS | {"epsilon", "delta", "clip", "noise_multiplier", "average", "views"}
"""Options of every trainer that uses DP-SGD."""


def prepare_dp_sgd(
    task: ImageTrainingTask,
    network: ImageNetwork,
    views: ViewFunction | None = None,
    robustness: Robustness | None = None,
    *,
    losses: LossOfStep | None = None,
    is_noise_trained: bool = False,
) -> PreparedTraining:
    """Return a DP-SGD run within the task's budget, and how its model is built.

    Args:
        task: what to train on, and how.
        network: its parameters are trained in place.
        views: makes the views of each example; None for shifts.
        robustness: of the finished model.
        losses: of the examples of a step; None for the cross-entropy of their views.
        is_noise_trained: whether the network is trained with the model's own noise; else its views may have some.
    """
    options, (epsilon, delta), robustness = task.options, task.budget, robustness or Robustness()
    plan = plan_training(
        len(task.images),
        options.batch_size,
        options.steps,
        epsilon,
        delta,
        clip=options.clip,
        noise_multiplier=options.noise_multiplier,
    )
    settings = DPSGDSettings(plan, options.learning_rate, options.average, options.views)

    def forward(images: Tensor, generator: torch.Generator) -> Tensor:
        noises = robustness.get_noises() if is_noise_trained else ()
        return compute_noisy_scores(network, images, noises, generator)

    def shift(images: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG001 - a view
        return shift_images(images, options.views, generator)

    project, records = robustness.project_parameters, (task.images.pixels, task.images.labels)
    run = DPSGDRun(network, *records, settings, task.key, forward, views or shift, project, losses)

    def conclude() -> tuple[Verdict, dict[str, Any]]:
        network.load_state_dict(run.result)
        robustness.project_parameters()
        return build_training_verdict(plan, delta), describe_accounting(plan, delta)

    def compute_epsilon_spent(done: int) -> float:
        return compute_poisson_epsilon(dataclasses.replace(plan, steps=done), delta) if done else 0.0

    return prepare_training(task, network, run, robustness, conclude, compute_epsilon_spent)


DP_SGD_TRAINER = ImageTrainer(
    name="dp-sgd",
    summary="private: DP-SGD",
    source="Abadi et al. 2016",
    option_names=DP_SGD_OPTIONS,
    defaults=ImageTrainingOptions(steps=150, batch_size=2_048, learning_rate=4.0, views=3),
    prepare=lambda task: prepare_dp_sgd(task, task.build_network()),
)


def _prepare_dp_cert(task: ImageTrainingTask) -> PreparedTraining:
    """Return a DP-SGD run whose views are the image, shifted and under fresh Gaussian noise.

    A view is made of its example and fresh noise only, so that the accounting of DP-SGD holds.
    """
    network, sigma = task.build_network(), task.options.noise
    noises = (NetworkNoise("input", "gaussian", torch.tensor(sigma, dtype=torch.float64)),)

    def make_views(images: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG001 - a view
        views = shift_images(images, task.options.views, generator)
        return views + sigma * torch.randn(views.shape, generator=generator, device=views.device)

    smoothing = Robustness(
        get_noises=lambda: noises,
        certify=lambda noises: GaussianSmoothing.from_network(network, task.shape, noises),
    )
    return prepare_dp_sgd(task, network, make_views, smoothing)


DP_CERT_TRAINER = ImageTrainer(
    name="dp-cert",
    summary="private and certified: DP-SGD on noisy copies, Gaussian smoothing",
    source="Wu et al. 2024 (DP-CERT); Cohen et al. 2019",
    option_names=DP_SGD_OPTIONS | {"noise"},
    defaults=ImageTrainingOptions(steps=150, batch_size=2_048, learning_rate=4.0, views=3),
    prepare=_prepare_dp_cert,
)


def _prepare_dp_adversarial(task: ImageTrainingTask) -> PreparedTraining:
    """Return a DP-SGD run in which the last view of an example is attacked by PGD, and the others are shifted.

    An attack increases the loss of each image separately, so that a view is made of its example and of parameters that
    are private already: the accounting of DP-SGD holds.
    """
    network, options = task.build_network(), task.options
    attack = SignAttack(steps=options.attack_steps, random_start=True)

    def make_views(images: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        valid_labels = labels.clamp(min=0)  # an empty record's views do not matter
        adversarial = attack(network, images, valid_labels, options.attack_size, generator)
        shifted = shift_images(images, options.views, generator)  # (b, v, c, h, w)
        return torch.cat([shifted[:, :-1], adversarial[:, None]], dim=1)

    return prepare_dp_sgd(task, network, make_views)


DP_ADVERSARIAL_TRAINER = ImageTrainer(
    name="dp-adversarial",
    summary="private, and robust in practice: DP-SGD on adversarial copies",
    source="Madry et al. 2018; Abadi et al. 2016",
    option_names=DP_SGD_OPTIONS | {"attack_size", "attack_steps"},
    defaults=ImageTrainingOptions(steps=150, batch_size=2_048, learning_rate=4.0, views=2, attack_steps=3),
    prepare=_prepare_dp_adversarial,
)


def prepare_private_pixeldp(
    task: ImageTrainingTask,
    network: ImageNetwork,
    get_noise: Callable[[], NetworkNoise],
    certify: Callable[[tuple[NetworkNoise, ...]], RobustnessCertificate],
) -> PreparedTraining:
    """Return a DP-SGD run of a network with noise after its first layer, and the certified model that it gives.

    Args:
        task: what to train on, and how.
        network: its first layer is limited to a norm of about 1.
        get_noise: noise after the first layer, a function of the present parameters.
        certify: from the noise of the finished model to its certificate.
    """
    limit_first_layer_norm(network, task.shape)
    robustness = Robustness(lambda: (get_noise(),), certify, lambda: limit_first_layer_norm(network, task.shape))

    def make_views(images: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG001 - a view
        return images[:, None]

    return prepare_dp_sgd(task, network, make_views, robustness, is_noise_trained=True)


def _prepare_securesgd_agm(task: ImageTrainingTask) -> PreparedTraining:
    network = task.build_network()
    sigma = task.options.attack_size * compute_pixeldp_sigma("analytic", CONSTRUCTION_EPSILON, CONSTRUCTION_DELTA)
    noise = NetworkNoise("first layer", "gaussian", torch.tensor(INPUT_SCALE * sigma))
    return prepare_private_pixeldp(
        task,
        network,
        lambda: noise,
        lambda noises: PixelDP.from_network(network, task.shape, noises, "analytic"),
    )


PRIVATE_PIXELDP_OPTIONS = DP_SGD_OPTIONS - {"views"} | {"attack_size"}
PRIVATE_PIXELDP_DEFAULTS = ImageTrainingOptions(steps=150, batch_size=2_048, learning_rate=4.0, attack_size=0.1)

SECURESGD_AGM_TRAINER = ImageTrainer(
    name="securesgd-agm",
    summary="private and certified: DP-SGD with analytic Gaussian noise after the first layer",
    source="Phan et al. 2019; Balle and Wang 2018",
    option_names=PRIVATE_PIXELDP_OPTIONS,
    defaults=PRIVATE_PIXELDP_DEFAULTS,
    prepare=_prepare_securesgd_agm,
)
