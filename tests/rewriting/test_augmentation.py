"""New texts out of a corpus: whole pieces of it, joined at a token that both have, some tokens exchanged."""

import numpy as np
import pytest
from scipy import stats

from deniable.rewriting.augmentation import AugmentedBatches, exchange_tokens, splice_texts

KEY, OTHER = bytes(range(32)), bytes(32)
CORPUS = [[4, 5, 6, 7], [8, 6, 9], [10], [11, 5, 12, 6]]


def test_the_seam():
    """What comes out begins as one text of the corpus and ends as another, behind a token that both have."""

    def joined(text):
        return any(
            text[: cut + 1] == one[: cut + 1] and text[cut:] == other[len(other) - len(text) + cut :]
            for cut in range(len(text))
            for one in CORPUS
            for other in CORPUS
            if len(text) - cut <= len(other)
        )

    found = splice_texts(CORPUS, 300, KEY, 10)
    assert len(found) == 300
    assert all(map(joined, found))
    assert not joined([4, 9])
    assert {tuple(text) for text in found} == {
        (4, 5, 6, 7), (4, 5, 6, 9), (4, 5, 6), (4, 5, 12, 6), (8, 6, 9), (8, 6, 7), (8, 6), (10,),
        (11, 5, 12, 6), (11, 5, 12, 6, 7), (11, 5, 12, 6, 9), (11, 5, 6, 7),
    }  # fmt: skip


def test_texts_that_take_no_part():
    """No text is longer than asked for; a corpus without tokens gives nothing; another key gives others."""
    found = splice_texts([[4] * 50, [4, 5], [5, 4, 4]], 200, KEY, 4)
    assert {len(text) for text in found} <= {1, 2, 3, 4}
    assert len(found) == 200
    for corpus in ([], [[], []], [[4] * 11]):
        assert splice_texts(corpus, 5, KEY, 10) == []
    assert splice_texts(CORPUS, 50, KEY, 10) == splice_texts(CORPUS, 50, KEY, 10) != splice_texts(CORPUS, 50, OTHER, 10)


def test_exchanged_tokens():
    """So many tokens are drawn anew, by the roots of their counts in the corpus, and no text changes its length."""
    corpus = [[4] * 81, [5] * 9, [6] * 9, [7]]
    found = exchange_tokens([[8] * 50, [], [8]] * 2_000, corpus, 0.3, KEY)
    assert [len(text) for text in found[:6]] == [50, 0, 1] * 2
    tokens = np.concatenate(found).astype(int)
    expected = len(tokens) * np.array([0.3 * 9 / 16, 0.3 * 3 / 16, 0.3 * 3 / 16, 0.3 / 16, 0.7])
    counted = np.bincount(tokens, minlength=9)[4:]
    assert stats.chisquare(counted, expected).pvalue > 1e-6
    wrong = len(tokens) * np.array([0.3 * 0.81, 0.3 * 0.09, 0.3 * 0.09, 0.3 * 0.01, 0.7])
    assert stats.chisquare(counted, wrong).pvalue < 1e-6


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_none_or_all_exchanged(share):
    """With a share of 0 texts stay as they are, and with 1 nothing of them is left."""
    found = exchange_tokens([[1, 2], [3]], CORPUS, share, KEY)
    assert (found == [[1, 2], [3]]) == (share == 0)
    assert ({*found[0], *found[1]} <= {4, 5, 6, 7, 8, 9, 10, 11, 12}) == (share == 1)
    assert exchange_tokens([], CORPUS, share, KEY) == []
    assert exchange_tokens([[], []], [[]], share, KEY) == [[], []]


def test_every_epoch_has_new_texts():
    """An epoch deals every text of the corpus once, and as many new ones as asked for; others in the next epoch."""
    varied = AugmentedBatches(CORPUS, 2, 0.5, 5, KEY)
    assert varied.batches == 3
    epochs = [[tuple(text) for number in numbers for text in varied(number)] for numbers in ((0, 1, 2), (3, 4, 5))]
    for texts in epochs:
        assert len(texts) == 3 * len(CORPUS)
        assert {tuple(text) for text in CORPUS} <= set(texts)
        assert max(map(len, texts)) <= 4
    assert sorted(epochs[0]) != sorted(epochs[1])


def test_steps_in_any_order():
    """The texts of a step follow from the key and its number alone."""
    one, other, another = (AugmentedBatches(CORPUS, 2, 0.5, 5, key) for key in (KEY, KEY, OTHER))
    steps = [one(number) for number in range(5)]
    assert [other(number) for number in (4, 0, 4)] == [steps[number] for number in (4, 0, 4)]
    assert [another(number) for number in range(5)] != steps
