"""The bound for one given pair of texts: sound for every event, and as sharp as the lemma of Neyman and Pearson."""

import numpy as np
import pytest

import deniable as dn
from deniable.models.text.documents import concatenate_texts
from deniable.models.text.smoothing.bounds import bound_by_loss, bound_by_renyi
from deniable.models.text.smoothing.costs import bound_pair_probability, compute_replacement_costs
from tests.models.text.smoothing.toy import tables


@pytest.fixture(scope="module")
def subject(small_space):
    """Return a mechanism over ten words."""
    return dn.CalibratedExponential(dn.Space(small_space.words[:10], small_space.vectors[:10]), epsilon=0.7)


def least(p, q, chance):
    """Return the least Q(A) with P(A) >= chance, from all outcomes in order of their ratio."""
    order = np.argsort(q / p)
    taken = np.clip(chance - np.cumsum(p[order]) + p[order], 0.0, p[order])
    return float(taken @ (q / p)[order])


@pytest.mark.parametrize("chance", [0.05, 0.5, 0.8, 0.99, 0.9999])
@pytest.mark.parametrize(("text", "other"), [([3], [7]), ([0, 3], [5, 7]), ([1, 2, 3], [4, 2, 6])])
def test_it_is_the_exact_curve(subject, chance, text, other):
    """It lies below the exact curve, from all outcomes of all words, by no more than its grid."""
    matrix = tables(subject)
    p, q = np.ones(1), np.ones(1)
    for word, instead in zip(text, other, strict=True):
        p, q = np.outer(p, matrix[word]).ravel(), np.outer(q, matrix[instead]).ravel()
    found = bound_pair_probability(subject, np.array(text), np.array(other), chance)
    exact = least(p, q, chance)
    assert found <= exact + 1e-9
    assert found == pytest.approx(exact, abs=0.005)


def test_bounds_for_sets_are_below_it(subject):
    """What is certified for any replacement is no more than what holds for each pair of words."""
    held = concatenate_texts([np.arange(10)])
    found = compute_replacement_costs(subject, held)
    distances = subject.space.distances(np.arange(10))
    for word, other in ((0, 1), (3, 8), (9, 2)):
        for chance in (0.3, 0.9, 0.999):
            pair = bound_pair_probability(subject, np.array([word]), np.array([other]), chance)
            slack = 2e-3  # of the grid
            assert bound_by_loss(chance, found.losses[word]) <= pair + slack
            assert bound_by_loss(chance, subject.epsilon * distances[word, other]) <= pair + slack
            assert bound_by_renyi(chance, found.divergences[word]) <= pair + slack


def test_randomized_response_attains_the_bound_by_distance():
    """With two words the pair's bound is that of the distance certificate."""
    subject = dn.CalibratedExponential(dn.Space(["a", "b"], [[0.0], [1.0]]), epsilon=1.5)
    for chance in (0.2, 0.7, 0.95):
        pair = bound_pair_probability(subject, np.array([0]), np.array([1]), chance)
        assert pair == pytest.approx(bound_by_loss(chance, 1.5), abs=3e-3)


def test_equal_texts_keep_the_chance(subject):
    """Where no word differs nothing is lost."""
    assert bound_pair_probability(subject, np.array([1, 2]), np.array([1, 2]), 0.7) == 0.7


def test_texts_of_other_lengths_are_refused(subject):
    """Texts of different lengths cannot be compared."""
    with pytest.raises(dn.InputError, match="2 and 1 words"):
        bound_pair_probability(subject, np.array([1, 2]), np.array([1]), 0.7)


def test_simulated_mechanisms_have_no_tables(small_space):
    """Without tables there is nothing exact to compose."""
    with pytest.raises(dn.NotTractable, match="simulated") as caught:
        bound_pair_probability(dn.MultivariateLaplace(small_space, epsilon=1.0), np.array([1]), np.array([2]), 0.7)
    assert "\n" not in str(caught.value)
