"""The exponential family: its exact epsilon against all pairs and outputs in 50 digits, and its tiles."""

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import deniable as dn
from deniable.space.blocks import Edges
from deniable.words.laws import tables
from deniable.words.laws.exponential_proof import prove_exact_epsilon
from deniable.words.laws.kernel import ExponentialKernel
from deniable.words.laws.worst_pairs import bound_rounding, find_worst_pairs
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


def grid_space(vectors):
    """Return a space of integer vectors under the Manhattan metric, and its integer distances."""
    matrix = np.array(vectors, dtype=float)
    space = dn.Space([f"w{number}" for number in range(len(matrix))], matrix, metric="manhattan")
    return space, [[sum(abs(a - b) for a, b in zip(x, y, strict=True)) for y in vectors] for x in vectors]


GRIDS = st.lists(st.tuples(*[st.integers(-4, 4)] * 2), min_size=2, max_size=6, unique=True)
CUTOFFS = st.one_of(st.just(math.inf), st.floats(0.5, 20))


@given(
    vectors=GRIDS,
    scale=st.floats(0.02, 30),
    cutoff=CUTOFFS,
    weights=st.one_of(st.none(), st.lists(st.floats(1e-3, 1e3), min_size=6, max_size=6)),
)
@example(vectors=[(0, 0), (0, 1)], scale=40.0, cutoff=math.inf, weights=None)
@example(vectors=[(0, 0), (4, 4), (-4, -4)], scale=3.0, cutoff=math.inf, weights=None)
def test_proof_against_all_pairs_and_outputs(vectors, scale, cutoff, weights):
    """The proven epsilon covers the integer tables, is that of the law to 1e-6, and its lower bound is one."""
    space, distances = grid_space(vectors)
    family = ExponentialKernel(scale, cutoff, None if weights is None else np.array(weights[: len(vectors)]))
    found = prove_exact_epsilon(space, family)
    entries = tables.compute_table_entries(family.rows(space.distances(range(len(vectors))))).tolist()
    with localcontext(prec=DIGITS):
        sampled = exact_epsilon(entries, distances)
        ideal = exact_epsilon(ideal_rows(distances, family), distances)
        assert Decimal(found.epsilon) >= sampled
        assert ideal <= Decimal(found.epsilon) <= ideal + Decimal("1e-6")
        assert Decimal(found.lower_bound) <= sampled + ULPS
        if scale * max(map(max, distances)) < 5 and weights is None:
            assert Decimal(found.lower_bound) >= sampled - Decimal("1e-6")
            assert Decimal(found.epsilon) <= sampled + Decimal("1e-6")


@given(
    vectors=st.lists(st.tuples(*[st.integers(-9, 9)] * 2), min_size=3, max_size=9, unique=True),
    neighbours=st.integers(1, 2),
    scale=st.floats(0.02, 30),
    cutoff=CUTOFFS,
    weights=st.one_of(st.none(), st.lists(st.sampled_from([0.0, 1e-3, 0.5, 1.0, 1e3]), min_size=9, max_size=9)),
)
@example(vectors=[(0, 0), (0, 1), (1, 0), (7, 7), (7, 8), (8, 7)], neighbours=2, scale=1.0, cutoff=2.0, weights=None)
@example(vectors=[(n, 0) for n in range(9)], neighbours=1, scale=0.3, cutoff=math.inf, weights=None)
def test_edges_prove_all_pairs_and_outputs(vectors, neighbours, scale, cutoff, weights):
    """What the edges of a graph spend is what all pairs and all outputs spend, by the law and by the integer tables."""
    matrix = np.array(vectors, dtype=float)
    space = dn.Space([f"w{n}" for n in range(len(matrix))], matrix, metric=dn.Metric.geodesic(neighbours))
    distances = space.distances(range(len(matrix))).tolist()
    if weights is not None:
        weights = np.array([1.0, *weights[1 : len(matrix)]])
    family = ExponentialKernel(scale, cutoff, weights)
    found = prove_exact_epsilon(space, family)
    entries = tables.compute_table_entries(family.rows(np.array(distances))).tolist()
    with localcontext(prec=DIGITS):
        sampled = exact_epsilon(entries, distances)
        assert Decimal(found.lower_bound) - ULPS <= sampled <= Decimal(found.epsilon)
        if weights is None or weights.all():
            ideal = exact_epsilon(ideal_rows(distances, family), distances)
            assert ideal <= Decimal(found.epsilon) <= ideal + Decimal("1e-6")
        if scale * max(map(max, distances)) < 5 and weights is None:
            assert Decimal(found.lower_bound) >= sampled - Decimal("1e-6")


