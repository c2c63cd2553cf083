"""Epsilon by what it gives: targets are held, closely, and what cannot be reached is told in one line."""

import math

import numpy as np
import pytest

import deniable as dn
from deniable.core.errors import InputError
from deniable.measure import tuning
from deniable.measure.batches import privatize_texts
from deniable.measure.tuning import TuningResult, tune_kept, tune_recovery, tune_utility
from deniable.measure.utility import measure_utility
from deniable.registry.words import WORD_MECHANISMS
from deniable.words.prior import compute_zipf_prior
from tests.measure import toy

TABULATED = ("calibrated", "tem", "tight")


@pytest.fixture(scope="module")
def space(alphabetic):
    """Return 300 words of GloVe."""
    return alphabetic(300)


@pytest.fixture(scope="module")
def toy_space():
    """Return a space of the words of toy tables in which those of one class are near each other."""
    rng = np.random.default_rng(0)
    words = [*toy.FILLER, *(f"class{code}word{n}" for code in (0, 1) for n in range(5))]
    centres = np.repeat(np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]]), (len(toy.FILLER), 5, 5), axis=0)
    return dn.Space(words, centres + rng.normal(size=(len(words), 2)))


def digits(number):
    """Return the number of significant digits."""
    return next(count for count in range(1, 18) if float(f"{number:.{count}g}") == number)


def remade(choice, factor):
    """Return the mechanism of a choice at another epsilon."""
    return WORD_MECHANISMS[choice.mechanism.name](choice.mechanism.space, epsilon=choice.mechanism.epsilon * factor)


@pytest.mark.parametrize("target", [0.2, 0.3, 0.9])
@pytest.mark.parametrize("mechanism", ["calibrated", "tem"])
@pytest.mark.parametrize("words", [300, 2_000])
def test_recovery_is_held(alphabetic, words, mechanism, target):
    """The attacker names at most the target, by the exact law, and more at an epsilon half a per cent up."""
    choice = tune_recovery(alphabetic(words), target, mechanism=WORD_MECHANISMS.get(mechanism, mechanism))
    assert choice.mechanism.name == mechanism
    assert digits(choice.mechanism.epsilon) <= 4
    assert choice.achieved == choice.recovery_share.value == dn.recovery(choice.mechanism) <= target
    assert dn.recovery(remade(choice, 1.005)) > target
    assert choice.kept_share.value == choice.mechanism.expected_kept_share().value
    assert choice.blind_share == pytest.approx(compute_zipf_prior(words).max())
    assert choice.verdict == dn.verify(choice.mechanism)


