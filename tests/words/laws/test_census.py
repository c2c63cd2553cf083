"""The exponential family: its exact epsilon, and its rounding, against all pairs and outputs in 50 digits."""

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.words.laws.exponential import bound_rounding
from deniable.words.laws.kernel import sum_decays
from tests.contracts import reference

DIGITS = 50
ULPS = Decimal("1e-13")
"""What two logarithms of entries, each rounded to float64, add to a loss."""


def largest(numerators, denominators):
    """Return the largest quotient over all outputs as a Decimal."""
    return max(Decimal(above) / Decimal(below) for above, below in zip(numerators, denominators, strict=True))


def exact_epsilon(rows, distances):
    """Return max over pairs and outputs of ln(rows[w][y] / rows[v][y]) / d(w, v), in 50 digits.

    Args:
        rows: for each input its outputs' weights, integers or Decimals, equally normalised.
        distances: integers.
    """
    pairs = itertools.permutations(range(len(rows)), 2)
    return max(largest(rows[w], rows[v]).ln() / Decimal(distances[w][v]) for w, v in pairs)


def ideal_rows(distances, family):
    """Return the law itself in 50 digits."""
    count = len(distances)
    scale, cutoff = Decimal(family.scale), Decimal(family.cutoff)
    weights = [1.0] * count if family.weights is None else family.weights.tolist()
    rows = [
        [Decimal(weights[y]) * (-scale * min(Decimal(row[y]), cutoff)).exp() for y in range(count)] for row in distances
    ]
    return [[value / sum(row) for value in row] for row in rows]


def prove(space, kernel):
    """Return what the closed form proves of a law, and its integer tables (n, n)."""
    law = dn.laws.ExponentialLaw(space, kernel)
    return law.exact_epsilon(), law.tables(np.arange(space.point_count))


def grid_space(vectors):
    """Return a space of integer vectors under the Manhattan metric, and its integer distances."""
    matrix = np.array(vectors, dtype=float)
    space = dn.Space([f"w{number}" for number in range(len(matrix))], matrix, metric="manhattan")
    return space, [[sum(abs(a - b) for a, b in zip(x, y, strict=True)) for y in vectors] for x in vectors]


GRIDS = st.lists(st.tuples(*[st.integers(-4, 4)] * 2), min_size=2, max_size=6, unique=True)
CUTOFFS = st.one_of(st.just(math.inf), st.floats(0.5, 20))


WEIGHTS = st.one_of(st.none(), st.lists(st.sampled_from([0.0, 1e-12, 0.5, 1.0, 7.0, 1e3]), min_size=9, max_size=9))
EXAMPLES = [pytest.param(30, id="few"), pytest.param(150, id="many", marks=pytest.mark.deep)]


def make_kernel(count, scale, cutoff, weights):
    """Return a kernel of so many points, the first of which has a weight."""
    return dn.laws.ExponentialKernel(scale, cutoff, None if weights is None else np.array([1.0, *weights[1:count]]))


def check_proof(space, distances, kernel):
    """Hold the proven bounds against all pairs and outputs, of the tables and of the law itself, in 50 digits."""
    found, table = prove(space, kernel)
    with localcontext(prec=DIGITS):
        sampled = exact_epsilon(table.tolist(), distances)
        assert Decimal(found.lower_bound) - ULPS <= sampled <= Decimal(found.epsilon)
        if kernel.weights is None or kernel.weights.all():
            ideal = exact_epsilon(ideal_rows(distances, kernel), distances)
            assert ideal <= Decimal(found.epsilon) <= ideal + Decimal("1e-6")
        if kernel.scale * max(map(max, distances)) < 5 and kernel.weights is None:
            assert Decimal(found.lower_bound) >= sampled - Decimal("1e-6")
            assert Decimal(found.epsilon) <= sampled + Decimal("1e-6")


