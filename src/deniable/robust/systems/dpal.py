"""DPAL as published (Phan et al. 2020, Algorithm 1). Its privacy claim and its certificate are refuted."""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from deniable.errors import InputError
from deniable.guarantees import PureDP
from deniable.learning.plain import PlainRun
from deniable.randomness import generator
from deniable.robust.attacks import i_fgsm, mim, pgd
from deniable.robust.certificates import DPALCertificate
from deniable.robust.dpal.noise import Budget, shared
from deniable.robust.dpal.objectives import adversarial_objective, class_objective, held, reconstruction_objective
from deniable.robust.dpal.verdict import refuted
from deniable.robust.model import Model
from deniable.robust.networks import Network, last_layer
from deniable.robust.noise import Noise, first_shape
from deniable.robust.systems.plain import USES
from deniable.robust.systems.statistics import settle_statistics
from deniable.robust.systems.system import Options, Prepared, System, Task
from deniable.robust.types import Scores

_FREE = (-torch.inf, torch.inf)
"""Perturbed images have no bounds to stay in."""
_LEAST_COLOUR = 2.0
_EPS2 = 0.1
"""Of grey images, for labels."""
_ATTACK = 0.2
"""mu in the certificate's Delta_r^x = mu d: the attack size of Figures 2 and 3, in pixels of [-1, 1]."""

Crafting = Callable[[Scores, Tensor, Tensor, float, int, torch.Generator], Tensor]
_ENSEMBLE: dict[str, Crafting] = {
    "i-fgsm": lambda scores, images, labels, size, steps, _: i_fgsm(
        scores, images, labels, size, bounds=_FREE, steps=steps
    ),
    "mim": lambda scores, images, labels, size, steps, _: mim(scores, images, labels, size, bounds=_FREE, steps=steps),
    "pgd": lambda scores, images, labels, size, steps, source: pgd(
        scores, images, labels, size, generator=source, bounds=_FREE, steps=steps
    ),
}
"""A of Algorithm 1."""


