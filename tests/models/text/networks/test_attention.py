"""Decomposable attention: the equations of the paper, pair by pair."""

import pytest
import torch

from deniable.models.text.documents import Documents
from deniable.models.text.networks.attention import DecomposableAttention
from deniable.models.text.networks.base import make_text_batch
from tests.models.text.networks.small import documents, network


def compute_logits(made, premise, text):
    """Return the logits of one pair by equations 1 to 6 of Parikh et al. 2016, with F of one layer."""
    a, b = (made.projection(torch.from_numpy(words).long()) for words in (premise, text))
    scores = made.attend(a).relu() @ made.attend(b).relu().T  # (P, L)
    beta, alpha = scores.softmax(dim=1) @ b, scores.softmax(dim=0).T @ a

    def compare(own, other):
        hidden = torch.cat([own, other], dim=1)
        for layer in made.compare:
            hidden = layer(hidden).relu()
        return hidden.sum(dim=0)

    return made.output(made.aggregate(torch.cat([compare(a, beta), compare(b, alpha)])).relu())


def test_logits_are_those_of_the_equations():
    """A batch of pairs of several lengths has the logits that each pair has by the paper's equations."""
    made, held = network(DecomposableAttention, scale=0.7), documents(DecomposableAttention, (4, 1, 3, 5))
    logits = made(make_text_batch(held))
    for row in range(len(held)):
        expected = compute_logits(made, held.premises[row], held.texts[row])
        torch.testing.assert_close(logits[row], expected, rtol=1e-4, atol=1e-5)


def test_the_premise_matters():
    """Another premise for the same text gives other logits."""
    made, held = network(DecomposableAttention), documents(DecomposableAttention, (3, 3))
    exchanged = Documents(held.texts, held.labels, held.classes, held.premises.take([1, 0]))
    assert not torch.allclose(made(make_text_batch(held)), made(make_text_batch(exchanged)))


def test_single_texts_are_refused():
    """A document without a premise is no pair."""
    held = documents(DecomposableAttention, (3,))
    with pytest.raises(TypeError, match="DecomposableAttention takes pairs of texts"):
        network(DecomposableAttention)(make_text_batch(Documents(held.texts, held.labels, held.classes)))
