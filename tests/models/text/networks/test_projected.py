"""Projected words: boxes around choices, distinct words and their places, dropout by its own generator."""

import numpy as np
import pytest
import torch

from deniable.models.text.networks.base import make_text_batch
from deniable.models.text.networks.convolutional import ConvolutionalNetwork
from deniable.models.text.networks.projected import (
    Projection,
    append_zero_row,
    find_distinct_words,
    sum_rows_at,
)
from deniable.models.text.substitutions import Substitutions
from tests.models.text.networks.small import WORDS, documents, network, sets


def test_distinct_words_put_back_are_the_batch():
    """Looked up at its places every word comes back; where there is none stands the row behind the last."""
    words = torch.tensor([[4, 9, 4], [9, 0, 0]])
    present = torch.tensor([[True, True, True], [True, False, False]])
    distinct = find_distinct_words(words, present)
    assert distinct.word_ids.tolist() == [4, 9]
    assert distinct.places.tolist() == [[0, 1, 0], [1, 2, 2]]
    assert torch.equal(distinct.word_ids[distinct.places[present]], words[present])


def test_missing_words_add_nothing_to_a_sum():
    """Sums over places are those of the rows that stand there, a repeated word counted twice."""
    rows = append_zero_row(torch.tensor([[1.0, 10.0], [2.0, 20.0]]))
    assert rows.tolist()[-1] == [0.0, 0.0]
    sums = sum_rows_at(rows, torch.tensor([[0, 0, 1], [1, 2, 2]]))
    assert sums.tolist() == [[4.0, 40.0], [2.0, 20.0]]


@pytest.fixture
def projection():
    """Return a projection of random vectors to four dimensions."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Projection(torch.randn(WORDS, 5), 4)


def test_a_box_is_the_smallest_around_the_choices(projection):
    """Its ends are the extremes of the projected choices; scaled by 0 it is the word itself, by 1/2 half of it."""
    word_ids, choices = torch.arange(WORDS), sets()
    own, box = projection.project_boxes(word_ids, choices, 1.0)
    torch.testing.assert_close(own, projection(word_ids))
    for word in range(WORDS):
        projected = projection(torch.from_numpy(choices.choices_of(word)).long())
        torch.testing.assert_close(box.low[word], projected.amin(0))
        torch.testing.assert_close(box.high[word], projected.amax(0))
    _, point = projection.project_boxes(word_ids, choices, 0.0)
    assert torch.equal(point.low, own)
    assert torch.equal(point.high, own)
    _, half = projection.project_boxes(word_ids, choices, 0.5)
    torch.testing.assert_close(half.high - own, (box.high - own) / 2)


def test_gradients_of_a_box_are_those_of_its_extremes(projection):
    """Weights learn from the choices at the ends, as through amin and amax."""
    choices = Substitutions("pairs", np.array([[word, (word + 1) % WORDS] for word in range(WORDS)], dtype=np.int32))
    _, box = projection.project_boxes(torch.arange(WORDS), choices, 1.0)
    (box.high.square().sum() - box.low.sum()).backward()
    found = projection.linear.weight.grad.clone()
    projection.zero_grad()
    stacked = projection(torch.from_numpy(choices.choices).long().flatten()).view(WORDS, 2, -1)
    (stacked.amax(1).square().sum() - stacked.amin(1).sum()).backward()
    torch.testing.assert_close(found, projection.linear.weight.grad)


def test_vectors_are_frozen_and_not_saved(projection):
    """They come from the space: neither trained nor stored with the weights."""
    assert set(projection.state_dict()) == {"linear.weight", "linear.bias"}
    assert not projection.vectors.requires_grad


def test_dropout_factors_are_1_on_average_in_training_alone():
    """Factors are 0 or 1 / (1 - p), as often as p says; in evaluation or without a generator nothing is dropped."""
    made = network(ConvolutionalNetwork)
    batch = make_text_batch(documents(ConvolutionalNetwork, (3,) * 200))
    assert (made._draw_dropout_factors(batch)[0] == 1).all()
    made.train()
    assert (made._draw_dropout_factors(batch)[0] == 1).all()
    made.rng = torch.Generator().manual_seed(1)
    (factors,) = made._draw_dropout_factors(batch)
    assert factors.shape == (200, 100)
    assert set(factors.unique().tolist()) == {0.0, 1.25}
    assert factors.mean().item() == pytest.approx(1.0, abs=0.02)
