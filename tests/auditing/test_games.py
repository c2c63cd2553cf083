"""Guessing games: how sure a guess may be, and what inputs and claims may be."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

import deniable as dn
from deniable.auditing.games import build_claim, build_game, make_coin_game, make_identification_game
from deniable.core.guarantees import ApproxDP, MetricDP, PureDP


@given(st.data(), st.integers(2, 4), st.integers(2, 5))
def test_no_guess_is_surer_than_its_cap(data, inputs, outputs):
    """Under a uniform prior no output of any law makes any input likelier than the cap at its own distances."""
    cells = st.lists(st.integers(1, 1000), min_size=outputs, max_size=outputs)
    law = np.array([data.draw(cells) for _ in range(inputs)], dtype=float)
    law /= law.sum(axis=1, keepdims=True)
    apart = np.abs(np.log(law[:, None, :] / law[None, :, :])).max(axis=2) + 1e-3 * (1 - np.eye(inputs))
    caps = make_identification_game(tuple(range(inputs)), (apart + apart.T) / 2).caps(1.0)[0]
    assert (law / law.sum(axis=0) <= caps[:, None] * (1 + 1e-12)).all()


@pytest.mark.parametrize(("inputs", "epsilon"), [(2, 1.0), (3, 0.5), (8, 2.0), (50, 4.0)])
def test_randomized_response_attains_the_cap(inputs, epsilon):
    """Where every output keeps its input with the largest odds, the cap is the chance of a right guess."""
    kept = math.exp(epsilon) / (math.exp(epsilon) + inputs - 1)
    game = make_identification_game(tuple(range(inputs)), 1.0 - np.eye(inputs))
    assert game.caps(epsilon) == pytest.approx(np.full((1, inputs), kept), rel=1e-14)


def test_two_inputs_are_the_sigmoid():
    """The cap of a coin-flip game is 1 / (1 + exp(-epsilon d))."""
    for epsilon, distance in itertools.product((0.0, 0.1, 3.0), (0.5, 7.0)):
        expected = special.expit(epsilon * distance)
        assert make_coin_game((0, 1), distance).caps(epsilon) == pytest.approx(np.full((1, 2), expected), rel=1e-15)


@pytest.mark.parametrize(("epsilon", "distance"), [(1.0, 800.0), (1e6, 1e6), (1e200, 1e200)])
def test_a_claim_beyond_floats_allows_everything(epsilon, distance):
    """However large epsilon d is, nothing overflows: every guess may be right."""
    assert (make_coin_game((0, 1), distance).caps(epsilon) == 1).all()


@pytest.mark.parametrize("distance", [0.0, -1.0, math.nan, math.inf])
def test_distances_are_positive_and_finite(distance):
    """A distance that is none is named."""
    with pytest.raises(dn.InputError, match=r"must be a float in \(0, inf\)\. Got"):
        make_coin_game((0, 1), distance)
    with pytest.raises(dn.InputError, match=r"must be a float in \(0, inf\)\. Got"):
        make_identification_game((0, 1), np.array([[0, distance], [distance, 0]]))


def test_distances_of_candidates_are_a_symmetric_square():
    """Another shape, or d(x, x') unlike d(x', x), is refused; the diagonal is not looked at."""
    with pytest.raises(dn.InputError, match=r"must be an array \(3, 3\) for 3 candidates\. Got \(2, 2\)"):
        make_identification_game((0, 1, 2), np.ones((2, 2)))
    with pytest.raises(dn.InputError, match="must be symmetric"):
        make_identification_game((0, 1), np.array([[0.0, 1.0], [2.0, 0.0]]))
    assert (make_identification_game((0, 1), np.ones((2, 2))).distances == 1 - np.eye(2)).all()


@pytest.mark.parametrize(
    ("distance", "delta", "expected"),
    [
        (1.0, 0.0, PureDP(2.0, "the claim under audit", "claimed", adjacency="the inputs of the audit")),
        (1.0, 0.1, ApproxDP(2.0, 0.1, "the claim under audit", "claimed", adjacency="the inputs of the audit")),
        (
            0.5,
            0.0,
            MetricDP(
                2.0,
                "distance of the audit",
                "the claim under audit",
                "claimed",
                unit="record",
                adjacency="the inputs of the audit",
            ),
        ),
        (
            0.5,
            0.1,
            ApproxDP(
                2.0,
                0.1,
                "the claim under audit",
                "claimed",
                adjacency="the inputs of the audit, epsilon per unit of their distance",
            ),
        ),
    ],
)
def test_the_guarantee_under_audit(distance, delta, expected):
    """A claim is a guarantee about the inputs of the game: metric where they are not one unit apart."""
    game = build_game(0, 1, None, None, distance)
    claim = build_claim(2.0, delta, 0.95, game)
    assert claim.guarantee == expected
    assert (claim.epsilon, claim.delta, claim.alpha) == (2.0, delta, pytest.approx(0.05))
