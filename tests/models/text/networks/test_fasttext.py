"""FastText: linear in the words, its bounds exact, its weights independent of the vectors."""

import numpy as np
import pytest
import torch

from deniable.models.text.documents import Documents, concatenate_texts
from deniable.models.text.networks.base import make_text_batch
from deniable.models.text.networks.fasttext import FASTTEXT_DIMENSIONS, FastText
from tests.models.text.networks.small import CLASSES, WORDS, documents, margins_of, network, sets


def test_a_text_is_the_mean_of_its_words():
    """Logits are the mean of those of the single words, in any order."""
    made, held = network(FastText), documents(FastText, (5,))
    words = held.texts[0]
    single = Documents(concatenate_texts([[word] for word in words]), np.zeros(5, dtype=np.int64), held.classes)
    torch.testing.assert_close(made(make_text_batch(held))[0], made(make_text_batch(single)).mean(0))


def test_the_bound_of_a_word_is_its_worst_choice():
    """For a text of one word the bound is the least margin of its choices, tried one by one."""
    made, choices = network(FastText), sets()
    for word in range(WORDS):
        options = choices.choices_of(word)
        label = np.zeros(1, dtype=np.int64)
        alone = Documents(concatenate_texts([[word]]), label, tuple("abc"))
        texts = concatenate_texts([[option] for option in options])
        tried = Documents(texts, np.repeat(label, len(options)), tuple("abc"))
        bound = made.compute_margin_bounds(make_text_batch(alone), choices)[0]
        worst = margins_of(made, tried).amin(0)
        torch.testing.assert_close(bound, worst, rtol=1e-3, atol=1e-4)
        assert (bound <= worst)[1:].all()


@pytest.mark.parametrize("scale", [0.0, 0.5, 1.0])
def test_bounds_move_evenly_with_the_scale(scale):
    """Between the word itself and its worst choice the bound is their mixture."""
    made, batch = network(FastText), make_text_batch(documents(FastText))
    ends = [made.compute_margin_bounds(batch, sets(), end) for end in (0.0, 1.0)]
    torch.testing.assert_close(
        made.compute_margin_bounds(batch, sets(), scale), torch.lerp(*ends, scale), rtol=1e-4, atol=1e-5
    )


def test_vectors_give_only_the_number_of_words():
    """Embeddings are learned: other vectors of as many words make the same network from the same seed."""
    made = []
    for vectors in (torch.zeros(WORDS, 3), torch.ones(WORDS, 50)):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(5)
            made.append(FastText(vectors, CLASSES).net.embeddings.weight)
    assert torch.equal(*made)
    assert made[0].shape == (WORDS, FASTTEXT_DIMENSIONS)
