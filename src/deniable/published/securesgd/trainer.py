"""SecureSGD (Phan et al. 2019): DP-SGD, which is private, with uneven PixelDP noise, whose certificate has no proof."""

import copy

import torch
from torch import Tensor

from deniable.models.images.networks import ImageNetwork, NetworkNoise
from deniable.models.images.training.pixeldp import (
    CONSTRUCTION_DELTA,
    CONSTRUCTION_EPSILON,
    INPUT_SCALE,
    PRIVATE_PIXELDP_DEFAULTS,
    PRIVATE_PIXELDP_OPTIONS,
    prepare_private_pixeldp,
)
from deniable.models.images.training.trainer import ImageTrainer, ImageTrainingTask, PreparedTraining
from deniable.published.securesgd.certificate import SecureSGDCertificate, compute_heterogeneous_sigma


def _prepare_securesgd(task: ImageTrainingTask) -> PreparedTraining:
    network = task.architecture().build(0).to(task.device)
    sigma = task.options.attack_size * compute_heterogeneous_sigma(CONSTRUCTION_EPSILON, CONSTRUCTION_DELTA)
    # The passes of the copy are not recorded for the gradients of examples.
    network_copy = copy.deepcopy(network)

    def get_noise() -> NetworkNoise:
        network_copy.load_state_dict(network.state_dict())
        # The variance is shared out, so that its mean is that of even noise.
        scale = INPUT_SCALE * sigma * compute_vulnerability(network_copy, task).sqrt().cpu()
        return NetworkNoise("first layer", "gaussian", scale)

    return prepare_private_pixeldp(
        task,
        network,
        get_noise=get_noise,
        build_certificate=lambda noise: SecureSGDCertificate.from_network(network, task.shape, (noise,)),
    )


def compute_vulnerability(network: ImageNetwork, task: ImageTrainingTask, even_share: float = 0.5) -> Tensor:
    """Return the share of each unit in the noise variance after the first layer, (maps, height', width'), mean 1.

    SecureSGD puts more noise on features that are more vulnerable, by the gradients of training examples, which would
    be a leak. Here it is the gradient of the gap between the two highest scores, over images of random pixels that are
    public, so that only parameters are read, which are private already.

    Args:
        network: at its present parameters.
        task: gives the shape of images.
        even_share: part of the variance that is the same everywhere, so that every feature has noise.
    """
    generator = torch.Generator(task.device).manual_seed(0)
    with torch.inference_mode(mode=False), torch.enable_grad():
        images = torch.rand((64, *task.shape), generator=generator, device=task.device)
        hidden = network.first(2 * images - 1).detach().requires_grad_()
        top_scores = network.rest(hidden).topk(2, dim=1).values
        (gradient,) = torch.autograd.grad((top_scores[:, 0] - top_scores[:, 1]).sum(), hidden)
    gradient_size = gradient.abs().mean(0)
    noise_shares: Tensor = even_share + (1 - even_share) * gradient_size / gradient_size.mean().clamp(min=1e-12)
    return noise_shares


SECURESGD_TRAINER = ImageTrainer(
    name="securesgd",
    summary="private and certified: DP-SGD with uneven noise after the first layer",
    source="Phan et al. 2019",
    option_names=PRIVATE_PIXELDP_OPTIONS,
    defaults=PRIVATE_PIXELDP_DEFAULTS,
    prepare=_prepare_securesgd,
)
