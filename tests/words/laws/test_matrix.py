"""The largest loss of a law that is known as a matrix, held against exact arithmetic."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn


def make_space(count, seed=0):
    """Return so many points of the plane."""
    vectors = np.random.default_rng(seed).uniform(0, 2, size=(count, 2))
    return dn.Space([f"w{number}" for number in range(count)], vectors)


def find(law, space, workers=None):
    """Return the bounds on epsilon and the witness (input, other, output) of a matrix."""
    verdict = dn.verify(law, space=space, epsilon=1.0, workers=workers)
    witness = verdict.witness
    numbers = witness and tuple(space.index_of(word) for word in (witness.input, witness.other, witness.output))
    return verdict, numbers


def brute_force(law, space):
    """Return the largest loss per distance over all pairs of different inputs, in float64."""
    distances, most = space.distances(range(len(law))), -math.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(law)
        for w, row in enumerate(logs):
            losses = row - logs
            losses = np.where(np.isnan(losses), -math.inf, losses).max(axis=1)
            most = max(most, (np.delete(losses, w) / np.delete(distances[w], w)).max())
    return float(most)


@settings(max_examples=30)
@given(
    st.integers(2, 4).flatmap(
        lambda k: st.lists(st.lists(st.integers(1, 1 << 20), min_size=k, max_size=k), min_size=k, max_size=k)
    )
)
def test_against_fifty_digits(rows):
    """Epsilon is the largest loss per distance in decimal arithmetic, at least 0, and the witness attains it."""
    count = len(rows)
    law = np.array(rows, dtype=float)
    law /= law.sum(axis=1, keepdims=True)
    space = make_space(count)
    distances = space.distances(range(count))
    with localcontext(prec=50):
        ratios = {}
        for w in range(count):
            for other in range(count):
                for y in range(count):
                    if w != other:
                        ratio = Fraction(law[w, y]) / Fraction(law[other, y])
                        loss = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
                        ratios[w, other, y] = loss / Decimal(distances[w, other])
        most = max(0, *ratios.values())
        verdict, witness = find(law, space)
        leeway = Decimal("1e-9") * (1 + most)
        assert abs(Decimal(verdict.epsilon) - most) <= leeway
        assert most - leeway <= Decimal(verdict.lower_bound) <= most + Decimal("1e-15")
        assert most <= Decimal(verdict.epsilon) + Decimal("1e-15")
        if most > 0:
            assert abs(ratios[witness] - most) <= leeway


@pytest.mark.parametrize("count", [33, 65, pytest.param(513, marks=pytest.mark.deep)])
def test_at_the_edges_of_tiles(count):
    """Whatever the size, the worst triple is found, in the corners of the tiles too, by any number of workers."""
    space, law = make_space(count), np.random.default_rng(count).uniform(1, 2, size=(count, count))
    for w, other, output in [(0, count - 1, count - 1), (count - 1, 0, 0), (count - 2, count - 1, count // 2)]:
        planted = law.copy()
        planted[w, output], planted[other, output] = 1.9, 1e-9
        planted /= planted.sum(axis=1, keepdims=True)
        expected = brute_force(planted, space)
        for workers in (1, 3):
            verdict, witness = find(planted, space, workers)
            assert witness[1:] == (other, output)
            assert verdict.epsilon == pytest.approx(expected, rel=1e-9)


def test_zeros():
    """An output that nobody ever gives adds nothing; one zero against any probability, however small, is infinite."""
    space = dn.Space(["a", "b", "c"], [[0.0], [1.0], [3.0]])
    law = np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0], [0.25, 0.75, 0.0]])
    verdict, witness = find(law, space)
    assert verdict.epsilon == pytest.approx(math.log(2))
    assert witness == (0, 1, 0)
    law[0, 2] = 1e-300
    verdict, witness = find(law, space)
    assert verdict.epsilon == math.inf
    assert witness in {(0, 1, 2), (0, 2, 2)}


@settings(max_examples=20)
@given(count=st.integers(2, 40), seed=st.integers(0, 2**32 - 1), zeros=st.floats(0, 0.5))
def test_any_shape(count, seed, zeros):
    """For any number of words, outputs that nobody gives among them, epsilon is that of brute force."""
    generator, space = np.random.default_rng(seed), make_space(count, seed)
    law = generator.dirichlet(np.ones(count), size=count) + 1e-9
    law[:, np.append(False, generator.random(count - 1) < zeros)] = 0.0
    law /= law.sum(axis=1, keepdims=True)
    expected = brute_force(law, space)
    assert find(law, space)[0].epsilon == pytest.approx(max(expected, 0.0), rel=1e-8, abs=1e-8)
