"""DPAL as published (Phan et al. 2020, Algorithm 1). Its privacy claim and its certificate are refuted."""

import dataclasses
import functools
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from deniable.core.errors import InputError
from deniable.core.numbers import format_exact
from deniable.core.randomness import make_generator
from deniable.learning.loop import AdamRun
from deniable.models.images.attacks import SignAttack
from deniable.models.images.model import ImageModel
from deniable.models.images.networks import (
    ImageNetwork,
    NetworkNoise,
    get_first_layer_shape,
    get_last_layer,
)
from deniable.models.images.options import ImageTrainingOptions
from deniable.models.images.plain_training import ADAM_OPTIONS
from deniable.models.images.training import ImageTrainer, ImageTrainingTask, PreparedTraining
from deniable.published.dpal.certificate import (
    KERNEL_NORM,
    DPALCertificate,
    choose_psi,
    compute_reconstruction_sensitivity,
)
from deniable.published.dpal.mechanism import (
    DPALBudget,
    build_refuted_verdict,
    compute_adversarial_objective,
    compute_class_objective,
    compute_reconstruction_objective,
    limit_kernel_norms,
)
from deniable.published.noise import draw_laplace_noise, recompute_batch_statistics

_UNBOUNDED = (-torch.inf, torch.inf)
"""Perturbed images are not bounded."""
_MIN_COLOUR_EPSILON = 2.0
_GREY_EPS2 = 0.1
"""Budget of the labels, for grey images."""

_ATTACK_ENSEMBLE = (SignAttack(stride=1.0), SignAttack(stride=1.0, decay=1.0), SignAttack(random_start=True))
"""The attacks of Algorithm 1, its set A: I-FGSM, MIM and PGD."""


ClassObjective = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
"""From the last hidden layer, its weights, labels and their noise to the loss of each example."""


@dataclasses.dataclass(frozen=True)
class DPALVariant:
    """What a study may change in Algorithm 1; the defaults are as published.

    Attributes:
        class_objective: Eq. 10, printed with h W where cross-entropy has max(h W, 0).
        xi: weight of the adversarial examples in Eq. 10; None for that of Appendix M.
    """

    class_objective: ClassObjective = compute_class_objective
    xi: float | None = None


