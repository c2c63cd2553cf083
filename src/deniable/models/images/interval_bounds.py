"""Bounds on a network of images over all images near one, and the certificate that follows (Gowal et al. 2018).

**Rounding.** The network computes in float32, and the certificate is about what it computes. A sum of n products and a
bias, in any order, is off by at most gamma(n + 1) times the sum of their magnitudes, gamma(k) = k u / (1 - k u) and
u = 2^-24 (Higham 2002, Section 3.1), so the box behind every layer is widened by that; tanh is taken to be right to
four units of rounding. The bounds are computed in float64, whose own rounding is less than the two terms that are
counted besides. Not covered are sums that are computed by other products (Winograd's convolution), and processors that
multiply float32 in fewer bits.
"""

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from deniable.core.errors import InputError
from deniable.core.guarantees import PROVED_IDEAL, Status
from deniable.learning.clipping import unfold_patches
from deniable.models.images.certificates import (
    ABSTAINED,
    CertifiedImage,
    DecisionRule,
    Norm,
    register_certificate,
)
from deniable.models.images.networks import ImageNetwork, ImageShape, NetworkNoise
from deniable.models.interval_bounds import TensorBox, TensorOrBox, apply_affine, apply_monotone, bound_margins

Parameters = Mapping[str, Tensor]
"""Parameters of a network by name, (b, ...) with one copy for each image, or (1, ...) for all."""
_MONOTONE = (nn.Tanh, nn.ReLU, nn.MaxPool2d, nn.AvgPool2d, nn.Flatten)
"""Layers that decrease in no number: what they make of both ends of a box bounds what they make of the box."""
_UNIT = 2.0**-24
_TANH_UNITS = 4
_HALVINGS = 20
"""Of the interval [0, 1] in which the radius of an image is searched."""


def make_box(images: Tensor, radius: float | Tensor) -> TensorBox:
    """Return all images in an l_inf ball around images (b, channels, height, width), pixels in [0, 1]."""
    return TensorBox((images - radius).clamp(min=0), (images + radius).clamp(max=1))


def compute_features(
    network: ImageNetwork, parameters: Parameters, images: TensorOrBox, *, is_rounded: bool = False
) -> TensorOrBox:
    """Return the inputs (b, n) of the last layer, or a box around them for a box of images.

    Args:
        network: whose layers the images pass through.
        parameters: of these layers.
        images: (b, channels, height, width), pixels in [0, 1].
        is_rounded: whether a box holds what float32 makes of the images, too.

    Raises:
        InputError: a layer that has no bounds.
    """
    values = apply_monotone(images, lambda pixels: 2 * pixels - 1)
    values = _widen(values, _UNIT) if is_rounded else values
    for name, layer in _list_layers(network):
        if isinstance(layer, nn.Conv2d | nn.Linear):
            weight, bias = parameters[f"{name}.weight"], parameters[f"{name}.bias"]
            outputs = _apply_layer(layer, values, weight, bias)
            if is_rounded:
                magnitudes = _apply_layer(layer, _get_magnitudes(values), weight.abs(), bias.abs())
                outputs = _widen(outputs, _compute_gamma(weight) * magnitudes)
        else:
            outputs = apply_monotone(values, layer)
            if is_rounded and isinstance(layer, nn.Tanh):
                outputs = _widen(outputs, _TANH_UNITS * _UNIT)
            elif is_rounded and isinstance(layer, nn.AvgPool2d):
                window = torch.ones(1, 1, layer.kernel_size, layer.kernel_size)  # type: ignore[arg-type]
                outputs = _widen(outputs, _compute_gamma(window) * layer(_get_magnitudes(values)))
        values = outputs
    return values


def compute_margins(network: ImageNetwork, parameters: Parameters, features: TensorBox, labels: Tensor) -> Tensor:
    """Return lower bounds (b, K) on the label's logit minus each class's, 0 for the label itself.

    Args:
        network: whose last layer makes the logits.
        parameters: of the network.
        features: box of inputs (b, n) of that layer.
        labels: int64 (b,).
    """
    weight, bias = get_last_parameters(network, parameters)
    return bound_margins(features, weight.expand(len(labels), -1, -1), bias.expand(len(labels), -1), labels)


def get_last_parameters(network: ImageNetwork, parameters: Parameters) -> tuple[Tensor, Tensor]:
    """Return weight (b, K, n) and bias (b, K) of the last layer, or (1, ...) where all images share them."""
    name = f"rest.{len(network.rest) - 1}"
    return parameters[f"{name}.weight"], parameters[f"{name}.bias"]


