"""Batches of documents, and the slices in which many texts are processed."""

import threading

import numpy as np
import pytest
import torch

from deniable.models.text.documents import Documents, concatenate_texts
from deniable.models.text.networks import base
from deniable.models.text.networks.base import TextNetwork, make_text_batch, pad_texts, process_in_slices

TEXTS = concatenate_texts([[5, 3, 3], [], [7]])


def test_padding_says_where_words_are():
    """Texts stand side by side in their order, 0 behind the end of each, an empty one too."""
    words, present = pad_texts(TEXTS)
    assert words.tolist() == [[5, 3, 3], [0, 0, 0], [7, 0, 0]]
    assert present.tolist() == [[True] * 3, [False] * 3, [True, False, False]]
    assert words.dtype == torch.int64
    assert [tensor.shape for tensor in pad_texts(concatenate_texts([]))] == [(0, 0), (0, 0)]


@pytest.mark.parametrize("pairs", [False, True])
def test_a_batch_has_premises_where_documents_have(pairs):
    """Premises are padded by themselves, and None where a document is one text."""
    premises = concatenate_texts([[1], [2, 4], [6]]) if pairs else None
    batch = make_text_batch(Documents(TEXTS, np.array([1, 0, 1]), ("a", "b"), premises))
    assert batch.labels.tolist() == [1, 0, 1]
    if pairs:
        assert batch.premise.tolist() == [[1, 0], [2, 4], [6, 0]]
        assert batch.premise_present.sum().item() == 4
    else:
        assert batch.premise is batch.premise_present is None


@pytest.mark.parametrize("count", [0, 1, 5, 5000])
def test_slices_cover_every_text_once(count, monkeypatch):
    """Few words are processed at once, many in slices that overlap nowhere and leave nothing out."""
    monkeypatch.setattr(base, "_MIN_WORDS_FOR_THREADS", 100)
    texts = concatenate_texts([[1, 2]] * count)
    seen, slices, lock = np.zeros(count, dtype=int), [], threading.Lock()

    def process(part):
        with lock:
            seen[part] += 1
            slices.append(part)

    process_in_slices(process, texts)
    assert (seen == 1).all()
    assert (len(slices) > 1) == (2 * count >= 100)


def test_a_network_without_its_parts_cannot_be_made():
    """What lacks forward, bounds or scorer is refused by Python."""
    with pytest.raises(TypeError, match="abstract"):
        TextNetwork()
