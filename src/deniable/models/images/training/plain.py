"""Training by Adam without privacy: plain, and adversarial (Kurakin et al. 2017; Phan et al. 2020, Algorithm 2)."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from deniable.learning.loop import AdamRun, StepLoss, select_batch
from deniable.models.images.attacks import i_fgsm
from deniable.models.images.model import ImageModel
from deniable.models.images.networks import ImageNetwork, NetworkNoise, compute_noisy_scores
from deniable.models.images.robustness import RobustnessCertificate
from deniable.models.images.training.trainer import (
    ImageTrainer,
    ImageTrainingOptions,
    ImageTrainingTask,
    PreparedTraining,
)

ADAM_OPTIONS = frozenset({"network", "width", "steps", "batch_size", "learning_rate"})
"""Options of every trainer that uses Adam."""
_ADVERSARIAL_WEIGHT = 1.0
"""xi of Phan et al. 2020, Eq. 16."""


def prepare_unprotected_training(
    task: ImageTrainingTask,
    network: ImageNetwork,
    loss: StepLoss,
    *,
    get_noises: Callable[[], tuple[NetworkNoise, ...]] = tuple,
    build_certificate: Callable[[], RobustnessCertificate | None] = lambda: None,
    project_parameters: Callable[[], None] = lambda: None,
) -> PreparedTraining:
    """Return a run by Adam without a privacy claim, and how its model is built.

    Args:
        task: what to train on, and how.
        network: its parameters are trained in place.
        loss: computes the loss of a step.
        get_noises: noise of the finished model.
        build_certificate: builds the certificate of the finished model, None for none.
        project_parameters: called after every step.
    """
    options = task.options
    run = AdamRun(network, loss, options.steps, options.learning_rate, task.key, project_parameters)

    def build_model() -> ImageModel:
        return ImageModel(
            trainer=task.trainer,
            architecture=task.architecture(),
            network=network.eval(),
            noises=get_noises(),
            guarantee=None,
            verdict=None,
            certificate=build_certificate(),
            facts={"steps": options.steps},
        )

    return PreparedTraining(
        run, build_model, lambda images, generator: compute_noisy_scores(network, images, get_noises(), generator)
    )


def draw_training_batch(task: ImageTrainingTask, number: int) -> tuple[Tensor, Tensor]:
    """Return images (b, c, h, w) and labels (b,) of a step, on the task's device."""
    indices = select_batch(len(task.images.labels), task.options.batch_size, number, task.key)
    return task.images.pixels[indices].to(task.device), task.images.labels[indices].to(task.device)


def _prepare_plain(task: ImageTrainingTask) -> PreparedTraining:
    network = task.architecture().build(0).to(task.device)

    def compute_loss(number: int, generator: torch.Generator) -> Tensor:  # noqa: ARG001 - a `StepLoss`
        images, labels = draw_training_batch(task, number)
        return functional.cross_entropy(network(images), labels)

    return prepare_unprotected_training(task, network, compute_loss)


PLAIN_TRAINER = ImageTrainer(
    name="plain",
    summary="neither private nor robust",
    source="Kingma and Ba 2015 (Adam)",
    option_names=ADAM_OPTIONS,
    defaults=ImageTrainingOptions(),
    prepare=_prepare_plain,
)


def _prepare_adversarial(task: ImageTrainingTask) -> PreparedTraining:
    """Return a run with the loss of Eq. 16, m1 = m2: benign images of a batch, adversarial ones of the next."""
    network = task.architecture().build(0).to(task.device)
    options = task.options

    def compute_loss(number: int, generator: torch.Generator) -> Tensor:  # noqa: ARG001 - a `StepLoss`
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
    source="Kurakin et al. 2017; Phan et al. 2020, Algorithm 2",
    option_names=ADAM_OPTIONS | {"attack_size", "attack_steps"},
    defaults=ImageTrainingOptions(steps=600),
    prepare=_prepare_adversarial,
)
