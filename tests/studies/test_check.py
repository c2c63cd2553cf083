"""The published check: its counts, its estimate and what it tends to."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from deniable.studies.sanity import alarms
from deniable.studies.sanity.check import chances, deviation, estimate, limit, votes
from deniable.studies.sanity.subjects import SUBJECTS
from deniable.studies.sanity.words import deviations

REPEATS = 20_000


def enumerated(q, n, *, coin):
    """Return the chance that most of n coordinates read as x', by adding up all outcomes."""
    total = 0.0
    for outcome in itertools.product((0, 1), repeat=n):
        weight = math.prod(q if one else 1 - q for one in outcome)
        total += weight * ((2 * sum(outcome) > n) + (0.5 if coin and 2 * sum(outcome) == n else 0.0))
    return total


@pytest.mark.parametrize("coin", [False, True])
@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_chances(n, coin):
    """The tails of binomials are the sums over all outcomes, with ties as x or by a coin."""
    pair = (0.3, 0.65)
    assert chances(pair, n, coin=coin) == pytest.approx([enumerated(q, n, coin=coin) for q in pair], rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 7, 8])
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_the_closed_form_is_what_the_mechanism_does(subject, n):
    """Votes of every mechanism follow their closed form, and would not follow one that is 30 % off."""
    mechanism = subject.make(2.0, 5)
    for x, chance in zip(subject.inputs(n), chances(subject.coordinate(2.0, n), n), strict=True):
        count = votes(mechanism, x, subject.threshold, REPEATS)
        assert stats.binomtest(count, REPEATS, min(chance, 1.0)).pvalue > 1e-6
        if 0.01 < chance < 0.7:
            assert stats.binomtest(count, REPEATS, 1.3 * chance).pvalue < 1e-6


def test_chunks_and_thresholds():
    """Runs are counted once each, however they are cut, and a coordinate half-way reads as x'."""
    copy = SUBJECTS[0].make(1.0, None)
    for repeats in (1, 3, 600_000):
        assert votes(copy, np.ones(2), 0.5, repeats) == repeats
    assert votes(copy, np.full(3, 0.5), 0.5, 10) == 10
    assert votes(copy, np.array([0.0, 1.0]), 0.5, 10) == 0


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((25, 50, 100), math.log(2)),
        ((50, 50, 100), 0.0),
        ((0, 60, 100), math.inf),
        ((40, 100, 100), math.inf),
        ((0, 100, 100), math.inf),
        ((100, 100, 100), 0.0),
        ((0, 0, 100), 0.0),
        ((60, 20, 100), math.log(3)),
    ],
)
def test_estimate(counts, expected):
    """A guess always right is an infinite loss, one never made says nothing, and there is never a NaN."""
    assert estimate(*counts) == pytest.approx(expected)


def test_limit():
    """The estimate tends to its limit, infinite where one input never leads to a guess, and 0 where both agree."""
    pair = (0.35, 0.6)
    random, repeats = np.random.default_rng(4), 10**9
    counts = random.binomial(repeats, chances(pair, 4))
    assert estimate(*map(int, counts), repeats) == pytest.approx(limit(pair, 4), rel=1e-3)
    assert limit((0.3, 1.0), 128) == math.inf
    assert limit((0.5, 0.5), 8) == 0
    assert limit((0.1, 0.9), 5, coin=True) == limit((0.1, 0.9), 5)
    assert limit((0.1, 0.9), 6, coin=True) < limit((0.1, 0.9), 6)


def test_deviation():
    """The delta method's deviation is that of simulated estimates."""
    pair, repeats = (0.2, 0.5), 20_000
    ones = np.random.default_rng(8).binomial(repeats, pair, (4_000, 2))
    simulated = np.std([estimate(int(a), int(b), repeats) for a, b in ones])
    assert deviation(*pair, repeats) == pytest.approx(simulated, rel=0.05)


def test_their_estimates():
    """The published estimates are consistent with the limits here, and would not be with ties by a coin."""
    found = deviations()
    assert len(found) == 11
    assert max(map(abs, found)) < 4
    law = {subject.name: subject.coordinate for subject in SUBJECTS}["laplace"](1.0, 2)
    assert abs(0.8999 - limit(law, 2)) < 0.002
    assert abs(0.8999 - limit(law, 2, coin=True)) > 0.3


def test_half_of_the_runs_accuse_a_tight_event():
    """A correct mechanism is accused in about half of the runs if its event is tight, in none if far from it."""
    rows = alarms.accused((1.0,), (10_000, 1_000_000), 2_000, 3)
    shares = {(row["mechanism"], row["repeats"]): row["flagged"] for row in rows}
    assert shares["laplace", 1_000_000] == 0
    assert 0.45 < shares["half-sum", 10_000] < 0.55
    assert 0.45 < shares["half-sum", 1_000_000] < 0.55


def test_vectorised_estimates():
    """Estimates of many runs at once are those of one run at a time."""
    ones, primes = np.array([0.0, 5.0, 10.0, 0.0]), np.array([10.0, 7.0, 10.0, 0.0])
    expected = [estimate(int(a), int(b), 10) for a, b in zip(ones, primes, strict=True)]
    assert alarms._estimates(ones, primes, 10) == pytest.approx(expected)


def test_blind():
    """At n = 8 no number of repeats shows twice the claim, and the audit refutes it."""
    (row,) = alarms.blind((8,), 8_000, 1)
    assert row["limit of the published estimate"] < 1
    assert row["the same, ties by a coin"] < row["limit of the published estimate"]
    assert (row["audit"], row["truth"]) == ("refuted", pytest.approx(2))
    assert 1 < row["lower bound"] < 2
