"""The convolutional network: the same numbers as torch's own convolution, text by text."""

import numpy as np
import pytest
import torch

from deniable.models.text.documents import concatenate_texts
from deniable.models.text.networks.base import make_text_batch
from deniable.models.text.networks.convolutional import ConvolutionalNetwork, average_convolutions
from tests.models.text.networks.small import WORDS, documents, network


def test_logits_are_those_of_torch_s_convolution():
    """Projection, ReLU, a padded convolution of width 3, ReLU, the mean, and two linear layers: taken literally."""
    made, held = network(ConvolutionalNetwork), documents(ConvolutionalNetwork, (4, 1, 6))
    logits = made(make_text_batch(held))
    for row, words in enumerate(held.texts):
        hidden = made.projection(torch.from_numpy(words).long()).relu()  # (L, 100)
        convolved = made.convolution(hidden.T[None])[0] + made.bias[:, None]
        expected = made.output(made.hidden(convolved.relu().mean(dim=1)).relu())
        torch.testing.assert_close(logits[row], expected, rtol=1e-4, atol=1e-4)


def test_the_order_of_words_matters():
    """A convolution sees neighbours: a text and its reverse have other logits."""
    made = network(ConvolutionalNetwork)
    texts = concatenate_texts([[1, 2, 3, 4], [4, 3, 2, 1]])
    held = documents(ConvolutionalNetwork, (4, 4))
    batch = make_text_batch(type(held)(texts, held.labels, held.classes))
    assert not torch.allclose(made(batch)[0], made(batch)[1])


@pytest.mark.parametrize("lengths", [(1,), (2, 1, 5)])
def test_means_of_taps_against_a_loop(lengths):
    """Each word adds the taps of its neighbours, none behind the ends, cut off at 0."""
    random = np.random.default_rng(0)
    taps = random.normal(size=(WORDS, 3, 4)).astype(np.float32)
    texts = concatenate_texts([random.integers(WORDS, size=length) for length in lengths])
    means = average_convolutions(texts, taps)
    for row, words in enumerate(texts):
        padded = [None, *words.tolist(), None]
        sums = [
            sum(taps[word, tap] for tap, word in enumerate(padded[at : at + 3]) if word is not None)
            for at in range(len(words))
        ]
        np.testing.assert_allclose(means[row], np.maximum(sums, 0).mean(axis=0), rtol=1e-5, atol=1e-6)
