"""Guessing games: how sure a guess may be, and bounds held against exact laws of all that can happen."""

import bisect
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from deniable.auditing import bounds
from deniable.auditing.games import Score, make_identification_game, make_pooled_game

ALPHA = 0.05
deep = pytest.mark.deep
LINE = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
GAMES = {
    "coin": make_pooled_game((0, 1), [(0, 1)], np.array([1.0])),
    "far coin": make_pooled_game((0, 1), [(0, 1)], np.array([4.0])),
    "pooled": make_pooled_game((0, 1, 2, 3), [(0, 1), (2, 3)], [0.3, 2.0]),
    "line": make_identification_game((0, 1, 2), LINE),
    "uniform": make_identification_game((0, 1, 2, 3), 1.0 - np.eye(4)),
}


def convolved(chances):
    """Return the law (n + 1,) of a sum of independent Bernoullis."""
    law = np.ones(1)
    for chance in chances:
        law = np.append(law * (1 - chance), 0) + np.append(0, law * chance)
    return law


def scored(right, guesses, trials=None):
    """Return a score with so many right guesses in all: a bound looks at their sum only."""
    left, counts = right, np.zeros_like(guesses)
    for place in np.ndindex(guesses.shape):
        counts[place] = min(left, guesses[place])
        left -= counts[place]
    return Score(counts, guesses, int(guesses.sum()) if trials is None else trials)


def spread(game, total):
    """Return (S, K) uneven numbers of guesses that sum to ``sum_rows_at``."""
    weights = np.arange(1, game.sets.size + 1)
    counts = total * weights // weights.sum()
    counts[-1] += total - counts.sum()
    return counts.reshape(game.sets.shape)


def critical(holds, total):
    """Return the least number of right guesses that a growing predicate holds for, else total + 1."""
    return bisect.bisect_left(range(total + 1), True, key=holds)


# Caps.


@settings(max_examples=30)
@given(st.data(), st.integers(2, 4), st.integers(2, 5))
def test_no_guess_is_surer_than_its_cap(data, inputs, outputs):
    """Under a uniform prior no output of any law makes any input likelier than the cap at its own distances."""
    cells = st.lists(st.integers(1, 1000), min_size=outputs, max_size=outputs)
    law = np.array([data.draw(cells) for _ in range(inputs)], dtype=float)
    law /= law.sum(axis=1, keepdims=True)
    apart = np.abs(np.log(law[:, None, :] / law[None, :, :])).max(axis=2) + 1e-3 * (1 - np.eye(inputs))
    caps = make_identification_game(tuple(range(inputs)), (apart + apart.T) / 2).caps(1.0)[0]
    assert (law / law.sum(axis=0) <= caps[:, None] * (1 + 1e-12)).all()


@pytest.mark.parametrize(("inputs", "epsilon"), [(2, 1.0), (3, 0.5), (8, 2.0), (50, 4.0)])
def test_randomized_response_attains_the_cap(inputs, epsilon):
    """Where every output keeps its input with the largest odds, the cap is the chance of a right guess."""
    kept = math.exp(epsilon) / (math.exp(epsilon) + inputs - 1)
    game = make_identification_game(tuple(range(inputs)), 1.0 - np.eye(inputs))
    assert game.caps(epsilon) == pytest.approx(np.full((1, inputs), kept), rel=1e-14)


@pytest.mark.parametrize(("epsilon", "distance"), [(1.0, 800.0), (1e6, 1e6), (1e200, 1e200)])
def test_a_claim_beyond_floats_allows_everything(epsilon, distance):
    """However large epsilon d is, nothing overflows: every guess may be right."""
    assert (make_pooled_game((0, 1), [(0, 1)], np.array([distance])).caps(epsilon) == 1).all()


