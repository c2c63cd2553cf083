"""Attackers on privatized texts, against exact figures, brute force and attackers who know less."""

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.measure.batches import privatize_texts
from deniable.measure.recovery import measure_recovery, simulate_recovery
from deniable.words.prior import build_prior

THRESHOLD = 1e-6
"""Chance of a false alarm."""


def consistent(successes, count, truth):
    """Say whether so many successes can come from a true share."""
    return stats.binomtest(int(successes), count, truth).pvalue > THRESHOLD


def one_word_texts(space, prior, count, seed=0):
    """Return texts of one word each, drawn from a prior: independent clusters."""
    numbers = np.random.default_rng(seed).choice(len(space), count, p=prior)
    return [space.words[number] for number in numbers]


MECHANISMS = {
    "calibrated": lambda space: dn.CalibratedExponential(space, epsilon=1.5),
    "tight": lambda space: dn.TightExponential(space, epsilon=1.5),
    "truncated tem": lambda space: dn.TEM(space, epsilon=2.5, gamma=2.0),
    "gumbel": lambda space: dn.TruncatedGumbel(space, epsilon=100.0),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_success_is_the_exact_one(small_space, name):
    """On words from the prior the attacker's success is the Bayes rate, and neither 30 % more nor less."""
    subject = MECHANISMS[name](small_space)
    prior = build_prior(small_space, None).weights
    found = measure_recovery(subject, privatize_texts(subject, one_word_texts(small_space, prior, 4_000), seed=1))
    truth = dn.recovery(subject)
    hits = round(found.share.value * 4_000)
    assert found.optimal
    assert found.left_out == 0
    assert consistent(hits, 4_000, truth)
    assert not consistent(hits, 4_000, 0.7 * truth)
    assert not consistent(hits, 4_000, min(1.3 * truth, 1.0))


def test_twins_are_one_point(twin_space):
    """Of words with one vector the most frequent is named, and the success is the exact one."""
    subject = dn.CalibratedExponential(twin_space, epsilon=4.0)
    prior = np.random.default_rng(3).dirichlet(np.ones(12))
    found = measure_recovery(
        subject, privatize_texts(subject, one_word_texts(twin_space, prior, 4_000), seed=2), prior=prior
    )
    assert consistent(round(found.share.value * 4_000), 4_000, dn.recovery(subject, prior))
    blind = measure_recovery(
        subject, privatize_texts(subject, one_word_texts(twin_space, prior, 4_000), seed=2), prior=prior[::-1]
    )
    assert blind.share.high < found.share.low


@pytest.mark.parametrize("epsilon", [0.6, 8.0])
def test_wrong_mechanism_does_worse(small_space, epsilon):
    """Who takes the texts to be drawn with another epsilon recovers fewer words."""
    subject = dn.TEM(small_space, epsilon=2.5)
    drawn = privatize_texts(
        subject, one_word_texts(small_space, build_prior(small_space, None).weights, 20_000), seed=4
    )
    wrong = measure_recovery(dn.TEM(small_space, epsilon=epsilon), drawn)
    assert wrong.share.high < measure_recovery(subject, drawn).share.low


def test_unknown_words_are_left_out(small_space):
    """Words beyond the vocabulary are counted apart, whatever the attacker guesses for them."""
    subject = dn.TEM(small_space, epsilon=200.0)
    drawn = privatize_texts(
        subject, [f"nonesuch {small_space.words[3]} {small_space.unknown_word} strange"] * 5, seed=1
    )
    found = measure_recovery(subject, drawn)
    assert found.left_out == 10
    assert found.share.value == 1.0


def test_simulated_recovery_is_exact_where_it_can_be(small_space):
    """Where the law is known the success is computed, and nothing is drawn."""
    subject = dn.CalibratedExponential(small_space, epsilon=2.0)
    found = simulate_recovery(subject)
    assert found.optimal
    assert (found.share.value, found.share.count) == (dn.recovery(subject), 0)


def test_multivariate_laplace_is_attacked(small_space):
    """Without a law the success grows with epsilon, and comes with draws and an interval, not as the optimum."""
    found = [simulate_recovery(dn.MultivariateLaplace(small_space, epsilon=e), draws=4_000) for e in (0.5, 3.0, 30.0)]
    assert not any(one.optimal for one in found)
    assert all(one.share.count == 4_000 for one in found)
    assert found[0].share.high < found[1].share.low < found[1].share.high < found[2].share.low
    most = build_prior(small_space, None).weights.max()
    assert found[0].share.high > most


def test_bad_inputs_are_refused(small_space):
    """What cannot be attacked is refused in one line that names it."""
    subject = dn.TEM(small_space, epsilon=1.0)
    drawn = privatize_texts(subject, [small_space.words[0]], seed=1)
    cases = {
        "Got none: give other texts": lambda: measure_recovery(subject, privatize_texts(subject, [], seed=1)),
        "with words of the vocabulary": lambda: measure_recovery(
            subject, privatize_texts(subject, ["nonesuch", ""], seed=1)
        ),
        "'draws' parameter of simulate_recovery": lambda: simulate_recovery(subject, draws=0),
        "The prior must hold": lambda: measure_recovery(subject, drawn, prior=[1.0]),
    }
    for message, attack in cases.items():
        with pytest.raises(dn.InputError, match=message) as caught:
            attack()
        assert "\n" not in str(caught.value)


def test_texts_of_another_space_are_refused(small_space):
    """Word numbers that the mechanism does not have are refused."""
    few = dn.Space(small_space.words[:5], small_space.vectors[:5])
    drawn = privatize_texts(dn.TEM(small_space, epsilon=1.0), [small_space.words[40]], seed=1)
    with pytest.raises(dn.InputError, match="beyond the 5 words of the mechanism"):
        measure_recovery(dn.TEM(few, epsilon=1.0), drawn)
