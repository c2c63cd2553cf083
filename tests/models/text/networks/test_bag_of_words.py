"""Bags of words: pooled vectors that ignore the order, a mean for single texts and a sum for pairs."""

import pytest
import torch

from deniable.models.text.documents import Documents, concatenate_texts
from deniable.models.text.networks.bag_of_words import BAG_UNITS, BagOfWords, PairedBagOfWords
from deniable.models.text.networks.base import make_text_batch
from tests.models.text.networks.small import documents, network


@pytest.mark.parametrize("kind", [BagOfWords, PairedBagOfWords])
def test_logits_are_those_of_the_formula(kind):
    """The pooled projections through three layers with ReLU and the last one, taken literally."""
    made, held = network(kind), documents(kind, (4, 1))
    logits = made(make_text_batch(held))
    for row, words in enumerate(held.texts):
        hidden = made.projection(torch.from_numpy(words).long()).relu()
        if kind.takes_pairs:
            premise = made.projection(torch.from_numpy(held.premises[row]).long()).relu()
            pooled = torch.cat([premise.sum(0), hidden.sum(0)])
        else:
            pooled = hidden.mean(0)
        for layer in made.layers:
            pooled = layer(pooled).relu()
        torch.testing.assert_close(logits[row], made.output(pooled), rtol=1e-4, atol=1e-3)


def test_only_pairs_count_repetitions():
    """A text written twice over has the same mean; as the text of a pair its sum is another."""
    single, labels = concatenate_texts([[1, 2], [2, 1, 2, 1]]), documents(BagOfWords, (1, 1)).labels
    logits = network(BagOfWords)(make_text_batch(Documents(single, labels, ("a", "b", "c"))))
    torch.testing.assert_close(logits[0], logits[1], rtol=1e-4, atol=1e-4)
    premises = concatenate_texts([[3], [3]])
    paired = network(PairedBagOfWords)(make_text_batch(Documents(single, labels, ("a", "b", "c"), premises)))
    assert not torch.allclose(paired[0], paired[1])


def test_premise_and_text_have_sides_of_their_own():
    """Layers of a pair take both sums, and exchanging the two texts gives other logits."""
    made, labels = network(PairedBagOfWords), documents(BagOfWords, (1,)).labels
    assert made.output.in_features == 2 * BAG_UNITS
    one, other = concatenate_texts([[1, 2]]), concatenate_texts([[3]])
    pair, exchanged = (
        made(make_text_batch(Documents(text, labels, ("a", "b", "c"), premise)))
        for text, premise in ((one, other), (other, one))
    )
    assert not torch.allclose(pair, exchanged)
