"""The bounds of canaries' coins, held against exact laws of all that can be guessed."""

import itertools
import math

import numpy as np
import pytest
from scipy import special, stats

import deniable as dn
from deniable.auditing.training.bounds import (
    GuessPlan,
    bound_epsilon_of_guesses,
    bound_gaussian_mu,
    find_detectable_epsilon,
    find_detectable_epsilon_of_runs,
    find_refuting_count,
    invert_curve,
    is_count_refuting,
)

deep = pytest.mark.deep
ALPHA = 0.05
DELTA = 1e-5
PLANS = [GuessPlan(10, 2), GuessPlan(200, 20), GuessPlan(200, 200), GuessPlan(1000, 100)]


def compute_shift(epsilon):
    """Return the distance of two unit Gaussians whose privacy is this epsilon at delta."""
    return 1 / dn.Gaussian(epsilon=epsilon, delta=DELTA, domain=dn.L2Ball(0.5)).scale(1)


def count_gaussian_guesses(plan, mu, runs, seed):
    """Return (runs,) right guesses by the scores of independent Gaussian noise."""
    random = np.random.default_rng(seed)
    coins = random.random((runs, plan.coins)) < 0.5
    order = np.argsort(mu * coins + random.standard_normal(coins.shape), axis=1)
    ranked = np.take_along_axis(coins, order, axis=1)
    excluded = plan.guesses // 2
    return ranked[:, plan.coins - plan.guesses + excluded :].sum(axis=1) + (~ranked[:, :excluded]).sum(axis=1)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 3.0])
def test_randomized_response_is_refuted_by_its_binomial_law(plan, epsilon):
    """A true claim is refuted with probability alpha at most, and no more than two guesses later than could be."""
    chance = special.expit(epsilon)
    count = find_refuting_count(invert_curve("any", epsilon, 0.0), plan, ALPHA)
    least = next(v for v in range(plan.guesses + 2) if stats.binom.sf(v - 1, plan.guesses, chance) < ALPHA)
    assert least <= count <= least + 2


@pytest.mark.parametrize("plan", [PLANS[1], *(pytest.param(plan, marks=deep) for plan in PLANS[::2])])
@pytest.mark.parametrize("delta", [1e-5, 1e-2])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_coins_that_are_shown_with_probability_delta(plan, epsilon, delta):
    """Randomized response that shows each coin with probability delta, those guessed first, keeps its claim."""
    count = find_refuting_count(invert_curve("any", epsilon, delta), plan, ALPHA)
    shown = np.arange(plan.guesses + 1)
    weights = stats.binom.pmf(shown, plan.coins, delta)
    weights[-1] += stats.binom.sf(plan.guesses, plan.coins, delta)
    tails = stats.binom.sf(count - 1 - shown, plan.guesses - shown, special.expit(epsilon))
    assert weights @ tails <= ALPHA


@pytest.mark.parametrize("plan", PLANS)
def test_all_coins_shown_at_once_with_probability_delta(plan):
    """Showing every coin with probability delta, else nothing, is (0, delta)-DP and keeps its claim."""
    for delta in (0.01, 0.04):
        count = find_refuting_count(invert_curve("any", 0.0, delta), plan, ALPHA)
        assert (count <= plan.guesses) * delta + (1 - delta) * stats.binom.sf(count - 1, plan.guesses, 0.5) <= ALPHA


@pytest.mark.parametrize(
    ("plan", "epsilon", "noise"),
    [
        (PLANS[1], 2.0, "gaussian"),
        *(
            pytest.param(plan, epsilon, noise, marks=deep)
            for plan in PLANS[1:]
            for epsilon in (0.5, 2.0, 8.0)
            for noise in ("any", "gaussian")
        ),
    ],
)
def test_gaussian_noise_keeps_its_claim(plan, epsilon, noise):
    """Independent Gaussian noise is refuted in at most one run in twenty, at the epsilon it was calibrated to."""
    mu = compute_shift(epsilon)
    count = find_refuting_count(invert_curve(noise, epsilon, DELTA), plan, ALPHA)
    alarms = int((count_gaussian_guesses(plan, mu, 500, 1) >= count).sum())
    assert stats.binom.sf(alarms - 1, 500, ALPHA) > 1e-3


