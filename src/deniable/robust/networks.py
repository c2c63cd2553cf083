"""The networks: a small one for private training, and those of paper 004, all without batch statistics but DPAL's."""

import dataclasses
import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from deniable.errors import InputError, bad_parameter
from deniable.learning.setup import seeded


class Network(nn.Module):
    """A classifier with a place for noise after its first linear layer; noise on the image is the caller's to add.

    Args:
        first: the first linear layer, from (b, channels, height, width) to (b, maps, height', width').
        rest: from there to logits (b, K).
    """

    def __init__(self, first: nn.Conv2d, rest: nn.Sequential) -> None:
        super().__init__()
        self.first, self.rest = first, rest

    def forward(self, images: Tensor, at_first: Tensor | None = None) -> Tensor:
        """Return logits (b, K).

        Args:
            images: (b, channels, height, width), pixels in [0, 1], or beyond it where they carry noise.
            at_first: noise added to the output of the first layer.
        """
        hidden: Tensor = self.first(2 * images - 1)  # pixels in [-1, 1] -> (b, maps, height', width')
        if at_first is not None:
            hidden = hidden + at_first
        logits: Tensor = self.rest(hidden)
        return logits


@dataclasses.dataclass(frozen=True)
class Architecture:
    """What is needed to build a network again.

    Attributes:
        name: one of `NETWORKS`.
        shape: of an image, (channels, height, width).
        classes: K.
        width: factor on the number of maps and hidden units.
        normalised: batch normalisation, with running statistics at inference, as DPAL and AdLM need it.
        hidden: units of the last hidden layer, in place of what the network says.
    """

    name: str
    shape: tuple[int, int, int]
    classes: int
    width: float = 1.0
    normalised: bool = False
    hidden: int | None = None

    def build(self, seed: int) -> Network:
        """Return the network with weights drawn from a public seed, whatever the state of torch's generator."""
        if self.name not in NETWORKS:
            raise bad_parameter("a network", "name", f"one of {', '.join(NETWORKS)}", self.name)
        return seeded(seed, lambda: NETWORKS[self.name](self).train())


def small(about: Architecture) -> Network:
    """Return a tanh CNN of 26,000 parameters for 28 x 28 grey images (Papernot et al. 2021, Table 1).

    Few parameters need little noise, and tanh keeps the gradients that are clipped alike.
    """
    channels, *_ = about.shape
    maps, more = _sizes(about, 16, 32)
    hidden = _hidden(about, 32)
    first = nn.Conv2d(channels, maps, 8, stride=2, padding=3)  # 28 x 28 -> 14 x 14
    body = [
        nn.Tanh(),
        nn.MaxPool2d(2, 1),  # -> 13 x 13
        nn.Conv2d(maps, more, 4, stride=2),  # -> 5 x 5
        nn.Tanh(),
        nn.MaxPool2d(2, 1),  # -> 4 x 4
        nn.Flatten(),
    ]
    units = _units(about, first, body)
    return Network(first, nn.Sequential(*body, nn.Linear(units, hidden), nn.Tanh(), nn.Linear(hidden, about.classes)))


def paper_mnist(about: Architecture) -> Network:
    """Return the network of paper 004 for MNIST, Appendix M: two 5 x 5 convolutions of 32 and 64 maps, 256 units.

    The strides of 2 follow from the paper's sensitivity, in which a feature map has 14^2 neurons. The last hidden
    layer is bounded in [-1, 1], as Lemma 4 needs.
    """
    channels, *_ = about.shape
    maps, more = _sizes(about, 32, 64)
    hidden = _hidden(about, 256)
    first = nn.Conv2d(channels, maps, 5, stride=2, padding=2)  # 28 x 28 -> 14 x 14
    body = [
        nn.ReLU(),
        *_normalised(about, nn.BatchNorm2d, maps),
        nn.AvgPool2d(2),  # -> 7 x 7
        nn.Conv2d(maps, more, 5, stride=2, padding=2),  # -> 4 x 4
        nn.ReLU(),
        nn.Flatten(),
    ]
    units = _units(about, first, body)
    top = [nn.Linear(units, hidden), *_normalised(about, nn.BatchNorm1d, hidden), nn.Tanh()]
    return Network(first, nn.Sequential(*body, *top, nn.Linear(hidden, about.classes)))


def paper_cifar10(about: Architecture) -> Network:
    """Return the network of paper 004 for CIFAR-10, Appendix M: convolutions of 128, 128 and 256 maps, 256 units.

    The first layer's patches are 4 x 4, the others' 5 x 5; images are cropped to 28 x 28, for which the paper's
    sensitivity 3 (14^2 + 2) 16 is made.
    """
    channels, *_ = about.shape
    maps, middle, more = _sizes(about, 128, 128, 256)
    hidden = _hidden(about, 256)
    first = nn.Conv2d(channels, maps, 4, stride=2, padding=1)  # 28 x 28 -> 14 x 14
    body = [
        nn.ReLU(),
        *_normalised(about, nn.BatchNorm2d, maps),
        nn.AvgPool2d(2),  # -> 7 x 7
        nn.Conv2d(maps, middle, 5, padding=2),
        nn.ReLU(),
        nn.Conv2d(middle, more, 5, stride=2, padding=2),  # -> 4 x 4
        nn.ReLU(),
        nn.Flatten(),
    ]
    units = _units(about, first, body)
    top = [nn.Linear(units, hidden), *_normalised(about, nn.BatchNorm1d, hidden), nn.Tanh()]
    return Network(first, nn.Sequential(*body, *top, nn.Linear(hidden, about.classes)))


NETWORKS: dict[str, Callable[[Architecture], Network]] = {
    "small": small,
    "paper-mnist": paper_mnist,
    "paper-cifar10": paper_cifar10,
}
"""A new network is one more function and one more entry."""


def last_layer(network: Network) -> nn.Linear:
    """Return the layer that gives the logits."""
    layer = network.rest[-1]
    if not isinstance(layer, nn.Linear):
        raise TypeError(type(layer).__name__)
    return layer


def _sizes(about: Architecture, *full: int) -> list[int]:
    return [max(1, round(about.width * size)) for size in full]


def _hidden(about: Architecture, full: int) -> int:
    """Return the units of the last hidden layer."""
    return about.hidden or _sizes(about, full)[0]


def _normalised(about: Architecture, layer: type[nn.Module], size: int) -> list[nn.Module]:
    return [layer(size)] if about.normalised else []


def _units(about: Architecture, first: nn.Module, body: list[nn.Module]) -> int:
    """Return how many numbers come out of the convolutions for one image."""
    with torch.no_grad():
        try:
            shape = nn.Sequential(first, *body).eval()(torch.zeros(1, *about.shape)).shape
        except RuntimeError:
            _, height, width = about.shape
            raise InputError(
                f"The network {about.name} takes larger images. Got {height} x {width} pixels: enlarge or pad them."
            ) from None
    return math.prod(shape[1:])
