"""Claims of published packages: the laws that are verified are those of the draws, and are refuted."""

import math

import numpy as np
import pytest

import deniable as dn
from deniable.published import packages
from deniable.published.entry import find_nearest_pairs
from deniable.published.packages import (
    TEM_EPSILON,
    compute_input_for_bottom_law,
    compute_own_sets_law,
    compute_tem_weights,
    load_frequent_words,
)

ENTRIES = {entry.name: entry for entry in packages.ENTRIES}


def test_the_law_verified_is_that_of_the_draws():
    """Noise U(-1, 1) times Gamma(1, 1), drawn here anew, passes half the distance as often as the exact loss says."""
    random = np.random.default_rng(4)
    noise = random.uniform(-1, 1, size=400_000) * random.gamma(1, 1, size=400_000)
    flipped = (noise > 0.5).mean()
    assert ENTRIES["laplace-in-ball"].verify_law().lower_bound == pytest.approx(
        math.log((1 - flipped) / flipped), abs=0.04
    )


def test_a_direction_on_the_sphere_would_keep_the_claim():
    """The same game with directions +-1 loses exactly less than the claim, which the ball's law exceeds by half."""
    flipped = math.exp(-0.5) / 2
    sphere = math.log((1 - flipped) / flipped)
    assert sphere < 1.0
    verdict = ENTRIES["laplace-in-ball"].verify_law()
    assert verdict.status == "refuted"
    assert verdict.lower_bound > 1.5
    assert {verdict.witness.input, verdict.witness.other} == {"near", "far"}


def test_floats_that_only_one_input_can_give():
    """Outputs near 0 of the input 0 have bits below 2^-53, which no sum with 1 can have."""
    noise = np.random.default_rng(0).laplace(size=20_000)
    near = np.abs(noise) < 0.25
    sums = (noise - 1.0 + 1.0)[near]  # what an input of 1 would leave: multiples of 2^-54 here
    assert (sums * 2.0**54 % 1 == 0).all()
    assert (noise[near] * 2.0**54 % 1 != 0).mean() > 0.5


def test_the_precision_attack_refutes_beyond_any_usual_epsilon():
    """The audit names the attack, and its bound lies above what values of Laplace noise could show at all."""
    verdict = ENTRIES["numpy-laplace"].audit_samples(1)
    assert verdict.status == "refuted"
    assert verdict.lower_bound > 1.0
    assert "precision" in verdict.method
    assert ENTRIES["numpy-laplace"].verify_law is None


def test_every_word_draws_from_its_own_neighbours_alone():
    """Rows sum to 1, and only the twenty nearest words, ties among them, have a chance."""
    law, space = compute_own_sets_law(), load_frequent_words()
    np.testing.assert_allclose(law.sum(axis=1), 1.0, rtol=1e-12)
    assert (np.count_nonzero(law, axis=1) >= 20).all()
    assert np.count_nonzero(law, axis=1).max() < 30
    distances = space.distances([17])[0]
    assert distances[law[17] > 0].max() <= distances[law[17] == 0].min()


def test_an_output_of_one_input_that_the_other_lacks():
    """The two words that are audited draw outputs that have no chance under the other, so that the loss is infinite."""
    law, space = compute_own_sets_law(), load_frequent_words()
    monday, january = law[space.index_of("monday")], law[space.index_of("january")]
    assert ((monday > 0) & (january == 0)).any()
    assert ((january > 0) & (monday == 0)).any()


def test_the_audit_refutes_it():
    """Samples of the two words refute the claim at their true distance."""
    verdict = ENTRIES["own-output-sets"].audit_samples(3)
    assert verdict.status == "refuted"
    assert verdict.lower_bound > verdict.claim == 1.0


def test_the_noise_of_one_run_undoes_that_of_another():
    """Two runs on two inputs differ by the inputs alone, while secret noise would hide the difference."""
    zero, one = (packages.make_seeded_mechanism().sample(np.array([x]))[0] for x in (0.0, 1.0))
    assert one - zero == 1.0
    assert abs(zero) > 1e-6


def test_the_law_of_a_program_with_a_default_seed_is_refuted():
    """Nothing bounds the loss of a program whose noise is known."""
    verdict = ENTRIES["public-seed"].verify_law()
    assert verdict.status == "refuted"
    assert verdict.lower_bound == math.inf
    assert "public seed" in verdict.guarantee.source


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


def test_bottom_has_the_weight_of_the_published_score():
    """Bottom weighs exp(epsilon / 2 (-gamma + 2 / epsilon ln(n / |L_w|))), and nothing where no word lies beyond."""
    words, bottom = packages.compute_tem_weights()
    gamma = 0.5 * np.log(0.999 * 999 / 0.001)
    near = (words > 0).sum(axis=1)
    score = -gamma + 0.5 * np.log(1000 / near)
    np.testing.assert_allclose(bottom, np.where(near < 1000, np.exp(2 * score), 0.0), rtol=1e-12)
    assert (bottom > 0).any()


@pytest.mark.deep
def test_far_words_get_another_share_than_by_the_algorithm():
    """Beyond gamma TEM gives every word the weight exp(-epsilon gamma / 2); here shares of near inputs jump apart."""
    law, space = packages.compute_wrong_bottom_law(), packages.load_frequent_words()
    words, _ = packages.compute_tem_weights()
    shares = np.where(words == 0, law, 0.0).max(axis=1)
    shares = shares[shares > 0]
    right = dn.TEM(space, epsilon=packages.TEM_EPSILON).law.rows(np.arange(1000))
    right_shares = np.where(words == 0, right, 0.0).max(axis=1)
    right_shares = right_shares[right_shares > 0]
    assert shares.max() / shares.min() > 2 * right_shares.max() / right_shares.min()


def test_a_word_and_its_nearest_lose_more_than_the_claim():
    """At an output within gamma of one and beyond it of the other, some nearest two words exceed epsilon d."""
    law, space = packages.compute_wrong_bottom_law(), packages.load_frequent_words()
    words, _ = packages.compute_tem_weights()
    distances = space.distances(range(1000))
    np.fill_diagonal(distances, np.inf)
    nearest = distances.argmin(axis=1)
    ratios = np.abs(np.log(law) - np.log(law[nearest])) / distances.min(axis=1, keepdims=True)
    one, output = np.unravel_index(ratios.argmax(), ratios.shape)
    assert ratios[one, output] > packages.TEM_EPSILON
    assert (words[one, output] == 0) != (words[nearest[one], output] == 0)


def test_the_audit_tells_two_unknown_words_apart():
    """Samples refute the claim for two words outside of the vocabulary, which come out as they went in."""
    verdict = ENTRIES["unknown-unchanged"].audit_samples(5)
    assert verdict.status == "refuted"
    assert verdict.lower_bound > 1.0
    known = packages.make_limited_mechanism().space
    assert verdict.witness.input not in known
    assert verdict.witness.other not in known


@pytest.mark.deep
def test_the_mechanism_itself_is_correct():
    """For the words that it knows the claim is proved: passing the others through is the only flaw."""
    verdict = dn.verify(packages.make_limited_mechanism())
    assert verdict.status == "proved"
    assert verdict.claim == 1.0