def _prepare(task: Task) -> Prepared:
    """Build Algorithm 1, line by line.

    Three things that the paper leaves open: descent is Adam's; the kernels of the first layer are held at the
    1-norm with which the budget is computed; and layers are normalised by batch, as in the authors' code, which takes
    away the offset of the shared noise, but by statistics of the training batches at inference.
    """
    network = task.architecture(normalised=True).build(0).to(task.device)
    hidden_shape = tuple(first_shape(network, task.images.pixels[:1].to(task.device))[1:])
    budget, xi, psi = _settings(task, network, hidden_shape)
    _begin(network, budget)

    # Line 1: the noise is drawn once.
    neurons = last_layer(network).in_features
    noise = shared(budget, generator(task.key, "noise"), image=task.shape, hidden=hidden_shape, neurons=neurons)
    at_input = noise.input.to(task.device) / 2  # pixels of [-1, 1] there, of [0, 1] here
    at_hidden, at_label = noise.hidden.to(task.device), noise.label.to(task.device)
    # Line 2: disjoint batches of m, fixed.
    order = torch.from_numpy(generator(task.key, "batches").permutation(len(task.images.labels)))
    batches = [chosen for chosen in torch.split(order, int(budget.m)) if len(chosen) == int(budget.m)]

    def perturbed(number: int) -> tuple[Tensor, Tensor]:
        """Return x-bar, (m, c, h, w), and labels (m,) of a batch."""
        chosen = batches[number % len(batches)]
        return task.images.pixels[chosen].to(task.device) + at_input, task.images.labels[chosen].to(task.device)

    def parts(images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return both objectives of perturbed images, (m,) and (m,): neither moves the other's parameters."""
        first = network.first
        pixels = 2 * images - 1
        rebuilt = reconstruction_objective(
            pixels, first.weight, at_hidden, stride=first.stride[0], padding=int(first.padding[0])
        )
        with torch.no_grad():
            hidden = first(pixels) + at_hidden  # (m, maps, h', w')
        last = network.rest[:-1](hidden)  # (m, |h_pi|), within [-1, 1]
        chosen = functional.one_hot(labels, task.classes).to(last)
        return rebuilt, class_objective(last, last_layer(network).weight.T, chosen, at_label)

    def loss(number: int, source: torch.Generator) -> Tensor:
        benign, adversarial = perturbed(number), perturbed(number + 1)
        crafted = _crafted(network, adversarial[0], at_hidden, task.options.attack_steps, source)  # lines 6 to 11
        (rebuilt, classed), (rebuilt_adversarial, classed_adversarial) = (
            parts(*benign),
            parts(crafted, adversarial[1]),
        )
        reconstruction = torch.cat([rebuilt, rebuilt_adversarial]).mean()
        return reconstruction + adversarial_objective(classed, classed_adversarial, xi)  # line 12

    run = PlainRun(
        network,
        loss,
        task.options.steps,
        task.options.learning_rate,
        task.key,
        settle=lambda: _hold(network, budget),
    )

    def noised(images: Tensor) -> Tensor:
        found: Tensor = network(images, at_hidden)
        return found

    def finish() -> Model:
        settle_statistics(network, noised, (perturbed(at)[0] for at in range(len(batches))))
        return _model(task, network, budget, psi, (at_input, at_hidden))

    def scores(images: Tensor, source: torch.Generator) -> Tensor:  # noqa: ARG001 - under the noise of training alone
        settle_statistics(network, noised, [perturbed(0)[0]])
        return noised(images + at_input)

    return Prepared(run, finish, scores, lambda done: budget.eps_t if done else 0.0)


def _model(task: Task, network: Network, budget: Budget, psi: float, offsets: tuple[Tensor, Tensor]) -> Model:
    """Return the model, its noise at inference and its claims (lines 13 to 18).

    Args:
        task: what it was trained on.
        network: trained.
        budget: of the claim.
        psi: by which the noise of inference is less than that of training.
        offsets: the noise of training, on pixels (c, h, w) of [0, 1] and on the first layer (maps, h', w').
    """
    at_input, at_hidden = offsets
    return Model(
        system=task.system,
        architecture=task.architecture(normalised=True),
        network=network.eval(),
        noises=(
            Noise("input", "laplace", torch.tensor(budget.input_scale / psi / 2), at_input.cpu()),
            Noise("first layer", "laplace", torch.tensor(budget.hidden_scale / psi), at_hidden.cpu()),
        ),
        guarantee=PureDP(budget.eps_t, "Phan et al. 2020, Theorem 4", "refuted"),
        verdict=refuted(budget),
        certificate=DPALCertificate(
            delta_r=budget.delta_r,
            m=budget.m,
            eps1=budget.eps1,
            mu=_ATTACK,
            d=math.prod(task.shape),
            beta=math.prod(at_hidden.shape[1:]),  # of one feature map, as in Appendix M
            theta1=budget.theta_norm,
            psi=psi,
        ),
        facts={
            "steps": task.options.steps,
            "epsilon claimed": budget.eps_t,
            "epsilon 1": budget.eps1,
            "psi": psi,
        },
    )


def _settings(task: Task, network: Network, hidden: tuple[int, ...]) -> tuple[Budget, float, float]:
    """Return the budget, xi and psi of Appendix M: for MNIST, and, of colour images, for CIFAR-10."""
    total = task.options.epsilon
    if total is None:
        raise InputError("DPAL needs a budget: give --epsilon.")
    channels, colour = task.shape[0], task.shape[0] > 1
    if colour and total < _LEAST_COLOUR:
        raise InputError(f"DPAL's budget for colour images begins at epsilon 2 (Appendix M). Got {total:g}: give more.")
    if total <= _EPS2:
        raise InputError(f"DPAL needs a budget above epsilon {_EPS2:g} (Appendix M). Got {total:g}: give more.")
    size = min(task.options.batch_size, len(task.images.labels))
    if size < 2 * len(_ENSEMBLE):  # each part is normalised by its own statistics
        raise InputError(f"DPAL shares a batch out among 3 attacks, two images each. Got batches of {size}: give more.")
    budget = Budget(
        eps_t=total,
        eps2=1 + (total - _LEAST_COLOUR) / 3 if colour else _EPS2,
        m=size,
        delta_r=channels * (hidden[1] * hidden[2] + 2) * network.first.kernel_size[0] ** 2,
        delta_l2=2 * last_layer(network).in_features,
    )
    return (budget, 1.5, 10.0) if colour else (budget, 1.0, 2.0)


def _begin(network: Network, budget: Budget) -> None:
    """Take away the biases that the paper does not have, and bring the first layer to its norm."""
    with torch.no_grad():
        for layer in (network.first, last_layer(network)):
            if layer.bias is not None:
                layer.bias.zero_()
    _hold(network, budget)


def _hold(network: Network, budget: Budget) -> None:
    with torch.no_grad():
        network.first.weight.copy_(held(network.first.weight, budget.theta_norm))


def _crafted(network: Network, images: Tensor, noise: Tensor, steps: int, source: torch.Generator) -> Tensor:
    """Return adversarial examples of perturbed images (m, c, h, w): a third by each attack, of one random size.

    Attacks lead away from the predicted classes, so that labels do not leak (Eqs. 8 and 9).
    """
    size = (1 - float(torch.rand(1, generator=source, device=source.device))) / 2  # mu in (0, 1], in pixels of [-1, 1]
    with torch.no_grad():
        predicted = network(images, noise).argmax(1)
    shares = zip(_ENSEMBLE.values(), images.tensor_split(3), predicted.tensor_split(3), strict=True)
    crafted = [
        attack(lambda given: network(given, noise), some, labels, size, steps, source)
        for attack, some, labels in shares
    ]
    return torch.cat(crafted)


SYSTEM = System(
    name="dpal",
    summary="claims privacy and robustness; both claims are refuted",
    source="Phan et al. 2020, Algorithm 1",
    uses=USES | {"epsilon", "attack_steps"},
    defaults=Options(network="paper-mnist", steps=200, batch_size=2_499),
    prepare=_prepare,
)
