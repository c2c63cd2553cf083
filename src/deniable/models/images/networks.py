"""Networks of image classifiers, and the noise that robust models add to the image or after the first layer."""

import dataclasses
from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from deniable.core.errors import InputError, make_parameter_error
from deniable.learning.loop import build_with_seed
from deniable.models.images.options import NetworkNoiseLaw

ImageShape = tuple[int, ...]
"""Of an image: channels, height and width."""


class ImageNetwork(nn.Module):
    """A classifier with a place for noise after its first linear layer; noise on the image is added by the caller.

    Args:
        architecture: that it was built by.
        first: the first linear layer, from (b, channels, height, width) to (b, maps, height', width').
        rest: from there to logits (b, K).
    """

    def __init__(self, architecture: "ImageArchitecture", first: nn.Conv2d, rest: nn.Sequential) -> None:
        super().__init__()
        self.architecture, self.first, self.rest = architecture, first, rest

    def forward(self, images: Tensor, first_layer_noise: Tensor | None = None) -> Tensor:
        """Return logits (b, K).

        Args:
            images: (b, channels, height, width), pixels in [0, 1], or beyond it where they carry noise.
            first_layer_noise: noise added to the output of the first layer.
        """
        hidden: Tensor = self.first(2 * images - 1)  # pixels in [-1, 1] -> (b, maps, height', width')
        if first_layer_noise is not None:
            hidden = hidden + first_layer_noise
        logits: Tensor = self.rest(hidden)
        return logits


@dataclasses.dataclass(frozen=True)
class ImageArchitecture:
    """What is needed to rebuild a network.

    Attributes:
        name: one of `IMAGE_NETWORKS`.
        shape: of an image, (channels, height, width).
        classes: K.
        width: factor on the number of maps and hidden units.
        normalised: whether it has batch normalisation, with running statistics at inference.
        hidden: units of the last hidden layer; None for the default of the network.
    """

    name: str
    shape: tuple[int, int, int]
    classes: int
    width: float = 1.0
    normalised: bool = False
    hidden: int | None = None

    def build(self, seed: int) -> ImageNetwork:
        """Return the network with initial weights drawn from a public seed, whatever the state of torch's generator."""
        if self.name not in IMAGE_NETWORKS:
            raise make_parameter_error("a network", "name", f"one of {', '.join(IMAGE_NETWORKS)}", self.name)
        return build_with_seed(seed, lambda: IMAGE_NETWORKS[self.name](self).train())


def build_small_network(architecture: ImageArchitecture) -> ImageNetwork:
    """Return a tanh CNN of 26,000 parameters for 28 x 28 grey images (Papernot et al. 2021, Table 1).

    Few parameters need little noise, and tanh keeps the gradients of examples at similar norms.
    """
    maps, second_maps = _scale_sizes(architecture, 16, 32)
    first = nn.Conv2d(architecture.shape[0], maps, 8, stride=2, padding=3)  # 28 x 28 -> 14 x 14
    body = [
        nn.Tanh(),
        nn.MaxPool2d(2, 1),  # -> 13 x 13
        nn.Conv2d(maps, second_maps, 4, stride=2),  # -> 5 x 5
        nn.Tanh(),
        nn.MaxPool2d(2, 1),  # -> 4 x 4
    ]
    return _finish_network(architecture, first, body, 32, is_normalised=False)


def build_shallow_network(architecture: ImageArchitecture) -> ImageNetwork:
    """Return one rectified convolution and a linear layer, of 9,000 parameters for 28 x 28 grey images.

    Interval bounds lose a little in every layer, and few parameters need little noise.
    """
    (maps,) = _scale_sizes(architecture, 16)
    first = nn.Conv2d(architecture.shape[0], maps, 8, stride=2, padding=3)  # 28 x 28 -> 14 x 14
    body = [nn.ReLU(), nn.AvgPool2d(2), nn.Flatten()]  # -> 7 x 7
    return ImageNetwork(
        architecture,
        first,
        nn.Sequential(*body, nn.Linear(_count_features(architecture, first, body), architecture.classes)),
    )


