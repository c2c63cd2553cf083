"""AdLM, the adaptive Laplace mechanism (Phan et al. 2017): one noise for all images, less where a pixel matters."""

import torch
from torch import Tensor
from torch.nn import functional

from deniable.errors import InputError
from deniable.guarantees import PureDP
from deniable.learning.plain import PlainRun
from deniable.randomness import generator
from deniable.robust.dpal.noise import laplace
from deniable.robust.model import Model
from deniable.robust.networks import Architecture, last_layer
from deniable.robust.noise import Noise, first_shape, noisy
from deniable.robust.systems.plain import USES, batch
from deniable.robust.systems.statistics import settle_statistics
from deniable.robust.systems.system import Options, Prepared, System, Task
from deniable.verdict import Verdict

_SPLIT = (0.25, 0.25, 0.5)
"""Shares of epsilon for relevances, for the first layer and for the loss, as in the authors' code."""
_HIDDEN = 25
"""Units of the last hidden layer there; the sensitivity of the loss grows with its square."""
_CLAMP = (-4.5, 5.5)
"""Perturbed pixels are clamped to [-10, 10] there, in pixels of [-1, 1]."""
_LEAST_RELEVANCE = 1e-5
_FIRST_STEPS = 200


def _prepare(task: Task) -> Prepared:
    """Build the mechanism: noisy relevances, noise on the pixels by relevance, noise on the loss.

    All noise is drawn once. The model that is evaluated has it too, where the authors' code takes it away.
    """
    if task.options.epsilon is None:
        raise InputError("AdLM needs a budget: give --epsilon.")
    epsilon, count = task.options.epsilon, len(task.images.labels)
    size = min(task.options.batch_size, count)
    if size == 1:
        raise InputError("AdLM normalises its layers by batch. Got batches of 1: give more.")
    random = generator(task.key, "noise")
    architecture = Architecture(
        task.options.network, task.shape, task.classes, task.options.width, normalised=True, hidden=_HIDDEN
    )
    network = architecture.build(0).to(task.device)
    first = network.first
    pixels = task.images.pixels[0].numel()

    relevance = _relevance(task) + laplace(random, 2 * pixels / (count * _SPLIT[0] * epsilon), task.shape)
    relevance = relevance.clamp(min=_LEAST_RELEVANCE)
    shares = (relevance / relevance.mean()).clamp(min=_LEAST_RELEVANCE)
    neurons = first_shape(network, task.images.pixels[:1].to(task.device))[2:].numel()
    sensitivity = 2 * neurons * first.in_channels * first.kernel_size[0] ** 2
    scale = sensitivity / (size * _SPLIT[1] * epsilon)
    at_input = laplace(random, scale, task.shape) / shares / 2  # pixels of [-1, 1] there, of [0, 1] here
    of_loss = task.classes * (_HIDDEN + _HIDDEN**2 / 4)
    at_last = laplace(random, of_loss / (size * _SPLIT[2] * epsilon), (_HIDDEN,)).to(task.device)
    noises = (Noise("input", "laplace", torch.tensor(0.0), at_input, _CLAMP),)
    top = last_layer(network)

    def loss(number: int, source: torch.Generator) -> Tensor:
        images, labels = batch(task, number)
        # W (h + noise): noise on the coefficients of the loss is an addition to the last bias.
        scores = noisy(network, images, noises, source) + functional.linear(at_last, top.weight)
        chosen = functional.one_hot(labels, task.classes).to(scores)
        size_of = scores.abs()
        terms = scores.clamp(min=0) - scores * chosen - size_of / 2 + size_of.square() / 8
        return terms.sum(1).mean()

    run = PlainRun(network, loss, task.options.steps, task.options.learning_rate, task.key)

    def noised(images: Tensor) -> Tensor:
        return noisy(network, images.to(task.device), noises, torch.Generator(task.device))

    def finish() -> Model:
        settle_statistics(network, noised, torch.split(task.images.pixels, size))
        with torch.no_grad():
            top.bias.add_(functional.linear(at_last, top.weight))
        return Model(
            system=task.system,
            architecture=architecture,
            network=network.eval(),
            noises=noises,
            guarantee=PureDP(epsilon, "Phan et al. 2017, Theorem 1", "claimed"),
            verdict=_undecided(epsilon),
            certificate=None,
            facts={"steps": run.steps, "epsilon claimed": epsilon},
        )

    def scores(images: Tensor, source: torch.Generator) -> Tensor:
        settle_statistics(network, noised, [task.images.pixels[:size]])
        return noisy(network, images, noises, source) + functional.linear(at_last, top.weight)

    return Prepared(run, finish, scores, lambda done: epsilon if done else 0.0)


def _relevance(task: Task) -> Tensor:
    """Return the mean relevance of each pixel, (channels, height, width) in [0, 1], for a model without privacy.

    Layer-wise relevance propagation, in its form for layers without biases: the gradient times the input, each
    image's scaled to a greatest of 1.
    """
    network = task.architecture().build(1).to(task.device)

    def loss(number: int, source: torch.Generator) -> Tensor:  # noqa: ARG001 - a `Loss`
        images, labels = batch(task, number)
        return functional.cross_entropy(network(images), labels)

    run = PlainRun(network, loss, _FIRST_STEPS, 1e-3, task.key)
    for number in range(run.steps):
        run.step(number)
    total = torch.zeros(task.shape)
    for images, labels in zip(
        torch.split(task.images.pixels, 1_000), torch.split(task.images.labels, 1_000), strict=True
    ):
        given = images.to(task.device).requires_grad_()
        chosen = network(given).gather(1, labels.to(task.device)[:, None]).sum()
        (gradient,) = torch.autograd.grad(chosen, given)
        relevance = (gradient * given).detach().abs()
        total += (relevance / relevance.amax((1, 2, 3), keepdim=True).clamp(min=1e-12)).sum(0).cpu()
    return total / len(task.images.labels)


def _undecided(epsilon: float) -> Verdict:
    return Verdict(
        status="undecided",
        claim=epsilon,
        epsilon=float("inf"),
        lower_bound=0.0,
        confidence=1.0,
        samples=0,
        witness=None,
        method="no proof: its theorem is about sums over a batch, while training reads images that share one noise",
        seconds=0.0,
    )


SYSTEM = System(
    name="adlm",
    summary="claims privacy, without a proof: adaptive Laplace noise, drawn once",
    source="Phan et al. 2017",
    uses=USES | {"epsilon"},
    defaults=Options(network="paper-mnist", steps=600, batch_size=2_499),
    prepare=_prepare,
)
