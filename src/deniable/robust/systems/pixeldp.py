"""PixelDP (Lecuyer et al. 2019): noise after the first layer, and a certificate by differential privacy of pixels."""

import torch
from torch import Tensor
from torch.nn import functional

from deniable.robust.certificates import PixelDP, compute_pixeldp_sigma
from deniable.robust.noise import NetworkNoise, compute_noisy_scores
from deniable.robust.systems.first_layer import INPUT_SCALE, limit_first_layer_norm
from deniable.robust.systems.plain import ADAM_OPTIONS, draw_training_batch, prepare_unprotected_training
from deniable.robust.systems.system import ImageTrainer, ImageTrainingOptions, ImageTrainingTask, PreparedTraining

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
