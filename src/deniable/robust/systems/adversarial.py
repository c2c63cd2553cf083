"""Adversarial training (Kurakin et al. 2017; paper 004, Algorithm 2)."""

import torch
from torch import Tensor
from torch.nn import functional

from deniable.robust.attacks import i_fgsm
from deniable.robust.systems.plain import ADAM_OPTIONS, draw_training_batch, prepare_unprotected_training
from deniable.robust.systems.system import ImageTrainer, ImageTrainingOptions, ImageTrainingTask, PreparedTraining

_ADVERSARIAL_WEIGHT = 1.0
"""xi of paper 004, Eq. 16."""


def _prepare_adversarial(task: ImageTrainingTask) -> PreparedTraining:
    """The loss is Eq. 16 with m1 = m2: benign images of one batch, and I-FGSM's of the next."""
    network = task.architecture().build(0).to(task.device)
    options = task.options

    def compute_loss(number: int, source: torch.Generator) -> Tensor:  # noqa: ARG001 - a `Loss`
        images, labels = draw_training_batch(task, number)
        next_images, next_labels = draw_training_batch(task, number + 1)
        adversarial_images = i_fgsm(network, next_images, next_labels, options.attack_size, steps=options.attack_steps)
        benign_loss = functional.cross_entropy(network(images), labels, reduction="sum")
        adversarial_loss = functional.cross_entropy(network(adversarial_images), next_labels, reduction="sum")
        return (benign_loss + _ADVERSARIAL_WEIGHT * adversarial_loss) / (
            len(labels) + _ADVERSARIAL_WEIGHT * len(next_labels)
        )

    return prepare_unprotected_training(task, network, compute_loss)


ADVERSARIAL_TRAINER = ImageTrainer(
    name="adversarial",
    summary="robust in practice, not private: trained on adversarial examples",
    source="Kurakin et al. 2017; paper 004, Algorithm 2",
    option_names=ADAM_OPTIONS | {"attack_size", "attack_steps"},
    defaults=ImageTrainingOptions(steps=600),
    prepare=_prepare_adversarial,
)