def test_the_theorem_on_random_mechanisms():
    """R_i <= F(H_(i-1)) for three coins and two guesses, by exact laws far from randomized response and near it."""
    random = np.random.default_rng(3)
    coins = np.array(list(itertools.product([False, True], repeat=3)))
    differences = (coins[:, None] != coins[None]).sum(axis=2)
    neighbours = np.argwhere(differences == 1)
    tightest = math.inf
    for run in range(200):
        laws = 0.25**differences * np.exp((0.01, 2.0)[run % 2] * random.normal(size=(8, 8)))
        laws /= laws.sum(axis=1, keepdims=True)
        delta = (0.0, 0.05)[run // 2 % 2]
        guessed = np.array([random.permutation([True, True, False]) for _ in coins])
        right = ((coins[None] == coins[:, None]) & guessed[None]).sum(axis=2)
        counts = np.array([laws[right == count].sum() / 8 for count in range(3)])
        inverse = invert_curve("any", find_exact_epsilon(laws, neighbours, delta), delta)
        for count in (1, 2):
            right_mass = sum(w * counts[w] for w in range(count, 3)) / 3
            wrong_mass = sum((2 - w) * counts[w] for w in range(count - 1, 3)) / 3
            assert wrong_mass >= inverse(right_mass) - 1e-9
            tightest = min(tightest, wrong_mass - inverse(right_mass))
    assert tightest < 0.01


def find_exact_epsilon(laws, neighbours, delta):
    """Return the least epsilon of a table of laws at delta, by bisection."""
    low, high = 0.0, 20.0
    for _ in range(50):
        middle = (low + high) / 2
        excess = np.maximum(laws[neighbours[:, 0]] - math.exp(middle) * laws[neighbours[:, 1]], 0).sum(axis=1).max()
        low, high = (middle, high) if excess > delta else (low, middle)
    return high


@pytest.mark.parametrize("noise", ["any", "gaussian"])
def test_bounds_and_refutations_agree(noise):
    """The bound grows with the right guesses, and is the epsilon up to which claims are refuted."""
    plan = GuessPlan(500, 100)
    bounds = [bound_epsilon_of_guesses(noise, plan, right, DELTA, ALPHA) for right in range(50, 101, 5)]
    assert bounds[0] == 0
    assert all(low <= high for low, high in itertools.pairwise(bounds))
    assert bounds[-1] > 3
    for right, bound in zip(range(70, 101, 5), bounds[4:], strict=True):
        assert is_count_refuting(invert_curve(noise, bound * 0.999, DELTA), plan, right, ALPHA)
        assert not is_count_refuting(invert_curve(noise, bound * 1.001, DELTA), plan, right, ALPHA)


def test_steinkes_bound_is_nearly_reached():
    """Without delta the bound is that of Binomial(r, sigmoid(epsilon)), Clopper and Pearson's, within 5 %."""
    for plan, right in ((PLANS[1], 18), (PLANS[2], 150), (PLANS[3], 90)):
        exact = special.logit(special.betaincinv(right, plan.guesses - right + 1, ALPHA))
        assert 0.95 * exact <= bound_epsilon_of_guesses("any", plan, right, 0.0, ALPHA) <= exact * (1 + 1e-6)


def test_the_detectable_epsilon_is_refuted_nine_times_in_ten():
    """By the attacker it speaks of, for Gaussian noise and for randomized response; infinite for too few guesses."""
    plan = GuessPlan(500, 100)
    truth = find_detectable_epsilon("gaussian", plan, 1.0, DELTA, ALPHA)
    count = find_refuting_count(invert_curve("gaussian", 1.0, DELTA), plan, ALPHA)
    refuted = (count_gaussian_guesses(plan, compute_shift(truth), 1000, 2) >= count).mean()
    assert 0.87 < refuted < 0.97
    truth = find_detectable_epsilon("any", plan, 1.0, DELTA, ALPHA)
    count = find_refuting_count(invert_curve("any", 1.0, DELTA), plan, ALPHA)
    assert stats.binom.sf(count - 1, 100, special.expit(truth)) == pytest.approx(0.9, abs=1e-6)
    assert find_detectable_epsilon("any", GuessPlan(10, 4), 4.0, DELTA, ALPHA) == math.inf


def test_extreme_claims():
    """Nothing overflows: a claim of any size is inverted, and no count of 0 refutes."""
    plan = GuessPlan(100, 100)
    for noise in ("any", "gaussian"):
        for epsilon in (1e-3, 700.0, 1000.0):
            inverse = invert_curve(noise, epsilon, DELTA)
            assert not is_count_refuting(inverse, plan, 0, ALPHA)
            assert is_count_refuting(inverse, plan, 100, ALPHA) == (epsilon < 1)
        assert 0 < bound_epsilon_of_guesses(noise, plan, 100, DELTA, ALPHA) < 20
    assert bound_epsilon_of_guesses("any", plan, 100, 0.999, ALPHA) == 0


@pytest.mark.parametrize(("draws", "tolerance"), [(400, 0.06), pytest.param(4_000, 0.02, marks=pytest.mark.deep)])
def test_independent_runs_of_gaussian_noise(draws, tolerance):
    """A fixed rule bounds mu wrongly once in twenty, and the detectable epsilon is refuted nine times in ten."""
    runs, claim, random = 400, 1.0, np.random.default_rng(3)
    detectable = find_detectable_epsilon_of_runs(runs, claim, DELTA, ALPHA)
    shares = {}
    for truth in (claim, detectable):
        mu = compute_shift(truth)
        rules = []
        for q in (0.01, 0.03, 0.1, stats.norm.cdf(-mu / 2)):
            p = stats.norm.cdf(stats.norm.ppf(q) + mu)
            counts = random.multinomial(runs, [p, q, 1 - p - q], draws)
            bounds = np.array([bound_gaussian_mu(right, wrong, (runs, runs), ALPHA) for right, wrong, _ in counts])
            rules.append((bounds > compute_shift(claim)).mean())
        shares[truth] = max(rules)
    assert shares[claim] < ALPHA + tolerance / 3
    assert shares[detectable] > 0.9 - tolerance
    assert bound_gaussian_mu(0, 5, (runs, runs), ALPHA) == bound_gaussian_mu(5, 9, (9, 9), ALPHA) == -math.inf
    assert math.isinf(find_detectable_epsilon_of_runs(2, 3.0, DELTA, ALPHA))
