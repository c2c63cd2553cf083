"""The law on rings of a graph: tables, draws, proof and outcomes against brute force over all pairs and outputs."""

import hashlib
import itertools
import math
from decimal import Decimal, Inexact, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from tests.contracts.statistics import FEW_DRAWS, THRESHOLD, fit, streams
from tests.refusals import refuses

FLOOR, TOTAL = 2**24, 2**62


def make_space(count, neighbours=4, reach=5, *, classes=0, islands=1, seed=0):
    """Return a space of random lists of near words: of three words in each hidden class, none near to other islands."""
    generator = np.random.default_rng(seed)
    near = np.full((count, 7), -1)
    for word in range(count):
        others = np.arange(word % islands, count, islands)
        others = generator.permutation(others[others != word])[:7]
        near[word, : len(others)] = others
    hide = [dn.WordClass(f"c{k}", frozenset(f"w{word}" for word in range(3 * k, 3 * k + 3))) for k in range(classes)]
    words = [f"w{word}" for word in range(count)]
    return dn.Space(words, near=near, metric=dn.Metric.steps(neighbours, reach), hide=hide)


def make_islands():
    """Return five words that are neighbours of each other, and a ring of others, which all have alike neighbours."""
    near = [[other for other in range(5) if other != word] for word in range(5)]
    near += [[5 + (word + step) % 60 for step in (1, -1, 2, -2)] for word in range(60)]
    return dn.Space([f"w{word}" for word in range(65)], near=near, metric=dn.Metric.steps(4, reach=3))


SPACES = {
    "words": lambda: make_space(80),
    "classes": lambda: make_space(70, classes=2),
    "near": lambda: make_space(64, reach=2, classes=1),
    "far": lambda: make_space(90, 2, reach=8, classes=1),
    "islands": make_islands,
    "three islands": lambda: make_space(90, islands=3),
    "all joined": lambda: make_space(13, 12),
    "one word": lambda: make_space(4, classes=1),
    "only classes": lambda: make_space(6, classes=2),
    "two words": lambda: make_space(2),
}
KERNELS = [(0.05, math.inf), (1.0, math.inf), (3.0, math.inf), (9.0, math.inf), (2.0, 0.5), (2.5, 1.5), (4.0, 3.0)]
every_space = pytest.mark.parametrize("name", SPACES)


def make_law(name, scale=1.7, cutoff=math.inf):
    """Return a law on one of the spaces."""
    return dn.laws.RingLaw(SPACES[name](), dn.laws.ExponentialKernel(scale, cutoff))


def gather(law):
    """Return the tables (n, n) of all points, their logarithms in more digits than float64 has, and distances."""
    points = np.arange(law.space.point_count)
    tables = law.tables(points)
    return tables, np.log(tables.astype(np.longdouble)), law.space.distances(points)


def find_losses(logs):
    """Return (n, n) the largest loss over all outputs of each pair."""
    return np.array([(row - logs).max(axis=1) for row in logs])


@every_space
@pytest.mark.parametrize(("scale", "cutoff"), KERNELS)
def test_rows_and_tables_are_those_of_the_distances(name, scale, cutoff):
    """Rows are the kernel's; entries are to the last unit those of the definition, and what is left is the input's."""
    law = make_law(name, scale, cutoff)
    tables, _, distances = gather(law)
    count = len(tables)
    with localcontext(prec=60):
        decays = {step: float((-Decimal(scale) * Decimal(min(step, cutoff))).exp()) for step in {*distances.flat}}
    weights = np.vectorize(decays.get)(distances)
    rows = weights / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(law.rows(range(count)), rows, rtol=1e-14)
    is_word = np.arange(count) < law.space.graph.word_count
    for point, row in enumerate(distances):
        # Added up ring by ring, nearest first: words at as many steps as a class is are a ring before that of classes.
        kinds = (is_word, ~is_word) if is_word[point] else (np.ones(count, dtype=bool),)
        rings = [((row == step) & kind).sum() * decays[step] for step in sorted({*row}) for kind in kinds]
        shares = [decays[step] / sum(rings[1:], rings[0]) for step in row]
        expected = [FLOOR + int(float(TOTAL - count * FLOOR) * share) for share in shares]
        expected[point] += TOTAL - sum(expected)
        assert tables[point].tolist() == expected
    assert {sum(row) for row in tables.tolist()} == {TOTAL}
    assert tables.min() >= FLOOR
    blocks = law.map_rows(lambda first, block: (first, block.copy()), np.array([1, 0, 1]))
    np.testing.assert_array_equal(np.concatenate([block for _, block in sorted(blocks)]), law.rows([1, 0, 1]))