@pytest.mark.parametrize("examples", EXAMPLES)
def test_proof_against_all_pairs_and_outputs(examples):
    """The proven epsilon covers the integer tables, is that of the law to 1e-6, and its lower bound is one."""

    @settings(max_examples=examples)
    @given(vectors=GRIDS, scale=st.floats(0.02, 30), cutoff=CUTOFFS, weights=WEIGHTS)
    @example(vectors=[(0, 0), (0, 1)], scale=40.0, cutoff=math.inf, weights=None)
    @example(vectors=[(0, 0), (4, 4), (-4, -4)], scale=3.0, cutoff=math.inf, weights=None)
    def check(vectors, scale, cutoff, weights):
        space, distances = grid_space(vectors)
        check_proof(space, distances, make_kernel(len(vectors), scale, cutoff, weights))

    check()


def find_worst(space, kernel, metric):
    """Return losses per distance (n, n), losses and distances of all pairs, straight from the formula."""
    distances = reference.distances(space.vectors, metric)
    near = np.minimum(distances, kernel.cutoff)
    logs = np.log(np.exp(-kernel.scale * near) @ (np.ones(len(near)) if kernel.weights is None else kernel.weights))
    losses = kernel.scale * near + logs[None, :] - logs[:, None]
    return losses / np.where(distances > 0, distances, np.inf), losses, distances


def check_worst(space, kernel, metric):
    """Hold the pair that a proof names against all others."""
    ratios, losses, distances = find_worst(space, kernel, metric)
    found = dn.laws.ExponentialLaw(space, kernel).exact_epsilon()
    worst = (found.input, found.other)
    assert ratios[worst] == pytest.approx(ratios.max(), rel=1e-7)
    assert found.distance == pytest.approx(distances[worst], rel=1e-9)
    assert found.epsilon == pytest.approx(ratios[worst], rel=1e-4 if metric == "angular" else 1e-6)
    assert found.lower_bound <= found.epsilon
    return found, losses[worst]


@pytest.mark.parametrize(
    ("metric", "cutoff", "weighted"),
    [
        ("euclidean", 2.0, True),
        ("steps", math.inf, False),
        *(
            pytest.param(metric, cutoff, weighted, marks=pytest.mark.deep)
            for metric in ("euclidean", "manhattan", "chebyshev", "angular", "steps")
            for cutoff, weighted in ((2.0, False), (math.inf, True))
        ),
    ],
)
def test_worst_pair_is_found(metric, cutoff, weighted):
    """Among 600 points the pair named is the worst of all, the right way round, with its loss."""
    generator = np.random.default_rng(8)
    vectors, weights = generator.normal(size=(600, 3)), generator.uniform(0.1, 3, size=600)
    space = dn.Space([f"w{number}" for number in range(600)], vectors, metric=metric)
    kernel = dn.laws.ExponentialKernel(1.7, cutoff, weights if weighted else None)
    found, loss = check_worst(space, kernel, metric)
    assert found.loss == pytest.approx(loss, rel=1e-4)
    rows = dn.laws.ExponentialLaw(space, kernel).tables(np.array([found.input, found.other])).astype(float)
    gains = np.log(rows[0]) - np.log(rows[1])
    assert found.loss == pytest.approx(gains[found.output], rel=1e-12)
    assert gains.max() - 1e-12 <= found.loss <= gains[found.input] + 1e-6  # beyond that of y = w it is rounding


@pytest.mark.parametrize(("spread", "offset"), [(1.0, 0.0), (1e-6, 0.0), (1e6, 0.0), (1.0, 1e3)])
def test_worst_pair_at_any_scale(spread, offset):
    """The pair named is the worst, in any units, of points that are nearly equal too."""
    vectors = np.random.default_rng(5).normal(size=(600, 5)) * spread + offset
    vectors[400], vectors[500] = vectors[5] + 1e-3 * spread, vectors[9] + 1e-4 * spread
    space = dn.Space([f"w{number}" for number in range(600)], vectors)
    for scale in (0.01, 0.4):
        check_worst(space, dn.laws.ExponentialKernel(scale / spread), "euclidean")
    for scale in (6.0, 40.0):  # the least entries of the tables are more probable than the law's
        kernel = dn.laws.ExponentialKernel(scale / spread)
        epsilon = dn.laws.ExponentialLaw(space, kernel).exact_epsilon().epsilon
        assert epsilon == pytest.approx(find_worst(space, kernel, "euclidean")[0].max(), rel=1e-6)