@pytest.mark.parametrize("target", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("mechanism", ["calibrated", "tem"])
@pytest.mark.parametrize("words", [300, 2_000])
def test_kept_is_reached(alphabetic, words, mechanism, target):
    """At least the target is kept, by the exact law, and less at an epsilon half a per cent down."""
    choice = tune_kept(alphabetic(words), target, mechanism=WORD_MECHANISMS.get(mechanism, mechanism))
    assert digits(choice.mechanism.epsilon) <= 4
    assert choice.achieved == choice.kept_share.value == choice.mechanism.expected_kept_share().value >= target
    assert remade(choice, 1 / 1.005).expected_kept_share().value < target


@pytest.mark.parametrize("mechanism", ["tight", "auto"])
def test_mechanisms_without_a_family(space, mechanism):
    """Mechanisms whose law is found for each epsilon alone hold the target too, within two per cent."""
    choice = tune_recovery(space, 0.4, mechanism=WORD_MECHANISMS.get(mechanism, mechanism))
    assert choice.achieved == pytest.approx(dn.recovery(choice.mechanism), rel=1e-9)
    assert choice.achieved <= 0.4 < dn.recovery(remade(choice, 1.02))


def test_a_mechanism_with_a_least_epsilon(twin_space):
    """Targets that truncated Gumbel gives are held; one below what its least epsilon gives is told as such."""
    choice = tune_kept(twin_space, 0.33, mechanism=dn.TruncatedGumbel)
    assert choice.kept_share.value >= 0.33
    with pytest.raises(InputError, match=r"^No epsilon of truncated-gumbel on the safe side of 0\.4 was found: "):
        tune_recovery(twin_space, 0.4, mechanism=dn.TruncatedGumbel)


@pytest.mark.parametrize("mechanism", ["multivariate-laplace", "truncated-gumbel"])
def test_a_metric_that_does_not_suit(small_space, small_vectors, mechanism):
    """Where it is the metric that does not suit the message says so, and nothing of epsilon."""
    space = dn.Space(small_space.words, small_vectors, metric="manhattan")
    with pytest.raises(InputError, match="needs the Euclidean metric"):
        tune_recovery(space, 0.5, mechanism=WORD_MECHANISMS.get(mechanism, mechanism))


def test_best_proves_the_least(space):
    """Of calibrated, tem and tight the one with the least proven epsilon is taken."""
    for tune, target in ((tune_recovery, 0.3), (tune_kept, 0.3)):
        single = {name: tune(space, target, mechanism=WORD_MECHANISMS[name]) for name in TABULATED}
        best = tune(space, target, mechanism="best")
        assert best.verdict.epsilon == min(choice.verdict.epsilon for choice in single.values())
        assert (
            best == single[best.mechanism.name]
            or best.mechanism.epsilon == single[best.mechanism.name].mechanism.epsilon
        )


def test_auto_in_a_large_space(space, monkeypatch):
    """Where tight would take minutes auto is calibrated, and best leaves tight out."""
    monkeypatch.setattr(tuning, "MAX_DENSE_POINTS", 200)
    monkeypatch.setattr(
        "deniable.words.tight_exponential.TightExponential.__init__", lambda *_, **__: pytest.fail("tight")
    )
    calibrated = tune_recovery(space, 0.3, mechanism=dn.CalibratedExponential).mechanism
    assert repr(tune_recovery(space, 0.3).mechanism) == repr(calibrated)
    assert tune_recovery(space, 0.3, mechanism="best").mechanism.name in {"calibrated", "tem"}


def test_a_prior_of_counts(space):
    """Counts by word, in any order, are the prior of the attacker, and unknown words are left out."""
    rng = np.random.default_rng(3)
    counts = {word: int(count) for word, count in zip(space.words, rng.integers(1, 50, 300), strict=True)}
    numbers = np.array(list(counts.values()), dtype=float)
    choice = tune_recovery(space, 0.3, mechanism=dn.CalibratedExponential, prior={**counts, "zork": 10**6})
    assert dn.recovery(choice.mechanism, counts) == pytest.approx(choice.recovery_share.value)
    assert choice.recovery_share.value <= 0.3 < dn.recovery(remade(choice, 1.005), counts)
    assert choice.blind_share == numbers.max() / numbers.sum()
    same = tune_recovery(space, 0.3, mechanism=dn.CalibratedExponential, prior=numbers)
    assert same.mechanism.epsilon == choice.mechanism.epsilon
    kept = tune_kept(space, 0.3, mechanism=dn.TEM, prior=counts)
    shares = [kept.mechanism.probabilities(word)[space.index_of(word)] for word in space.words]
    assert kept.kept_share.value == pytest.approx((numbers / numbers.sum()) @ shares)


def test_a_large_space_begins_with_a_part(glove_2000, monkeypatch):
    """Where the search begins on a part of the space the result is held on the whole, with few passes over it."""
    monkeypatch.setattr(tuning, "_SUBSPACE_WORDS", 200)
    passes = []
    approximate = tuning._approximate_logs
    monkeypatch.setattr(
        tuning, "_approximate_logs", lambda s, kernels: passes.append(len(s)) or approximate(s, kernels)
    )
    prior = compute_zipf_prior(2_000) * (np.arange(2_000) % 7 > 0)
    choice = tune_recovery(glove_2000, 0.2, mechanism=dn.TEM, prior=prior)
    assert dn.recovery(choice.mechanism, prior) <= 0.2 < dn.recovery(remade(choice, 1.005), prior)
    assert {*passes} == {200, 2_000}
    assert passes.count(2_000) <= 6


def test_a_prior_that_a_part_lacks(glove_2000, monkeypatch):
    """A prior on words that the part does not have is no obstacle."""
    monkeypatch.setattr(tuning, "_SUBSPACE_WORDS", 200)
    counts = np.zeros(2_000)
    counts[[1, 2, 3, 5]] = 1
    choice = tune_recovery(glove_2000, 0.6, mechanism=dn.CalibratedExponential, prior=counts)
    assert dn.recovery(choice.mechanism, counts) <= 0.6 < dn.recovery(remade(choice, 1.005), counts)


@pytest.mark.parametrize("tune", [tune_recovery, tune_kept])
def test_multivariate_laplace_by_simulation(small_space, tune, monkeypatch):
    """Where no law is known the safe end of a simulated interval is on the safe side, and not far from the target."""
    monkeypatch.setattr(tuning, "_SIMULATED_DRAWS", 4_000)
    choice = tune(small_space, 0.4, mechanism=dn.MultivariateLaplace)
    measured = choice.recovery_share if tune is tune_recovery else choice.kept_share
    assert measured.count == 4_000
    assert choice.achieved == (measured.high if tune is tune_recovery else measured.low)
    assert measured.high <= 0.4 if tune is tune_recovery else measured.low >= 0.4
    assert measured.value == pytest.approx(0.4, abs=0.05)


@pytest.mark.parametrize("metric", ["manhattan", "angular", "geodesic"])
def test_metrics(small_vectors, small_space, metric):
    """Spaces under other metrics are tuned alike."""
    space = dn.Space(small_space.words, small_vectors, metric=metric)
    choice = tune_recovery(space, 0.4, mechanism=dn.CalibratedExponential)
    assert choice.recovery_share.value <= 0.4 < dn.recovery(remade(choice, 1.005))


def test_a_metric_of_the_users_own(small_vectors, small_space):
    """Under a metric without a proof auto is TEM, whose verdict is what its theorem says."""

    def own(left, right):
        return np.abs(left[:, None] - right[None]).sum(axis=2)

    choice = tune_recovery(dn.Space(small_space.words, small_vectors, metric=own), 0.4)
    assert choice.mechanism.name == "tem"
    assert choice.recovery_share.value <= 0.4


@pytest.mark.parametrize(
    ("tune", "target", "message"),
    [
        (tune_recovery, 0.0, "float in (0, 1)"),
        (tune_recovery, 1.0, "float in (0, 1)"),
        (tune_recovery, math.nan, "float in (0, 1)"),
        (tune_recovery, "much", "float in (0, 1)"),
        (tune_recovery, 0.1, "must be above 0.2137, the success of an attacker without the output"),
        (tune_kept, 0.0, "float in (0, 1)"),
        (tune_kept, 1.5, "float in (0, 1)"),
        (tune_kept, -0.5, "float in (0, 1)"),
    ],
)
def test_targets_that_make_no_sense(small_space, tune, target, message):
    """Targets out of range, or below what is guessed blindly, are refused in one line."""
    with pytest.raises(InputError) as caught:
        tune(small_space, target)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_at_the_blind_guess(small_space):
    """The success of an attacker without the output is refused as a target, and a little more is not."""
    blind = float(compute_zipf_prior(60).max())
    with pytest.raises(InputError, match="must be above"):
        tune_recovery(small_space, blind)
    assert tune_recovery(small_space, 1.02 * blind, mechanism=dn.TEM).recovery_share.value <= 1.02 * blind


@pytest.mark.parametrize("tune", [tune_recovery, tune_kept])
def test_an_unknown_mechanism(small_space, tune):
    """What is neither a class of mechanisms nor a choice is refused."""
    with pytest.raises(
        InputError,
        match=r"^The 'mechanism' parameter of tune must be a class of mechanisms, 'auto' or 'best'\. Got 'temm'",
    ):
        tune(small_space, 0.5, mechanism="temm")


@pytest.mark.parametrize("mechanism", ["tem", "calibrated"])
def test_twins_limit_what_is_kept(twin_space, mechanism):
    """Where words share a point no epsilon keeps nearly all, which is told in one line."""
    with pytest.raises(InputError, match=rf"^No epsilon of {mechanism} gives 0\.99\. Found [^\n]*$"):
        tune_kept(twin_space, 0.99, mechanism=WORD_MECHANISMS.get(mechanism, mechanism))


@pytest.mark.parametrize("prior", [np.ones(3), {"zork": 1}, np.full(60, -1.0)])
def test_priors_that_are_none(small_space, prior):
    """A prior of another length, without known words or with negative counts is refused."""
    with pytest.raises(InputError, match="prior"):
        tune_recovery(small_space, 0.5, prior=prior)


@pytest.mark.parametrize("mechanism", ["calibrated", "auto"])
def test_utility(toy_space, mechanism):
    """A classifier trained on the private table is as accurate as asked for, with the noise that was tried."""
    texts, codes = toy.table(120)
    choice = tune_utility(toy_space, texts, codes, 0.85, mechanism=WORD_MECHANISMS.get(mechanism, mechanism))
    assert isinstance(choice, TuningResult)
    private = privatize_texts(choice.mechanism, texts, seed=0).texts
    found = measure_utility(texts, {"private": private}, codes)["private"]
    assert choice.achieved == found.accuracy.private.value >= 0.85
    assert choice.utility == found
    noisier = privatize_texts(remade(choice, 0.3), texts, seed=0).texts
    less = measure_utility(texts, {"noisier": noisier}, codes)["noisier"]
    assert less.accuracy.private.value < choice.achieved


def test_utility_that_a_blind_guess_reaches(toy_space):
    """An accuracy that needs no texts is refused, with that of the most frequent class."""
    texts, codes = toy.table(120)
    codes = np.where(np.arange(120) < 60, 0, codes)
    share = float(np.bincount(codes).max() / 120)
    with pytest.raises(
        InputError, match=rf"must be above {share:.4g}, the accuracy of always predicting[^\n]*Got 0\.7\.$"
    ):
        tune_utility(toy_space, texts, codes, 0.7, mechanism=dn.TEM)


def test_utility_beyond_the_original():
    """An accuracy that the original texts do not give is refused, with the one that they give."""
    codes = np.arange(60) % 2
    space = dn.Space(toy.FILLER, np.random.default_rng(0).normal(size=(len(toy.FILLER), 2)))
    with pytest.raises(InputError, match=r"must be at most 0\.\d+, the accuracy of a classifier[^\n]*Got 0\.9\.$"):
        tune_utility(space, toy.noise(60), codes, 0.9, mechanism=dn.TEM)