class Numbers:
    """Streams that hold given numbers."""

    def __init__(self, values):
        self.values = values

    def bits(self):
        """Return them."""
        return np.array(self.values, dtype=np.uint64)


def order_outputs(graph, point):
    """Return all points in the order in which numbers count through them about a point, by sets and lists."""
    classes = [other for other in range(graph.word_count, graph.count) if other != point]
    if point >= graph.word_count:
        return [point, *range(graph.word_count), *classes]
    ball = ring = [point]
    for _ in range(1, graph.reach):
        around = [int(other) for near in ring for other in graph.neighbours[near]]
        ring = [other for other in dict.fromkeys(around) if other not in ball]
        ball = ball + ring
    far = []
    for place in range(graph.word_count - len(ball)):
        output = place
        while output in ball:
            output = graph.word_count - len(ball) + ball.index(output)
        far.append(output)
    return [*ball, *far, *classes]


def draw(law, point, number):
    """Return the output of a 64-bit number, of which the upper 62 bits count."""
    order = order_outputs(law.space.graph, point)
    sums = itertools.accumulate(law.tables([point])[0, order].tolist())
    return next(output for output, end in zip(order, sums, strict=True) if number >> 2 < end)


@every_space
def test_draws_are_those_of_the_numbers(name):
    """The first and the last number of each output of each input give it, in one thread and in two."""
    law = make_law(name, 0.6)
    points, outputs, numbers = [], [], []
    for point, row in enumerate(gather(law)[0]):
        order = order_outputs(law.space.graph, point)
        assert sorted(order) == list(range(len(row)))
        ends = np.cumsum(row[order])
        for output, end, size in zip(order, ends.tolist(), row[order].tolist(), strict=True):
            points += [point] * 2
            outputs += [output] * 2
            numbers += [(end - size) << 2, ((end - 1) << 2) + 3]
    shuffled = np.random.default_rng(1).permutation(len(points))
    points, outputs = np.array(points, dtype=np.int32)[shuffled], np.array(outputs)[shuffled]
    numbers = [numbers[place] for place in shuffled]
    for workers in (1, 2):
        np.testing.assert_array_equal(law.sample(points, Numbers(numbers), workers), outputs)
    few = slice(0, 40)
    np.testing.assert_array_equal(law.sample(points[few], Numbers(numbers[few])), outputs[few])
    assert law.sample(points[:0], Numbers([])).shape == (0,)


@settings(max_examples=30)
@given(
    numbers=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=30),
    reach=st.sampled_from([2, 5, 8]),
    classes=st.integers(0, 2),
    scale=st.floats(0.01, 12),
    is_large=st.booleans(),
)
def test_draws_of_any_numbers(numbers, reach, classes, scale, is_large):
    """Whatever the numbers and the reach, the output is that of the slow count; so it is where points take 32 bits."""
    law = dn.laws.RingLaw(make_space(150, 2, reach, classes=classes), dn.laws.ExponentialKernel(scale))
    graph = law.space.graph
    vars(graph)["searched"] = graph.neighbours.astype(np.int32 if is_large else np.uint16)
    points = np.random.default_rng(len(numbers)).integers(law.space.point_count, size=len(numbers)).astype(np.int32)
    expected = [draw(law, int(point), number) for point, number in zip(points, numbers, strict=True)]
    assert law.sample(points, Numbers(numbers)).tolist() == expected


@pytest.mark.parametrize(("name", "inputs"), [("words", (3, 40)), ("far", (60, 88)), ("classes", (5, 65))])
def test_draws_fit_the_law_and_no_other(name, inputs):
    """Draws of a word, and of a class, fit their row, and not that of a law 30 % off."""
    law, off = make_law(name, 0.5), make_law(name, 0.65)
    for point in inputs:
        drawn = law.sample(np.full(FEW_DRAWS, point, dtype=np.int32), streams(FEW_DRAWS, "ring", name, point))
        counts = np.bincount(drawn, minlength=law.space.point_count)
        assert fit(counts, law.rows([point])[0]) > THRESHOLD
        assert fit(counts, off.rows([point])[0]) < THRESHOLD


