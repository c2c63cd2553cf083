"""The theorem about multivariate Laplace noise, held against its exact law in one and in two dimensions."""

import itertools
import math

import numpy as np
import pytest

import deniable as dn
from tests.contracts.statistics import THRESHOLD, fit, sample

LINE = dn.Space([f"w{i}" for i in range(7)], [[-1.0], [-0.2], [0.0], [0.15], [0.9], [1.6], [2.0]])
PLANE = dn.Space([f"w{i}" for i in range(12)], np.random.default_rng(12).normal(size=(12, 2)))
EPSILON = 2.0
deep = pytest.mark.deep
FAR = 100.0
"""Half the side of the square that the cells of the plane are cut to: beyond lies a mass below 1e-19."""


def beyond(t, epsilon):
    """Return P(N > t) for t >= 0, N of density (epsilon / 2) exp(-epsilon |z|)."""
    return math.exp(-epsilon * t) / 2


def interval(low, high, epsilon):
    """Return P(low < N < high) without cancellation."""
    if low >= 0:
        return -beyond(low, epsilon) * math.expm1(-epsilon * (high - low))
    if high <= 0:
        return interval(-high, -low, epsilon)
    return 1 - beyond(high, epsilon) - beyond(-low, epsilon)


def law_on_a_line(space, epsilon):
    """Return the law (n, n) of words on a line, in order: the noise's mass on the intervals nearest to each."""
    spots = space.vectors[:, 0]
    ends = [-math.inf, *(spots[1:] + spots[:-1]) / 2, math.inf]
    return np.array([[interval(a - w, b - w, epsilon) for a, b in itertools.pairwise(ends)] for w in spots])


def cell(spots, number):
    """Return the corners (k, 2) of the part of a square that is nearest to one spot, in order."""
    corners = [np.array(corner) for corner in [(-FAR, -FAR), (FAR, -FAR), (FAR, FAR), (-FAR, FAR)]]
    here = spots[number]
    for other in np.delete(spots, number, axis=0):
        normal, offset = other - here, (other @ other - here @ here) / 2
        sides = [corner @ normal - offset for corner in corners]
        kept = []
        for i, (corner, side) in enumerate(zip(corners, sides, strict=True)):
            following = (i + 1) % len(corners)
            if side <= 0:
                kept.append(corner)
            if side * sides[following] < 0:
                kept.append(corner + side / (side - sides[following]) * (corners[following] - corner))
        corners = kept
    return np.array(corners)


NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)


def mass(corners, centre, epsilon):
    """Return the mass of a polygon under density epsilon^2 / (2 pi) exp(-epsilon r) around a centre.

    1 - (1 + epsilon R) exp(-epsilon R) is the mass within R, per angle; over an edge at distance h
    from the centre, R = h cosh(u) and d(angle) = du / cosh(u).
    """
    total = 0.0
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        along = (end - start) / np.linalg.norm(end - start)
        height = along[1] * (start - centre)[0] - along[0] * (start - centre)[1]
        low, high = (math.asinh(corner @ along / abs(height)) for corner in (start - centre, end - centre))
        u = low + (high - low) * (NODES + 1) / 2
        reach = epsilon * abs(height) * np.cosh(u)
        within = (1 - (1 + reach) * np.exp(-reach)) / np.cosh(u)
        total += math.copysign((high - low) / 2 * float(WEIGHTS @ within), height)
    return total / (2 * math.pi)


def law_on_a_plane(space, epsilon):
    """Return the law (n, n) of words on a plane: the noise's mass on the polygons nearest to each."""
    cells = [cell(space.vectors, number) for number in range(len(space))]
    return np.array([[mass(corners, centre, epsilon) for corners in cells] for centre in space.vectors])


LAWS = {"line": (LINE, law_on_a_line), "plane": (PLANE, law_on_a_plane)}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("epsilon", [2.0, *(pytest.param(epsilon, marks=deep) for epsilon in (0.5, 6.0))])
def test_the_claim_holds(name, epsilon):
    """The exact law keeps the claim of the theorem."""
    space, law = LAWS[name]
    matrix = law(space, epsilon)
    assert matrix.sum(axis=1) == pytest.approx(1.0, abs=1e-9)
    verdict = dn.verify(matrix / matrix.sum(axis=1, keepdims=True), space=space, epsilon=epsilon * (1 + 1e-9))
    assert verdict.status == "proved"
    assert verdict.lower_bound > 0.7 * epsilon


def test_the_claim_is_tight_on_a_line():
    """On a line the whole of the claim is spent, at an end: any smaller claim is refuted."""
    verdict = dn.verify(law_on_a_line(LINE, EPSILON), space=LINE, epsilon=EPSILON * (1 - 1e-9))
    assert verdict.status == "refuted"
    assert verdict.witness.output in {"w0", "w6"}
    assert verdict.lower_bound == pytest.approx(EPSILON, rel=1e-9)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("word", ["w3", pytest.param("w0", marks=deep)])
def test_the_sampler_has_that_law(name, word):
    """Draws fit the exact law, and draws with epsilon 30 % off do not."""
    space, law = LAWS[name]
    row = law(space, EPSILON)[space.index_of(word)]
    assert fit(sample(dn.MultivariateLaplace(space, epsilon=EPSILON), word), row) > THRESHOLD
    assert fit(sample(dn.MultivariateLaplace(space, epsilon=1.3 * EPSILON), word), row) < THRESHOLD
