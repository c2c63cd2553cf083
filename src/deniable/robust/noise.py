"""The noise of a randomized model: what it adds to its input or to the output of its first layer, at every call."""

import dataclasses
from typing import Any, Literal

import torch
from torch import Tensor

from deniable.robust.networks import ImageNetwork

NoisePlace = Literal["input", "first layer"]
NetworkNoiseLaw = Literal["gaussian", "laplace"]


@dataclasses.dataclass(frozen=True)
class NetworkNoise:
    """Independent noise on every coordinate of one place.

    Attributes:
        place: the image, in the unit of its pixels, or the output of the first layer.
        law: of the noise.
        scale: standard deviation, or scale of a Laplace law; of any shape that fits the place for one image.
        offset: added besides, the same at every call; the fixed noise of DPAL and AdLM.
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
        else:  # the difference of two exponential numbers
            first, second = torch.empty(2, *shape, device=device).exponential_(generator=generator)
            noise = first - second
        noise = noise * self.scale.to(device)
        return noise if self.offset is None else noise + self.offset.to(device)

    def to_dict(self) -> dict[str, Any]:
        """Return what `from_dict` takes."""
        return {"place": self.place, "law": self.law, "scale": self.scale, "offset": self.offset, "bounds": self.bounds}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "NetworkNoise":
        """Return the noise that a file holds."""
        bounds = content["bounds"]
        return cls(
            content["place"],
            content["law"],
            content["scale"],
            content["offset"],
            None if bounds is None else tuple(bounds),
        )


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
    with torch.no_grad():
        output = network.first.forward(
            torch.zeros_like(images[:1])
        )  # past the hooks that watch a pass for its gradients
    return torch.Size((len(images), *output.shape[1:]))
