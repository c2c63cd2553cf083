"""The wrong bottom of TEM: its weight follows the number of near words, not that of what lies beyond."""

import numpy as np

from deniable.published.packages import tem_wrong_bottom
from deniable.words.tem import TEM


def test_bottom_has_the_weight_of_the_published_score():
    """Bottom weighs exp(epsilon / 2 (-gamma + 2 / epsilon ln(n / |L_w|))), and nothing where no word lies beyond."""
    words, bottom = tem_wrong_bottom.compute_tem_weights()
    gamma = 0.5 * np.log(0.999 * 999 / 0.001)
    near = (words > 0).sum(axis=1)
    score = -gamma + 0.5 * np.log(1000 / near)
    np.testing.assert_allclose(bottom, np.where(near < 1000, np.exp(2 * score), 0.0), rtol=1e-12)
    assert (bottom > 0).any()


def test_far_words_get_another_share_than_by_the_algorithm():
    """Beyond gamma TEM gives every word the weight exp(-epsilon gamma / 2); here shares of near inputs jump apart."""
    law, space = tem_wrong_bottom.compute_wrong_bottom_law(), tem_wrong_bottom.load_frequent_words()
    words, _ = tem_wrong_bottom.compute_tem_weights()
    shares = np.where(words == 0, law, 0.0).max(axis=1)
    shares = shares[shares > 0]
    right = TEM(space, epsilon=tem_wrong_bottom.TEM_EPSILON).law.rows(np.arange(1000))
    right_shares = np.where(words == 0, right, 0.0).max(axis=1)
    right_shares = right_shares[right_shares > 0]
    assert shares.max() / shares.min() > 2 * right_shares.max() / right_shares.min()


def test_a_word_and_its_nearest_lose_more_than_the_claim():
    """At an output within gamma of one and beyond it of the other, some nearest two words exceed epsilon d."""
    law, space = tem_wrong_bottom.compute_wrong_bottom_law(), tem_wrong_bottom.load_frequent_words()
    words, _ = tem_wrong_bottom.compute_tem_weights()
    distances = space.distances(range(1000))
    np.fill_diagonal(distances, np.inf)
    nearest = distances.argmin(axis=1)
    ratios = np.abs(np.log(law) - np.log(law[nearest])) / distances.min(axis=1, keepdims=True)
    one, output = np.unravel_index(ratios.argmax(), ratios.shape)
    assert ratios[one, output] > tem_wrong_bottom.TEM_EPSILON
    assert (words[one, output] == 0) != (words[nearest[one], output] == 0)
