"""Balls: uniform draws."""

import torch

from deniable.models.images.balls import draw_in_unit_ball


def _generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_starts_are_uniform_in_the_l2_ball():
    """The volumes within the drawn radii are uniform numbers, and the directions cancel."""
    drawn = draw_in_unit_ball(torch.zeros((20_000, 1, 1, 3), dtype=torch.float64), _generator(6)).flatten(1)
    volumes = drawn.norm(dim=1).sort().values ** 3
    assert (volumes - torch.linspace(0, 1, 20_000)).abs().max() < 0.019  # Kolmogorov-Smirnov at 1e-6
    assert drawn.mean(0).abs().max() < 0.02
