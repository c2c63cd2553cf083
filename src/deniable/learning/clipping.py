"""The clipped sum of per-example gradients: without storing them (ghost clipping, Li et al. 2022), or of any loss.

The gradient of one example for the weight of a linear layer is G A^T, where A holds what enters the layer and G
the derivatives of the loss by what leaves it, a column for each place at which the weight is used: one for a linear
layer, one a pixel for a convolution, and so many more for further views of the example. Its norm needs two small
products, and the sum over examples with weights is one large one.

**Rounding.** m = 64 examples at a time are added up in float32, and these sums in float64. Make one example empty: one
sum of m gradients of norm at most C changes. Each of both versions of it is off by at most (m - 1) u m C, u = 2^-24, in
any order of addition (Higham 2002, Section 4.2), and float64 adds n 2^-53 n C / m for n examples. So one example moves
the sum by at most::

    (1 - slack) C + 2 m^2 u C + 2 n^2 2^-53 C / m  <=  C        for n up to ten million, with a slack of 1e-3

The sum of an example with several places is itself rounded, by at most m k u times its size before anything cancels,
sum_p |g_p| |a_p| times its factor, for k places: this exceeds the slack only where the places of an example
cancel each other.

A bound on a network over a box of inputs depends on |W| beside W: the gradient is then no product of G and A^T, and is
stored for each example.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from deniable.core.errors import InputError

EMPTY_LABEL = -1
"""Label of an empty record: whatever its inputs are, its gradient is 0."""
_CLIP_SLACK = 1e-3
"""Norms and short sums are float32: clipping to less than the calibrated norm, by this share, covers their rounding."""
_FLOAT32_ROWS = 64
"""Examples that are added up in float32, before their sum is added in float64."""
_BATCH_NORMALIZATIONS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
"""Layers whose output for one example depends on the other examples of the batch, with or without parameters."""

ForwardFunction = Callable[[Tensor], Tensor]
ExampleLosses = Callable[[Mapping[str, Tensor], Tensor, Tensor], Tensor]
"""From parameters (b, ...) by name, one copy for each example, inputs (b, ...) and labels (b,) to losses (b,).

