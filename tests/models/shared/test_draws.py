"""The generator of a model's noise."""

import pytest
import torch

from deniable.models.shared.draws import make_noise_generator


def test_fresh_generators_differ():
    """Without a seed no two generators give the same noise, and none that of a small seed."""
    fresh = [tuple(torch.randn(4, generator=make_noise_generator()).tolist()) for _ in range(4)]
    known = {tuple(torch.randn(4, generator=make_noise_generator(seed)).tolist()) for seed in range(100)}
    assert len({*fresh} | known) == 104


@pytest.mark.parametrize("seed", [0, -1, 7, 2**63 + 7, 10**30])
def test_a_seed_repeats_the_noise(seed):
    """Any integer is a seed, and gives the same noise again."""
    first, again = (torch.randn(4, generator=make_noise_generator(seed)) for _ in range(2))
    assert torch.equal(first, again)
