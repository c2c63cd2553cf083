"""The bound on truncated Gumbel by far outputs: below the truth, and above the claim in large spaces."""

import math

import numpy as np

import deniable as dn
from studies.far_outputs import far_output_bound


def test_the_bound_is_below_the_truth():
    """The bound is less than the exact loss of the same pairs, and not nothing."""
    random = np.random.default_rng(0)
    space = dn.Space([f"w{number}" for number in range(150)], random.normal(size=(150, 30)))
    least = (5 + 2 * math.log(150)) / space.separation
    mechanism = dn.TruncatedGumbel(space, epsilon=1.01 * least)
    distances = space.distances(range(150))
    law = np.array([mechanism.probabilities(word) for word in space.words])
    np.fill_diagonal(distances, np.inf)
    exact = float(((np.log(np.diagonal(law)) - np.log(law)) / distances).max())
    bound = far_output_bound(mechanism)
    assert 0.2 * exact < bound <= exact
    assert far_output_bound(dn.TruncatedGumbel(space, epsilon=1e30)) == 0


def test_large_vocabularies_refute_the_claim():
    """Among many words in many dimensions more is spent than truncated Gumbel claims near its least epsilon."""
    random = np.random.default_rng(0)
    vectors = random.normal(size=(6_000, 100))
    vectors[1] = vectors[0] + 0.2 * random.normal(size=100)
    space = dn.Space([f"w{number}" for number in range(6_000)], vectors)
    least = (5 + 2 * math.log(6_000)) / space.separation
    mechanism = dn.TruncatedGumbel(space, epsilon=1.01 * least)
    assert far_output_bound(mechanism) > mechanism.epsilon
