"""Bounds of layers on boxes."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.models import interval_bounds
from deniable.models.interval_bounds import (
    TensorBox,
    apply_linear,
    apply_relu,
    apply_softmax,
    average_by_weights,
    bound_margins,
    concatenate_features,
    match_kind,
)

SEEDS = st.integers(0, 10_000)


def box(*shape, coins, width=1.0):
    """Return a random box, some of whose sides are points."""
    middle = 2 * torch.randn(shape, generator=coins)
    half = width * torch.rand(shape, generator=coins) * (torch.rand(shape, generator=coins) < 0.8)
    return TensorBox(middle - half, middle + half)


def inside(held, coins, count=200):
    """Return points (count, ...) of a box, half of them among its corners."""
    share = torch.rand((count, *held.low.shape), generator=coins)
    share[::2] = share[::2].round()
    return held.low + share * (held.high - held.low)


def assert_within(points, held, slack=1e-5):
    assert (points >= held.low - slack).all()
    assert (points <= held.high + slack).all()


@settings(max_examples=25)
@given(SEEDS)
def test_linear_bounds_are_the_corners(seed):
    """The bounds of a linear layer hold everywhere, and each is reached at a corner."""
    coins = torch.Generator().manual_seed(seed)
    held, weight, bias = box(4, coins=coins), torch.randn(3, 4, generator=coins), torch.randn(3, generator=coins)
    corners = torch.cartesian_prod(*torch.stack([held.low, held.high], 1))  # (16, 4)
    values, found = apply_linear(corners, weight, bias), apply_linear(held, weight, bias)
    torch.testing.assert_close(values.amin(0), found.low)
    torch.testing.assert_close(values.amax(0), found.high)
    assert_within(apply_linear(inside(held, coins), weight, bias), found)


def test_a_smaller_radius_is_caught():
    """Points of a box leave bounds whose radius is halved."""
    coins = torch.Generator().manual_seed(0)
    held, weight = box(4, coins=coins), torch.randn(3, 4, generator=coins)
    found = apply_linear(held, weight)
    quarter = (found.high - found.low) / 4
    points = apply_linear(inside(held, coins), weight)
    assert (points < found.low + quarter).any()
    assert (points > found.high - quarter).any()


def test_monotone_layers():
    """ReLU and concatenation take both ends; numbers beside a box are a box of one point."""
    held = TensorBox(torch.tensor([-1.0, 2.0]), torch.tensor([1.0, 3.0]))
    assert apply_relu(held).low.tolist() == [0, 2]
    assert apply_relu(held).high.tolist() == [1, 3]
    both = concatenate_features(held, match_kind(held, torch.tensor([5.0])))
    assert both.low.tolist() == [-1, 2, 5]
    assert both.high.tolist() == [1, 3, 5]
    assert match_kind(held.low, held.high) is held.high


@settings(max_examples=25)
@given(SEEDS, st.sampled_from([0.1, 3.0, 200.0]))
def test_softmax_bounds_hold(seed, width):
    """Weights of all scores in a box are between the bounds, for narrow boxes and for very wide ones."""
    coins = torch.Generator().manual_seed(seed)
    held, present = box(2, 5, coins=coins, width=width), torch.tensor([[1, 1, 0, 1, 1], [0, 1, 0, 0, 0]]).bool()
    found = apply_softmax(held, present)
    weights = apply_softmax(inside(held, coins), present)
    assert_within(weights, found, 1e-6)
    assert not found.high[~present].any()
    assert (found.low >= 0).all()
    assert (found.high <= 1).all()


def test_softmax_bounds_are_reached():
    """The least weight is that of its low end among the others' high ends."""
    held = TensorBox(torch.tensor([0.0, -1.0, 2.0]), torch.tensor([1.0, 1.0, 2.5]))
    found = apply_softmax(held, torch.ones(3, dtype=torch.bool))
    for place in range(3):
        worst, best = held.high.clone(), held.low.clone()
        worst[place], best[place] = held.low[place], held.high[place]
        torch.testing.assert_close(found.low[place], worst.softmax(0)[place], rtol=1e-3, atol=0)
        torch.testing.assert_close(found.high[place], best.softmax(0)[place], rtol=1e-3, atol=0)


def test_softmax_survives_extreme_scores():
    """A weight of a score far below the greatest may still be 1; nothing is NaN, gradients neither."""
    low = torch.tensor([-400.0, -200.0], requires_grad=True)
    high = torch.tensor([0.0, -200.0], requires_grad=True)
    found = apply_softmax(TensorBox(low, high), torch.ones(2, dtype=torch.bool))
    assert found.low[1] == 0
    assert found.high[1] > 0.999
    (found.low.sum() + found.high.sum()).backward()
    assert low.grad.isfinite().all()
    assert high.grad.isfinite().all()


@settings(max_examples=25)
@given(SEEDS, st.sampled_from([0.0, 0.5, 5.0]))
def test_blended_bounds_hold(seed, width):
    """Means of values in a box by weights of scores in a box are between the bounds, and exact for points."""
    coins = torch.Generator().manual_seed(seed)
    scores, values = box(2, 3, 4, coins=coins, width=width), box(2, 4, 5, coins=coins, width=width)
    present = torch.tensor([[1, 1, 0, 1], [1, 0, 0, 0]]).bool()
    found = average_by_weights(apply_softmax(scores, present.unsqueeze(1)), values, present)
    at = [apply_softmax(each, present.unsqueeze(1)) for each in inside(scores, coins)]
    means = torch.stack([average_by_weights(*pair, present) for pair in zip(at, inside(values, coins), strict=True)])
    assert_within(means, found)
    if not width:
        torch.testing.assert_close(found.low, means[0], rtol=1e-3, atol=1e-3)
        torch.testing.assert_close(found.high, means[0], rtol=1e-3, atol=1e-3)
    else:
        hull = values.high.masked_fill(~present[..., None], -torch.inf).amax(1, keepdim=True)
        assert (found.high <= hull).all()


@settings(max_examples=25)
@given(SEEDS)
def test_margins_are_the_worst_corners(seed):
    """Margins are those of the worst corner of the box, less a slack of the size that is claimed."""
    coins = torch.Generator().manual_seed(seed)
    weight, bias = torch.randn(3, 4, generator=coins), torch.randn(3, generator=coins)
    held, label = box(1, 4, coins=coins), torch.randint(3, (1,), generator=coins)
    corners = torch.cartesian_prod(*torch.stack([held.low[0], held.high[0]], 1))
    logits = apply_linear(corners, weight, bias)
    worst = (logits[:, label] - logits).amin(0)
    found = bound_margins(held, weight, bias, label)[0]
    terms = (weight[label] - weight).abs() @ torch.maximum(held.low[0].abs(), held.high[0].abs())
    size = terms + (bias[label] - bias).abs()
    assert found[label] == 0
    assert (found <= worst).all()
    assert (worst - found <= 2 * interval_bounds.INTERVAL_SLACK * size).all()