# Tails.


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1)), min_size=4, max_size=4), st.integers(-1, 18))
def test_the_tail_is_that_of_all_outcomes(cells, right):
    """The tail of a sum of unequal Bernoullis is that of the convolution, term by term."""
    guesses = np.array([count for count, _ in cells]).reshape(2, 2)
    caps = np.array([chance for _, chance in cells]).reshape(2, 2)
    law = convolved(np.repeat(caps.ravel(), guesses.ravel()))
    assert bounds._compute_tail_probability(right, guesses, caps) == pytest.approx(
        law[max(right, 0) :].sum(), abs=1e-12
    )


@pytest.mark.parametrize("name", ["pooled", "line"])
def test_beyond_the_exact_tail_the_bound_is_above_it(name, monkeypatch):
    """Chernoff's bound, used for very many guesses, is never below the exact tail, nor above 1."""
    guesses, caps = spread(GAMES[name], 300), GAMES[name].caps(1.0)
    law = convolved(np.repeat(caps.ravel(), guesses.ravel()))
    monkeypatch.setattr(bounds, "_MAX_EXACT_GUESSES", 0)
    for right in range(1, 301):
        assert law[right:].sum() <= bounds._compute_tail_probability(right, guesses, caps) * (1 + 1e-9) <= 1 + 1e-9


# The fixed bound.


@pytest.mark.parametrize(("right", "guesses"), [(10, 10), (80, 100), (700, 1000)])
@pytest.mark.parametrize("distance", [0.2, 6.0])
def test_equal_caps_are_clopper_and_pearson(right, guesses, distance):
    """For two inputs the bound is logit(BetaInv(alpha; v, r - v + 1)) / d."""
    game = make_pooled_game((0, 1), [(0, 1)], np.array([distance]))
    least = special.betaincinv(right, guesses - right + 1, ALPHA)
    bound = bounds.compute_lower_bound(game, scored(right, np.array([[guesses, 0]])), ALPHA)
    assert bound == pytest.approx(max(special.logit(least), 0) / distance, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "total", "epsilon"),
    [
        *((name, 40, 0.4) for name in GAMES),
        ("pooled", 150, 1.0),
        *(
            pytest.param(name, total, epsilon, marks=deep)
            for name in GAMES
            for total in (5, 40, 150)
            for epsilon in (0.0, 0.4, 1.0, 2.5)
        ),
    ],
)
def test_the_bound_is_above_the_truth_no_oftener_than_alpha(name, total, epsilon):
    """Summed over all outcomes, when every guess is right as often as the truth allows: exact coverage."""
    game = GAMES[name]
    guesses = spread(game, total)
    law = convolved(np.repeat(game.caps(epsilon).ravel(), guesses.ravel()))
    least = critical(lambda right: bounds.compute_lower_bound(game, scored(right, guesses), ALPHA) > epsilon, total)
    assert law[least:].sum() <= ALPHA * (1 + 1e-9)
    if total == 150 and epsilon < 1 + (name != "far coin"):
        assert law[least:].sum() > ALPHA / 5


def test_the_bound_grows_with_right_guesses():
    """More right guesses never lower the bound, and half of them right give none."""
    game = GAMES["pooled"]
    guesses = spread(game, 60)
    found = [bounds.compute_lower_bound(game, scored(right, guesses), ALPHA) for right in range(61)]
    assert found == sorted(found)
    assert found[30] == 0 < found[60]


def test_no_guesses_give_no_bound():
    """An attacker who always abstains says nothing, at any epsilon, and could not have."""
    for game in GAMES.values():
        none = np.zeros_like(game.sets)
        silent = Score(none, none, 100)
        assert bounds.compute_lower_bound(game, silent, ALPHA) == bounds.compute_anytime_bound(game, silent, ALPHA) == 0
        assert bounds.compute_log_e_value(game, silent, 1.0) == pytest.approx(0, abs=1e-12)
        assert math.isinf(bounds.compute_detectable_epsilon(game, none, 1.0, ALPHA))
        assert math.isinf(bounds.compute_anytime_detectable_epsilon(game, none, 1.0, ALPHA))


