"""DPAL with its noise mended: drawn anew for each image, at the l1 sensitivity 2 d, and labels with noise too.

Let x_i in [-1, 1]^d be an image and y_i its label, one-hot. Each record is released once::

    x-bar_i = x_i + Lap(2 d / epsilon_x)^d,      y-bar_i = y_i + Lap(2 / epsilon_y)^K

which is (epsilon_x + epsilon_y)-differentially private for one record replaced, by the Laplace mechanism and
composition: another image is at most 2 d away in l1, another label 2. Everything after that is post-processing, for any
number of steps: Algorithm 1 with x-bar_i and y-bar_i in place of its own. The noise on the first layer is left out. It
would add nothing to this privacy, and of the two sizes that hold for one pass, kappa = b epsilon_r / d by the input's
noise and phi by the layer's, the larger one is kappa. Needs torch.
"""

import dataclasses

import torch
from torch import Tensor
from torch.nn import functional

from deniable.core.randomness import derive_key_from_seed, make_generator
from deniable.learning.loop import AdamRun, run_training
from deniable.models.images.certificates import LaplaceSmoothing
from deniable.models.images.dataset import ImageDataset, LabelledImages
from deniable.models.images.model import ImageModel
from deniable.models.images.networks import (
    ImageArchitecture,
    ImageNetwork,
    NetworkNoise,
    get_first_layer_shape,
    get_last_layer,
)
from deniable.published.dpal.certificate import KERNEL_NORM
from deniable.published.dpal.mechanism import (
    compute_adversarial_objective,
    compute_mended_class_objective,
    compute_reconstruction_objective,
    limit_kernel_norms,
)
from deniable.published.dpal.trainer import craft_adversarial_images
from deniable.published.noise import draw_laplace_noise, recompute_batch_statistics

_PIXEL_WIDTH = 2.0
"""By which one pixel of [-1, 1] can differ."""
_LABEL_DISTANCE = 2.0
"""l1 distance of two one-hot labels."""
_LOSS_STEPS = 100
"""Steps of the grid of privacy losses for one pixel's loss; the result is an upper bound at any number."""


@dataclasses.dataclass(frozen=True)
class MendedBudget:
    """What the release of one record spends.

    Attributes:
        epsilon: in all.
        label_epsilon: of it, for the label.
        pixels: d.
    """

    epsilon: float
    label_epsilon: float
    pixels: int

    @property
    def scale(self) -> float:
        """Scale of the noise on a pixel of [-1, 1]."""
        return _PIXEL_WIDTH * self.pixels / (self.epsilon - self.label_epsilon)

    @property
    def label_scale(self) -> float:
        """Scale of the noise on each number of a one-hot label."""
        return _LABEL_DISTANCE / self.label_epsilon

    def compute_epsilon_at_delta(self, delta: float) -> float:
        """Return epsilon of (epsilon, delta)-differential privacy, by privacy loss distributions (dp-accounting)."""
        from dp_accounting.pld import privacy_loss_distribution as pld

        step = _PIXEL_WIDTH / self.scale / _LOSS_STEPS
        pixel = pld.from_laplace_mechanism(self.scale, sensitivity=_PIXEL_WIDTH, value_discretization_interval=step)
        # One number of the label falls by 1, and another one rises by 1.
        number = pld.from_laplace_mechanism(self.label_scale, sensitivity=1.0, value_discretization_interval=step)
        losses = pixel.self_compose(self.pixels).compose(number.self_compose(2))
        return float(losses.get_epsilon_for_delta(delta))


@dataclasses.dataclass(frozen=True)
class Release:
    """What is released of all records.

    Attributes:
        pixels: x-bar, (n, c, h, w), on the scale of [0, 1].
        labels: y-bar, (n, K).
    """

    pixels: Tensor
    labels: Tensor