@register_certificate
@dataclasses.dataclass(frozen=True)
class IntervalBounds:
    """The l_inf certificate of a model without noise: bounds on the logits over all images in a ball.

    The class is that of the highest logit, and holds in the ball if the lower bound on its lead over every other class
    is above 0. Nothing is drawn, and no certificate is wrong by chance.
    """

    choices: ClassVar[tuple[str, ...]] = ()
    norm: ClassVar[Norm] = "linf"
    status: ClassVar[Status] = PROVED_IDEAL
    source: ClassVar[str] = "Gowal et al. 2018, Section 3"
    decision_rule: ClassVar[DecisionRule] = "votes"
    pixels_per_unit: ClassVar[float] = 1.0

    @classmethod
    def from_network(
        cls,
        network: ImageNetwork,
        shape: ImageShape,  # noqa: ARG003 - of every certificate
        noises: tuple[NetworkNoise, ...],
    ) -> Self:
        """Return the certificate of a network without noise.

        Raises:
            InputError: noise, or a layer that has no bounds.
        """
        if noises:
            raise InputError("Interval bounds are about a model without noise. Got one that adds noise.")
        for _ in _list_layers(network):
            pass  # raises
        return cls()

    def certify_images(self, network: ImageNetwork, images: Tensor) -> list[CertifiedImage]:
        """Return class and radius of images (b, channels, height, width), pixels in [0, 1].

        The radius is within 2^-20 of the largest that the bounds prove, and proved itself.
        """
        with torch.no_grad():
            labels = network(images).argmax(1)
            low, high = torch.zeros(2, len(images), dtype=torch.float64, device=images.device)
            high += 1
            is_certified = self.find_proved(network, images, labels, low)
            low = torch.where(self.find_proved(network, images, labels, high), high, low)
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                is_wide = self.find_proved(network, images, labels, middle)
                low, high = torch.where(is_wide, middle, low), torch.where(is_wide, high, middle)
        found = zip(labels.tolist(), low.tolist(), is_certified.tolist(), strict=True)
        return [CertifiedImage(label, radius) if certified else ABSTAINED for label, radius, certified in found]

    @staticmethod
    def find_proved(network: ImageNetwork, images: Tensor, labels: Tensor, radii: Tensor) -> Tensor:
        """Return (b,) whether it is proved that every image within a radius has the label.

        Args:
            network: without noise.
            images: (b, channels, height, width), pixels in [0, 1].
            labels: int64 (b,).
            radii: (b,) or one for all, float64.
        """
        exact = {name: weight.detach().double().unsqueeze(0) for name, weight in network.named_parameters()}
        with torch.no_grad():
            box = make_box(images.double(), radii.to(images.device).view(-1, 1, 1, 1))
            leads = _compute_rounded_margins(network, exact, box, labels) > 0  # the label has none over itself
            return leads.sum(1) == leads.shape[1] - 1


def _list_layers(network: ImageNetwork) -> Iterator[tuple[str, nn.Module]]:
    """Yield all layers but the last, with their names.

    Raises:
        InputError: a layer that has no bounds.
    """
    layers = [("first", network.first), *((f"rest.{name}", layer) for name, layer in network.rest.named_children())]
    for name, layer in layers[:-1]:
        if not isinstance(layer, (nn.Conv2d, nn.Linear, *_MONOTONE)):
            raise InputError(
                f"A {type(layer).__name__} has no interval bounds: take linear layers, convolutions, tanh, ReLU and "
                "pooling, and no normalization."
            )
        if isinstance(layer, nn.Conv2d) and (layer.groups, layer.padding_mode) != (1, "zeros"):
            raise InputError(
                "A convolution with interval bounds must have one group and zeros as padding. Got "
                f"{layer.groups} and {layer.padding_mode!r}."
            )
        yield name, layer


def _apply_layer(layer: nn.Conv2d | nn.Linear, values: TensorOrBox, weight: Tensor, bias: Tensor) -> TensorOrBox:
    """Return what a layer makes of values (b, ...) with weights (b, ...) and biases (b, ...), or (1, ...) of each."""
    return apply_affine(values, functools.partial(_multiply, layer), weight, bias)


def _multiply(layer: nn.Conv2d | nn.Linear, values: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if len(weight) == 1:
        shared = weight[0], None if bias is None else bias[0]
        if isinstance(layer, nn.Linear):
            return functional.linear(values, *shared)
        return functional.conv2d(values, *shared, layer.stride, layer.padding, layer.dilation)
    patches = values[..., None, None] if isinstance(layer, nn.Linear) else unfold_patches(layer, values)
    columns = patches.flatten(-2).flatten(1, -2)  # (b, in, height' * width'), one place for a linear layer
    outputs = weight.flatten(2) @ columns
    outputs = outputs if bias is None else outputs + bias.unsqueeze(2)
    return outputs.squeeze(2) if isinstance(layer, nn.Linear) else outputs.view(*outputs.shape[:2], *patches.shape[-2:])


def _compute_rounded_margins(network: ImageNetwork, exact: Parameters, box: TensorBox, labels: Tensor) -> Tensor:
    """Return `compute_margins` less all that rounding to float32 may change; at most 0 for the label itself."""
    features = compute_features(network, exact, box, is_rounded=True)
    weight, bias = get_last_parameters(network, exact)
    magnitudes = (weight.abs() @ _get_magnitudes(features).unsqueeze(2)).squeeze(2) + bias.abs()  # (b, K)
    errors = _compute_gamma(weight.unsqueeze(3)) * magnitudes
    return compute_margins(network, exact, features, labels) - errors - errors.gather(1, labels.unsqueeze(1))


def _get_magnitudes(box: TensorOrBox) -> Tensor:
    """Return the largest magnitude of each number in a box."""
    return torch.maximum(box.low.abs(), box.high.abs()) if isinstance(box, TensorBox) else box.abs()


def _widen(box: TensorOrBox, errors: float | Tensor) -> TensorOrBox:
    """Return a box that is wider on both sides; numbers as they are."""
    return TensorBox(box.low - errors, box.high + errors) if isinstance(box, TensorBox) else box


def _compute_gamma(weight: Tensor) -> float:
    """Return gamma of a sum with the weights (b, out, ...), its bias, and two terms for the rounding of the bounds."""
    terms = weight[0, 0].numel() + 3
    return terms * _UNIT / (1 - terms * _UNIT)