@pytest.mark.parametrize("unit", [1e-9, 1e3])
def test_bounds_scale_with_the_unit_of_distance(unit):
    """In other units of distance the bounds are the same losses: epsilon d does not change."""
    near, far = (
        make_pooled_game((0, 1), [(0, 1)], np.array([1.0])),
        make_pooled_game((0, 1), [(0, 1)], np.array([unit])),
    )
    score = scored(95, np.array([[50, 50]]))
    for bound in (bounds.compute_lower_bound, bounds.compute_anytime_bound):
        assert bound(far, score, ALPHA) * unit == pytest.approx(bound(near, score, ALPHA), rel=1e-9)
    seen = bounds.compute_detectable_epsilon(far, score.guesses, 1 / unit, ALPHA)
    assert seen * unit == pytest.approx(bounds.compute_detectable_epsilon(near, score.guesses, 1.0, ALPHA), rel=1e-9)


# delta.


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.05), (1.0, 0.05), (1.0, 0.3), (2.0, 0.01)])
@pytest.mark.parametrize("total", [30, 120])
def test_a_leak_of_probability_delta_is_no_false_alarm(epsilon, delta, total):
    """Over all outcomes of a mechanism that shows its input with probability delta, the bound keeps its level."""
    game = GAMES["coin"]
    guesses = np.array([[total, 0]])
    mixed = delta + (1 - delta) * special.expit(epsilon)  # each trial is right so often, independently
    law = stats.binom.pmf(np.arange(total + 1), total, mixed)
    above = [bounds.compute_lower_bound(game, scored(v, guesses), ALPHA, delta) > epsilon for v in range(total + 1)]
    assert law @ above <= ALPHA


@pytest.mark.parametrize("distances", [(0.3, 2.0), (50.0, 40.0)])
def test_what_is_set_aside_is_the_cautious_choice(distances):
    """No other way to take away the guesses that a leak may explain leaves a larger tail, whatever the distances."""
    game = make_pooled_game((0, 1, 2, 3), [(0, 1), (2, 3)], list(distances))
    guesses, shown, epsilon = np.array([[3, 2], [2, 3]]), 3, 0.5 / max(distances)
    ways = (np.array(way).reshape(2, 2) for way in itertools.product(range(4), repeat=4) if sum(way) == shown)
    tails = [
        bounds._compute_tail_probability(6, guesses - way, game.caps(epsilon)) for way in ways if (way <= guesses).all()
    ]
    scores = scored(9, guesses)
    chosen = bounds._set_guesses_aside(scores.guesses, game, shown)
    assert bounds._compute_tail_probability(6, chosen, game.caps(epsilon)) == pytest.approx(max(tails), rel=1e-9)


# Anytime.


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [
        ("coin", 1.0),
        ("pooled", 1.0),
        ("line", 1.0),
        *(pytest.param(name, epsilon, marks=deep) for name in GAMES for epsilon in (0.0, 1.0, 3.0)),
    ],
)
def test_evidence_has_expectation_one_at_the_cap(name, epsilon):
    """Over all outcomes the e-value has mean 1 where guesses are right as often as the cap, and less where rarer."""
    game = GAMES[name]
    guesses = np.full_like(game.sets, 3)
    caps = game.caps(epsilon)
    for share, mean in ((1.0, 1.0), (0.9, None)):
        total = 0.0
        for right in itertools.product(range(4), repeat=guesses.size):
            counts = np.array(right).reshape(guesses.shape)
            chance = stats.binom.pmf(counts, guesses, share * caps).prod()
            total += (
                chance * math.exp(bounds.compute_log_e_value(game, Score(counts, guesses, 0), epsilon))
                if chance > 0
                else 0
            )
        assert total == pytest.approx(mean, rel=1e-9) if mean else total < 1


