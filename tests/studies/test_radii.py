"""Radii converted between norms: the largest ball inside another."""

import numpy as np
import pytest

from studies.image_systems import convert_radius


@pytest.mark.parametrize("norm_from", ["l1", "l2", "linf"])
@pytest.mark.parametrize("norm_to", ["l1", "l2", "linf"])
def test_converted_balls_are_the_largest_inside(norm_from, norm_to):
    """The farthest point of the converted ball lies on the border of the given one, never beyond."""
    orders = {"l1": 1, "l2": 2, "linf": np.inf}
    radius = convert_radius(0.7, norm_from, norm_to, 9)
    corners = np.array([np.ones(9), np.eye(9)[0]])  # the extreme points of every pair of balls
    points = [radius * corner / np.linalg.norm(corner, orders[norm_to]) for corner in corners]
    assert max(np.linalg.norm(point, orders[norm_from]) for point in points) == pytest.approx(0.7)


def test_converted_known_values():
    """An l1 radius is divided by d for l_inf, an l2 one by its root, and neither grows the other way."""
    assert convert_radius(7.84, "l1", "linf", 784) == pytest.approx(0.01)
    assert convert_radius(0.28, "l2", "linf", 784) == pytest.approx(0.01)
    assert convert_radius(0.1, "linf", "l1", 784) == 0.1
