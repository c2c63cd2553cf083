"""Training a model from a data set, a system and its options: the front door of the training room."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from deniable.learning.loop import Checkpoint, train
from deniable.learning.setup import best_device
from deniable.randomness import fresh_key, key_from_seed
from deniable.robust.images import Dataset
from deniable.robust.model import Model, predict
from deniable.robust.systems import SYSTEMS, Options, Task
from deniable.robust.types import Scores


@dataclasses.dataclass(frozen=True)
class Status:
    """Where a run is, for its owner's eyes.

    Attributes:
        done: steps.
        steps: in all.
        loss: of the last, over training records, and not private.
        spent: computes epsilon so far, which takes a while; None where nothing is claimed.
        scores: of the model as it is by now.
    """

    done: int
    steps: int
    loss: float
    spent: Callable[[], float] | None
    scores: Scores

    def accuracy(self, images: Tensor, labels: Tensor) -> float:
        """Return the share of images (n, ...) that get their label (n,) in one draw of the noise."""
        return float((predict(self.scores, images, draws=1).cpu() == labels).float().mean())


def describe_run(name: str, data: Dataset, options: Options, seed: int | None) -> dict[str, Any]:
    """Return everything that a run is a function of beside its key, as JSON holds it: see `fit`."""
    return {
        "model": name,
        "data": data.fingerprint,
        "seed": seed,
        **dataclasses.asdict(options),
    }


def fit(
    name: str,
    data: Dataset,
    options: Options,
    *,
    seed: int | None = None,
    checkpoint: Checkpoint | None = None,
    device: torch.device | None = None,
    progress: Callable[[Status], None] = lambda status: None,  # noqa: ARG005 - nobody is told
) -> Model:
    """Train a model.

    Args:
        name: of the system, one of `SYSTEMS`.
        data: whose training images are protected, where the system protects any; the test images are not used.
        options: from the system's own `System.options`.
        seed: public, for tests and studies; the noise then hides nothing. None for a fresh key.
        checkpoint: where the run is kept; it is taken up where it is found, and left for the caller to remove. It is
            bound to `describe_run`, whatever its parameters: one key never serves two different runs.
        device: None for a GPU where there is one.
        progress: told after every step.

    Raises:
        InputError: options that cannot be met, or a checkpoint of another run.
        DeniableError: the loss is no number any more, or a checkpoint cannot be written.
    """
    key = fresh_key() if seed is None else key_from_seed(seed)
    if checkpoint is not None:
        checkpoint = checkpoint.bind(describe_run(name, data, options, seed))
        key = checkpoint.key(key)
    device = device or best_device()
    prepared = SYSTEMS[name].prepare(Task(name, data.train, len(data.classes), options, key, device))
    run, source = prepared.run, torch.Generator(device).manual_seed(0)

    def told(done: int, loss: float) -> None:
        spent = functools.partial(prepared.spent, done) if prepared.spent else None
        progress(Status(done, run.steps, loss, spent, lambda images: prepared.scores(images.to(device), source)))

    train(run, key, checkpoint, told)
    model = prepared.finish()
    model.network.cpu()
    about = {
        "options": dataclasses.asdict(options),
        "seed": seed,
        "records": len(data.train),
        "classes": list(data.classes),
        "classes declared": data.declared.classes is not None,
        "pixel range": None if data.declared.pixel_range is None else list(data.declared.pixel_range),
    }
    return dataclasses.replace(model, facts={**model.facts, **about})
