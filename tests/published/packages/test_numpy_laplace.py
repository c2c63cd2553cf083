"""Floating-point noise: the last bits of a sum tell what was added to."""

import numpy as np

from deniable.published.packages.numpy_laplace import ENTRY


def test_floats_that_only_one_input_can_give():
    """Outputs near 0 of the input 0 have bits below 2^-53, which no sum with 1 can have."""
    noise = np.random.default_rng(0).laplace(size=20_000)
    near = np.abs(noise) < 0.25
    sums = (noise - 1.0 + 1.0)[near]  # what an input of 1 would leave: multiples of 2^-54 here
    assert (sums * 2.0**54 % 1 == 0).all()
    assert (noise[near] * 2.0**54 % 1 != 0).mean() > 0.5


def test_the_precision_attack_refutes_beyond_any_usual_epsilon():
    """The audit names the attack, and its bound lies above what values of Laplace noise could show at all."""
    verdict = ENTRY.audit_samples(1)
    assert verdict.status == "refuted"
    assert verdict.lower_bound > 1.0
    assert "precision" in verdict.method
    assert ENTRY.verify_law is None