def test_edges_that_no_path_takes_change_nothing(monkeypatch):
    """An edge longer than a path between its ends has less than the pair of its ends, and the proof stays exact."""
    generator = np.random.default_rng(4)
    space = dn.Space([f"w{n}" for n in range(40)], generator.normal(size=(40, 3)), metric=dn.Metric.geodesic(4))
    expected = prove_exact_epsilon(space, ExponentialKernel(1.3, 2.5))
    distances = space.distances(range(40))
    far = np.argwhere(np.triu(distances) > 2)
    edges = Edges(
        np.concatenate([space.edges.ends, far]), np.append(space.edges.lengths, 1.001 * distances[far[:, 0], far[:, 1]])
    )
    monkeypatch.setattr(dn.Space, "edges", edges)
    found = prove_exact_epsilon(space, ExponentialKernel(1.3, 2.5))
    assert (found.epsilon, found.input, found.other) == (expected.epsilon, expected.input, expected.other)


@given(
    vectors=GRIDS,
    scale=st.floats(0.02, 10),
    cutoff=CUTOFFS,
    weights=st.lists(st.sampled_from([0.0, 1e-12, 0.5, 1.0, 7.0]), min_size=6, max_size=6),
)
def test_proof_with_outputs_of_weight_zero(vectors, scale, cutoff, weights):
    """Where some inputs are no outputs the proven epsilon still covers the integer tables."""
    weights = np.array(weights[: len(vectors)])
    weights[0] = 1.0
    space, distances = grid_space(vectors)
    family = ExponentialKernel(scale, cutoff, weights)
    found = prove_exact_epsilon(space, family)
    entries = tables.compute_table_entries(family.rows(space.distances(range(len(vectors))))).tolist()
    with localcontext(prec=DIGITS):
        sampled = exact_epsilon(entries, distances)
        assert Decimal(found.lower_bound) - ULPS <= sampled <= Decimal(found.epsilon)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "angular", "geodesic"])
@pytest.mark.parametrize("cutoff", [2.0, math.inf])
@pytest.mark.parametrize("weighted", [False, True])
def test_worst_pair_is_found(metric, cutoff, weighted):
    """Among 1,100 points the pair named is the worst of all, the right way round, with its loss."""
    generator = np.random.default_rng(8)
    vectors = generator.normal(size=(1100, 3))
    space = dn.Space([f"w{number}" for number in range(1100)], vectors, metric=metric)
    family = ExponentialKernel(1.7, cutoff, generator.uniform(0.1, 3, size=1100) if weighted else None)
    distances = reference.distances(vectors, metric)
    decay = np.exp(-1.7 * np.minimum(distances, cutoff))
    logs = np.log(decay.sum(axis=1) if not weighted else decay @ family.weights)
    losses = 1.7 * np.minimum(distances, cutoff) + logs[None, :] - logs[:, None]
    ratios = losses / np.where(distances > 0, distances, np.inf)
    found = prove_exact_epsilon(space, family)
    worst = np.unravel_index(np.argmax(ratios), ratios.shape)
    if metric == "geodesic":  # a path of two edges may have as much as either
        worst = (found.input, found.other)
        assert ratios[worst] == pytest.approx(ratios.max(), rel=1e-12)
    assert (found.input, found.other) == worst
    rows = tables.compute_table_entries(family.rows(space.distances([found.input, found.other]))).astype(float)
    gains = np.log(rows[0]) - np.log(rows[1])
    assert found.loss == pytest.approx(gains[found.output], rel=1e-12)
    assert gains.max() - 1e-12 <= found.loss <= gains[found.input] + 1e-6  # beyond that of y = w it is rounding
    assert found.distance == pytest.approx(distances[worst], rel=1e-9)
    assert found.epsilon == pytest.approx(ratios[worst], rel=1e-4 if metric == "angular" else 1e-6)
    assert found.loss == pytest.approx(losses[worst], rel=1e-4)
    assert found.lower_bound <= found.epsilon
    listed = find_worst_pairs(space, family, logs)
    assert len(listed) == {"geodesic": 64, "euclidean": len(listed)}.get(metric, 6)
    assert [one.epsilon for one in listed] == sorted((one.epsilon for one in listed), reverse=True)
    assert all(logs[one.input] <= logs[one.other] + 1e-9 for one in listed)