@every_space
@pytest.mark.parametrize(("scale", "cutoff"), [*KERNELS, (1e-4, math.inf), (40.0, math.inf), (500.0, math.inf)])
def test_epsilon_is_that_of_all_pairs_and_outputs(name, scale, cutoff):
    """The proof is the largest loss per step of all pairs and outputs of the tables, which its witness attains."""
    law = make_law(name, scale, cutoff)
    _, logs, distances = gather(law)
    np.fill_diagonal(distances, np.inf)
    worst = float((find_losses(logs) / distances).max())
    found = law.exact_epsilon()
    finding = found
    assert found.is_exhaustive
    assert not found.is_ideal
    assert worst <= finding.epsilon <= worst + 1e-9
    assert worst - 1e-9 <= finding.lower_bound <= worst
    assert finding.distance == distances[finding.input, finding.other]
    loss = float(logs[finding.input, finding.output] - logs[finding.other, finding.output])
    assert finding.loss == pytest.approx(loss, abs=1e-13)


@settings(max_examples=30)
@given(
    count=st.integers(2, 50),
    neighbours=st.sampled_from([2, 4, 6]),
    reach=st.integers(2, 8),
    islands=st.integers(1, 4),
    kernel=st.tuples(st.floats(1e-12, 60), st.one_of(st.just(math.inf), st.floats(0.01, 9))),
)
def test_proof_covers_any_graph(count, neighbours, reach, islands, kernel):
    """No pair and output of any law loses more than is proved, and the witness loses what it is said to lose."""
    law = dn.laws.RingLaw(make_space(count, neighbours, reach, islands=islands), dn.laws.ExponentialKernel(*kernel))
    _, logs, distances = gather(law)
    np.fill_diagonal(distances, np.inf)
    losses = find_losses(logs)
    finding, worst = law.exact_epsilon(), float((losses / distances).max())
    assert finding.lower_bound <= worst <= finding.epsilon
    check_losses(law, logs, losses)


def check_losses(law, logs, losses):
    """Hold the bounds on losses against those of all pairs, which they exceed by what normalisers differ by at most."""
    np.fill_diagonal(losses, 0.0)
    both_ways = np.maximum(losses, losses.T)
    count, words = len(logs), law.space.graph.word_count
    spread = float(max(np.ptp(logs.diagonal()), np.ptp(law.log_normalisers))) + 1e-9
    bounds = law.input_losses(np.arange(count))
    assert (both_ways.max(axis=1) <= bounds).all()
    assert bounds.max() == law.worst_loss() <= float(both_ways.max()) + spread
    np.testing.assert_array_equal(law.input_losses([count - 1, 0]), bounds[[count - 1, 0]])
    between_words, at_classes = law.bound_far_losses()
    assert both_ways[:words, :words].max(initial=-np.inf) <= between_words
    assert both_ways[:, words:].max(initial=0.0) <= at_classes


@every_space
@pytest.mark.parametrize(("scale", "cutoff"), [*KERNELS, (1e-9, math.inf)])
def test_losses_and_divergences_are_bounds(name, scale, cutoff):
    """No pair loses more in nats than is said of it, or of any; no Renyi divergence of two tables is larger."""
    law = make_law(name, scale, cutoff)
    tables, logs, _ = gather(law)
    check_losses(law, logs, find_losses(logs))
    shares = tables / TOTAL
    for order in (1.01, 2.0, 16.0):
        moments = np.exp(order * np.log(shares)) @ np.exp((1 - order) * np.log(shares)).T
        worst, bound = np.log(moments).max() / (order - 1), law.renyi(order)
        assert worst <= bound <= -math.log(shares.min()) + 1e-8


def test_rounding_of_many_words_is_covered():
    """Where steps hardly count, rounding is all that inputs differ by, and it is in the bounds."""
    law = dn.laws.RingLaw(make_space(700, 12), dn.laws.ExponentialKernel(1e-13))
    logs = gather(law)[1]
    finding = law.exact_epsilon()
    some = np.arange(0, 700, 50)
    losses = np.array([np.maximum(logs[point] - logs, logs - logs[point]).max(axis=1) for point in some])
    distances = law.space.distances(some)
    distances[distances == 0] = np.inf
    assert (losses / distances).max() <= finding.epsilon
    assert (losses.max(axis=1) <= law.input_losses(some)).all()


