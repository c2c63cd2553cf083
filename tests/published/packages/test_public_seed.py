"""A public seed: every run adds the same noise, so that it can be subtracted."""

import math

import numpy as np

from deniable.published.packages import public_seed


def test_the_noise_of_one_run_undoes_that_of_another():
    """Two runs on two inputs differ by the inputs alone, while secret noise would hide the difference."""
    zero, one = (public_seed._make_mechanism().sample(np.array([x]))[0] for x in (0.0, 1.0))
    assert one - zero == 1.0
    assert abs(zero) > 1e-6


def test_the_law_of_a_program_with_a_default_seed_is_refuted():
    """Nothing bounds the loss of a program whose noise is known."""
    verdict = public_seed.ENTRY.verify_law()
    assert verdict.status == "refuted"
    assert verdict.lower_bound == math.inf
    assert "public seed" in verdict.guarantee.source
