"""Where a growing quantity crosses a target: both sides of it, close together, with few evaluations."""

import itertools
import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.measure.root_finding import find_crossing
from tests.refusals import refuses


def logistic(middle, power, low=0.0, high=1.0):
    """Return a share that grows from low to high, half-way at ``middle``, as the power says."""
    return lambda x: low + (high - low) / (1 + (x / middle) ** -power)


def find_checked_crossing(function, target, **options):
    """Return both parameters and where the share was evaluated, after checking that they enclose the target closely."""
    given_options = {"start": 1.0, "max_ratio": 1.01, "name": "tem", **options}
    parameters = []

    def evaluate(parameter):
        parameters.append(parameter)
        return function(parameter)

    low, high = find_crossing(evaluate, target, **given_options)
    assert function(low) <= target < function(high)
    assert 1 < high / low <= given_options["max_ratio"]
    assert len(set(parameters)) == len(parameters)
    assert all(0 < parameter < math.inf for parameter in parameters)
    return low, high, parameters


@settings(max_examples=30)
@given(
    middle=st.floats(-4, 4),
    power=st.floats(0.5, 8),
    target=st.floats(0.01, 0.99),
    close=st.sampled_from([1.002, 1.01, 1.05, 1.1]),
)
@example(middle=4.0, power=8.0, target=0.99, close=1.002)
@example(middle=-4.0, power=0.5, target=0.01, close=1.002)
def test_smooth_growth(middle, power, target, close):
    """For a share that grows smoothly the crossing is found within a few rounds, however far it is."""
    low, high, parameters = find_checked_crossing(logistic(math.exp(middle), power), target, max_ratio=close)
    exact = math.exp(middle) * (target / (1 - target)) ** (1 / power)
    assert low * (1 - 1e-9) <= exact <= high * (1 + 1e-9)
    assert len(parameters) <= 40


@settings(max_examples=30)
@given(middle=st.floats(-1, 1), power=st.floats(1, 6), target=st.floats(0.1, 0.9))
def test_near_the_start(middle, power, target):
    """Near the start, as with a guess from a part of a space, few evaluations are enough."""
    assert len(find_checked_crossing(logistic(math.exp(middle), power, 0.05), target, max_ratio=1.002)[2]) <= 16


@settings(max_examples=30)
@given(at=st.floats(-5, 5), below=st.floats(0, 0.3), above=st.floats(0.7, 1))
def test_steps(at, below, above):
    """A share that jumps is halved as fast as one may hope."""
    edge = math.exp(at)
    assert len(find_checked_crossing(lambda x: above if x > edge else below, 0.5)[2]) <= 40


@settings(max_examples=30)
@given(
    knots=st.lists(st.tuples(st.floats(-3, 3), st.floats(0.0, 1.0)), min_size=2, max_size=8),
    target=st.floats(0.05, 0.9),
)
def test_uneven_growth(knots, target):
    """A share made of straight pieces, flat and steep ones, is crossed too."""
    places = sorted({round(place, 2) for place, _ in knots})
    values = sorted(value for _, value in knots)[: len(places)]

    def function(x):
        at = math.log(x)
        pairs = [(-4.0, 0.0), *zip(places, values, strict=True), (4.0, 1.0)]
        for (a, low), (b, high) in itertools.pairwise(pairs):
            if a <= at <= b:
                return low + (high - low) * (at - a) / (b - a)
        return 0.0 if at < 0 else 1.0

    find_checked_crossing(function, target, max_ratio=1.02)


@settings(max_examples=30)
@given(seed=st.integers(0, 50), target=st.floats(0.1, 0.9))
def test_a_little_noise(seed, target):
    """A simulated share, which hardly ever falls, is still enclosed by two parameters that were evaluated."""

    def function(x):
        return min(max(logistic(2.0, 3)(x) + 0.01 * math.sin(1e4 * x + seed), 0.0), 1.0)

    find_checked_crossing(function, target)


@pytest.mark.parametrize(
    ("function", "target", "value"),
    [
        (lambda _: 0.0, 0.2, "gives 0.2. Found 0 at"),
        (lambda _: 0.19999, 0.2, "gives 0.2. Found 0.2 at"),
        (lambda _: 0.7, 0.5, "gives 0.5. Found 0.7 at"),
        (logistic(1.0, 2, 0, 0.8), 0.9, "gives 0.9. Found "),
    ],
)
def test_never_crossed(function, target, value):
    """A share below or above the target everywhere, or that levels off, is told with what was found."""
    with refuses(f"No epsilon of tight {value}"):
        find_crossing(function, target, start=1.0, max_ratio=1.01, name="tight")