@pytest.mark.parametrize(
    ("epsilon", "exact"), [(1, "0.775"), (2, "1.475"), (3, "1.965"), (4, "2.414"), (6, "3.458"), (8, "4.44")]
)
def test_exact_epsilon_of_tem_on_glove(glove_2000, epsilon, exact):
    """TEM without truncation spends of its epsilon what was worked out before."""
    found = prove_exact_epsilon(glove_2000, ExponentialKernel(epsilon / 2)).epsilon
    assert f"{found:.{len(exact) - 2}f}" == exact


@pytest.mark.parametrize("scale", [0.1, 2.0, 30.0])
def test_rounding_bounds_what_float64_adds(scale):
    """The losses computed from normalisers differ from those in 50 digits, by no more than the bound."""
    vectors = np.random.default_rng(5).choice(20, size=(40, 3)).tolist()
    space, distances = grid_space([tuple(vector) for vector in dict.fromkeys(map(tuple, vectors))])
    family = ExponentialKernel(scale)
    logs = np.log(family.normalisers(space)).tolist()
    with localcontext(prec=DIGITS):
        exact = [sum((-Decimal(scale) * apart).exp() for apart in row).ln() for row in distances]
        errors = [
            abs(
                Decimal(scale * distances[w][v] + logs[v] - logs[w])
                - (Decimal(scale) * distances[w][v] + exact[v] - exact[w])
            )
            for w, v in itertools.permutations(range(len(distances)), 2)
        ]
        assert 0 < max(errors) <= Decimal(bound_rounding(space, family))


def test_proof_covers_one_unit_at_the_floor():
    """Two inputs with all but one law, whose least entries differ by a unit, lose what that unit makes, as proved."""
    scale = 1e-9
    room = float(tables.TABLE_TOTAL - 3 * tables.TABLE_FLOOR)
    far = math.ceil(math.log(room / 6) / scale)

    def least_entries(count):
        space, distances = grid_space([(0,), (1,), (count,)])
        return space, distances, tables.compute_table_entries(ExponentialKernel(scale).rows(space.distances(range(3))))

    space, distances, table = next(
        found for found in map(least_entries, range(far - 3, far + 4)) if found[2][0, 2] != found[2][1, 2]
    )
    assert abs(int(table[0, 2]) - int(table[1, 2])) == 1
    found = prove_exact_epsilon(space, ExponentialKernel(scale))
    with localcontext(prec=DIGITS):
        assert exact_epsilon(table.tolist(), distances) > 10 * Decimal(scale)
        assert Decimal(found.epsilon) >= exact_epsilon(table.tolist(), distances)


def test_rounding_grows_with_the_scale(small_space):
    """The bound on rounding is positive, far below a nat, and never falls as the scale grows."""
    bounds = [bound_rounding(small_space, ExponentialKernel(scale)) for scale in (0.1, 1.0, 10.0, 1000.0)]
    assert 0 < bounds[0] <= bounds[1] <= bounds[2] <= bounds[3] < 1e-6


def test_function_of_the_users_own_cannot_be_proved(small_space, small_vectors):
    """A metric of unknown rounding is refused by the proof."""

    def own(left, right):
        return np.abs(left[:, None] - right[None]).sum(axis=2)

    with pytest.raises(dn.NotTractable, match=r"rounding of the metric user function own is unknown"):
        prove_exact_epsilon(dn.Space(small_space.words, small_vectors, metric=own), ExponentialKernel(1.0))


def test_nothing_is_proved_of_inputs_whose_scores_underflow():
    """An input of weight 0, all of whose outputs underflow, has no law that float64 could hold."""
    space = dn.Space(["a", "b", "c"], [[0.0], [600.0], [600.2]])
    assert prove_exact_epsilon(space, ExponentialKernel(1.0, weights=np.array([1.0, 0.0, 0.0]))).epsilon == math.inf
