"""Rankings: places as counted by hand, ties against the attacker, and the success that theory predicts."""

import numpy as np
import pytest

from deniable.core.errors import InputError
from deniable.published.adept.mechanism import ADePT
from deniable.rewriting.attacks.ranking import (
    find_nearest_candidates,
    get_norm_order,
    measure_ranking_success,
    rank_true_candidates,
)
from deniable.rewriting.attacks.success import compute_max_success
from deniable.vectors import Gaussian, L2Ball, Laplace

BALL = L2Ball(1.0)
LINE = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 2.0], [1.0, 0.0]])


def test_places():
    """The nearest comes first, in the norm asked for, and candidates at one point stand before the truth."""
    released = np.array([[0.1, 0.1], [0.9, 0.0], [5.0, 5.0]])
    assert rank_true_candidates(released, np.array([0, 1, 0]), LINE, 1).tolist() == [1, 2, 4]
    assert find_nearest_candidates(released, LINE, 1).tolist() == [0, 1, 2]
    # (0, 0) is 2.2 away in l1 and 1.56 in l2; (2, 2) in turn is 1.8 and 1.8.
    corner = np.array([[1.1, 1.1], [2.0, 0.2]])
    two = np.array([[0.0, 0.0], [2.0, 2.0]])
    assert rank_true_candidates(corner, np.array([1, 1]), two, 1).tolist() == [1, 1]
    assert rank_true_candidates(
        np.array([[0.0, 1.4]]), np.array([0]), np.array([[0.0, 0.0], [0.8, 0.8]]), 1
    ).tolist() == [2]
    assert rank_true_candidates(
        np.array([[0.0, 1.4]]), np.array([0]), np.array([[0.0, 0.0], [0.8, 0.8]]), 2
    ).tolist() == [2]
    assert rank_true_candidates(
        np.array([[1.3, 0.0]]), np.array([0]), np.array([[0.0, 0.0], [0.7, 0.8]]), 1
    ).tolist() == [1]
    assert rank_true_candidates(
        np.array([[1.3, 0.0]]), np.array([0]), np.array([[0.0, 0.0], [0.7, 0.8]]), 2
    ).tolist() == [2]


def test_blocks_change_nothing():
    """More releases than are held at a time have the places of a direct count."""
    random = np.random.default_rng(0)
    candidates, released = random.normal(size=(30, 3)), random.normal(size=(600, 3))
    truths = random.integers(30, size=600)
    together = rank_true_candidates(released, truths, candidates, 1)
    apart = np.abs(released[:, None] - candidates[None]).sum(axis=2)
    assert together.tolist() == (apart <= apart[np.arange(600), truths][:, None]).sum(axis=1).tolist()
    assert find_nearest_candidates(released, candidates, 1).tolist() == apart.argmin(axis=1).tolist()


def test_the_norm_of_a_mechanism():
    """Laplace noise is ranked in l1, Gaussian in l2."""
    assert get_norm_order(ADePT(epsilon=1.0)) == 1
    assert get_norm_order(Laplace(epsilon=1.0, domain=BALL)) == 1
    assert get_norm_order(Gaussian(epsilon=1.0, delta=1e-5, domain=BALL)) == 2


@pytest.mark.parametrize("mechanism", [ADePT(epsilon=3.0, seed=0), Laplace(epsilon=3.0, domain=BALL, seed=0)])
def test_success_against_the_bound(mechanism):
    """Corners of the cube in the ball: published noise is found out beyond its claim, noise enough is not."""
    random = np.random.default_rng(1)
    corners = np.where(random.random((400, 64)) < 0.5, -1.0, 1.0) / 8
    truths = random.integers(400, size=6_000)
    places = rank_true_candidates(mechanism.sample(corners[truths]), truths, corners, get_norm_order(mechanism))
    found = [measure_ranking_success(places, 400, epsilon=3.0, first=first) for first in (1, 10)]
    assert [one.max_success_rate for one in found] == [
        compute_max_success(400, 3.0),
        compute_max_success(400, 3.0, first=10),
    ]
    assert found[0].is_refuted == isinstance(mechanism, ADePT)
    assert found[0].success_rate.value < found[1].success_rate.value < found[1].max_success_rate


def test_arrays_that_do_not_go_together():
    """Another dimension, or a truth too few, is refused."""
    with pytest.raises(InputError, match="go together"):
        rank_true_candidates(np.zeros((2, 3)), np.zeros(2, np.int64), LINE, 1)
    with pytest.raises(InputError, match="go together"):
        rank_true_candidates(np.zeros((2, 2)), np.zeros(1, np.int64), LINE, 1)
