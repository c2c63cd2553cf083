"""Without privacy and without noise: what everything else is compared with."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from deniable.learning.plain import Loss, PlainRun, batch_of
from deniable.robust.certificates import Certificate
from deniable.robust.model import Model
from deniable.robust.networks import Network
from deniable.robust.noise import Noise, noisy
from deniable.robust.systems.system import Options, Prepared, System, Task

USES = frozenset({"network", "width", "steps", "batch_size", "learning_rate"})
"""Options of every system that trains by Adam."""


def unprotected(
    task: Task,
    network: Network,
    loss: Loss,
    *,
    noises: Callable[[], tuple[Noise, ...]] = tuple,
    certificate: Callable[[], Certificate | None] = lambda: None,
    settle: Callable[[], None] = lambda: None,
) -> Prepared:
    """Return a run by Adam that claims nothing of the training records, and the model that it gives."""
    options = task.options
    run = PlainRun(network, loss, options.steps, options.learning_rate, task.key, settle)

    def finish() -> Model:
        return Model(
            system=task.system,
            architecture=task.architecture(),
            network=network.eval(),
            noises=noises(),
            guarantee=None,
            verdict=None,
            certificate=certificate(),
            facts={"steps": options.steps},
        )

    return Prepared(run, finish, lambda images, source: noisy(network, images, noises(), source))


def batch(task: Task, number: int) -> tuple[Tensor, Tensor]:
    """Return images (b, c, h, w) and labels (b,) of a step, on the task's device."""
    chosen = batch_of(len(task.images.labels), task.options.batch_size, number, task.key)
    return task.images.pixels[chosen].to(task.device), task.images.labels[chosen].to(task.device)


def _prepare(task: Task) -> Prepared:
    network = task.architecture().build(0).to(task.device)

    def loss(number: int, source: torch.Generator) -> Tensor:  # noqa: ARG001 - a `Loss`
        images, labels = batch(task, number)
        return functional.cross_entropy(network(images), labels)

    return unprotected(task, network, loss)


SYSTEM = System(
    name="plain",
    summary="neither private nor robust",
    source="Kingma and Ba 2015 (Adam)",
    uses=USES,
    defaults=Options(),
    prepare=_prepare,
)
