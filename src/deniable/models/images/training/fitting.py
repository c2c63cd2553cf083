"""Training an image model: from a trainer, a data set and options to a model, with checkpoints and progress."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from deniable.core.randomness import derive_key_from_seed, generate_key
from deniable.learning.loop import Checkpoint, choose_device, run_training
from deniable.models.images.dataset import ImageDataset
from deniable.models.images.model import ImageModel, predict_classes
from deniable.models.images.training.trainer import ImageTrainer, ImageTrainingOptions, ImageTrainingTask
from deniable.models.shared.tally import ImageScorer


@dataclasses.dataclass(frozen=True)
class TrainingProgress:
    """The state of a run, for its owner only: nothing in it is private.

    Attributes:
        done: number of steps done.
        steps: number of steps of the run.
        loss: loss of the last step over training records.
        compute_epsilon_spent: computes the epsilon spent so far, which takes a while; None if nothing is claimed.
        scores: the model as trained so far.
    """

    done: int
    steps: int
    loss: float
    compute_epsilon_spent: Callable[[], float] | None
    scores: ImageScorer

    def accuracy(self, images: Tensor, labels: Tensor) -> float:
        """Return the share of images (n, ...) that get their label (n,) in one draw of the noise."""
        return float((predict_classes(self.scores, images, draws=1).cpu() == labels).float().mean())


def describe_image_run(
    trainer: ImageTrainer, data: ImageDataset, options: ImageTrainingOptions, seed: int | None
) -> dict[str, Any]:
    """Return everything that a run depends on besides its key, as JSON values; see `fit_image_model`."""
    return {
        "model": trainer.name,
        "data": data.fingerprint,
        "seed": seed,
        **dataclasses.asdict(options),
    }


def fit_image_model(
    trainer: ImageTrainer,
    data: ImageDataset,
    options: ImageTrainingOptions,
    *,
    seed: int | None = None,
    checkpoint: Checkpoint | None = None,
    device: torch.device | None = None,
    progress: Callable[[TrainingProgress], None] = lambda status: None,  # noqa: ARG005 - reports nothing
) -> ImageModel:
    """Train a model.

    Args:
        trainer: how to train; those of this package are listed in the registry of trainers.
        data: the training images are protected, if the trainer protects any; the test images are not used.
        options: from `ImageTrainer.choose_options` of the trainer.
        seed: public, for tests and studies; the noise then hides nothing. None for a fresh key.
        checkpoint: where the run is saved; if its file exists, the run is resumed, and the caller removes the file. It
            is bound to `describe_image_run`, whatever its parameters: one key never serves two different runs.
        device: None for a GPU if there is one.
        progress: called after every step.

    Raises:
        InputError: options that cannot be met, or a checkpoint of another run.
        DeniableError: the loss is not finite, or a checkpoint cannot be written.
    """
    key = generate_key() if seed is None else derive_key_from_seed(seed)
    if checkpoint is not None:
        checkpoint = checkpoint.bind(describe_image_run(trainer, data, options, seed))
        key = checkpoint.load_key(key)
    device = device or choose_device()
    prepared = trainer.prepare(ImageTrainingTask(trainer.name, data.train, len(data.classes), options, key, device))
    run, generator = prepared.run, torch.Generator(device).manual_seed(0)

    def report_step(done: int, loss: float) -> None:
        spent = functools.partial(prepared.compute_epsilon_spent, done) if prepared.compute_epsilon_spent else None
        progress(
            TrainingProgress(done, run.steps, loss, spent, lambda images: prepared.scores(images.to(device), generator))
        )

    run_training(run, key, checkpoint, report_step)
    model = prepared.finish()
    model.network.cpu()
    public_facts = {
        "options": dataclasses.asdict(options),
        "seed": seed,
        "records": len(data.train),
        "classes": list(data.classes),
        "classes declared": data.declaration.classes is not None,
        "pixel range": None if data.declaration.pixel_range is None else list(data.declaration.pixel_range),
    }
    return dataclasses.replace(model, facts={**model.facts, **public_facts})
