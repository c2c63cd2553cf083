"""SecureSGD (Phan et al. 2019), and the DP-SGD of its public code.

SecureSGD is DP-SGD, which is private, with uneven PixelDP noise, whose certificate has no proof. Its public code clips
the mean gradient of a batch: that privacy claim is refuted.
"""

import copy
import math
from typing import Any

import numpy as np
import torch
from scipy import stats
from torch import Tensor, nn
from torch.nn import functional

from deniable.accounting.planning import plan_training
from deniable.core.guarantees import EMPTY_RECORD, Guarantee, Verdict, Witness
from deniable.core.numbers import format_lower
from deniable.core.randomness import make_generator
from deniable.learning.clipping import EMPTY_LABEL
from deniable.models.images.model import ImageModel
from deniable.models.images.networks import ImageNetwork, NetworkNoise
from deniable.models.images.options import ImageTrainingOptions
from deniable.models.images.plain_training import CONSTRUCTION_DELTA, CONSTRUCTION_EPSILON, INPUT_SCALE
from deniable.models.images.private_training import (
    DP_SGD_OPTIONS,
    PRIVATE_PIXELDP_DEFAULTS,
    PRIVATE_PIXELDP_OPTIONS,
    prepare_private_pixeldp,
)
from deniable.models.images.training import ImageTrainer, ImageTrainingTask, PreparedTraining
from deniable.published.securesgd.certificate import SecureSGDCertificate, compute_heterogeneous_sigma

_ROUNDING = 1e-5
"""Relative error granted to a norm of float32 numbers."""
_MAX_WITNESS_RECORDS = 2_048
"""Number of training records among which the one with the largest gradient is the witness."""


def _prepare_securesgd(task: ImageTrainingTask) -> PreparedTraining:
    network = task.build_network()
    sigma = task.options.attack_size * compute_heterogeneous_sigma(CONSTRUCTION_EPSILON, CONSTRUCTION_DELTA)
    # The passes of the copy are not recorded for the gradients of examples.
    network_copy = copy.deepcopy(network)

    def get_noise() -> NetworkNoise:
        network_copy.load_state_dict(network.state_dict())
        # The variance is shared out, so that its mean is that of even noise.
        scale = INPUT_SCALE * sigma * compute_vulnerability(network_copy, task).sqrt().cpu()
        return NetworkNoise("first layer", "gaussian", scale)

    return prepare_private_pixeldp(
        task, network, get_noise, lambda noises: SecureSGDCertificate.from_network(network, task.shape, noises)
    )


def compute_vulnerability(network: ImageNetwork, task: ImageTrainingTask, even_share: float = 0.5) -> Tensor:
    """Return the share of each unit in the noise variance after the first layer, (maps, height', width'), mean 1.

    SecureSGD puts more noise on features that are more vulnerable, by the gradients of training examples, which would
    be a leak. Here it is the gradient of the gap between the two highest scores, over images of random pixels that are
    public, so that only parameters are read, which are private already.

    Args:
        network: at its present parameters.
        task: gives the shape of images.
        even_share: part of the variance that is the same everywhere, so that every feature has noise.
    """
    generator = torch.Generator(task.device).manual_seed(0)
    with torch.inference_mode(mode=False), torch.enable_grad():
        images = torch.rand((64, *task.shape), generator=generator, device=task.device)
        hidden = network.first(2 * images - 1).detach().requires_grad_()
        top_scores = network.rest(hidden).topk(2, dim=1).values
        (gradient,) = torch.autograd.grad((top_scores[:, 0] - top_scores[:, 1]).sum(), hidden)
    gradient_size = gradient.abs().mean(0)
    noise_shares: Tensor = even_share + (1 - even_share) * gradient_size / gradient_size.mean().clamp(min=1e-12)
    return noise_shares


SECURESGD_TRAINER = ImageTrainer(
    name="securesgd",
    summary="private and certified: DP-SGD with uneven noise after the first layer",
    source="Phan et al. 2019",
    option_names=PRIVATE_PIXELDP_OPTIONS,
    defaults=PRIVATE_PIXELDP_DEFAULTS,
    prepare=_prepare_securesgd,
)


class _BatchClippedRun:
    """Descent along the clipped mean gradient of a batch, with noise calibrated to clipped gradients of examples."""

    def __init__(self, task: ImageTrainingTask, network: nn.Module, multiplier: float) -> None:
        self.steps = task.options.steps
        self._task, self._network, self._multiplier = task, network, multiplier

    def step(self, number: int) -> float:
        options, parameters = self._task.options, self._network.parameters()
        images, labels = self._task.draw_batch(number)
        gradients, loss = _clip_mean_gradient(self._network, images, labels, options.clip)
        noise = make_generator(self._task.key, "noise", str(number))
        deviation = self._multiplier * options.clip / len(labels)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                normal = torch.from_numpy(noise.standard_normal(tuple(parameter.shape))).to(parameter)
                parameter.sub_(options.learning_rate / options.clip * (gradient + deviation * normal))
        return loss

    @property
    def result(self) -> dict[str, Tensor]:
        return self._network.state_dict()

    def state(self) -> dict[str, Any]:
        return {"network": self._network.state_dict()}

    def restore(self, state: dict[str, Any]) -> None:
        self._network.load_state_dict(state["network"])


def _clip_mean_gradient(
    network: nn.Module, images: Tensor, labels: Tensor, clip: float
) -> tuple[tuple[Tensor, ...], float]:
    """Return the mean gradient of a batch (b, ...), clipped as a whole, by parameter, and the mean loss.

    An empty record, with `EMPTY_LABEL`, counts in b and adds nothing.
    """
    losses = functional.cross_entropy(network(images), labels, reduction="sum", ignore_index=EMPTY_LABEL)
    gradients = torch.autograd.grad(losses / len(labels), list(network.parameters()))
    norm = torch.stack([gradient.norm() for gradient in gradients]).norm()
    factor = (clip / norm.clamp(min=1e-30)).clamp(max=1)
    return tuple(factor * gradient for gradient in gradients), float(losses.detach()) / len(labels)


