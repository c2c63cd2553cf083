"""The largest loss of a law that is known as a matrix, held against exact arithmetic."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.words.laws.matrix import find_worst_triple

TINY = 1e-12


def losses(upper, lower):
    """Return (k, k, n) ln upper[w, y] - ln lower[w', y] in float64; two zeros count as no evidence, -inf."""
    with np.errstate(divide="ignore", invalid="ignore"):
        out = np.log(upper)[:, None, :] - np.log(lower)[None, :, :]
    return np.where(np.isnan(out), -math.inf, out)


def worst(upper, lower, distances):
    """Return the largest loss / distance over all pairs of different inputs, by float64 brute force."""
    found = losses(upper, lower).max(axis=2)
    np.fill_diagonal(found, -math.inf)
    return float((found / np.where(distances > 0, distances, 1)).max())


def exact(upper, lower, distance, w, other, output):
    """Return one loss / distance to 50 digits."""
    with localcontext() as context:
        context.prec = 50
        ratio = Fraction(upper[w][output]) / Fraction(lower[other][output])
        return (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln() / Decimal(distance)


def rational(counts):
    """Return rows of positive counts as probabilities in float64, each an exact binary fraction."""
    return [[count / 1024 for count in row] for row in counts]


@st.composite
def problems(draw):
    """Return upper (k, n), lower (k, n) <= upper and symmetric distances (k, k)."""
    k, n = draw(st.integers(2, 4)), draw(st.integers(1, 5))
    rows = st.lists(st.lists(st.integers(1, 1 << 20), min_size=n, max_size=n), min_size=k, max_size=k)
    upper = draw(rows)
    lower = [[min(a, b) for a, b in zip(*pair, strict=True)] for pair in zip(upper, draw(rows), strict=True)]
    steps = draw(st.lists(st.integers(1, 1 << 12), min_size=k * k, max_size=k * k))
    distances = [[0.0 if i == j else steps[min(i, j) * k + max(i, j)] / 64 for j in range(k)] for i in range(k)]
    return rational(upper), rational(lower), distances


@given(problems())
def test_against_fifty_digits(problem):
    """Epsilon is the largest loss per distance in decimal arithmetic, at least 0, and the witness attains it."""
    upper, lower, distances = problem
    k, n = len(upper), len(upper[0])
    every = {
        (w, other, y): exact(upper, lower, distances[w][other], w, other, y)
        for w in range(k)
        for other in range(k)
        for y in range(n)
        if w != other
    }
    epsilon, *witness = find_worst_triple(np.array(upper), np.array(lower), np.array(distances))
    most = max(0, *every.values())
    assert abs(Decimal(epsilon) - most) <= Decimal(TINY) * (1 + abs(most))
    if most > 0:
        assert abs(every[tuple(witness)] - most) <= Decimal(TINY) * (1 + abs(most))


@pytest.mark.parametrize("n", [511, 512, 513])
@pytest.mark.parametrize("k", [31, 32, 33, 65])
def test_at_the_edges_of_tiles(k, n):
    """Whatever the sizes, the worst triple is found, in the corners of the tiles too."""
    rng = np.random.default_rng(k * n)
    law = rng.uniform(1, 2, size=(k, n))
    distances = rng.uniform(1, 2, size=(k, k))
    distances += distances.T
    assert find_worst_triple(law, law, distances)[0] == pytest.approx(worst(law, law, distances), rel=TINY)
    for w, other, output in [(0, k - 1, n - 1), (k - 1, 0, 0), (k - 2, k - 1, n - 1), (k // 2, 0, n // 2)]:
        planted = law.copy()
        planted[w, output], planted[other, output] = 100.0, 0.01
        found = find_worst_triple(planted, planted, distances)
        assert found[1:] == (w, other, output)
        assert found[0] == pytest.approx(math.log(1e4) / distances[w, other], rel=TINY)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_workers_change_nothing(workers):
    """The answer is the same for any number of threads, ties included."""
    law = np.repeat(np.random.default_rng(1).dirichlet(np.ones(40), size=20), 4, axis=0)
    distances = np.ones((80, 80)) - np.eye(80)
    assert find_worst_triple(law, law, distances, workers=workers) == find_worst_triple(law, law, distances, workers=3)


def test_bounds_that_differ():
    """The upper bound of the input stands over the lower bound of the other, never the reverse."""
    upper, lower = np.array([[0.6, 0.4], [0.5, 0.5]]), np.array([[0.1, 0.4], [0.5, 0.25]])
    distances = np.array([[0.0, 2.0], [2.0, 0.0]])
    assert find_worst_triple(upper, lower, distances) == (pytest.approx(math.log(5) / 2), 1, 0, 0)


def test_zero_against_zero_is_no_loss():
    """An output that neither input ever gives adds nothing."""
    law = np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]])
    distances = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert find_worst_triple(law, law, distances) == (pytest.approx(math.log(2)), 0, 1, 0)


@given(st.integers(0, 5), st.integers(0, 6), st.integers(0, 2**32 - 1), st.sampled_from([0.5, 1e-300]))
def test_something_against_zero_is_infinite(other, output, seed, least):
    """One zero where another input has a probability, however small, is an infinite loss with its witness."""
    rng = np.random.default_rng(seed)
    law = rng.uniform(1, 2, size=(6, 7))
    law[:, output] = least
    law[other, output] = 0.0
    epsilon, w, against, where = find_worst_triple(law, law, rng.uniform(1, 2, size=(6, 6)))
    assert epsilon == math.inf
    assert (against, where) == (other, output)
    assert w != other


def test_a_zero_below_the_diagonal_of_bounds():
    """A lower bound of 0 makes epsilon infinite even where an input's own upper bound is above 0."""
    upper = np.array([[0.5, 0.5, 1e-300], [0.5, 0.5, 1e-300]])
    lower = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
    assert find_worst_triple(upper, lower, np.array([[0.0, 1.0], [1.0, 0.0]]))[0] == math.inf


@pytest.mark.parametrize("k", [1, 5, 33])
def test_an_input_is_no_pair_with_itself(k):
    """An input's own bounds, however wide, are no loss between two inputs."""
    upper, lower = np.full((k, 3), 0.5), np.full((k, 3), 0.5)
    lower[0] = 0.25
    distances = np.ones((k, k)) - np.eye(k)
    expected = math.log(2) if k > 1 else 0.0
    assert find_worst_triple(upper, lower, distances)[0] == pytest.approx(expected)


@pytest.mark.parametrize("slack", [1e-3, -1e-3, 0.0])
def test_slack(slack):
    """Slack is added to the loss of every pair, in nats."""
    rng = np.random.default_rng(4)
    law = rng.dirichlet(np.ones(5), size=4)
    distances = rng.uniform(1, 2, size=(4, 4))
    distances += distances.T
    found = losses(law, law).max(axis=2) + slack
    np.fill_diagonal(found, -math.inf)
    assert find_worst_triple(law, law, distances, slack=slack)[0] == pytest.approx((found / distances).max(), rel=TINY)


@pytest.mark.parametrize("slack", [0.0, 1e-12, -1e-12])
def test_equal_inputs_with_equal_laws(slack):
    """Inputs at distance 0 with one law are no loss, whatever the sign of the slack."""
    law = np.array([[0.5, 0.5], [0.5, 0.5], [0.25, 0.75]])
    distances = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    assert find_worst_triple(law, law, distances, slack=slack)[0] == pytest.approx(math.log(2), abs=1e-9)


@pytest.mark.parametrize("slack", [0.0, 1e-12, -1e-12])
def test_equal_inputs_with_different_laws(slack):
    """Inputs at distance 0 with two laws are an infinite loss, with the pair and its output."""
    law = np.array([[0.5, 0.5], [0.5 - 1e-6, 0.5 + 1e-6], [0.25, 0.75]])
    distances = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    epsilon, w, other, output = find_worst_triple(law, law, distances, slack=slack)
    assert epsilon == math.inf
    assert {w, other} == {0, 1}
    assert law[w, output] > law[other, output]


@given(
    st.integers(1, 40),
    st.integers(1, 70),
    st.integers(0, 2**32 - 1),
    st.floats(0, 0.5),
)
@settings(max_examples=60)
def test_any_shape(k, n, seed, zeros):
    """For any number of inputs and outputs, zeros among them, epsilon is that of brute force."""
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.ones(n), size=k)
    law[:, rng.random(n) < zeros] = 0.0
    distances = rng.uniform(0.1, 2, size=(k, k))
    distances += distances.T
    expected = worst(law, law, distances)
    epsilon, w, other, output = find_worst_triple(law, law, distances)
    if k == 1:
        assert epsilon == 0.0
    elif law.any():
        assert epsilon == pytest.approx(expected, rel=TINY, abs=TINY)
        assert losses(law, law)[w, other, output] == pytest.approx(expected * distances[w, other], rel=1e-9, abs=TINY)
    else:
        assert epsilon == 0.0
