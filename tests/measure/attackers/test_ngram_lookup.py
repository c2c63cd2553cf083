"""Compiled look-ups against the model that they look into."""

import numpy as np
import pytest

from deniable.measure.attackers.language_model import LanguageModel
from deniable.measure.attackers.ngram_lookup import look_up_after_pair, look_up_after_word, temper_tables
from tests.measure.attackers.test_language_model import texts

SIZE = 20


@pytest.mark.parametrize("width", [2, SIZE + 1])
@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_candidates_have_the_probabilities_of_the_model(width, weight):
    """After every pair of words, few or all candidates have the model's probability to the power of the weight."""
    model = LanguageModel.fit(texts(100, SIZE), SIZE)
    tables = temper_tables(model.tables, weight)
    candidates = np.sort(np.random.default_rng(0).permutation(SIZE + 1)[:width]).astype(np.int32)
    bigram_chances, trigram_chances = np.empty((2, width))
    pairs, next_pairs, matches = np.empty((3, width), dtype=np.int64)
    everything = np.arange(SIZE + 1, dtype=np.int32)
    for first in range(SIZE + 1):
        all_chances, all_pairs = np.empty(SIZE + 1), np.empty(SIZE + 1, dtype=np.int64)
        look_up_after_word(everything, first, tables, tables.unigrams, all_chances, all_pairs)
        for second in range(SIZE + 1):
            look_up_after_word(candidates, second, tables, tables.unigrams, bigram_chances, next_pairs)
            look_up_after_pair(candidates, all_pairs[second], tables, bigram_chances, matches, trigram_chances)
            expected = model.probabilities([first, second])[candidates] ** weight
            np.testing.assert_allclose(trigram_chances, expected, rtol=1e-9)
    look_up_after_word(candidates, -1, tables, tables.unigrams, bigram_chances, pairs)
    assert bigram_chances.tolist() == tables.unigrams[candidates].tolist()
    assert set(pairs.tolist()) == {-1}