def build_dpal_mnist_network(architecture: ImageArchitecture) -> ImageNetwork:
    """Return the network of Phan et al. 2020 for MNIST, Appendix M: two 5 x 5 convolutions (32, 64 maps), 256 units.

    The strides of 2 follow from the paper's sensitivity, in which a feature map has 14^2 neurons. The last hidden
    layer is bounded in [-1, 1], as Lemma 4 needs.
    """
    maps, second_maps = _scale_sizes(architecture, 32, 64)
    first = nn.Conv2d(architecture.shape[0], maps, 5, stride=2, padding=2)  # 28 x 28 -> 14 x 14
    body = [
        nn.ReLU(),
        *([nn.BatchNorm2d(maps)] if architecture.normalised else []),
        nn.AvgPool2d(2),  # -> 7 x 7
        nn.Conv2d(maps, second_maps, 5, stride=2, padding=2),  # -> 4 x 4
        nn.ReLU(),
    ]
    return _finish_network(architecture, first, body, 256, is_normalised=architecture.normalised)


def build_dpal_cifar10_network(architecture: ImageArchitecture) -> ImageNetwork:
    """Return the network of Phan et al. 2020 for CIFAR-10, Appendix M: convolutions of 128, 128, 256 maps, 256 units.

    The first layer's patches are 4 x 4, the others' 5 x 5; images are cropped to 28 x 28, for which the paper's
    sensitivity 3 (14^2 + 2) 16 is made.
    """
    maps, second_maps, third_maps = _scale_sizes(architecture, 128, 128, 256)
    first = nn.Conv2d(architecture.shape[0], maps, 4, stride=2, padding=1)  # 28 x 28 -> 14 x 14
    body = [
        nn.ReLU(),
        *([nn.BatchNorm2d(maps)] if architecture.normalised else []),
        nn.AvgPool2d(2),  # -> 7 x 7
        nn.Conv2d(maps, second_maps, 5, padding=2),
        nn.ReLU(),
        nn.Conv2d(second_maps, third_maps, 5, stride=2, padding=2),  # -> 4 x 4
        nn.ReLU(),
    ]
    return _finish_network(architecture, first, body, 256, is_normalised=architecture.normalised)


IMAGE_NETWORKS: dict[str, Callable[[ImageArchitecture], ImageNetwork]] = {
    "small": build_small_network,
    "shallow": build_shallow_network,
    "paper-mnist": build_dpal_mnist_network,
    "paper-cifar10": build_dpal_cifar10_network,
}
"""A new network is one function and one entry here."""


def get_last_layer(network: ImageNetwork) -> nn.Linear:
    """Return the layer that gives the logits."""
    layer = network.rest[-1]
    if not isinstance(layer, nn.Linear):
        raise TypeError(type(layer).__name__)
    return layer


def _scale_sizes(architecture: ImageArchitecture, *full: int) -> list[int]:
    return [max(1, round(architecture.width * size)) for size in full]


def _finish_network(
    architecture: ImageArchitecture, first: nn.Conv2d, body: list[nn.Module], hidden: int, *, is_normalised: bool
) -> ImageNetwork:
    """Return a network of convolutions and one hidden layer, of ``hidden`` units at full width, ended by tanh."""
    body = [*body, nn.Flatten()]
    features = _count_features(architecture, first, body)
    units = architecture.hidden or _scale_sizes(architecture, hidden)[0]
    head = [nn.Linear(features, units), *([nn.BatchNorm1d(units)] if is_normalised else []), nn.Tanh()]
    return ImageNetwork(architecture, first, nn.Sequential(*body, *head, nn.Linear(units, architecture.classes)))


def _count_features(architecture: ImageArchitecture, first: nn.Conv2d, body: list[nn.Module]) -> int:
    """Return how many numbers an image becomes.

    Raises:
        InputError: images that the convolutions do not take.
    """
    try:
        with torch.no_grad():
            features: int = nn.Sequential(first, *body).eval()(torch.zeros(1, *architecture.shape)).shape[1]
    except RuntimeError:
        _, height, width = architecture.shape
        raise InputError(
            f"The network {architecture.name} takes larger images. Got {height} x {width} pixels: enlarge or pad them."
        ) from None
    return features


