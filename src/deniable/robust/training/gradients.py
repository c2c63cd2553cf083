"""The clipped sum of per-example gradients, without holding the gradients: ghost clipping (Li et al. 2022).

The gradient of one example for the weight of a linear layer is G A^T, where A holds what enters the layer and G
the derivatives of the loss by what leaves it, a column for each place at which the weight is used: one for a linear
layer, one a pixel for a convolution, and so many more for further views of the example. Its norm needs two small
products, and the sum over examples with weights is one large one.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from deniable.errors import InputError
from deniable.robust.images.dataset import EMPTY

_SLACK = 1e-3
"""Norms are float32: clipping to so much less than the norm that the noise is made for covers their rounding."""
_MIXING = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
"""Layers that make of one example what depends on the others, with parameters or without."""

Forward = Callable[[Tensor], Tensor]
Layer = nn.Linear | nn.Conv2d


def clipped_sum(
    network: nn.Module, forward: Forward, views: Tensor, labels: Tensor, clip: float
) -> tuple[dict[str, Tensor], float]:
    """Return the sum over examples of their gradients, each clipped to an l2 norm of at most ``clip``.

    An example's loss is the mean cross-entropy of its views, which are made of that example alone.

    Args:
        network: of linear layers and convolutions; nothing else in it has parameters.
        forward: from images to logits through the network, with whatever noise it draws.
        views: (b, v, channels, height, width), pixels in [0, 1].
        labels: (b,), of which an empty record's is `EMPTY`: it adds nothing to the sum.
        clip: C > 0.

    Returns:
        The sum by parameter name, and the sum of the losses, which is not private.

    Raises:
        InputError: a parameter belongs to a layer of another kind.
    """
    layers = _layers(network)
    columns, losses = _pass(layers, forward, views, labels)
    squares = torch.zeros_like(losses)
    whole: dict[str, Tensor] = {}
    biases: dict[str, Tensor] = {}
    for name, (entered, left) in columns.items():
        if _smaller_held(entered, left):
            whole[name] = left @ entered.transpose(1, 2)  # (b, out, in)
            squares += whole[name].flatten(1).square().sum(1)
        else:
            inner = (entered.transpose(1, 2) @ entered) * (left.transpose(1, 2) @ left)  # (b, places, places)
            squares += inner.flatten(1).sum(1).clamp(min=0) + _rounding(inner, entered.shape[1] + left.shape[1])
        if layers[name].bias is not None:
            biases[name] = left.sum(2)  # (b, out)
            squares += biases[name].square().sum(1)
    # A norm of zero needs no clipping.
    factors = ((1 - _SLACK) * clip / squares.clamp(min=1e-30).sqrt()).clamp(max=1)  # (b,)

    sums: dict[str, Tensor] = {}
    for name, (entered, left) in columns.items():
        if name in whole:
            weight = torch.einsum("b,boi->oi", factors, whole[name])
        else:
            weight = torch.einsum("bop,bip->oi", left * factors[:, None, None], entered)
        sums[f"{name}.weight"] = weight.view_as(layers[name].weight)
        if name in biases:
            sums[f"{name}.bias"] = factors @ biases[name]
    return sums, float(losses.sum())


def _pass(
    layers: dict[str, Layer], forward: Forward, views: Tensor, labels: Tensor
) -> tuple[dict[str, tuple[Tensor, Tensor]], Tensor]:
    """Go forward and back once, and return A and G of each layer, and the loss of each example (b,)."""
    batch, copies = views.shape[:2]
    seen: dict[str, Tensor] = {}
    sent: dict[str, Tensor] = {}

    def keep(name: str) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]:
        def hook(_: nn.Module, entered: tuple[Tensor, ...], left: Tensor) -> None:
            if name in seen:
                raise InputError(f"Layer {name!r} is used twice in one pass: use each layer once.")
            seen[name], sent[name] = entered[0].detach(), left

        return hook

    hooks = [layer.register_forward_hook(keep(name)) for name, layer in layers.items()]
    try:
        logits = forward(views.flatten(0, 1))  # (b v, K)
    finally:
        for hook in hooks:
            hook.remove()
    repeated = labels.repeat_interleave(copies)
    losses = functional.cross_entropy(logits, repeated, reduction="none", ignore_index=EMPTY) / copies
    derivatives = torch.autograd.grad(losses.sum(), [sent[name] for name in layers])
    columns = {
        name: _columns(layer, seen[name], derivative, (batch, copies))
        for (name, layer), derivative in zip(layers.items(), derivatives, strict=True)
    }
    return columns, losses.detach().view(batch, copies).sum(1)


def _layers(network: nn.Module) -> dict[str, Layer]:
    """Return the layers with parameters, by name."""
    layers: dict[str, Layer] = {}
    for name, module in network.named_modules():
        if isinstance(module, nn.Linear) or (isinstance(module, nn.Conv2d) and _plain(module)):
            layers[name] = module
        elif isinstance(module, _MIXING) or next(module.parameters(recurse=False), None) is not None:
            raise InputError(
                f"Layer {name!r} is a {type(module).__name__}, whose gradient for one example is not known: "
                "use linear layers and convolutions (no groups, zeros as padding), and no batch statistics."
            )
    return layers


def _plain(layer: nn.Conv2d) -> bool:
    """Say whether a convolution is one that `_columns` knows."""
    return layer.groups == 1 and layer.padding_mode == "zeros"


def _columns(layer: Layer, entered: Tensor, left: Tensor, views: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """Return A (b, in, places) and G (b, out, places) of one layer; the views of an example are further places."""
    if isinstance(layer, nn.Conv2d):
        entered = functional.unfold(entered, layer.kernel_size, layer.dilation, _padding(layer), layer.stride)
        left = left.flatten(2)
    else:
        entered, left = entered[:, :, None], left[:, :, None]

    def gathered(given: Tensor) -> Tensor:  # (b v, size, p) -> (b, size, v p)
        split = given.reshape(*views, *given.shape[1:])
        return split[:, 0] if split.shape[1] == 1 else split.transpose(1, 2).flatten(2)

    return gathered(entered), gathered(left)


def _padding(layer: nn.Conv2d) -> tuple[int, ...]:
    if isinstance(layer.padding, str):
        raise InputError(f"A convolution's padding must be in pixels. Got {layer.padding!r}.")
    return layer.padding


def _rounding(inner: Tensor, length: int) -> Tensor:
    """Return (b,) a bound on the rounding of squared norms that are sums of products of columns.

    Where the columns of an example cancel, rounding is all that is left of its norm, while the noise is made for the
    whole of it. Each product is off by at most eps times its length and the norms of its columns (Higham 2002, 3.5),
    whose squares are on the diagonal.

    Args:
        inner: the products, (b, places, places).
        length: of the columns, both together.
    """
    sizes: Tensor = inner.diagonal(dim1=1, dim2=2).sqrt().sum(1)  # (b,)
    return sizes.square() * (torch.finfo(inner.dtype).eps * (length + inner.shape[1]))


def _smaller_held(entered: Tensor, left: Tensor) -> bool:
    """Say whether the gradients of all examples cost less than the products of their columns."""
    size, places = entered.shape[1] * left.shape[1], entered.shape[2]
    return size <= places * (entered.shape[1] + left.shape[1])
