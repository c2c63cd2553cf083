"""Interval bound propagation: bounds on a network over a box of inputs (Gowal et al. 2018; Jia et al. 2019, sec. 3).

A network's layers are written once, for tensors and for boxes alike, so that the certified network is the one that
runs. Three kinds of layer are enough: linear ones, those that are monotone in every coordinate, and the weighted means
of attention.

Bounds are computed in the arithmetic of the network, float32, whose rounding could move a logit past a tight bound.
`bound_margins` and `apply_softmax` therefore move their bounds outward by `INTERVAL_SLACK` of the size of their terms.
"""

import dataclasses
from collections.abc import Callable
from typing import TypeVar, final

import torch
from torch import Tensor, nn

INTERVAL_SLACK = 2.0**-14
"""Outward slack, relative to the sum of the magnitudes of the terms: 1,024 units of rounding of float32.

It is credible, not proven: the error of a sum of n terms in blocks is a few units of rounding, not n of them.
"""


@final
@dataclasses.dataclass(frozen=True, eq=False)
class TensorBox:
    """All tensors that lie between two tensors of one shape.

    Attributes:
        low: least values.
        high: greatest values.
    """

    low: Tensor
    high: Tensor


TensorOrBox = TypeVar("TensorOrBox", Tensor, TensorBox)
"""Input and output of a layer: tensors, or bounds on them."""
AffineFunction = Callable[[Tensor, Tensor, Tensor | None], Tensor]
"""From what enters a layer, its weight and its bias, or None, to what leaves it."""


def apply_affine(values: TensorOrBox, function: AffineFunction, weight: Tensor, bias: Tensor | None) -> TensorOrBox:
    """Return what a layer makes of numbers by products with weights W, and a bias b.

    Of a box with centre c and radius r it is the box W c + b -+ |W| r (Gowal et al. 2018, equations 5 and 6).

    Args:
        values: what enters the layer.
        function: from what enters it, weight and bias to what leaves it.
        weight: of the layer.
        bias: of the layer, or None.
    """
    if isinstance(values, TensorBox):
        centre = function((values.low + values.high) / 2, weight, bias)
        radius = function((values.high - values.low) / 2, weight.abs(), None)
        return TensorBox(centre - radius, centre + radius)
    return function(values, weight, bias)


def apply_linear(values: TensorOrBox, weight: Tensor, bias: Tensor | None = None) -> TensorOrBox:
    """Return W x + b of the last dimension, (..., n) -> (..., m).

    Args:
        values: (..., n).
        weight: (m, n), or (b, m, n) with one for each item of a batch (b, ..., n).
        bias: (m,).
    """
    return apply_affine(values, _multiply, weight, bias)


