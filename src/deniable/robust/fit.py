"""Training a model from a data set, a system and its options: the front door of the training room."""

import dataclasses
from collections.abc import Callable

import torch

from deniable.randomness import fresh_key, key_from_seed
from deniable.robust.images import Dataset
from deniable.robust.model import Model
from deniable.robust.systems import SYSTEMS, Options, Prepared, Task
from deniable.robust.training.loop import Checkpoint, train

Progress = Callable[[int, int, float, float | None], None]
"""Told steps done, steps in all, the last loss and the epsilon spent; None where nothing is claimed."""


def fit(
    name: str,
    data: Dataset,
    options: Options,
    *,
    seed: int | None = None,
    checkpoint: Checkpoint | None = None,
    device: torch.device | None = None,
    progress: Progress = lambda done, steps, loss, spent: None,  # noqa: ARG005 - nobody is told
) -> Model:
    """Train a model.

    Args:
        name: of the system, one of `SYSTEMS`.
        data: whose training images are protected, where the system protects any; the test images are not used.
        options: from the system's own `System.options`.
        seed: public, for tests and studies; the noise then hides nothing. None for a fresh key.
        checkpoint: where the run is kept; it is taken up where it is found, and left for the caller to remove.
        device: None for a GPU where there is one.
        progress: told after every step.

    Raises:
        InputError: options that cannot be met, or a checkpoint of another run.
        DeniableError: the loss is no number any more, or a checkpoint cannot be written.
    """
    key = fresh_key() if seed is None else key_from_seed(seed)
    if checkpoint is not None:
        key = checkpoint.key(key)
    prepared = prepare(name, data, options, key, device or best_device())
    run = prepared.run

    def told(done: int, loss: float) -> None:
        progress(done, run.steps, loss, prepared.spent(done) if prepared.spent else None)

    train(run, key, checkpoint, told)
    model = prepared.finish()
    model.network.cpu()
    about = {"options": {**dataclasses.asdict(options)}, "seed": seed, "records": len(data.train)}
    return dataclasses.replace(model, system=name, facts={**model.facts, **about})


def prepare(name: str, data: Dataset, options: Options, key: bytes, device: torch.device) -> Prepared:
    """Return a run that has not begun."""
    return SYSTEMS[name].prepare(Task(data.train, len(data.classes), options, key, device))


def best_device() -> torch.device:
    """Return a GPU where there is one, else the processor."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