def release_records(images: LabelledImages, classes: int, budget: MendedBudget, key: bytes) -> Release:
    """Return every record with noise of its own."""
    random = make_generator(key, "release")
    shape = (len(images), classes)
    noise = draw_laplace_noise(random, budget.scale / 2, tuple(images.pixels.shape))  # from [-1, 1] to [0, 1]
    label_noise = draw_laplace_noise(random, budget.label_scale, shape)
    return Release(images.pixels + noise, functional.one_hot(images.labels, classes) + label_noise)


@dataclasses.dataclass(frozen=True)
class MendedOptions:
    """How the network is trained on what was released.

    Attributes:
        network: by name.
        width: factor on its layers.
        steps: of Adam.
        batch_size: m.
        learning_rate: of Adam.
        attack_steps: T_mu of the attacks in training.
    """

    network: str
    width: float
    steps: int
    batch_size: int
    learning_rate: float
    attack_steps: int


def fit_mended_model(
    data: ImageDataset, budget: MendedBudget, options: MendedOptions, seed: int, device: torch.device
) -> ImageModel:
    """Train Algorithm 1 on a release of the training images, and return the model with the noise of the release."""
    key = derive_key_from_seed(seed)
    channels, height, width = data.train.pixels.shape[1:]
    architecture = ImageArchitecture(
        options.network, (channels, height, width), len(data.classes), options.width, normalised=True
    )
    network = architecture.build(0).to(device)
    released = release_records(data.train, len(data.classes), budget, key)
    hidden = torch.zeros(get_first_layer_shape(network, data.train.pixels[:1].to(device))[1:], device=device)
    no_label_noise = torch.zeros(get_last_layer(network).in_features, device=device)
    batches = max(1, len(data.train) // options.batch_size)

    def get_batch(number: int) -> tuple[Tensor, Tensor]:
        """Return x-bar (m, c, h, w) and y-bar (m, K) of a batch; batches are fixed."""
        first = number % batches * options.batch_size
        chosen = slice(first, first + options.batch_size)
        return released.pixels[chosen].to(device), released.labels[chosen].to(device)

    def compute_objectives(pixels: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        rebuilt_loss = _compute_reconstruction_loss(network, 2 * pixels - 1, hidden)
        with torch.no_grad():
            first = network.first(2 * pixels - 1)
        features = network.rest[:-1](first)
        return rebuilt_loss, compute_mended_class_objective(
            features, get_last_layer(network).weight.T, labels, no_label_noise
        )

    def compute_loss(number: int, generator: torch.Generator) -> Tensor:
        benign, (pixels, labels) = get_batch(2 * number), get_batch(2 * number + 1)
        attacked = craft_adversarial_images(network, pixels, hidden, options.attack_steps, generator)
        (rebuilt, loss), (attacked_rebuilt, attacked_loss) = (
            compute_objectives(*benign),
            compute_objectives(attacked, labels),
        )
        return torch.cat([rebuilt, attacked_rebuilt]).mean() + compute_adversarial_objective(loss, attacked_loss, 1.0)

    def limit_first_layer() -> None:
        with torch.no_grad():
            network.first.weight.copy_(limit_kernel_norms(network.first.weight, KERNEL_NORM))

    limit_first_layer()
    run = AdamRun(network, compute_loss, options.steps, options.learning_rate, key, limit_first_layer)
    run_training(run, key)
    recompute_batch_statistics(network, network, (get_batch(number)[0] for number in range(batches)))
    scale = budget.scale / 2
    noise = NetworkNoise("input", "laplace", torch.tensor(scale))
    return ImageModel("dpal, mended", network.eval(), (noise,), certificate=LaplaceSmoothing(scale))


def _compute_reconstruction_loss(network: ImageNetwork, pixels: Tensor, noise: Tensor) -> Tensor:
    first = network.first
    return compute_reconstruction_objective(
        pixels, first.weight, noise, stride=first.stride[0], padding=int(first.padding[0])
    )
