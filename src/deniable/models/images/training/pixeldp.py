"""PixelDP (Lecuyer et al. 2019): noise after the first layer, and a certificate by differential privacy of pixels."""

import torch
from torch import Tensor
from torch.nn import functional, grad

from deniable.models.images.networks import ImageNetwork, NetworkNoise, compute_noisy_scores
from deniable.models.images.pixeldp import PixelDP, compute_pixeldp_sigma
from deniable.models.images.training.plain import ADAM_OPTIONS, draw_training_batch, prepare_unprotected_training
from deniable.models.images.training.trainer import (
    ImageTrainer,
    ImageTrainingOptions,
    ImageTrainingTask,
    PreparedTraining,
)

INPUT_SCALE = 2.0
"""The layer's input is 2x - 1: so much farther apart than two images of pixels in [0, 1]."""
_POWER_ITERATIONS = 8


def estimate_first_layer_norm(network: ImageNetwork, task: ImageTrainingTask) -> float:
    """Return about the operator norm of the first layer, from l2 to l2, by power iteration from a fixed start.

    Good enough to hold the layer during training; a certificate uses the exact one.
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
    """Scale the first layer down to a norm of about 1, where it has grown beyond it (Lecuyer et al. 2019, 3.3)."""
    norm = estimate_first_layer_norm(network, task)
    if norm > 1:
        with torch.no_grad():
            network.first.weight /= norm


def compute_vulnerability(network: ImageNetwork, task: ImageTrainingTask, even_share: float = 0.5) -> Tensor:
    """Return how the noise after the first layer is shared out, (maps, height', width'), with mean 1.

    SecureSGD (Phan et al. 2019) puts more noise on features that are more vulnerable, by the gradients of training
    examples, which would be a leak. Here it is the gradient of the gap between the two highest scores, over images
    of random pixels that are public, so that only parameters are read, which are private already.

    Args:
        network: with its present weights.
        task: which gives the shape of images.
        even_share: share of the noise that is the same everywhere, so that no feature goes without.
    """
    source = torch.Generator(task.device)
    source.manual_seed(0)
    with torch.inference_mode(mode=False), torch.enable_grad():
        images = torch.rand((64, *task.shape), generator=source, device=task.device)
        hidden = network.first(2 * images - 1).detach().requires_grad_()
        top_scores = network.rest(hidden).topk(2, dim=1).values
        (gradient,) = torch.autograd.grad((top_scores[:, 0] - top_scores[:, 1]).sum(), hidden)
    gradient_size = gradient.abs().mean(0)
    noise_shares: Tensor = even_share + (1 - even_share) * gradient_size / gradient_size.mean().clamp(min=1e-12)
    return noise_shares


CONSTRUCTION_EPSILON, CONSTRUCTION_DELTA = 1.0, 0.05
"""The construction of Lecuyer et al. 2019, section 4: private to this degree against attacks of l2 size L."""


def _prepare_pixeldp(task: ImageTrainingTask) -> PreparedTraining:
    network = task.architecture().build(0).to(task.device)
    limit_first_layer_norm(network, task)
    sigma = task.options.attack_size * compute_pixeldp_sigma(
        "gaussian", CONSTRUCTION_EPSILON, CONSTRUCTION_DELTA
    )  # on the pixels
    noises = (NetworkNoise("first layer", "gaussian", torch.tensor(INPUT_SCALE * sigma)),)

    def compute_loss(number: int, source: torch.Generator) -> Tensor:
        images, labels = draw_training_batch(task, number)
        return functional.cross_entropy(compute_noisy_scores(network, images, noises, source), labels)

    return prepare_unprotected_training(
        task,
        network,
        compute_loss,
        get_noises=lambda: noises,
        build_certificate=lambda: PixelDP.from_network(network, task.shape, noises[0], "gaussian"),
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
