"""The lower bound of truncated Gumbel in logarithms: below the exact loss, and above the claim in large spaces."""

import math

import numpy as np

import deniable as dn
from deniable.published.truncated_gumbel.bound import search_far_outputs
from deniable.published.truncated_gumbel.mechanism import compute_min_epsilon


def test_the_bound_is_below_the_true_loss():
    """The loss found is less than the exact loss of the same words, and not nothing."""
    space = dn.Space([f"w{number}" for number in range(150)], np.random.default_rng(0).normal(size=(150, 30)))
    mechanism = dn.TruncatedGumbel(space, epsilon=1.01 * compute_min_epsilon(150, space.separation))
    law = mechanism.law.rows(range(150))
    finding = search_far_outputs(space, mechanism.scale)
    loss = math.log(law[finding.input, finding.output]) - math.log(law[finding.other, finding.output])
    assert finding.loss <= loss
    assert finding.distance == space.distances([finding.input])[0, finding.other]
    distances = space.distances(range(150))
    np.fill_diagonal(distances, np.inf)
    exact = float(((np.log(np.diagonal(law)) - np.log(law)) / distances).max())
    assert 0.2 * exact < finding.lower_bound <= exact
    assert dn.verify(mechanism).epsilon >= finding.lower_bound
    assert search_far_outputs(space, dn.TruncatedGumbel(space, epsilon=1e30).scale).lower_bound == 0


def test_the_claim_is_refuted_in_a_large_space():
    """Among many words in many dimensions more is spent than is claimed near the least epsilon, and verify says so."""
    random = np.random.default_rng(0)
    vectors = random.normal(size=(6_000, 100))
    vectors[1] = vectors[0] + 0.2 * random.normal(size=100)
    space = dn.Space([f"w{number}" for number in range(6_000)], vectors)
    mechanism = dn.TruncatedGumbel(space, epsilon=1.01 * compute_min_epsilon(6_000, space.separation))
    finding = search_far_outputs(space, mechanism.scale)
    assert finding.lower_bound > mechanism.epsilon
    verdict = dn.verify(mechanism, cache=False)
    assert verdict.status == "refuted"
    assert verdict.lower_bound >= finding.lower_bound
    assert verdict.epsilon == math.inf