def test_workers_change_nothing(own_cache_folder):
    """The proof is the same for any number of workers."""
    space = dn.Space([f"w{n}" for n in range(600)], np.random.default_rng(2).normal(size=(600, 4)))
    found = []
    for workers in (1, 2):
        for file in own_cache_folder.iterdir():
            file.unlink()
        found.append(dn.laws.ExponentialLaw(space, dn.laws.ExponentialKernel(1.5)).exact_epsilon(workers))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("epsilon", "exact"),
    [
        (3, "1.965"),
        *(pytest.param(*case, marks=pytest.mark.deep) for case in ((1, "0.775"), (4, "2.414"), (8, "4.44"))),
    ],
)
def test_exact_epsilon_of_tem_on_glove(glove_2000, epsilon, exact):
    """TEM without truncation spends of its epsilon what was worked out before."""
    found = dn.verify(dn.TEM(glove_2000, epsilon=epsilon, gamma=math.inf)).epsilon
    assert f"{found:.{len(exact) - 2}f}" == exact


def test_proof_covers_one_unit_at_the_floor():
    """Two inputs with all but one law, whose least entries differ by a unit, lose what that unit makes, as proved."""
    scale = 1e-9
    room = float(2**62 - 3 * 2**24)
    far = math.ceil(math.log(room / 6) / scale)

    def prove_far(count):
        space, distances = grid_space([(0,), (1,), (count,)])
        return distances, *prove(space, dn.laws.ExponentialKernel(scale))

    distances, found, table = next(
        case for case in map(prove_far, range(far - 3, far + 4)) if case[2][0, 2] != case[2][1, 2]
    )
    assert abs(int(table[0, 2]) - int(table[1, 2])) == 1
    with localcontext(prec=DIGITS):
        assert exact_epsilon(table.tolist(), distances) > 10 * Decimal(scale)
        assert Decimal(found.epsilon) >= exact_epsilon(table.tolist(), distances)


def test_what_float64_cannot_hold_has_an_infinite_epsilon(small_space):
    """Neither a loss beyond all floats nor an input of weight 0 whose outputs underflow is proved to be anything."""
    assert prove(small_space, dn.laws.ExponentialKernel(1e308))[0].epsilon == math.inf
    line = dn.Space(["a", "b", "c"], [[0.0], [600.0], [600.2]])
    kernel = dn.laws.ExponentialKernel(1.0, weights=np.array([1.0, 0.0, 0.0]))
    assert dn.laws.ExponentialLaw(line, kernel).exact_epsilon().epsilon == math.inf


@pytest.mark.parametrize("scale", [0.1, 2.0, 30.0])
def test_rounding_bounds_what_float64_adds(scale):
    """The losses computed from normalisers differ from those in 50 digits, by no more than the bound."""
    vectors = np.unique(np.random.default_rng(5).choice(20, size=(40, 3)), axis=0).astype(float)
    space = dn.Space([f"w{number}" for number in range(len(vectors))], vectors, metric="manhattan")
    distances = np.abs(vectors[:, None] - vectors[None]).sum(axis=2).astype(int).tolist()
    kernel = dn.laws.ExponentialKernel(scale)
    logs = np.log(sum_decays(space, kernel)).tolist()
    with localcontext(prec=50):
        exact = [sum((-Decimal(scale) * apart).exp() for apart in row).ln() for row in distances]
        errors = [
            abs(
                Decimal(scale * distances[w][v] + logs[v] - logs[w])
                - (Decimal(scale) * distances[w][v] + exact[v] - exact[w])
            )
            for w, v in itertools.permutations(range(len(distances)), 2)
        ]
        assert 0 < max(errors) <= Decimal(bound_rounding(space, kernel))


def test_rounding_grows_with_the_scale(small_space):
    """The bound on rounding is positive, far below a nat, and never falls as the scale grows."""
    bounds = [bound_rounding(small_space, dn.laws.ExponentialKernel(scale)) for scale in (0.1, 1.0, 10.0, 1000.0)]
    assert 0 < bounds[0] <= bounds[1] <= bounds[2] <= bounds[3] < 1e-6
