"""The attackers: each finds what it is for, and none looks at what it is told to guess."""

import numpy as np
import pytest

from deniable.auditing.attackers import ATTACKERS
from deniable.auditing.outputs import parse_outputs

NUMBERS = (np.zeros(2), np.ones(2))
TEXTS = ("red house", "blue house")


def success(name, inputs, draw, fitted=300, played=800, seed=0):
    """Return how often an attacker names the right one of two inputs, fitted on some runs and playing on others."""
    random = np.random.default_rng(seed)

    def runs(count):
        labels = np.arange(count) % len(inputs)
        return parse_outputs([draw(label, random) for label in labels]), labels

    scores = ATTACKERS[name][0](inputs, *runs(fitted))
    outputs, labels = runs(played)
    found = scores(outputs)
    assert found.shape == (played, len(inputs))
    assert np.isfinite(found).all()
    return float((found.argmax(axis=1) == labels).mean())


def shifted(label, random):
    return label + random.laplace(size=2)


def upward(label, random):
    return label + random.exponential(8, size=2)


def coded(label, random):
    return float(random.integers(10) * 2 + label)


def fine(label, random):
    return np.round(random.normal(size=2) * 64) / (64 if label else 2**30)


def placed(label, random):
    words = ["a", "b"] if label else ["b", "a"]
    return " ".join([*words, str(random.integers(5))])


def coloured(label, random):
    return f"{('red', 'blue')[label if random.random() < 0.8 else 1 - label]} house"


def typed(label, random):
    value = int(random.integers(10**6))
    return float(value) if label else value


def written(label, random):
    return f"word{random.integers(10**6)} {' ' * label}word{random.integers(10**6)}"


def wide(label, random):
    return 2**60 + 10 * int(label) + int(random.integers(4))


@pytest.mark.parametrize(
    ("name", "inputs", "draw", "least"),
    [
        ("nearest", NUMBERS, shifted, 0.70),
        ("linear", NUMBERS, shifted, 0.70),
        ("tree", NUMBERS, shifted, 0.65),
        ("tree", NUMBERS, upward, 0.55),
        ("forest", NUMBERS, shifted, 0.68),
        ("frequency", (0, 1), coded, 0.99),
        ("precision", NUMBERS, fine, 0.95),
        ("form", NUMBERS, typed, 0.99),
        ("form", TEXTS, written, 0.99),
        ("nearest", (2**60, 2**60 + 10), wide, 0.99),
        ("linear", (2**60, 2**60 + 10), wide, 0.99),
        ("tree", ("a", "b"), wide, 0.99),
        ("nearest", TEXTS, coloured, 0.78),
        ("linear", TEXTS, coloured, 0.78),
        ("linear", TEXTS, placed, 0.99),
        ("frequency", TEXTS, placed, 0.99),
    ],
)
def test_each_finds_what_it_is_for(name, inputs, draw, least):
    """On runs that it was not fitted on it is right nearly as often as the best attacker."""
    assert success(name, inputs, draw) >= least


@pytest.mark.parametrize("name", ATTACKERS)
def test_noise_alone_is_not_told_apart(name):
    """Where the output does not depend on the input, every attacker is right half of the time."""
    assert abs(success(name, NUMBERS, lambda _, random: random.normal(size=2)) - 0.5) < 0.09


def test_nearest_is_the_likelihood_ratio_of_laplace_noise():
    """Cut off at the inputs, the difference of l1 distances is the log-likelihood ratio."""
    outputs = parse_outputs([np.array([0.2, -3.0]), np.array([5.0, 0.9])])
    scores = ATTACKERS["nearest"][0](NUMBERS, outputs, np.array([0, 1]))(outputs)
    ratio = (np.abs(outputs.values).sum(axis=1) - np.abs(outputs.values - 1).sum(axis=1)) / 1.0
    assert scores[:, 1] - scores[:, 0] == pytest.approx(ratio)