NoisePlace = Literal["input", "first layer"]


@dataclasses.dataclass(frozen=True)
class NetworkNoise:
    """Independent noise on every coordinate of one place.

    Attributes:
        place: the image, in the unit of its pixels, or the output of the first layer.
        law: of the noise.
        scale: standard deviation, or scale of a Laplace law; of any shape that fits the place for one image.
        offset: a constant added to the noise at every call, such as noise that was drawn once in training.
        bounds: to which an input with its noise is clamped; None for none.
    """

    place: NoisePlace
    law: NetworkNoiseLaw
    scale: Tensor
    offset: Tensor | None = None
    bounds: tuple[float, float] | None = None

    def draw(self, shape: torch.Size, generator: torch.Generator) -> Tensor:
        """Return noise of a shape (b, ...), drawn anew for every image."""
        device = generator.device
        if self.law == "gaussian":
            noise = torch.randn(shape, generator=generator, device=device)
        else:
            # By the inverse of the distribution: several times as fast as exponentials. Uniform numbers of 24 bits may
            # be 0: half a step further neither end is reached. None lies beyond 17, where a chance of 6e-8 is missing.
            centred = torch.rand(shape, generator=generator, device=device).sub_(0.5).add_(2.0**-25)
            noise = centred.abs().mul_(-2).log1p_().neg_().copysign_(centred)
        noise = noise * self.scale.to(device)
        return noise if self.offset is None else noise + self.offset.to(device)

    def check(self, network: ImageNetwork, shape: ImageShape) -> None:
        """Check that a network can have the noise.

        Args:
            network: that has the noise.
            shape: of an image.

        Raises:
            InputError: an unknown place or law, numbers that are not finite, or bounds or a scale that are none.
            RuntimeError: numbers of another shape than their place.
        """
        if self.place not in get_args(NoisePlace) or self.law not in get_args(NetworkNoiseLaw):
            raise InputError(f"{self.law} noise on the {self.place}")
        images = torch.zeros(1, *shape)
        place_shape = images.shape[1:] if self.place == "input" else get_first_layer_shape(network, images)[1:]
        for numbers in (self.scale, self.scale if self.offset is None else self.offset):
            if not numbers.isfinite().all():
                raise InputError("noise that is not finite")
            numbers.expand(place_shape)  # raises
        if (self.scale < 0).any():
            raise InputError("noise of a negative scale")
        if self.bounds is not None and not self.bounds[0] < self.bounds[1]:
            raise InputError("bounds on the noisy image that are not in order")


def get_only_noise(noises: tuple[NetworkNoise, ...], place: NoisePlace, law: NetworkNoiseLaw) -> NetworkNoise:
    """Return the one noise of a model, if it is the one that a certificate is about.

    Raises:
        InputError: another noise, none, or several.
    """
    if [(noise.place, noise.law) for noise in noises] != [(place, law)]:
        given = " and ".join(f"{noise.law} noise on the {noise.place}" for noise in noises) or "none"
        raise InputError(f"The certificate is about {law} noise on the {place}. Got {given}.")
    return noises[0]


def compute_noisy_scores(
    network: ImageNetwork, images: Tensor, noises: tuple[NetworkNoise, ...], generator: torch.Generator
) -> Tensor:
    """Return logits (b, K) of images (b, channels, height, width) under fresh noise."""
    first_layer_noise: Tensor | None = None
    for noise in noises:
        if noise.place == "first layer":
            first_layer_noise = noise.draw(get_first_layer_shape(network, images), generator)
        else:
            images = images + noise.draw(images.shape, generator)
            images = images if noise.bounds is None else images.clamp(*noise.bounds)
    logits: Tensor = network(images, first_layer_noise)
    return logits


def get_first_layer_shape(network: ImageNetwork, images: Tensor) -> torch.Size:
    """Return the shape (b, maps, height', width') of the first layer's output."""
    with torch.no_grad():  # without the hooks that record passes for per-example gradients
        output = network.first.forward(torch.zeros_like(images[:1]))
    return torch.Size((len(images), *output.shape[1:]))
