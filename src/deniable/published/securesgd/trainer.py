"""SecureSGD and SecureSGD-AGM (Phan et al. 2019): DP-SGD with PixelDP's noise, uneven or analytic."""

import copy
from collections.abc import Callable

import torch
from torch import Tensor

from deniable.models.images.networks import NetworkNoise, compute_noisy_scores
from deniable.models.images.pixeldp import NoiseCalibration, PixelDP, compute_pixeldp_sigma
from deniable.models.images.training.pixeldp import (
    CONSTRUCTION_DELTA,
    CONSTRUCTION_EPSILON,
    INPUT_SCALE,
    compute_vulnerability,
    limit_first_layer_norm,
)
from deniable.models.images.training.private import DP_SGD_OPTIONS, prepare_dp_sgd
from deniable.models.images.training.trainer import (
    ImageTrainer,
    ImageTrainingOptions,
    ImageTrainingTask,
    PreparedTraining,
)


def _make_preparation(mechanism: NoiseCalibration, *, uneven: bool) -> Callable[[ImageTrainingTask], PreparedTraining]:
    def prepare(task: ImageTrainingTask) -> PreparedTraining:
        network = task.architecture().build(0).to(task.device)
        limit_first_layer_norm(network, task)
        sigma = (
            INPUT_SCALE
            * task.options.attack_size
            * compute_pixeldp_sigma(mechanism, CONSTRUCTION_EPSILON, CONSTRUCTION_DELTA)
        )
        network_copy = copy.deepcopy(
            network
        )  # whose passes are none of those that are watched for gradients of examples

        def get_noises() -> tuple[NetworkNoise, ...]:
            if not uneven:
                return (NetworkNoise("first layer", "gaussian", torch.tensor(sigma)),)
            network_copy.load_state_dict(network.state_dict())
            # The variance is shared out, so that its mean is that of even noise.
            return (
                NetworkNoise("first layer", "gaussian", sigma * compute_vulnerability(network_copy, task).sqrt().cpu()),
            )

        def forward(images: Tensor, source: torch.Generator) -> Tensor:
            return compute_noisy_scores(network, images, get_noises(), source)

        return prepare_dp_sgd(
            task,
            network,
            forward=forward,
            views=lambda images, labels, source: images[:, None],  # noqa: ARG005 - the image is its only view
            get_noises=get_noises,
            build_certificate=lambda: PixelDP.from_network(network, task.shape, get_noises()[0], mechanism),
            project_parameters=lambda: limit_first_layer_norm(network, task),
        )

    return prepare


_SECURESGD_DEFAULTS = ImageTrainingOptions(steps=150, batch_size=2_048, learning_rate=4.0, attack_size=0.1)

SECURESGD_TRAINER = ImageTrainer(
    name="securesgd",
    summary="private and certified: DP-SGD with uneven noise after the first layer",
    source="Phan et al. 2019",
    option_names=DP_SGD_OPTIONS - {"views"} | {"attack_size"},
    defaults=_SECURESGD_DEFAULTS,
    prepare=_make_preparation("heterogeneous", uneven=True),
)
SECURESGD_AGM_TRAINER = ImageTrainer(
    name="securesgd-agm",
    summary="private and certified: DP-SGD with analytic Gaussian noise after the first layer",
    source="Phan et al. 2019; Balle and Wang 2018",
    option_names=DP_SGD_OPTIONS - {"views"} | {"attack_size"},
    defaults=_SECURESGD_DEFAULTS,
    prepare=_make_preparation("analytic", uneven=False),
)
