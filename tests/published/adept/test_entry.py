"""ADePT in the zoo: a claim that corners of the ball refute."""

import math

import pytest

from deniable.published.adept.entry import ENTRY


def test_the_loss_is_the_root_of_the_dimension():
    """The law spends sqrt(8) of a claim of 1, and its witness are two corners as far apart as the ball allows."""
    verdict = ENTRY.verify_law()
    assert verdict.status == ENTRY.exact_status == "refuted"
    assert verdict.claim == 1.0
    assert verdict.lower_bound == pytest.approx(math.sqrt(8), rel=1e-8)


def test_samples_alone_refute_it():
    """The audit refutes the claim with a bound between the claim and the true loss."""
    verdict = ENTRY.audit_samples(4)
    assert verdict.status == ENTRY.sampled_status == "refuted"
    assert 1.0 < verdict.lower_bound <= math.sqrt(8)