def _prepare_batch_clipped(task: ImageTrainingTask) -> PreparedTraining:
    options = task.options
    epsilon, delta = task.budget
    network = task.build_network()
    plan = plan_training(len(task.images), options.batch_size, options.steps, epsilon, delta, clip=options.clip)
    multiplier = plan.noise_multiplier
    guarantee = Guarantee(epsilon, "claimed as DP-SGD's", "claimed", delta=delta, adjacency=EMPTY_RECORD)
    verdict = _judge_first_step(guarantee, plan.rate, _measure_shift(task, network) / multiplier)

    def build_model() -> ImageModel:
        return ImageModel(
            trainer=task.trainer,
            network=network.eval(),
            verdict=verdict,
            facts={"steps": options.steps, "noise multiplier": multiplier, "clipping norm": options.clip},
        )

    run = _BatchClippedRun(task, network, multiplier)
    return PreparedTraining(run, build_model, lambda images, _: network(images), lambda done: epsilon if done else 0.0)


def _measure_shift(task: ImageTrainingTask, network: nn.Module) -> float:
    """Return by how much one record moves the clipped mean of the first step, in units of its noise at multiplier 1.

    By the step itself at the initial parameters, which are public: on a batch of that record and empty ones, and with
    the record made empty too. Of B records the mean is g / B and clipped to C, and the noise has the deviation
    C sigma / B, so that this is about min(|g|, B C) / C: at B = 1 no more than DP-SGD allows.
    """
    image, label = _find_largest_gradient(task, network)
    size, clip = min(task.options.batch_size, len(task.images)), task.options.clip
    images, labels = image.expand(size, *image.shape), torch.full((size,), EMPTY_LABEL, device=label.device)
    without, _ = _clip_mean_gradient(network, images, labels, clip)
    labels[0] = label
    with_record, _ = _clip_mean_gradient(network, images, labels, clip)
    squares = [
        float((ours - theirs).double().square().sum()) for ours, theirs in zip(with_record, without, strict=True)
    ]
    return (1 - _ROUNDING) * math.sqrt(sum(squares)) * size / clip


def _find_largest_gradient(task: ImageTrainingTask, network: nn.Module) -> tuple[Tensor, Tensor]:
    """Return the image and the label whose gradient has the largest l2 norm, of some training records."""
    fixed_parameters = {name: value.detach() for name, value in network.named_parameters()}

    def compute_loss(parameters: dict[str, Tensor], image: Tensor, label: Tensor) -> Tensor:
        scores = torch.func.functional_call(network, parameters, (image[None],))
        return functional.cross_entropy(scores, label[None])

    gradients = torch.func.vmap(torch.func.grad(compute_loss), in_dims=(None, 0, 0))
    images = task.images.pixels[:_MAX_WITNESS_RECORDS].to(task.device)
    labels = task.images.labels[:_MAX_WITNESS_RECORDS].to(task.device)
    squares = [
        torch.as_tensor(
            sum(gradient.flatten(1).square().sum(1) for gradient in gradients(fixed_parameters, *chunk).values())
        )
        for chunk in zip(torch.split(images, 64), torch.split(labels, 64), strict=True)
    ]
    place = int(torch.cat(squares).argmax())
    return images[place], labels[place]


def _judge_first_step(guarantee: Guarantee, rate: float, shift: float) -> Verdict:
    """Return the verdict of the first step on that record: a Gaussian against its mixture with a shifted one.

    Args:
        guarantee: claimed.
        rate: chance that the first batch has the record.
        shift: by which the record moves the mean, in deviations of the noise.
    """
    epsilon_bound = _bound_first_step_epsilon(rate, shift, guarantee.delta)
    is_refuted = epsilon_bound > guarantee.epsilon
    witness = Witness(
        input="a data set with the record of the largest gradient, all others empty",
        other="the same with that record made empty",
        output="first step's noisy mean",
        distance=1.0,
        loss=epsilon_bound,
    )
    return Verdict(
        guarantee=guarantee,
        status="refuted" if is_refuted else "undecided",
        lower_bound=epsilon_bound,
        witness=witness if is_refuted else None,
        method=f"law of the first step, run on a batch with one record and without it: its clipped mean moves by "
        f"{format_lower(shift)} deviations of the noise",
    )


def _bound_first_step_epsilon(rate: float, shift: float, delta: float) -> float:
    """Return max over t of ln[(P(N > t) - delta) / Q(N > t)], P the mixture and Q the Gaussian: a bound on epsilon."""
    thresholds = np.linspace(0.0, shift + 10.0, 10_001)  # each of them bounds epsilon
    log_tail = stats.norm.logsf(thresholds)
    excess = rate * stats.norm.sf(thresholds - shift) + (1 - rate) * np.exp(log_tail) - delta
    is_positive = excess > 0
    return float(np.max(np.log(excess[is_positive]) - log_tail[is_positive], initial=0.0))


BATCH_CLIPPED_TRAINER = ImageTrainer(
    name="dp-sgd-batch-clipped",
    summary="claims privacy; the claim is refuted: DP-SGD that clips the mean of a batch, as in public code",
    source="public code of Phan et al. 2019",
    option_names=DP_SGD_OPTIONS - {"views", "average", "noise_multiplier"},
    defaults=ImageTrainingOptions(steps=150, batch_size=2_048, learning_rate=0.5),
    prepare=_prepare_batch_clipped,
)