def _prepare_dpal(task: ImageTrainingTask, variant: DPALVariant) -> PreparedTraining:
    """Build Algorithm 1, line by line.

    Three things that the paper leaves open: the optimizer is Adam; the kernels of the first layer are limited to the
    1-norm with which the budget is computed; and layers are normalised by batch, as in the authors' code, which removes
    the offset of the shared noise, but at inference by statistics of the training batches.
    """
    network = task.build_network(normalised=True)
    hidden_shape = tuple(get_first_layer_shape(network, task.images.pixels[:1].to(task.device))[1:])
    budget, published_xi, psi = _choose_settings(task, network, hidden_shape)
    xi = published_xi if variant.xi is None else variant.xi
    with torch.no_grad():  # the paper has no biases
        for layer in (network.first, get_last_layer(network)):
            if layer.bias is not None:
                layer.bias.zero_()
    _limit_first_layer(network, budget)

    # Line 1: the noise is drawn once, already divided by m.
    random, label_shape = make_generator(task.key, "noise"), (get_last_layer(network).in_features,)
    input_noise, hidden_noise, label_noise = (
        draw_laplace_noise(random, scale, shape).to(task.device)
        for scale, shape in (
            (budget.input_scale, task.shape),
            (budget.hidden_scale, hidden_shape),
            (budget.label_scale, label_shape),
        )
    )
    input_noise = input_noise / 2  # from pixels of [-1, 1] to [0, 1]
    # Line 2: disjoint batches of m, fixed.
    order = torch.from_numpy(make_generator(task.key, "batches").permutation(len(task.images.labels)))
    batches = [indices for indices in torch.split(order, int(budget.m)) if len(indices) == int(budget.m)]

    def get_perturbed_batch(number: int) -> tuple[Tensor, Tensor]:
        """Return x-bar, (m, c, h, w), and labels (m,) of a batch."""
        indices = batches[number % len(batches)]
        return task.images.pixels[indices].to(task.device) + input_noise, task.images.labels[indices].to(task.device)

    def compute_objectives(images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return both objectives of perturbed images, (m,) each; neither moves the other's parameters."""
        first = network.first
        pixels = 2 * images - 1
        rebuilt_loss = compute_reconstruction_objective(
            pixels, first.weight, hidden_noise, stride=first.stride[0], padding=int(first.padding[0])
        )
        with torch.no_grad():
            hidden = first(pixels) + hidden_noise  # (m, maps, h', w')
        last_hidden = network.rest[:-1](hidden)  # (m, |h_pi|), within [-1, 1]
        one_hot_labels = functional.one_hot(labels, task.classes).to(last_hidden)
        top_weights = get_last_layer(network).weight.T
        return rebuilt_loss, variant.class_objective(last_hidden, top_weights, one_hot_labels, label_noise)

    def compute_loss(number: int, generator: torch.Generator) -> Tensor:
        benign, adversarial = get_perturbed_batch(number), get_perturbed_batch(number + 1)
        adversarial_images = craft_adversarial_images(
            network, adversarial[0], hidden_noise, task.options.attack_steps, generator
        )  # lines 6 to 11
        (rebuilt_loss, class_loss), (adversarial_rebuilt_loss, adversarial_class_loss) = (
            compute_objectives(*benign),
            compute_objectives(adversarial_images, adversarial[1]),
        )
        reconstruction = torch.cat([rebuilt_loss, adversarial_rebuilt_loss]).mean()
        return reconstruction + compute_adversarial_objective(class_loss, adversarial_class_loss, xi)  # line 12

    run = AdamRun(
        network,
        compute_loss,
        task.options.steps,
        task.options.learning_rate,
        task.key,
        project_parameters=lambda: _limit_first_layer(network, budget),
    )

    def forward_with_noise(images: Tensor) -> Tensor:
        logits: Tensor = network(images, hidden_noise)
        return logits

    def build_model() -> ImageModel:
        recompute_batch_statistics(
            network, forward_with_noise, (get_perturbed_batch(index)[0] for index in range(len(batches)))
        )
        return _build_dpal_model(task, network, budget, psi, (input_noise, hidden_noise))

    def scores(images: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG001 - the noise of training is fixed
        recompute_batch_statistics(network, forward_with_noise, [get_perturbed_batch(0)[0]])
        return forward_with_noise(images + input_noise)

    return PreparedTraining(run, build_model, scores, lambda done: budget.eps_t if done else 0.0)


def _build_dpal_model(
    task: ImageTrainingTask, network: ImageNetwork, budget: DPALBudget, psi: float, noise_offsets: tuple[Tensor, Tensor]
) -> ImageModel:
    """Return the model, its noise at inference and its claims (lines 13 to 18).

    Args:
        task: what it was trained on.
        network: trained.
        budget: the claim.
        psi: by which the noise of training is divided at inference.
        noise_offsets: the noise of training, on pixels (c, h, w) of [0, 1] and on the first layer (maps, h', w').
    """
    input_noise, hidden_noise = noise_offsets
    noises = (
        NetworkNoise("input", "laplace", torch.tensor(budget.input_scale / psi / 2), input_noise.cpu()),
        NetworkNoise("first layer", "laplace", torch.tensor(budget.hidden_scale / psi), hidden_noise.cpu()),
    )
    return ImageModel(
        trainer=task.trainer,
        network=network.eval(),
        noises=noises,
        verdict=build_refuted_verdict(budget),
        certificate=DPALCertificate.from_network(network.cpu(), task.shape, noises, m=budget.m),
        facts={
            "steps": task.options.steps,
            "epsilon claimed": budget.eps_t,
            "epsilon 1": budget.eps1,
            "psi": psi,
        },
    )


def _choose_settings(
    task: ImageTrainingTask, network: ImageNetwork, hidden: tuple[int, ...]
) -> tuple[DPALBudget, float, float]:
    """Return the budget, xi and psi of Appendix M: for MNIST, and, of colour images, for CIFAR-10."""
    epsilon = task.options.epsilon
    if epsilon is None:
        raise InputError("DPAL needs a budget: give --epsilon.")
    channels, is_colour = task.shape[0], task.shape[0] > 1
    if is_colour and epsilon < _MIN_COLOUR_EPSILON:
        raise InputError(
            f"DPAL's budget for colour images begins at epsilon 2 (Appendix M). Got {format_exact(epsilon)}: give "
            "at least 2."
        )
    if epsilon <= _GREY_EPS2:
        raise InputError(
            f"DPAL needs a budget above epsilon {format_exact(_GREY_EPS2)} (Appendix M). Got "
            f"{format_exact(epsilon)}: increase it."
        )
    batch_size = min(task.options.batch_size, len(task.images.labels))
    if batch_size < 2 * len(_ATTACK_ENSEMBLE):  # each part is normalised by its own statistics
        raise InputError(
            f"DPAL splits a batch among 3 attacks, two images each. Got batches of {batch_size}: take at least 6."
        )
    budget = DPALBudget(
        eps_t=epsilon,
        eps2=1 + (epsilon - _MIN_COLOUR_EPSILON) / 3 if is_colour else _GREY_EPS2,
        m=batch_size,
        delta_r=compute_reconstruction_sensitivity(channels, hidden[1] * hidden[2], network.first.kernel_size[0]),
        delta_l2=2 * get_last_layer(network).in_features,
        theta_norm=KERNEL_NORM,
    )
    return budget, 1.5 if is_colour else 1.0, choose_psi(channels)


def _limit_first_layer(network: ImageNetwork, budget: DPALBudget) -> None:
    with torch.no_grad():
        network.first.weight.copy_(limit_kernel_norms(network.first.weight, budget.theta_norm))


def craft_adversarial_images(
    network: ImageNetwork, images: Tensor, noise: Tensor, steps: int, generator: torch.Generator
) -> Tensor:
    """Return adversarial examples of perturbed images (m, c, h, w): a third by each attack, of one random size.

    Attacks increase the loss of the predicted classes, so that labels do not leak (Eqs. 8 and 9).
    """
    size = (
        1 - float(torch.rand(1, generator=generator, device=generator.device))
    ) / 2  # mu in (0, 1], in pixels of [-1, 1]
    with torch.no_grad():
        predicted = network(images, noise).argmax(1)
    shares = zip(_ATTACK_ENSEMBLE, images.tensor_split(3), predicted.tensor_split(3), strict=True)
    adversarial_parts = [
        dataclasses.replace(attack, steps=steps, bounds=_UNBOUNDED)(
            lambda inputs: network(inputs, noise), image_part, labels, size, generator
        )
        for attack, image_part, labels in shares
    ]
    return torch.cat(adversarial_parts)


def build_dpal_trainer(variant: DPALVariant) -> ImageTrainer:
    """Return Algorithm 1 with some of it changed."""
    return ImageTrainer(
        name="dpal",
        summary="claims privacy and robustness; both claims are refuted",
        source="Phan et al. 2020, Algorithm 1",
        option_names=ADAM_OPTIONS | {"epsilon", "attack_steps"},
        defaults=ImageTrainingOptions(network="paper-mnist", steps=200, batch_size=2_499),
        prepare=functools.partial(_prepare_dpal, variant=variant),
    )


DPAL_TRAINER = build_dpal_trainer(DPALVariant())
