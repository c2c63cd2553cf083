"""Training by Adam, without privacy: plain, adversarial, and certified by PixelDP."""

import torch
from torch import Tensor
from torch.nn import functional

from deniable.learning.loop import AdamRun, StepLoss
from deniable.models.images.attacks import SignAttack
from deniable.models.images.networks import ImageNetwork, NetworkNoise, compute_noisy_scores
from deniable.models.images.options import ImageTrainingOptions
from deniable.models.images.pixeldp import PixelDP, compute_pixeldp_sigma, limit_first_layer_norm
from deniable.models.images.training import (
    ImageTrainer,
    ImageTrainingTask,
    PreparedTraining,
    Robustness,
    prepare_training,
)

ADAM_OPTIONS = frozenset({"network", "width", "steps", "batch_size", "learning_rate"})
"""Options of every trainer that uses Adam."""
CONSTRUCTION_EPSILON, CONSTRUCTION_DELTA = 1.0, 0.05
"""The construction of Lecuyer et al. 2019, section 4: private to this degree against attacks of l2 size L."""
INPUT_SCALE = 2.0
"""The layer's input is 2x - 1: distances there are twice those between images of pixels in [0, 1]."""


def prepare_adam(
    task: ImageTrainingTask, network: ImageNetwork, loss: StepLoss, robustness: Robustness | None = None
) -> PreparedTraining:
    """Return a run by Adam without a privacy claim, and how its model is built."""
    options, robustness = task.options, robustness or Robustness()
    run = AdamRun(network, loss, options.steps, options.learning_rate, task.key, robustness.project_parameters)
    return prepare_training(task, network, run, robustness, lambda: (None, {"steps": options.steps}))


def _prepare_plain(task: ImageTrainingTask) -> PreparedTraining:
    network = task.build_network()

    def compute_loss(number: int, generator: torch.Generator) -> Tensor:  # noqa: ARG001 - a `StepLoss`
        images, labels = task.draw_batch(number)
        return functional.cross_entropy(network(images), labels)

    return prepare_adam(task, network, compute_loss)


PLAIN_TRAINER = ImageTrainer(
    name="plain",
    summary="neither private nor robust",
    source="Kingma and Ba 2015 (Adam)",
    option_names=ADAM_OPTIONS,
    defaults=ImageTrainingOptions(),
    prepare=_prepare_plain,
)


def _prepare_adversarial(task: ImageTrainingTask) -> PreparedTraining:
    """Return a run with the loss of Phan et al. 2020, Eq. 16, of benign images and adversarial ones of the next batch.

    With m1 = m2 and xi = 1.
    """
    network = task.build_network()
    attack = SignAttack(steps=task.options.attack_steps, stride=1.0)

    def compute_loss(number: int, generator: torch.Generator) -> Tensor:  # noqa: ARG001 - a `StepLoss`
        images, labels = task.draw_batch(number)
        next_images, next_labels = task.draw_batch(number + 1)
        adversarial_images = attack(network, next_images, next_labels, task.options.attack_size)
        benign_loss = functional.cross_entropy(network(images), labels, reduction="sum")
        adversarial_loss = functional.cross_entropy(network(adversarial_images), next_labels, reduction="sum")
        return (benign_loss + adversarial_loss) / (len(labels) + len(next_labels))

    return prepare_adam(task, network, compute_loss)


ADVERSARIAL_TRAINER = ImageTrainer(
    name="adversarial",
    summary="robust in practice, not private: trained on adversarial examples",
    source="Kurakin et al. 2017; Phan et al. 2020, Algorithm 2",
    option_names=ADAM_OPTIONS | {"attack_size", "attack_steps"},
    defaults=ImageTrainingOptions(steps=600),
    prepare=_prepare_adversarial,
)


def _prepare_pixeldp(task: ImageTrainingTask) -> PreparedTraining:
    """Return a run with noise after the first layer, and a certificate by differential privacy of the pixels."""
    network = task.build_network()
    limit_first_layer_norm(network, task.shape)
    # On the pixels, for attacks of the given size.
    sigma = task.options.attack_size * compute_pixeldp_sigma("gaussian", CONSTRUCTION_EPSILON, CONSTRUCTION_DELTA)
    noises = (NetworkNoise("first layer", "gaussian", torch.tensor(INPUT_SCALE * sigma)),)

    def compute_loss(number: int, generator: torch.Generator) -> Tensor:
        images, labels = task.draw_batch(number)
        return functional.cross_entropy(compute_noisy_scores(network, images, noises, generator), labels)

    robustness = Robustness(
        get_noises=lambda: noises,
        certify=lambda noises: PixelDP.from_network(network, task.shape, noises, "gaussian"),
        project_parameters=lambda: limit_first_layer_norm(network, task.shape),
    )
    return prepare_adam(task, network, compute_loss, robustness)


PIXELDP_TRAINER = ImageTrainer(
    name="pixeldp",
    summary="certified, not private: noise after the first layer",
    source="Lecuyer et al. 2019",
    option_names=ADAM_OPTIONS | {"attack_size"},
    defaults=ImageTrainingOptions(attack_size=0.1),
    prepare=_prepare_pixeldp,
)
