"""What DPAL and AdLM share: Laplace draws that follow their law, and batch statistics of the last parameters."""

import numpy as np
import torch
from scipy import stats

from deniable.models.images.networks import ImageArchitecture
from deniable.published.noise import draw_laplace_noise, recompute_batch_statistics


def test_the_law():
    """Draws have the Laplace law of their scale, and neither of 0.7 nor of 1.3 times the scale."""
    noise = draw_laplace_noise(np.random.default_rng(0), 3.0, (200, 100), torch.float64).flatten().numpy()
    assert stats.kstest(noise / 3.0, "laplace").pvalue > 1e-6
    for factor in (0.7, 1.3):
        assert stats.kstest(noise / (3.0 * factor), "laplace").pvalue < 1e-6


def test_statistics_are_those_of_the_batches():
    """Running means become plain averages over the batches, and the network ends in evaluation mode."""
    network = ImageArchitecture("paper-mnist", (1, 28, 28), 3, 0.25, normalised=True).build(0)
    batches = torch.rand((2, 8, 1, 28, 28), generator=torch.Generator().manual_seed(0))
    network(100 * batches[0])  # statistics of other inputs, which must not last
    recompute_batch_statistics(network, network, batches)
    with torch.no_grad():
        hidden = [network.rest[0](network.first(2 * images - 1)) for images in batches]
        expected = sum(values.mean((0, 2, 3)) for values in hidden) / 2
    torch.testing.assert_close(network.rest[1].running_mean, expected)
    assert not network.training