The loss of an example depends on its own input, label and copy only.
"""
ClippedLayer = nn.Linear | nn.Conv2d


def sum_clipped_gradients(
    network: nn.Module, forward: ForwardFunction, views: Tensor, labels: Tensor, clip: float
) -> tuple[dict[str, Tensor], float]:
    """Return the sum over examples of their gradients, each clipped to an l2 norm of at most ``clip``.

    An example's loss is the mean cross-entropy of its views, which are made of that example alone.

    Args:
        network: only its linear layers and convolutions have parameters.
        forward: from inputs to logits through the network, with any noise that it draws.
        views: (b, v, ...), v views of each example.
        labels: (b,); an empty record has `EMPTY_LABEL` and adds nothing to the sum.
        clip: C > 0.

    Returns:
        The sum by parameter name, in float64 (see above for its rounding), and the sum of the losses, which is not
        private.

    Raises:
        InputError: a parameter belongs to a layer of another kind.
    """
    layers = _find_layers(network)
    columns, losses = _record_passes(layers, forward, views, labels)
    squared_norms = torch.zeros_like(losses)
    weight_gradients: dict[str, Tensor] = {}
    biases: dict[str, Tensor] = {}
    for name, (inputs, derivatives) in columns.items():
        # The gradients of all examples are stored where that costs less than the products of their columns.
        size, places = inputs.shape[1] * derivatives.shape[1], inputs.shape[2]
        if size <= places * (inputs.shape[1] + derivatives.shape[1]):
            weight_gradients[name] = derivatives @ inputs.transpose(1, 2)  # (b, out, in)
            squared_norms += weight_gradients[name].flatten(1).square().sum(1)
        else:
            products = (inputs.transpose(1, 2) @ inputs) * (
                derivatives.transpose(1, 2) @ derivatives
            )  # (b, places, places)
            squared_norms += products.flatten(1).sum(1).clamp(min=0) + _bound_rounding(
                products, inputs.shape[1] + derivatives.shape[1]
            )
        if layers[name].bias is not None:
            biases[name] = derivatives.sum(2)  # (b, out)
            squared_norms += biases[name].square().sum(1)
    factors = _compute_factors(squared_norms, clip)

    sums: dict[str, Tensor] = {}
    for name, (inputs, derivatives) in columns.items():  # the name of a network that is one layer is empty
        if name in weight_gradients:
            weight = _sum_rows("b,boi->oi", factors, weight_gradients[name])
        else:
            weight = _sum_rows("bop,bip->oi", derivatives * factors[:, None, None], inputs)
        sums[f"{name}.weight".removeprefix(".")] = weight.view_as(layers[name].weight)
        if name in biases:
            sums[f"{name}.bias".removeprefix(".")] = _sum_rows("b,bo->o", factors, biases[name])
    return sums, float(losses.sum())


def sum_clipped_losses(
    network: nn.Module, losses: ExampleLosses, inputs: Tensor, labels: Tensor, clip: float
) -> tuple[dict[str, Tensor], float]:
    """Return what `sum_clipped_gradients` does, for any loss, with memory for the gradients of all b examples.

    Args:
        network: whose parameters the gradients are by.
        losses: see `ExampleLosses`.
        inputs: (b, ...).
        labels: (b,); an empty record has `EMPTY_LABEL` and adds nothing to the sum.
        clip: C > 0.
    """
    copies = {
        name: parameter.detach().expand(len(labels), *parameter.shape).requires_grad_()
        for name, parameter in network.named_parameters()
    }
    values = losses(copies, inputs, labels.clamp(min=0)) * (labels != EMPTY_LABEL)
    gradients = torch.autograd.grad(values.sum(), list(copies.values()))
    squared_norms = torch.stack([gradient.flatten(1).square().sum(1) for gradient in gradients]).sum(0)
    factors = _compute_factors(squared_norms, clip)
    sums = {name: _sum_rows("b,b...->...", factors, gradient) for name, gradient in zip(copies, gradients, strict=True)}
    return sums, float(values.detach().sum())


def _compute_factors(squared_norms: Tensor, clip: float) -> Tensor:
    """Return the factors (b,) that shorten gradients to the norm; a gradient of zero needs none."""
    return ((1 - _CLIP_SLACK) * clip / squared_norms.clamp(min=1e-30).sqrt()).clamp(max=1)


def _sum_rows(equation: str, *operands: Tensor) -> Tensor:
    """Return an einsum over the rows (b, ...) of operands, some rows at a time in float32 and their sums in float64."""
    parts = [torch.split(operand, _FLOAT32_ROWS) for operand in operands]
    sums = [torch.einsum(equation, *rows) for rows in zip(*parts, strict=True)]
    total = sums[0].double()
    for rows_sum in sums[1:]:
        total += rows_sum
    return total


def _record_passes(
    layers: dict[str, ClippedLayer], forward: ForwardFunction, views: Tensor, labels: Tensor
) -> tuple[dict[str, tuple[Tensor, Tensor]], Tensor]:
    """Go forward and back once, and return A and G of each layer, and the loss of each example (b,)."""
    batch, copies = views.shape[:2]
    layer_inputs: dict[str, Tensor] = {}
    layer_outputs: dict[str, Tensor] = {}

    def make_hook(name: str) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]:
        def hook(_: nn.Module, inputs: tuple[Tensor, ...], outputs: Tensor) -> None:
            if name in layer_inputs:
                raise InputError(f"Layer {name!r} is used twice in one pass: use each layer once.")
            layer_inputs[name], layer_outputs[name] = inputs[0].detach(), outputs

        return hook

    hooks = [layer.register_forward_hook(make_hook(name)) for name, layer in layers.items()]
    try:
        logits = forward(views.flatten(0, 1))  # (b v, K)
    finally:
        for hook in hooks:
            hook.remove()
    repeated = labels.repeat_interleave(copies)
    losses = functional.cross_entropy(logits, repeated, reduction="none", ignore_index=EMPTY_LABEL) / copies
    derivatives = torch.autograd.grad(losses.sum(), [layer_outputs[name] for name in layers])
    columns = {
        name: _build_columns(layer, layer_inputs[name], derivative, (batch, copies))
        for (name, layer), derivative in zip(layers.items(), derivatives, strict=True)
    }
    return columns, losses.detach().view(batch, copies).sum(1)


def _find_layers(network: nn.Module) -> dict[str, ClippedLayer]:
    """Return the layers with parameters, by name."""
    layers: dict[str, ClippedLayer] = {}
    for name, module in network.named_modules():
        # Other convolutions cannot be unfolded by `_build_columns`.
        is_plain = getattr(module, "groups", 1) == 1 and getattr(module, "padding_mode", "zeros") == "zeros"
        if isinstance(module, nn.Linear | nn.Conv2d) and is_plain:
            layers[name] = module
        elif isinstance(module, _BATCH_NORMALIZATIONS) or next(module.parameters(recurse=False), None) is not None:
            raise InputError(
                f"Layer {name!r} is a {type(module).__name__}, whose gradient for one example cannot be computed here: "
                "use linear layers and convolutions (no groups, zeros as padding), and no batch statistics."
            )
    return layers


def _build_columns(
    layer: ClippedLayer, inputs: Tensor, derivatives: Tensor, views: tuple[int, int]
) -> tuple[Tensor, Tensor]:
    """Return A (b, in, places) and G (b, out, places) of one layer; the views of an example are further places."""
    if isinstance(layer, nn.Conv2d):
        patches = unfold_patches(layer, inputs)
        inputs, derivatives = patches.flatten(4).flatten(1, 3), derivatives.flatten(2)
    else:
        inputs, derivatives = inputs[:, :, None], derivatives[:, :, None]

    def join_views(values: Tensor) -> Tensor:  # (b v, size, p) -> (b, size, v p)
        by_view = values.reshape(*views, *values.shape[1:])
        return by_view[:, 0] if by_view.shape[1] == 1 else by_view.transpose(1, 2).flatten(2)

    return join_views(inputs), join_views(derivatives)


def unfold_patches(layer: nn.Conv2d, inputs: Tensor) -> Tensor:
    """Return (n, in, rows, columns, height', width'), what enters a convolution at each place.

    With the patches and the places flattened it is what `torch.nn.functional.unfold` returns.

    Torch's own function starts its threads anew for each image, and waits for all of them each time: long where other
    programs use the processors too.

    Raises:
        InputError: the padding is given in words.
    """
    if isinstance(layer.padding, str):
        raise InputError(f"A convolution's padding must be in pixels. Got {layer.padding!r}.")
    top, left = layer.padding
    patches = functional.pad(inputs, (left, left, top, top))
    for axis, (size, gap, step) in enumerate(zip(layer.kernel_size, layer.dilation, layer.stride, strict=True), 2):
        patches = patches.unfold(axis, gap * (size - 1) + 1, step)[..., ::gap]
    # (n, in, height', width', rows, columns), a view
    return patches.permute(0, 1, 4, 5, 2, 3)


def _bound_rounding(products: Tensor, length: int) -> Tensor:
    """Return (b,) a bound on the rounding error of squared norms that are sums of products of columns.

    Where the columns of an example cancel, its computed norm may be nothing but rounding, so the error is added to it.
    Each product is off by at most eps times its length and the norms of its columns (Higham 2002, 3.5), whose squares
    are on the diagonal.

    Args:
        products: (b, places, places).
        length: length of the two columns together.
    """
    sizes: Tensor = products.diagonal(dim1=1, dim2=2).sqrt().sum(1)  # (b,)
    return sizes.square() * (torch.finfo(products.dtype).eps * (length + products.shape[1]))
