"""Training a model from a data set, a system and its options: the front door of the training room."""

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
from deniable.models.images.training.trainer import ImageTrainingOptions, ImageTrainingTask
from deniable.models.shared.tally import ImageScorer
from deniable.registry.trainers import IMAGE_TRAINERS


@dataclasses.dataclass(frozen=True)
class TrainingProgress:
    """Where a run is, for its owner's eyes.

    Attributes:
        done: steps.
        steps: in all.
        loss: of the last, over training records, and not private.
        compute_epsilon_spent: computes epsilon so far, which takes a while; None where nothing is claimed.
        scores: of the model as it is by now.
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
    name: str, data: ImageDataset, options: ImageTrainingOptions, seed: int | None
) -> dict[str, Any]:
    """Return everything that a run is a function of beside its key, as JSON holds it: see `fit_image_model`."""
    return {
        "model": name,
        "data": data.fingerprint,
        "seed": seed,
        **dataclasses.asdict(options),
    }


def fit_image_model(
    name: str,
    data: ImageDataset,
    options: ImageTrainingOptions,
    *,
    seed: int | None = None,
    checkpoint: Checkpoint | None = None,
    device: torch.device | None = None,
    progress: Callable[[TrainingProgress], None] = lambda status: None,  # noqa: ARG005 - nobody is told
) -> ImageModel:
    """Train a model.

    Args:
        name: of the system, one of `IMAGE_TRAINERS`.
        data: whose training images are protected, where the system protects any; the test images are not used.
        options: from the system's own `ImageTrainer.options`.
        seed: public, for tests and studies; the noise then hides nothing. None for a fresh key.
        checkpoint: where the run is kept; it is taken up where it is found, and left for the caller to remove. It is
            bound to `describe_image_run`, whatever its parameters: one key never serves two different runs.
        device: None for a GPU where there is one.
        progress: told after every step.

    Raises:
        InputError: options that cannot be met, or a checkpoint of another run.
        DeniableError: the loss is no number any more, or a checkpoint cannot be written.
    """
    key = generate_key() if seed is None else derive_key_from_seed(seed)
    if checkpoint is not None:
        checkpoint = checkpoint.bind(describe_image_run(name, data, options, seed))
        key = checkpoint.load_key(key)
    device = device or choose_device()
    prepared = IMAGE_TRAINERS[name].prepare(
        ImageTrainingTask(name, data.train, len(data.classes), options, key, device)
    )
    run, source = prepared.run, torch.Generator(device).manual_seed(0)

    def report_step(done: int, loss: float) -> None:
        spent = functools.partial(prepared.compute_epsilon_spent, done) if prepared.compute_epsilon_spent else None
        progress(
            TrainingProgress(done, run.steps, loss, spent, lambda images: prepared.scores(images.to(device), source))
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
