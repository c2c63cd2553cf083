"""Clipped vectors with noise: scales for the true sensitivities, and a box of public bounds."""

import dataclasses
import math

import numpy as np
import pytest

from deniable.core.errors import InputError
from deniable.rewriting.methods.clipped_noise import (
    choose_box,
    make_box_method,
    make_gaussian_ball_method,
    make_l1_ball_method,
    make_l2_ball_method,
)


@dataclasses.dataclass
class Shape:
    """As much of a model as the noise depends on."""

    latent: int = 16
    radius: float = 2.0


@pytest.mark.parametrize(
    ("make", "scale"),
    [
        (make_l1_ball_method, 2 * 2.0 / 0.5),
        (make_l2_ball_method, 2 * 2.0 * math.sqrt(16) / 0.5),
        (make_box_method, 6 * 2.0 * math.sqrt(16) / 0.5),
    ],
)
def test_the_scale_is_the_documented_formula(make, scale):
    """2C / epsilon for the l1 ball, sqrt(n) times that for the l2 ball, and three times that for the box."""
    method = make(Shape(), name="test", epsilon=0.5)
    assert method.parameters["scale"] == pytest.approx(scale, rel=1e-6)
    assert method.parameters["sensitivity"] == pytest.approx(0.5 * scale, rel=1e-9)
    assert method.guarantee.epsilon == 0.5
    assert method.verify().status == "proved"
    assert method.name == "test"


def test_gaussian_noise_needs_no_factor_of_the_dimension():
    """Its sensitivity is 2C whatever n, and delta is in the guarantee and the parameters."""
    small, large = (make_gaussian_ball_method(Shape(n), name="test", epsilon=0.5, delta=1e-5) for n in (4, 400))
    assert small.parameters["sensitivity"] == large.parameters["sensitivity"] == 4.0
    assert large.parameters["scale"] == pytest.approx(small.parameters["scale"], rel=1e-6)
    assert small.guarantee.delta == small.parameters["delta"] == 1e-5


def test_the_stretch_undoes_the_l1_clip_on_average():
    """A Gaussian vector clipped to the l1 ball has its old l2 norm again; one coordinate needs no stretch."""
    method = make_l1_ball_method(Shape(400), name="test", epsilon=1.0)
    clipped = method.mechanism.domain.clip(np.random.default_rng(1).normal(size=(40, 400)))
    np.testing.assert_allclose(np.linalg.norm(clipped * method.stretch, axis=1), 2.0, rtol=0.1)
    assert make_l1_ball_method(Shape(1), name="test", epsilon=1.0).stretch == 1.0
    assert make_l2_ball_method(Shape(400), name="test", epsilon=1.0).stretch == 1.0


def test_the_box_holds_nearly_all_of_the_sphere():
    """Some 0.3 % of the coordinates of a vector on the sphere are clipped, not none and not many."""
    box = choose_box(Shape(400))
    assert box.lower == -box.upper == -3 * 2.0 / 20
    points = np.random.default_rng(2).normal(size=(2000, 400))
    points *= 2.0 / np.linalg.norm(points, axis=1, keepdims=True)
    assert 0.001 < (np.abs(points) > box.upper).mean() < 0.005
    assert make_box_method(Shape(), name="test", epsilon=1.0).decoder_domain.radius == 2.0


@pytest.mark.parametrize("make", [make_l1_ball_method, make_l2_ball_method, make_box_method])
@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, True, "1"])
def test_a_bad_epsilon_is_refused(make, epsilon):
    """Every method names the parameter."""
    with pytest.raises(InputError, match="'epsilon'"):
        make(Shape(), name="test", epsilon=epsilon)


@pytest.mark.parametrize("make", [make_l1_ball_method, make_l2_ball_method, make_box_method])
def test_an_epsilon_whose_noise_floats_cannot_hold_is_refused(make):
    """Noise beyond the largest usable scale is refused before any is drawn."""
    with pytest.raises(InputError, match="epsilon"):
        make(Shape(), name="test", epsilon=5e-324)