def _multiply(values: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    product = values @ weight.mT
    return product if bias is None else product + bias


def apply_layer(values: TensorOrBox, layer: nn.Linear) -> TensorOrBox:
    """Return what a linear layer makes of (..., n)."""
    return apply_linear(values, layer.weight, layer.bias)


def apply_monotone(values: TensorOrBox, function: Callable[[Tensor], Tensor]) -> TensorOrBox:
    """Return a function of the numbers that decreases in none of them: ReLU, sums, means, maxima, chosen rows."""
    if isinstance(values, TensorBox):
        return TensorBox(function(values.low), function(values.high))
    return function(values)


def apply_relu(values: TensorOrBox) -> TensorOrBox:
    """Return max(x, 0)."""
    return apply_monotone(values, torch.relu)


def match_kind(reference: TensorOrBox, values: Tensor) -> TensorOrBox:
    """Return numbers as they are, or as a box of one point where ``reference`` is a box."""
    return TensorBox(values, values) if isinstance(reference, TensorBox) else values


def concatenate_features(first: TensorOrBox, second: TensorOrBox) -> TensorOrBox:
    """Return two vectors as one (..., n + m)."""
    if isinstance(first, TensorBox) and isinstance(second, TensorBox):
        return TensorBox(concatenate_features(first.low, second.low), concatenate_features(first.high, second.high))
    return torch.cat([first, second], dim=-1)


def apply_softmax(scores: TensorOrBox, present: Tensor) -> TensorOrBox:
    """Return the weights of the last dimension, which sum to 1 over what is present.

    The least weight of a score is that of its low end among the high ends of the others, and vice versa.

    Args:
        scores: scores (..., n).
        present: bool, broadcast to (..., n); some in every row.
    """
    if not isinstance(scores, TensorBox):
        return torch.softmax(scores.masked_fill(~present, -torch.inf), dim=-1)
    top = scores.high.masked_fill(~present, -torch.inf).amax(dim=-1, keepdim=True).detach()
    low = (scores.low - top).masked_fill(~present, -torch.inf).exp()
    # Not below e^-80, so that no high end rounds to 0 and a quotient is always one of numbers above it.
    high = (scores.high - top).clamp(min=-80.0).masked_fill(~present, -torch.inf).exp()
    # The others' sum is a difference; the slack covers what is left of its terms' rounding.
    others_low = torch.relu((1 - INTERVAL_SLACK) * low.sum(dim=-1, keepdim=True) - low)
    others_high = (1 + INTERVAL_SLACK) * high.sum(dim=-1, keepdim=True) - high
    return TensorBox(low / (low + others_high), high / (high + others_low + ~present))


def average_by_weights(weights: TensorOrBox, values: TensorOrBox, present: Tensor) -> TensorOrBox:
    """Return means (b, m, d) of vectors, weighted by `apply_softmax`.

    Of boxes, each product of a weight w >= 0 and a value v is bounded by its sign: the least is w_low v_low where
    v_low >= 0 and w_high v_low elsewhere. Because weights sum to 1, a mean also lies between the least and the
    greatest of its values, which is the better bound where the weights are hardly known.

    Args:
        weights: (b, m, n), 0 where nothing is present.
        values: (b, n, d).
        present: bool (b, n).
    """
    if not (isinstance(weights, TensorBox) and isinstance(values, TensorBox)):
        return weights @ values
    low = weights.low @ values.low.relu() - weights.high @ (-values.low).relu()
    high = weights.high @ values.high.relu() - weights.low @ (-values.high).relu()
    absent = ~present.unsqueeze(-1)  # (b, n, 1)
    lowest = values.low.masked_fill(absent, torch.inf).amin(dim=1, keepdim=True)  # (b, 1, d)
    highest = values.high.masked_fill(absent, -torch.inf).amax(dim=1, keepdim=True)
    return TensorBox(torch.maximum(low, lowest), torch.minimum(high, highest))


def bound_margins(box: TensorBox, weight: Tensor, bias: Tensor, labels: Tensor) -> Tensor:
    """Return lower bounds (b, K) on z_y - z_k for logits z = W x + b, all x in a box; 0 for k = y.

    The last layer is folded into the difference, whose bound is tighter than the difference of two bounds (Gowal et
    al. 2018, section 3): (w_y - w_k) c - |w_y - w_k| r + b_y - b_k, less the slack for rounding.

    Args:
        box: (b, n).
        weight: (K, n), or (b, K, n) with one for each item.
        bias: (K,), or (b, K).
        labels: int64 (b,).
    """
    places = (labels,) if weight.ndim == 2 else (torch.arange(len(labels), device=labels.device), labels)  # noqa: PLR2004
    rows = weight[places].unsqueeze(1) - weight  # (b, K, n)
    offsets = bias[places].unsqueeze(1) - bias  # (b, K)
    centre, radius = (box.low + box.high) / 2, (box.high - box.low) / 2  # (b, n)
    outward_radius = radius + INTERVAL_SLACK * (centre.abs() + radius)
    bounds = (rows @ centre.unsqueeze(-1) - rows.abs() @ outward_radius.unsqueeze(-1)).squeeze(-1)
    return bounds + offsets - INTERVAL_SLACK * offsets.abs()