PRIORS = {
    "uneven": lambda count: np.random.default_rng(6).pareto(1.0, size=count),
    "zeros": lambda count: np.where(np.arange(count) % 3 == 1, np.arange(count) + 1.0, 0.0),
    "equal": np.ones,
    "pairs": lambda count: 1.0 + np.arange(count) // 2 % 3,
    "one": lambda count: np.eye(count)[count // 2],
    "two": lambda count: np.eye(count)[[count // 3, 2 * count // 3]].sum(axis=0),
    "last": lambda count: np.eye(count)[-1],
}


@every_space
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("scale", "cutoff"), [(0.3, math.inf), (1.7, math.inf), (6.0, math.inf), (2.0, 1.0)])
def test_outcomes_are_those_of_all_pairs(name, prior, scale, cutoff):
    """How often each word stays and is guessed is what the matrix says; of equal guesses the first point counts."""
    law = make_law(name, scale, cutoff)
    space, count = law.space, law.space.point_count
    weights = PRIORS[prior](len(space))
    weights = weights / weights.sum()
    best_words = [max(np.flatnonzero(space.point_by_word == y), key=lambda w: (weights[w], -w)) for y in range(count)]
    rows = law.rows(range(count))
    joint = weights[best_words][:, None] * rows
    guessed = np.zeros(len(space))
    for output in range(count):
        # Products that differ by rounding alone are equal.
        point = np.flatnonzero(joint[:, output] >= joint[:, output].max() * (1 - 1e-13))[0]
        guessed[best_words[point]] += rows[point, output]
    shares = law.outcomes(weights)
    np.testing.assert_allclose(shares.guessed, guessed, rtol=1e-12, atol=1e-15)
    sizes = np.bincount(space.point_by_word)[space.point_by_word]
    np.testing.assert_allclose(shares.kept, rows.diagonal()[space.point_by_word] / sizes, rtol=1e-12)
    assert weights @ shares.guessed == pytest.approx(joint.max(axis=0).sum(), rel=1e-12)


def test_no_word_without_weight_is_guessed_where_probabilities_underflow():
    """However unlikely an output is, the guess behind it is a word that has a chance to be the input."""
    space = make_space(60, classes=1)
    prior = np.eye(len(space))[0]
    shares = dn.laws.RingLaw(space, dn.laws.ExponentialKernel(300.0)).outcomes(prior)
    assert shares.guessed == pytest.approx(prior)


def test_what_has_no_rings_is_refused(small_space):
    """Distances of vectors, and weights of points, make no law on rings."""
    with refuses("steps", dn.NotTractable):
        dn.laws.RingLaw(small_space, dn.laws.ExponentialKernel(1.0))
    space = make_space(20)
    with refuses("weights", dn.NotTractable):
        dn.laws.RingLaw(space, dn.laws.ExponentialKernel(1.0, weights=np.ones(20)))


def test_law_is_named_by_space_and_kernel():
    """Equal laws have one fingerprint; another scale, cutoff or space has another."""
    laws = [make_law("words"), make_law("words", 1.8), make_law("words", 1.7, 2.0), make_law("classes")]
    assert len({law.fingerprint for law in laws}) == 4
    assert make_law("words").fingerprint == laws[0].fingerprint
    assert laws[0].is_tabulated
    assert laws[0].has_rows


def test_nothing_changes_that_a_proof_rests_on():
    """The tables and rings that are proved are those that are drawn from: they, and the graph, cannot be written."""
    law = make_law("classes")
    graph = law.space.graph
    for array in (law.entries, law.log_normalisers, graph.counts, graph.steps, graph.neighbours):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError, match="reach"):
        graph.reach = 3


def test_tables_are_those_of_every_decimal_context():
    """What a caller has set for decimal numbers of their own changes no law: proofs are kept by the kernel alone."""
    entries = make_law("words").entries
    with localcontext() as context:
        context.prec = 1
        np.testing.assert_array_equal(make_law("words").entries, entries)
        context.traps[Inexact] = True
        np.testing.assert_array_equal(make_law("words").entries, entries)


def test_tables_and_draws_are_those_of_every_processor():
    """Graph, tables and draws are the same to the last bit wherever they are computed."""
    law = dn.laws.RingLaw(dn.Space.glove(2000), dn.laws.ExponentialKernel(1.3))
    points = np.arange(law.space.point_count, dtype=np.int32)
    drawn = law.sample(np.tile(points, 5), streams(5 * len(points), "processors"))
    parts = (law.space.graph.neighbours, law.entries, drawn)
    assert [hashlib.blake2b(part.tobytes(), digest_size=8).hexdigest() for part in parts] == [
        "dfae579476f0d454",
        "a61179c0b7ea056d",
        "6498804e96dddf07",
    ]
