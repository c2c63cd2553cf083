"""The network on frozen vectors: standardised by the space alone, with nothing to learn but one linear layer."""

import numpy as np
import pytest
import torch

from deniable.models.text.networks.base import make_text_batch
from deniable.models.text.networks.frozen_mean import FrozenMean, standardise_vectors
from tests.models.text.networks.small import CLASSES, WORDS, documents, network


def weights(count):
    """Return Zipf's frequencies of so many words."""
    frequencies = 1 / np.arange(2, count + 2)
    return frequencies / frequencies.sum()


def test_standardised_vectors_are_white():
    """Under Zipf's law the mean is 0, and the variance about the same in all directions, however they were before."""
    vectors = np.random.default_rng(0).normal(size=(5_000, 4)) * [5.0, 1.0, 2.0, 0.5] + 7
    found, frequencies = standardise_vectors(vectors), weights(5_000)
    assert np.abs(frequencies @ found).max() < 1e-9
    covariance = (found.T * frequencies) @ found
    assert np.diag(covariance) == pytest.approx([450.0] * 4, rel=0.1)  # 3^2 * 200 words / 4 directions
    assert np.abs(covariance - np.diag(np.diag(covariance))).max() < 5


def test_rotated_vectors_are_rotated():
    """Standardised vectors turn with the vectors: no sign of an eigenvector has a part in them."""
    coins = np.random.default_rng(1)
    vectors, turn = coins.normal(size=(200, 3)) * [1.0, 2.0, 3.0], np.linalg.qr(coins.normal(size=(3, 3)))[0]
    assert np.allclose(standardise_vectors(vectors @ turn), standardise_vectors(vectors) @ turn)


def test_vectors_that_are_all_the_same():
    """Vectors without variance give zeros, and no number that is none."""
    assert not standardise_vectors(np.ones((10, 3))).any()


def test_only_the_linear_layer_is_learned_and_saved():
    """Vectors are neither parameters nor in the file."""
    made = FrozenMean(torch.randn(WORDS, 5, generator=torch.Generator().manual_seed(0)), CLASSES)
    assert {name for name, _ in made.named_parameters()} == {"net.output.weight", "net.output.bias"}
    assert {*made.state_dict()} == {"net.output.weight", "net.output.bias"}


def test_logits_are_those_of_the_mean_vector():
    """What training sees of a text and the linear layer on it give the logits of the network."""
    made, held = network(FrozenMean), documents(FrozenMean)
    words = torch.from_numpy(held.texts.words.astype(np.int64))
    means = made.average_vectors(words, torch.from_numpy(held.texts.offsets[:-1]))
    torch.testing.assert_close(made.net.output(means), made(make_text_batch(held)))
