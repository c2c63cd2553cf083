"""Private training: DP-SGD on shifted, noisy (DP-CERT) or adversarial views, averaged in the gradient of an example."""

import dataclasses
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from deniable.accounting.planning import build_training_verdict, describe_accounting, plan_training
from deniable.accounting.training import compute_poisson_epsilon
from deniable.core.errors import InputError
from deniable.learning.dp_sgd import DPSGDRun, DPSGDSettings, NoisyForwardFunction, ViewFunction
from deniable.models.images.attacks import pgd
from deniable.models.images.model import ImageModel
from deniable.models.images.networks import ImageNetwork, NetworkNoise, compute_noisy_scores
from deniable.models.images.robustness import RobustnessCertificate
from deniable.models.images.smoothing import GaussianSmoothing
from deniable.models.images.training.trainer import (
    ImageTrainer,
    ImageTrainingOptions,
    ImageTrainingTask,
    PreparedTraining,
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


def add_gaussian_noise(views: Tensor, deviation: float, generator: torch.Generator) -> Tensor:
    """Return views (b, v, channels, height, width) with fresh Gaussian noise on every pixel."""
    return views + deviation * torch.randn(views.shape, generator=generator, device=views.device)


DP_SGD_OPTIONS = frozenset(
    {
        "epsilon",
        "delta",
        "network",
        "width",
        "steps",
        "batch_size",
        "learning_rate",
        "clip",
        "noise_multiplier",
        "average",
        "views",
    }
)
"""Options of every trainer that uses DP-SGD."""


def prepare_dp_sgd(
    task: ImageTrainingTask,
    network: ImageNetwork,
    *,
    forward: NoisyForwardFunction,
    views: ViewFunction,
    get_noises: Callable[[], tuple[NetworkNoise, ...]],
    build_certificate: Callable[[], RobustnessCertificate | None],
    project_parameters: Callable[[], None] = lambda: None,
) -> PreparedTraining:
    """Return a DP-SGD run within the task's budget, and how its model is built.

    Args:
        task: what to train on, and how.
        network: its parameters are trained in place.
        forward: evaluates the network during training.
        views: makes the views of each example.
        get_noises: noise of the finished model.
        build_certificate: builds the certificate of the finished model, None for none.
        project_parameters: called after every step; it may read the parameters only.
    """
    options = task.options
    epsilon, delta = _get_budget(options)
    plan = plan_training(
        len(task.images),
        options.batch_size,
        options.steps,
        epsilon,
        delta,
        clip=options.clip,
        noise_multiplier=options.noise_multiplier,
    )
    settings = DPSGDSettings(
        plan,
        learning_rate=options.learning_rate,
        averaging_decay=options.average,
        views=options.views,
    )
    run = DPSGDRun(
        network, task.images.pixels, task.images.labels, settings, task.key, forward, views, project_parameters
    )

    def build_model() -> ImageModel:
        network.load_state_dict(run.result)
        project_parameters()
        verdict = build_training_verdict(plan, delta)
        return ImageModel(
            trainer=task.trainer,
            architecture=task.architecture(),
            network=network.eval(),
            noises=get_noises(),
            guarantee=verdict.guarantee,
            verdict=verdict,
            certificate=build_certificate(),
            facts=describe_accounting(plan, delta),
        )

    return PreparedTraining(
        run,
        build_model,
        scores=lambda images, generator: compute_noisy_scores(network, images, get_noises(), generator),
        compute_epsilon_spent=lambda done: (
            compute_poisson_epsilon(dataclasses.replace(plan, steps=done), delta) if done else 0.0
        ),
    )


def _get_budget(options: ImageTrainingOptions) -> tuple[float, float]:
    if options.epsilon is None or options.delta is None:
        raise InputError("DP-SGD needs a budget: give --epsilon and --delta.")
    return options.epsilon, options.delta


def _prepare_plain_dp_sgd(task: ImageTrainingTask) -> PreparedTraining:
    network = task.architecture().build(0).to(task.device)
    return prepare_dp_sgd(
        task,
        network,
        forward=lambda images, generator: compute_noisy_scores(network, images, (), generator),
        views=lambda images, labels, generator: shift_images(images, task.options.views, generator),  # noqa: ARG005 - the same for all
        get_noises=tuple,
        build_certificate=lambda: None,
    )


DP_SGD_TRAINER = ImageTrainer(
    name="dp-sgd",
    summary="private: DP-SGD",
    source="Abadi et al. 2016",
    option_names=DP_SGD_OPTIONS,
    defaults=ImageTrainingOptions(steps=150, batch_size=2_048, learning_rate=4.0, views=3),
    prepare=_prepare_plain_dp_sgd,
)


def _prepare_dp_cert(task: ImageTrainingTask) -> PreparedTraining:
    """Return a DP-SGD run whose views are the image, shifted and under fresh Gaussian noise.

    A view is made of its example and fresh noise alone, so that the accounting of DP-SGD holds.
    """
    network = task.architecture().build(0).to(task.device)
    sigma, view_count = task.options.noise, task.options.views
    noises = (NetworkNoise("input", "gaussian", torch.tensor(sigma, dtype=torch.float64)),)

    def make_views(images: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG001 - a view
        return add_gaussian_noise(shift_images(images, view_count, generator), sigma, generator)

    return prepare_dp_sgd(
        task,
        network,
        forward=lambda images, generator: compute_noisy_scores(network, images, (), generator),
        views=make_views,
        get_noises=lambda: noises,
        build_certificate=lambda: GaussianSmoothing.from_network(network, task.shape, noises),
    )


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
    network = task.architecture().build(0).to(task.device)
    options = task.options

    def make_views(images: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        valid_labels = labels.clamp(min=0)  # an empty record's views do not matter
        adversarial = pgd(
            network, images, valid_labels, options.attack_size, generator=generator, steps=options.attack_steps
        )
        shifted = shift_images(images, options.views, generator)  # (b, v, c, h, w)
        return torch.cat([shifted[:, :-1], adversarial[:, None]], dim=1)

    return prepare_dp_sgd(
        task,
        network,
        forward=lambda images, generator: compute_noisy_scores(network, images, (), generator),
        views=make_views,
        get_noises=tuple,
        build_certificate=lambda: None,
    )


DP_ADVERSARIAL_TRAINER = ImageTrainer(
    name="dp-adversarial",
    summary="private, and robust in practice: DP-SGD on adversarial copies",
    source="Madry et al. 2018; Abadi et al. 2016",
    option_names=DP_SGD_OPTIONS | {"attack_size", "attack_steps"},
    defaults=ImageTrainingOptions(steps=150, batch_size=2_048, learning_rate=4.0, views=2, attack_steps=3),
    prepare=_prepare_dp_adversarial,
)
