"""PixelDP (Lecuyer et al. 2019): noise after the first layer, and a certificate by differential privacy of pixels.

Trained by Adam, without privacy of the training images; or by DP-SGD, private too (SecureSGD-AGM, Phan et al. 2019).
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional, grad

from deniable.models.images.networks import ImageNetwork, NetworkNoise, compute_noisy_scores
from deniable.models.images.pixeldp import PixelDP, compute_pixeldp_sigma
from deniable.models.images.robustness import RobustnessCertificate
from deniable.models.images.training.plain import ADAM_OPTIONS, draw_training_batch, prepare_unprotected_training
from deniable.models.images.training.private import DP_SGD_OPTIONS, prepare_dp_sgd
from deniable.models.images.training.trainer import (
    ImageTrainer,
    ImageTrainingOptions,
    ImageTrainingTask,
    PreparedTraining,
)

CONSTRUCTION_EPSILON, CONSTRUCTION_DELTA = 1.0, 0.05
"""The construction of Lecuyer et al. 2019, section 4: private to this degree against attacks of l2 size L."""
INPUT_SCALE = 2.0
"""The layer's input is 2x - 1: distances there are twice those between images of pixels in [0, 1]."""
_POWER_ITERATIONS = 8


def estimate_first_layer_norm(network: ImageNetwork, task: ImageTrainingTask) -> float:
    """Return approximately the operator norm of the first layer, l2 to l2, by power iteration from a fixed start.

    It is good enough to limit the layer during training; a certificate uses the exact norm.
    """
    first = network.first
    with torch.no_grad():
        vector = torch.ones(1, *task.shape, device=task.device)
        for _ in range(_POWER_ITERATIONS):
            image = functional.conv2d(vector, first.weight, stride=first.stride, padding=first.padding)
            vector = grad.conv2d_input(  # type: ignore[no-untyped-call]
                vector.shape, first.weight, image, stride=first.stride, padding=first.padding
            )
            squared_norm = vector.norm()
            vector = vector / squared_norm.clamp(min=1e-12)
    return float(squared_norm.sqrt())


def limit_first_layer_norm(network: ImageNetwork, task: ImageTrainingTask) -> None:
    """Scale the first layer down to a norm of about 1, if it is larger (Lecuyer et al. 2019, 3.3)."""
    norm = estimate_first_layer_norm(network, task)
    if norm > 1:
        with torch.no_grad():
            network.first.weight /= norm


def _prepare_pixeldp(task: ImageTrainingTask) -> PreparedTraining:
    network = task.architecture().build(0).to(task.device)
    limit_first_layer_norm(network, task)
    # On the pixels, for attacks of the given size.
    sigma = task.options.attack_size * compute_pixeldp_sigma("gaussian", CONSTRUCTION_EPSILON, CONSTRUCTION_DELTA)
    noises = (NetworkNoise("first layer", "gaussian", torch.tensor(INPUT_SCALE * sigma)),)

    def compute_loss(number: int, generator: torch.Generator) -> Tensor:
        images, labels = draw_training_batch(task, number)
        return functional.cross_entropy(compute_noisy_scores(network, images, noises, generator), labels)

    return prepare_unprotected_training(
        task,
        network,
        compute_loss,
        get_noises=lambda: noises,
        build_certificate=lambda: PixelDP.from_network(network, task.shape, noises, "gaussian"),
        project_parameters=lambda: limit_first_layer_norm(network, task),
    )


PIXELDP_TRAINER = ImageTrainer(
    name="pixeldp",
    summary="certified, not private: noise after the first layer",
    source="Lecuyer et al. 2019",
    option_names=ADAM_OPTIONS | {"attack_size"},
    defaults=ImageTrainingOptions(attack_size=0.1),
    prepare=_prepare_pixeldp,
)


def prepare_private_pixeldp(
    task: ImageTrainingTask,
    network: ImageNetwork,
    *,
    get_noise: Callable[[], NetworkNoise],
    build_certificate: Callable[[NetworkNoise], RobustnessCertificate],
) -> PreparedTraining:
    """Return a DP-SGD run of a network with noise after its first layer, and the certified model that it gives.

    Args:
        task: what to train on, and how.
        network: its first layer is limited to a norm of about 1.
        get_noise: noise after the first layer, a function of the present parameters.
        build_certificate: from the noise of the finished model to its certificate.
    """
    limit_first_layer_norm(network, task)
    return prepare_dp_sgd(
        task,
        network,
        forward=lambda images, generator: compute_noisy_scores(network, images, (get_noise(),), generator),
        views=lambda images, labels, generator: images[:, None],  # noqa: ARG005 - the image is its only view
        get_noises=lambda: (get_noise(),),
        build_certificate=lambda: build_certificate(get_noise()),
        project_parameters=lambda: limit_first_layer_norm(network, task),
    )


def _prepare_securesgd_agm(task: ImageTrainingTask) -> PreparedTraining:
    network = task.architecture().build(0).to(task.device)
    sigma = task.options.attack_size * compute_pixeldp_sigma("analytic", CONSTRUCTION_EPSILON, CONSTRUCTION_DELTA)
    noise = NetworkNoise("first layer", "gaussian", torch.tensor(INPUT_SCALE * sigma))
    return prepare_private_pixeldp(
        task,
        network,
        get_noise=lambda: noise,
        build_certificate=lambda noise: PixelDP.from_network(network, task.shape, (noise,), "analytic"),
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
