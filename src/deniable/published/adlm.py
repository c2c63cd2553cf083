"""AdLM, the adaptive Laplace mechanism (Phan et al. 2017): one noise for all images, less where a pixel matters.

The claim: training is epsilon-differentially private, since Laplace noise is added once to relevances, to the input and
to the coefficients of the loss (Theorem 1). It is neither proved nor refuted here, and its verdict says so (undecided):
the theorem is about sums over a batch, while training reads images that all share one noise vector. There is no audit
and no entry of the zoo; `deniable.published.dpal` audits the same kind of noise.
"""

import torch
from torch import Tensor
from torch.nn import functional

from deniable.core.errors import InputError
from deniable.core.guarantees import REPLACED_RECORD, Guarantee, Verdict
from deniable.core.randomness import make_generator
from deniable.learning.loop import AdamRun
from deniable.models.images.model import ImageModel
from deniable.models.images.networks import (
    NetworkNoise,
    compute_noisy_scores,
    get_first_layer_shape,
    get_last_layer,
)
from deniable.models.images.options import ImageTrainingOptions
from deniable.models.images.plain_training import ADAM_OPTIONS
from deniable.models.images.training import ImageTrainer, ImageTrainingTask, PreparedTraining
from deniable.published.noise import draw_laplace_noise, recompute_batch_statistics

_BUDGET_SHARES = (0.25, 0.25, 0.5)
"""Shares of epsilon for relevances, for the first layer and for the loss, as in the authors' code."""
_HIDDEN_UNITS = 25
"""Units of the last hidden layer in the authors' code; the sensitivity of the loss grows with their square."""
_PIXEL_BOUNDS = (-4.5, 5.5)
"""The authors' code clamps perturbed pixels to [-10, 10], on the scale of [-1, 1]."""
_MIN_RELEVANCE = 1e-5
_RELEVANCE_STEPS = 200


def _prepare_adlm(task: ImageTrainingTask) -> PreparedTraining:
    """Build the mechanism: noisy relevances, noise on the pixels by relevance, noise on the loss.

    All noise is drawn once. The evaluated model keeps it, whereas the authors' code removes it.
    """
    if task.options.epsilon is None:
        raise InputError("AdLM needs a budget: give --epsilon.")
    epsilon, count = task.options.epsilon, len(task.images.labels)
    batch_size = min(task.options.batch_size, count)
    if batch_size == 1:
        raise InputError("AdLM normalizes its layers by batch. Got batches of 1: give more.")
    random = make_generator(task.key, "noise")
    network = task.build_network(normalised=True, hidden=_HIDDEN_UNITS)
    first = network.first
    pixels = task.images.pixels[0].numel()

    relevance = _compute_relevance(task) + draw_laplace_noise(
        random, 2 * pixels / (count * _BUDGET_SHARES[0] * epsilon), task.shape
    )
    relevance = relevance.clamp(min=_MIN_RELEVANCE)
    shares = (relevance / relevance.mean()).clamp(min=_MIN_RELEVANCE)
    neurons = get_first_layer_shape(network, task.images.pixels[:1].to(task.device))[2:].numel()
    sensitivity = 2 * neurons * first.in_channels * first.kernel_size[0] ** 2
    scale = sensitivity / (batch_size * _BUDGET_SHARES[1] * epsilon)
    input_noise = draw_laplace_noise(random, scale, task.shape) / shares / 2  # from pixels of [-1, 1] to [0, 1]
    loss_sensitivity = task.classes * (_HIDDEN_UNITS + _HIDDEN_UNITS**2 / 4)
    last_layer_noise = draw_laplace_noise(
        random, loss_sensitivity / (batch_size * _BUDGET_SHARES[2] * epsilon), (_HIDDEN_UNITS,)
    ).to(task.device)
    noises = (NetworkNoise("input", "laplace", torch.tensor(0.0), input_noise, _PIXEL_BOUNDS),)
    top_layer = get_last_layer(network)

    def compute_loss(number: int, generator: torch.Generator) -> Tensor:
        images, labels = task.draw_batch(number)
        # W (h + noise): noise on the coefficients of the loss is an addition to the last bias.
        logits = compute_noisy_scores(network, images, noises, generator) + functional.linear(
            last_layer_noise, top_layer.weight
        )
        one_hot_labels = functional.one_hot(labels, task.classes).to(logits)
        magnitudes = logits.abs()
        terms = logits.clamp(min=0) - logits * one_hot_labels - magnitudes / 2 + magnitudes.square() / 8
        return terms.sum(1).mean()

    run = AdamRun(network, compute_loss, task.options.steps, task.options.learning_rate, task.key)

    def forward_with_noise(images: Tensor) -> Tensor:
        return compute_noisy_scores(network, images.to(task.device), noises, torch.Generator(task.device))

    guarantee = Guarantee(epsilon, "Phan et al. 2017, Theorem 1", "claimed", adjacency=REPLACED_RECORD)
    method = "no proof: its theorem is about sums over a batch, while training reads images that share one noise vector"

    def build_model() -> ImageModel:
        recompute_batch_statistics(network, forward_with_noise, torch.split(task.images.pixels, batch_size))
        with torch.no_grad():
            top_layer.bias.add_(functional.linear(last_layer_noise, top_layer.weight))
        return ImageModel(
            trainer=task.trainer,
            network=network.eval(),
            noises=noises,
            verdict=Verdict(guarantee, "undecided", method),
            facts={"steps": run.steps, "epsilon claimed": epsilon},
        )

    def scores(images: Tensor, generator: torch.Generator) -> Tensor:
        recompute_batch_statistics(network, forward_with_noise, [task.images.pixels[:batch_size]])
        return compute_noisy_scores(network, images, noises, generator) + functional.linear(
            last_layer_noise, top_layer.weight
        )

    return PreparedTraining(run, build_model, scores, lambda done: epsilon if done else 0.0)


def _compute_relevance(task: ImageTrainingTask) -> Tensor:
    """Return the mean relevance of each pixel, (channels, height, width) in [0, 1], by a model without privacy.

    Layer-wise relevance propagation, in its form for layers without biases: the gradient times the input, each
    image's scaled to a maximum of 1.
    """
    network = task.build_network(1)

    def compute_loss(number: int, generator: torch.Generator) -> Tensor:  # noqa: ARG001 - a `StepLoss`
        images, labels = task.draw_batch(number)
        return functional.cross_entropy(network(images), labels)

    run = AdamRun(network, compute_loss, _RELEVANCE_STEPS, 1e-3, task.key)
    for number in range(run.steps):
        run.step(number)
    total = torch.zeros(task.shape)
    for images, labels in zip(
        torch.split(task.images.pixels, 1_000), torch.split(task.images.labels, 1_000), strict=True
    ):
        batch = images.to(task.device).requires_grad_()
        label_scores = network(batch).gather(1, labels.to(task.device)[:, None]).sum()
        (gradient,) = torch.autograd.grad(label_scores, batch)
        relevance = (gradient * batch).detach().abs()
        total += (relevance / relevance.amax((1, 2, 3), keepdim=True).clamp(min=1e-12)).sum(0).cpu()
    return total / len(task.images.labels)


ADLM_TRAINER = ImageTrainer(
    name="adlm",
    summary="claims privacy, without a proof: adaptive Laplace noise, drawn once",
    source="Phan et al. 2017",
    option_names=ADAM_OPTIONS | {"epsilon"},
    defaults=ImageTrainingOptions(network="paper-mnist", steps=600, batch_size=2_499),
    prepare=_prepare_adlm,
)
