"""The input for bottom: words beyond gamma never come out, and the input gets their weight."""

import numpy as np

from deniable.published.entry import find_nearest_pairs
from deniable.published.packages.tem_input_for_bottom import compute_input_for_bottom_law
from deniable.published.packages.tem_wrong_bottom import TEM_EPSILON, compute_tem_weights, load_frequent_words


def test_the_input_gets_the_weight_of_bottom_and_far_words_none():
    """Rows are the weights of the near words, bottom's added to the input's own, normalised."""
    law = compute_input_for_bottom_law()
    words, bottom = compute_tem_weights()
    np.testing.assert_allclose(law.sum(axis=1), 1.0, rtol=1e-12)
    assert ((law == 0) == (words == 0)).all()
    odds = law.diagonal() / np.where(np.eye(1000, dtype=bool), 0, law).sum(axis=1)
    np.testing.assert_allclose(odds, (1 + bottom) / (words.sum(axis=1) - 1), rtol=1e-9)


def test_which_words_are_missing_tells_the_input():
    """Among the nearest pairs of words some have outputs that only one of the two can give: an infinite loss."""
    law, space = compute_input_for_bottom_law(), load_frequent_words()
    pairs, distances = find_nearest_pairs(space, 200)
    supports = [(law[space.index_of(one)] > 0, law[space.index_of(other)] > 0) for one, other in pairs]
    assert any((one != other).any() for one, other in supports)
    assert distances[-1] < 0.5 * TEM_EPSILON  # far below gamma, which is 6.9
