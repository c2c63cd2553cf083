"""Attackers on privatized texts, against exact figures and against attackers who know less."""

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from tests.measure.toy import chain, zipf
from tests.refusals import refuses

THRESHOLD = 1e-6
"""Chance of a false alarm."""
MECHANISMS = {
    "calibrated": lambda space: dn.CalibratedExponential(space, epsilon=1.5),
    "tight": lambda space: dn.TightExponential(space, epsilon=1.5),
    "truncated tem": lambda space: dn.TEM(space, epsilon=2.5, gamma=2.0),
    "gumbel": lambda space: dn.TruncatedGumbel(space, epsilon=100.0),
}


def consistent(successes, count, truth):
    """Say whether so many successes can come from a true share."""
    return stats.binomtest(int(successes), count, truth).pvalue > THRESHOLD


def draw_words(subject, prior, count, seed=1):
    """Return texts of one word each, drawn from a prior and privatized: independent clusters."""
    numbers = np.random.default_rng(0).choice(len(subject.space), count, p=prior)
    return dn.measure.privatize_texts(subject, [subject.space.words[number] for number in numbers], seed=seed)


@pytest.mark.parametrize(
    "name", ["calibrated", *(pytest.param(name, marks=pytest.mark.deep) for name in [*MECHANISMS][1:])]
)
def test_success_is_the_exact_one(small_space, name):
    """On words from the prior the attacker's success is the Bayes rate, and neither 30 % more nor less."""
    subject = MECHANISMS[name](small_space)
    found, truth = dn.measure.measure_recovery(subject, draw_words(subject, zipf(60), 4_000)), dn.recovery(subject)
    hits = round(found.share.value * 4_000)
    assert found.optimal
    assert found.left_out == 0
    assert consistent(hits, 4_000, truth)
    assert not consistent(hits, 4_000, 0.7 * truth)
    assert not consistent(hits, 4_000, min(1.3 * truth, 1.0))


def test_twins_are_one_point(twin_space):
    """Of words with one vector the most frequent is named, and who has another prior recovers less."""
    subject = dn.CalibratedExponential(twin_space, epsilon=4.0)
    prior = np.random.default_rng(3).dirichlet(np.ones(12))
    drawn = draw_words(subject, prior, 4_000)
    found = dn.measure.measure_recovery(subject, drawn, prior=prior)
    assert consistent(round(found.share.value * 4_000), 4_000, dn.recovery(subject, prior))
    assert dn.measure.measure_recovery(subject, drawn, prior=prior[::-1]).share.high < found.share.low


@pytest.mark.parametrize("epsilon", [0.6, pytest.param(8.0, marks=pytest.mark.deep)])
def test_wrong_mechanism_does_worse(small_space, epsilon):
    """Who takes the texts to be drawn with another epsilon recovers fewer words."""
    subject = dn.TEM(small_space, epsilon=2.5)
    drawn = draw_words(subject, zipf(60), 20_000)
    wrong = dn.measure.measure_recovery(dn.TEM(small_space, epsilon=epsilon), drawn)
    assert wrong.share.high < dn.measure.measure_recovery(subject, drawn).share.low


def test_unknown_words_are_left_out(small_space):
    """Words beyond the vocabulary are counted apart, whatever the attacker guesses for them."""
    subject = dn.TEM(small_space, epsilon=200.0)
    texts = [f"nonesuch {small_space.words[3]} {small_space.unknown_word} strange"] * 5
    found = dn.measure.measure_recovery(subject, dn.measure.privatize_texts(subject, texts, seed=1))
    assert (found.left_out, found.share.value) == (10, 1.0)


def test_a_mechanism_without_a_law_is_attacked(small_space):
    """Without a law the success grows with epsilon, and comes with draws and an interval, not as the optimum."""
    found = []
    for epsilon in (0.5, 3.0, 30.0):
        subject = dn.MultivariateLaplace(small_space, epsilon=epsilon)
        found.append(dn.measure.measure_recovery(subject, draw_words(subject, zipf(60), 4_000)))
    assert not any(one.optimal for one in found)
    assert found[0].share.high < found[1].share.low < found[1].share.high < found[2].share.low
    assert found[0].share.high > zipf(60).max()


@pytest.fixture(scope="module")
def strong(small_space):
    """Return a mechanism, and texts of a language with strong bigrams privatized by it."""
    subject = dn.CalibratedExponential(small_space, epsilon=1.2)
    return subject, dn.measure.privatize_texts(subject, chain(small_space, 80, 25), seed=5)


def test_two_halves(strong):
    """Models of the other half recover far more than no context does, and a seed repeats the figure."""
    subject, drawn = strong
    found = dn.measure.measure_crossfitted_recovery(subject, drawn, seed=3)
    assert found.share.low > 1.2 * dn.measure.measure_recovery(subject, drawn).share.high
    assert found == dn.measure.measure_crossfitted_recovery(subject, drawn, seed=3)


def test_equal_texts_do_not_teach_their_own_words(small_space):
    """Copies of a text fall in one half: texts in random order stay as hard to guess as they are."""
    subject = dn.CalibratedExponential(small_space, epsilon=1.2)
    drawn = dn.measure.privatize_texts(subject, chain(small_space, 40, 25, loyal=0.0) * 4, seed=7)
    alone = dn.measure.measure_recovery(subject, drawn, prior=np.ones(60))
    assert dn.measure.measure_crossfitted_recovery(subject, drawn).share.value < 1.15 * alone.share.value


def test_an_order_that_teaches_nothing_is_not_trusted(small_space):
    """Of words in random order the attacker who knows a language names as many as the one who does not."""
    subject = dn.CalibratedExponential(small_space, epsilon=1.2)
    drawn = dn.measure.privatize_texts(subject, chain(small_space, 240, 25, seed=2, loyal=0.0), seed=6)
    alone = dn.measure.measure_recovery(subject, drawn, prior=np.ones(60))
    found = dn.measure.measure_crossfitted_recovery(subject, drawn)
    assert found.share.high > alone.share.low
    assert found.share.low < alone.share.high


def test_bad_inputs_are_refused(small_space, twin_space):
    """What cannot be attacked is refused."""
    subject = dn.TEM(small_space, epsilon=1.0)

    def drawn(*texts):
        return dn.measure.privatize_texts(subject, texts, seed=1)

    for value, call in {
        "none": lambda: dn.measure.measure_recovery(subject, drawn()),
        "vocabulary": lambda: dn.measure.measure_recovery(subject, drawn("nonesuch", "")),
        "prior": lambda: dn.measure.measure_recovery(subject, drawn("baran"), prior=[1.0]),
        "12 words": lambda: dn.measure.measure_recovery(dn.TEM(twin_space, epsilon=1.0), drawn(small_space.words[40])),
        "2 different": lambda: dn.measure.measure_crossfitted_recovery(subject, drawn(*["baran"] * 3)),
    }.items():
        with refuses(value):
            call()