@pytest.mark.parametrize(
    ("epsilon", "looks"), [(1.0, 150), *(pytest.param(epsilon, 400, marks=deep) for epsilon in (0.0, 1.0))]
)
def test_looking_after_every_trial_keeps_the_level(epsilon, looks):
    """The probability that many looks, one after each trial, ever convince of what is false is at most alpha."""
    game, needed = GAMES["coin"], math.log(1 / ALPHA)
    cap = float(game.caps(epsilon)[0, 0])
    alive, crossed = np.ones(1), 0.0  # by number of right guesses, of those never convinced
    for trial in range(1, looks + 1):
        alive = np.append(alive * (1 - cap), 0) + np.append(0, alive * cap)
        guesses = np.array([[trial, 0]])
        for right in range(trial, -1, -1):  # evidence grows with right guesses
            if alive[right] <= 0:
                continue
            if bounds.compute_log_e_value(game, Score(np.array([[right, 0]]), guesses, trial), epsilon) < needed:
                break
            crossed += alive[right]
            alive[right] = 0
    assert ALPHA / 10 < crossed <= ALPHA


@settings(max_examples=20)
@given(st.sampled_from(sorted(GAMES)), st.data())
def test_evidence_falls_as_epsilon_grows(name, data):
    """So the epsilons that are refuted are all below a bound, at which the evidence is what alpha asks for."""
    game = GAMES[name]
    guesses = np.array(data.draw(st.lists(st.integers(0, 60), min_size=game.sets.size, max_size=game.sets.size)))
    right = np.array([data.draw(st.integers(0, int(count))) for count in guesses])
    score = Score(right.reshape(game.sets.shape), guesses.reshape(game.sets.shape), 500)
    values = [bounds.compute_log_e_value(game, score, epsilon) for epsilon in np.linspace(0, 6, 25)]
    assert all(a >= b - 1e-9 for a, b in itertools.pairwise(values))
    bound = bounds.compute_anytime_bound(game, score, ALPHA)
    assert bound == 0 or bounds.compute_log_e_value(game, score, bound) == pytest.approx(math.log(20), rel=1e-6)
    assert (bound > 0) == (values[0] >= math.log(20))


# Power.


@pytest.mark.parametrize(
    ("name", "delta"),
    [
        ("coin", 0.02),
        ("line", 0.0),
        *(pytest.param(name, 0.0, marks=deep) for name in GAMES),
        *(pytest.param(name, 0.02, marks=deep) for name in ("coin", "far coin", "pooled")),
    ],
)
def test_detectable_is_refuted_nine_times_in_ten(name, delta):
    """At the epsilon called detectable the outcomes that refute the claim have probability 90 %."""
    game, total, claim = GAMES[name], 200, 0.5
    guesses = spread(game, total)
    seen = bounds.compute_detectable_epsilon(game, guesses, claim, ALPHA, delta, total)
    least = critical(lambda v: bounds.compute_lower_bound(game, scored(v, guesses), ALPHA, delta) > claim, total)
    power = convolved(np.repeat(game.caps(seen).ravel(), guesses.ravel()))[least:].sum()
    assert seen > claim
    assert power == pytest.approx(0.9, abs=1e-6)


def test_detectable_anytime_is_refuted_nine_times_in_ten():
    """The same of e-values, at the end of the budget."""
    game, guesses, claim = GAMES["coin"], np.array([[150, 150]]), 0.5
    seen = bounds.compute_anytime_detectable_epsilon(game, guesses, claim, ALPHA)
    least = critical(lambda v: bounds.compute_log_e_value(game, scored(v, guesses), claim) >= math.log(20), 300)
    assert stats.binom.sf(least - 1, 300, game.caps(seen)[0, 0]) == pytest.approx(0.9, abs=0.03)
    assert seen > bounds.compute_detectable_epsilon(game, guesses, claim, ALPHA)


def test_the_reference_figures_of_power():
    """Of 91 runs of the Laplace mechanism at a true 2, the outputs beyond both inputs refute 1 nine times in ten."""
    beyond = round(91 * (1 + math.exp(-2)) / 2)
    assert bounds.compute_detectable_epsilon(GAMES["coin"], np.array([[beyond, 0]]), 1.0, ALPHA) == pytest.approx(
        2, abs=0.15
    )
    assert bounds.compute_detectable_epsilon(GAMES["coin"], np.array([[beyond // 2, 0]]), 1.0, ALPHA) > 2.4
