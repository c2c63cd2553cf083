"""The noise of a randomized model: what it adds to its input or to the output of its first layer, at every call."""

import dataclasses
from typing import Any, Literal

import torch
from torch import Tensor

from deniable.robust.networks import Network

Place = Literal["input", "first layer"]
Law = Literal["gaussian", "laplace"]


@dataclasses.dataclass(frozen=True)
class Noise:
    """Independent noise on every coordinate of one place.

    Attributes:
        place: the image, in the unit of its pixels, or the output of the first layer.
        law: of the noise.
        scale: standard deviation, or scale of a Laplace law; of any shape that fits the place for one image.
        offset: added besides, the same at every call; the fixed noise of DPAL and AdLM.
        bounds: to which an input with its noise is clamped; None for none.
    """

    place: Place
    law: Law
    scale: Tensor
    offset: Tensor | None = None
    bounds: tuple[float, float] | None = None

    def draw(self, shape: torch.Size, source: torch.Generator) -> Tensor:
        """Return noise of a shape (b, ...), drawn anew for every image."""
        device = source.device
        if self.law == "gaussian":
            drawn = torch.randn(shape, generator=source, device=device)
        else:  # the difference of two exponential numbers
            first, second = torch.empty(2, *shape, device=device).exponential_(generator=source)
            drawn = first - second
        drawn = drawn * self.scale.to(device)
        return drawn if self.offset is None else drawn + self.offset.to(device)

    def to_dict(self) -> dict[str, Any]:
        """Return what `from_dict` takes."""
        return {"place": self.place, "law": self.law, "scale": self.scale, "offset": self.offset, "bounds": self.bounds}

    @classmethod
    def from_dict(cls, held: dict[str, Any]) -> "Noise":
        """Return the noise that a file holds."""
        bounds = held["bounds"]
        return cls(held["place"], held["law"], held["scale"], held["offset"], None if bounds is None else tuple(bounds))


def noisy(network: Network, images: Tensor, noises: tuple[Noise, ...], source: torch.Generator) -> Tensor:
    """Return logits (b, K) of images (b, channels, height, width) under fresh noise."""
    at_first: Tensor | None = None
    for noise in noises:
        if noise.place == "first layer":
            at_first = noise.draw(first_shape(network, images), source)
        else:
            images = images + noise.draw(images.shape, source)
            images = images if noise.bounds is None else images.clamp(*noise.bounds)
    logits: Tensor = network(images, at_first)
    return logits


def first_shape(network: Network, images: Tensor) -> torch.Size:
    """Return the shape (b, maps, height', width') of the first layer's output."""
    with torch.no_grad():
        one = network.first.forward(torch.zeros_like(images[:1]))  # past the hooks that watch a pass for its gradients
    return torch.Size((len(images), *one.shape[1:]))
