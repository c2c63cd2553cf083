"""Verdicts about mechanisms and matrices: right ones proved, wrong ones refuted with the right witness."""

import dataclasses
import decimal
import functools
import json
import math

import numpy as np
import pandas as pd
import pytest

import deniable as dn
from tests.contracts import reference
from tests.refusals import refuses

deep = pytest.mark.deep


def set_max_inputs(monkeypatch, count):
    """Set the number of inputs up to which all outputs of a law are compared."""
    monkeypatch.setattr(dn.laws.tabulated, "MAX_MATRIX_INPUTS", count)


def manhattan(x, y):
    """Return Manhattan distances, as a user would give them."""
    return np.abs(x[:, None, :] - y[None, :, :]).sum(axis=2)


def whole_law(mechanism):
    """Return the law (n, n) that is sampled, over the points of the space."""
    points = range(mechanism.space.point_count)
    if mechanism.law.is_tabulated:
        return mechanism.law.tables(points) / 2.0**62
    return mechanism.law.rows(points)


def losses(probabilities):
    """Return (n, n, n) ln P(y|w) - ln P(y|w'); two zeros count as no evidence."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(probabilities)
        out = logs[:, None, :] - logs[None, :, :]
    return np.where(np.isnan(out), -math.inf, out)


def spent(probabilities, distances):
    """Return the exact epsilon of a law by brute force over all pairs and outputs."""
    apart = np.where(distances > 0, distances, 1.0)
    found = losses(probabilities).max(axis=2)
    np.fill_diagonal(found, -math.inf)
    return float((found / apart).max())


def check_witness(verdict, space, probabilities, distances, rel=1e-9):
    """Check that a verdict's witness has the loss that it states, and that no other triple loses more."""
    w, other, output = (space.index_of(word) for word in witnessed(verdict))
    found = losses(probabilities)
    assert w != other
    assert verdict.witness.distance == pytest.approx(distances[w, other], rel=1e-9)
    assert verdict.witness.loss == pytest.approx(found[w, other, output], rel=rel)
    assert found[w, other, output] / distances[w, other] == pytest.approx(spent(probabilities, distances), rel=rel)
    assert verdict.lower_bound == pytest.approx(spent(probabilities, distances), rel=rel)


def witnessed(verdict):
    return verdict.witness.input, verdict.witness.other, verdict.witness.output


def uniform_rows(count):
    return np.full((count, count), 1 / count)


@pytest.fixture(scope="module")
def lonely_space():
    """Return 30 words close together, all alike, and one far from them."""
    return dn.Space([f"w{i}" for i in range(31)], [*np.eye(30) / 1000, np.full(30, 30**-0.5)])


@pytest.fixture(scope="module")
def split_space():
    """Return 40 words on a line, of which those near -0.05 see half as not near and those at 0 do not."""
    spots = [-0.05, *np.linspace(0.0, 0.01, 19), *np.linspace(0.96, 0.99, 20)]
    return dn.Space([f"w{i}" for i in range(40)], np.array(spots)[:, None])


class WithoutTheHalf(dn.TEM):
    """TEM as if the normaliser cost nothing."""

    def build_law(self):
        return dn.laws.ExponentialLaw(self.space, dn.laws.ExponentialKernel(self.epsilon, self.cutoff))


class WrongBottom(dn.TEM):
    """TEM as a published package has it: the score of bottom is -gamma + (2 / epsilon) ln(n / |L_w|)."""

    def build_law(self):
        return dn.laws.TabulatedLaw(self.space, self._compute_rows)

    def _compute_rows(self, _, distances):
        near = distances <= self.cutoff
        close, count = near.sum(axis=1, keepdims=True), distances.shape[1]
        bottom = np.exp(-self.epsilon / 2 * self.cutoff) * count / close
        far = np.broadcast_to(bottom / np.maximum(count - close, 1), distances.shape)
        out = np.where(near, np.exp(-self.epsilon / 2 * distances), far)
        return out / out.sum(axis=1, keepdims=True)


class BottomIsTheInput(dn.TEM):
    """TEM as another package has it: the input is returned when bottom is drawn."""

    def build_law(self):
        return dn.laws.TabulatedLaw(self.space, self._compute_rows)

    def _compute_rows(self, _, distances):
        near = distances <= self.cutoff
        scores = np.exp(-self.epsilon / 2 * np.minimum(distances, self.cutoff))
        out = np.where(near, scores, 0.0)
        out[distances == 0.0] += np.where(near, 0.0, scores).sum(axis=1)
        return out / out.sum(axis=1, keepdims=True)


class AsTables(dn.TEM):
    """The law of TEM by rows of its own, so that no closed form is known."""

    def build_law(self):
        return dn.laws.TabulatedLaw(self.space, lambda _, distances: self.kernel(None, distances))


def untimed(verdict):
    return dataclasses.replace(verdict, seconds=0.0)


def shown_status(mechanism):
    """Return the status of the guarantee that a certificate shows."""
    return dn.Certificate.of(dn.Release(mechanism), dn.Tally(records=1, words=1)).guarantee["status"]


# Wrong on purpose -----------------------------------------------------------------------------


def test_the_factor_of_two_dropped(lonely_space):
    """The scale epsilon in place of epsilon / 2 is refuted, at the lonely word and by the closed form."""
    mechanism = WithoutTheHalf(lonely_space, epsilon=10.0)
    verdict = dn.verify(mechanism, cache=False)
    assert verdict.status == "refuted"
    assert (verdict.witness.input, verdict.witness.output) == ("w30", "w30")
    assert verdict.lower_bound == pytest.approx(10.0 + math.log(30), rel=0.01)
    check_witness(verdict, lonely_space, whole_law(mechanism), reference.distances(lonely_space.points))
    assert dn.verify(dn.TEM(lonely_space, epsilon=10.0), cache=False).status == "proved"


def test_a_wrong_score_of_bottom(split_space):
    """The wrong score is refuted with the worst of all triples, where TEM itself is proved."""
    mechanism = WrongBottom(split_space, epsilon=1.0, gamma=1.0)
    verdict = dn.verify(mechanism)
    assert verdict.status == "refuted"
    assert verdict.lower_bound > 10
    check_witness(verdict, split_space, whole_law(mechanism), reference.distances(split_space.points))
    assert dn.verify(dn.TEM(split_space, epsilon=1.0, gamma=1.0)).status == "proved"


@pytest.mark.parametrize("most", [3_000, 20])
def test_no_verdict_of_another_class(split_space, monkeypatch, tmp_path, most):
    """Three laws under one name and one set of parameters share a cache, and each has its own verdict."""
    monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path))
    set_max_inputs(monkeypatch, most)
    kinds = (dn.TEM, WrongBottom, BottomIsTheInput, WrongBottom, dn.TEM)
    made = [kind(split_space, epsilon=1.0, gamma=1.0) for kind in kinds]
    assert len({mechanism.fingerprint for mechanism in made}) == 1
    first = [dn.verify(mechanism) for mechanism in made]
    alone = [dn.verify(mechanism, cache=False) for mechanism in made]
    assert [untimed(verdict) for verdict in first] == [untimed(verdict) for verdict in alone]
    assert len({verdict.lower_bound for verdict in first}) == 3
    assert first[0].status == first[4].status == "proved"
    assert "proved" not in {verdict.status for verdict in first[1:4]}


def test_the_input_for_bottom(split_space):
    """An output that only some inputs can give is refuted; the floor of the tables alone bounds the loss."""
    mechanism = BottomIsTheInput(split_space, epsilon=1.0, gamma=1.0)
    verdict = dn.verify(mechanism)
    assert verdict.status == "refuted"
    check_witness(verdict, split_space, whole_law(mechanism), reference.distances(split_space.points))
    assert verdict.witness.loss > 20
    ideal = mechanism.law.rows(range(40))
    unbounded = dn.verify(ideal, space=split_space, epsilon=1.0)
    w, other, output = (split_space.index_of(word) for word in witnessed(unbounded))
    assert (unbounded.status, unbounded.lower_bound) == ("refuted", math.inf)
    assert ideal[w, output] > 0 == ideal[other, output]


@pytest.mark.parametrize(("factor", "side"), [(1.01, "input"), (1 / 1.01, "other")])
def test_one_entry_off_by_one_percent(small_space, factor, side):
    """A calibrated law with one entry of one row off by 1 % is refuted by that row and that output."""
    mechanism = dn.CalibratedExponential(small_space, epsilon=3.0)
    matrix = mechanism.law.rows(range(60))
    right = dn.verify(matrix, space=small_space, epsilon=3.0)
    assert right.status == "proved"
    row, column = (small_space.index_of(getattr(right.witness, name)) for name in (side, "output"))
    matrix[row, column] *= factor
    matrix[row] /= matrix[row].sum()
    verdict = dn.verify(matrix, space=small_space, epsilon=3.0)
    assert verdict.status == "refuted"
    assert getattr(verdict.witness, side) == small_space.words[row]
    assert verdict.witness.output == small_space.words[column]
    check_witness(verdict, small_space, matrix, reference.distances(small_space.points))


@pytest.mark.parametrize(("row", "column"), [(0, 0), (31, 59)])
def test_one_output_that_is_never_given(small_space, row, column):
    """A probability of 0 in one row alone is an infinite loss, which strict JSON can tell."""
    matrix = uniform_rows(60)
    matrix[row, column] = 0.0
    matrix[row] /= matrix[row].sum()
    verdict = dn.verify(matrix, space=small_space, epsilon=3.0)
    assert (verdict.status, verdict.epsilon, verdict.lower_bound) == ("refuted", math.inf, math.inf)
    assert (verdict.witness.other, verdict.witness.output) == (small_space.words[row], small_space.words[column])
    read = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert (read["epsilon"], read["lower_bound"], read["witness"]["loss"]) == ("inf",) * 3


@pytest.mark.parametrize("column", [0, 59])
def test_an_output_that_nobody_gives(small_space, column):
    """A column of zeros is no loss."""
    matrix = dn.TEM(small_space, epsilon=2.0).law.rows(range(60))
    matrix[:, column] = 0.0
    matrix /= matrix.sum(axis=1, keepdims=True)
    verdict = dn.verify(matrix, space=small_space, epsilon=2.0)
    assert verdict.status == "proved"
    assert verdict.epsilon == pytest.approx(spent(matrix, reference.distances(small_space.points)), rel=1e-9)


@pytest.mark.parametrize("zeros", [0, 1])
def test_a_law_that_ignores_its_input(small_space, zeros):
    """Where all inputs have one law nothing is lost, under any claim, and a witness is two words or none."""
    matrix = uniform_rows(60)
    matrix[:, :zeros] = 0.0
    matrix /= matrix.sum(axis=1, keepdims=True)
    verdict = dn.verify(matrix, space=small_space, epsilon=1e-3)
    assert (verdict.status, verdict.lower_bound) == ("proved", 0.0)
    assert 0.0 <= verdict.epsilon < 1e-9
    witness = verdict.witness
    assert witness is None or (witness.input != witness.other and witness.loss == 0.0)


def close_pair(seed, gap):
    """Return 40 words far apart but for two, whose rows of a table differ by rounding, and where they lie."""
    vectors = 5 * np.random.default_rng(seed).normal(size=(40, 4))
    vectors[1] = vectors[0] + [gap, 0, 0, 0]
    return dn.Space([f"w{i}" for i in range(40)], vectors)


@pytest.mark.parametrize("kind", [dn.TEM, AsTables])
@pytest.mark.parametrize("most", [3_000, 20])
def test_two_words_that_differ_by_rounding(monkeypatch, kind, most):
    """Two words 1.6e-9 apart lose more than the claim at an output that neither of them is: found at any size."""
    set_max_inputs(monkeypatch, most)
    space = close_pair(5, 1.6e-9)
    mechanism = kind(space, epsilon=8.0, gamma=math.inf)
    verdict = dn.verify(mechanism, cache=False)
    probabilities, distances = whole_law(mechanism), space.distances(range(40))
    w, other, output = (space.index_of(word) for word in witnessed(verdict))
    assert verdict.status == "refuted"
    assert output not in {w, other}
    assert 8 < verdict.lower_bound <= spent(probabilities, distances)
    assert losses(probabilities)[w, other, output] / distances[w, other] == pytest.approx(
        spent(probabilities, distances), rel=1e-6
    )


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=deep) for seed in (1, 2, 3))])
def test_a_guarantee_stands_no_higher_than_its_verdict(seed):
    """Where neither a witness nor a proof is found the guarantee of TEM is shown as undecided."""
    mechanism = dn.TEM(close_pair(seed, 1.6e-9), epsilon=8.0, gamma=math.inf)
    verdict = dn.verify(mechanism, cache=False)
    assert verdict.lower_bound <= 8 < verdict.epsilon
    assert verdict.status == "undecided"
    assert mechanism.guarantee.status == "proved"
    assert shown_status(mechanism) == "undecided"


@pytest.mark.parametrize("kind", [dn.CalibratedExponential, dn.TightExponential])
def test_calibrated_laws_over_words_that_differ_by_rounding(kind):
    """A law that is calibrated by its proof is refused where rounding alone breaks the claim, never shown as proved."""
    with refuses("rounding"):
        dn.verify(kind(close_pair(5, 1.6e-9), epsilon=8.0), cache=False)


# Right ones -----------------------------------------------------------------------------------


@functools.cache
def built(kind, metric, vectors):
    words = [f"w{i}" for i in range(len(vectors))]
    return kind(dn.Space(words, np.array(vectors), metric=metric), epsilon=3.0)


@pytest.mark.parametrize(
    ("kind", "metric"),
    [
        *((dn.TEM, metric) for metric in ("euclidean", "manhattan", "chebyshev", "angular")),
        (dn.CalibratedExponential, "euclidean"),
        (dn.TightExponential, "angular"),
        *(
            pytest.param(kind, metric, marks=deep)
            for kind in (dn.CalibratedExponential, dn.TightExponential)
            for metric in ("euclidean", "manhattan", "chebyshev", "angular")
        ),
    ],
)
def test_right_mechanisms_are_proved(small_vectors, kind, metric):
    """Every law is proved in every metric, with the epsilon of all pairs and outputs; so is its law as a matrix."""
    mechanism = built(kind, metric, tuple(map(tuple, small_vectors)))
    verdict, space = dn.verify(mechanism), mechanism.space
    probabilities, distances = whole_law(mechanism), reference.distances(small_vectors, metric)
    assert verdict.status == "proved"
    assert spent(probabilities, distances) <= verdict.epsilon <= verdict.claim == 3.0
    assert verdict.epsilon == pytest.approx(spent(probabilities, distances), rel=1e-5)
    check_witness(verdict, space, probabilities, distances, rel=1e-5)
    assert (verdict.confidence, verdict.samples) == (1.0, 0)
    assert "all 3,540 pairs and all outputs, closed form" in verdict.method
    matrix = np.array([mechanism.probabilities(word) for word in space.words])
    same = dn.verify(matrix, space=space, epsilon=3.0)
    assert same.status == "proved"
    assert same.epsilon == pytest.approx(verdict.epsilon, rel=1e-5)
    check_witness(same, space, matrix, distances)


def test_words_at_one_point(twin_space):
    """Words with equal vectors are one input of a mechanism, and a matrix must give them one law."""
    mechanism = dn.TEM(twin_space, epsilon=2.0)
    assert "all 20 pairs" in dn.verify(mechanism).method
    matrix = np.array([mechanism.probabilities(word) for word in twin_space.words])
    verdict = dn.verify(matrix, space=twin_space, epsilon=2.0)
    assert verdict.status == "proved"
    assert verdict.epsilon == pytest.approx(dn.verify(mechanism).epsilon, rel=1e-6)
    assert "all 132 pairs" in verdict.method
    twin, other = (twin_space.words[i] for i in (0, 3))
    assert twin_space.distance(twin, other) == 0.0
    matrix[3, 5] *= 1.01
    matrix[3] /= matrix[3].sum()
    broken = dn.verify(matrix, space=twin_space, epsilon=2.0)
    assert (broken.status, broken.epsilon) == ("refuted", math.inf)
    assert other in {broken.witness.input, broken.witness.other}
    assert broken.witness.distance == 0.0


def test_a_metric_of_the_users(small_vectors):
    """A mechanism over a function of the user's own is compared at every output, with the same result."""
    own = dn.Space([f"w{i}" for i in range(60)], small_vectors, metric=manhattan)
    verdict = dn.verify(dn.TEM(own, epsilon=3.0))
    named = dn.verify(built(dn.TEM, "manhattan", tuple(map(tuple, small_vectors))))
    assert verdict.status == "proved"
    assert verdict.method == "exact over all 3,540 pairs and all outputs of the integer tables"
    assert verdict.epsilon == pytest.approx(named.epsilon, rel=1e-6)
    assert witnessed(verdict) == witnessed(named)


def test_a_theorem(small_space):
    """Where no law is known the verdict is the theorem's, for the arithmetic that it is about, and computes nothing."""
    verdict = dn.verify(dn.MultivariateLaplace(small_space, epsilon=2.5))
    assert verdict.status == "proved for ideal arithmetic"
    assert (verdict.claim, verdict.epsilon, verdict.lower_bound) == (2.5, 2.5, 0.0)
    assert verdict.witness is None


@pytest.mark.parametrize("status", ["claimed", "refuted", "proved", "proved for ideal arithmetic"])
def test_a_theorem_that_proves_nothing(small_space, status):
    """What no theorem of this package proves and no law tells is undecided, whatever a class says of itself."""

    class Claimed(dn.MultivariateLaplace):
        @property
        def guarantee(self):
            return dataclasses.replace(super().guarantee, status=status)

    verdict = dn.verify(Claimed(small_space, epsilon=2.5))
    assert (verdict.status, verdict.epsilon) == ("undecided", math.inf)


# Cache ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "epsilon"),
    [
        (dn.TEM, 3.0),
        (dn.TruncatedGumbel, 60.0),
        *(pytest.param(kind, 3.0, marks=deep) for kind in (dn.CalibratedExponential, dn.TightExponential)),
    ],
)
def test_the_cache(small_vectors, own_cache_folder, kind, epsilon):
    """A verdict from the cache is the one that was kept and the one computed anew; without it no file is written."""
    space = dn.Space([f"w{i}" for i in range(60)], small_vectors)
    alone = dn.verify(kind(space, epsilon=epsilon), cache=False)
    assert kind is dn.TruncatedGumbel or not any(own_cache_folder.iterdir())
    first = dn.verify(kind(space, epsilon=epsilon))
    files = sorted(path.name for path in own_cache_folder.iterdir())
    assert files
    assert untimed(dn.verify(kind(space, epsilon=epsilon))) == untimed(first)
    assert untimed(alone) == untimed(first)
    assert sorted(path.name for path in own_cache_folder.iterdir()) == files


@pytest.mark.usefixtures("own_cache_folder")
def test_a_cached_finding_about_another_law_is_not_used(small_space):
    """Epsilon, gamma and the space tell findings apart."""
    other = dn.Space([f"x{i}" for i in range(60)], np.random.default_rng(1).normal(size=(60, 4)))
    made = [
        dn.TEM(small_space, epsilon=2.0),
        dn.TEM(small_space, epsilon=2.1),
        dn.TEM(small_space, epsilon=2.0, gamma=1.0),
        dn.TEM(other, epsilon=2.0),
    ]
    found = [dn.verify(mechanism).epsilon for mechanism in made]
    assert len(set(found)) == 4
    assert found == [dn.verify(mechanism, cache=False).epsilon for mechanism in made]


# Truncated Gumbel -----------------------------------------------------------------------------


def test_truncated_gumbel_that_is_simulated(small_space):
    """Where draws are simulated the exact epsilon is that of the ideal law, and proved for ideal arithmetic only."""
    mechanism = dn.TruncatedGumbel(small_space, epsilon=1e24)
    assert not mechanism.law.is_tabulated
    verdict = dn.verify(mechanism)
    matrix = np.array([mechanism.probabilities(word) for word in small_space.words])
    distances = reference.distances(small_space.points)
    assert verdict.status == "proved for ideal arithmetic"
    assert verdict.lower_bound <= spent(matrix, distances) <= verdict.epsilon
    assert verdict.epsilon == pytest.approx(spent(matrix, distances), rel=1e-6)
    assert shown_status(mechanism) == "claimed"


# Bad input ------------------------------------------------------------------------------------

ROW = [0.5, 0.25, 0.25]


@pytest.mark.parametrize(
    ("matrix", "value"),
    [
        ([ROW, ROW], "(2, 3)"),
        (np.ones((3, 4)) / 4, "(3, 4)"),
        (np.ones((3, 3, 3)) / 3, "(3, 3, 3)"),
        ([], "(0,)"),
        *((wrong, repr(wrong)) for wrong in (1.0, None, "P", "x", b"x", 3, {"a": 1})),
        (dn.TEM, "TEM"),
        ([ROW, [1.0], ROW], "array"),
        ([ROW, ROW, ["a", "b", "c"]], "array"),
        ([[0.5, 0.1, 0.1], [0.25, 0.4, 0.4], [0.25, 0.5, 0.5]], "P.T"),
        ([[2.0, 1.0, 1.0], ROW, ROW], "sum of 4"),
        ([ROW, [1.25, -0.25, 0.0], ROW], "-0.25"),
        ([ROW, ROW, [math.nan, 0.5, 0.5]], "Row 2"),
        ([[math.inf, 0.0, 0.0], ROW, ROW], "Row 0"),
        ([ROW, [0.5, 0.25, 0.2500001], ROW], "1.0000001"),
        ([ROW, ROW, [0.0, 0.0, 0.0]], "sum of 0"),
        (np.ma.masked_array([ROW, ROW, ROW], mask=np.eye(3)), "masked"),
        (np.array([ROW, ROW, ROW], dtype=complex), "complex128"),
        (pd.DataFrame([ROW] * 3), "P.loc[words, words]"),
    ],
)
def test_bad_matrices(matrix, value):
    """What is no probability matrix over the space is refused in one line, with the row that is wrong."""
    space = dn.Space(["a", "b", "c"], [[0.0], [1.0], [3.0]])
    with refuses(value):
        dn.verify(matrix, space=space, epsilon=1.0)


def test_bad_claims(small_space):
    """A matrix needs its space and a positive finite claim; a mechanism has its own, and so does no space."""
    mechanism, matrix = dn.TEM(small_space, epsilon=1.0), uniform_rows(60)
    for subject, options, value in (
        (matrix, {"epsilon": 1.0}, "'space'"),
        (matrix, {"space": "glove", "epsilon": 1.0}, "'glove'"),
        *(
            (matrix, {"space": small_space, "epsilon": bad}, "'epsilon'")
            for bad in (None, 0, -1, math.inf, "1", math.nan)
        ),
        (mechanism, {"space": small_space}, "its own"),
        (mechanism, {"epsilon": 1.0}, "its own"),
        (small_space, {}, "Space"),
        (3, {}, "3"),
    ):
        with refuses(value):
            dn.verify(subject, **options)


def test_a_matrix_that_is_too_large():
    """More words than can be compared are refused with the cost, and no work is done."""
    space = dn.Space([f"w{i}" for i in range(3001)], np.random.default_rng(0).normal(size=(3001, 2)))
    matrix = np.broadcast_to(1 / 3001, (3001, 3001))
    with refuses("3,001", dn.NotTractable):
        dn.verify(matrix, space=space, epsilon=1.0)


def test_workers_change_nothing(small_space):
    """The verdict does not depend on the number of threads."""
    for mechanism in (WrongBottom(small_space, epsilon=2.0, gamma=1.0), dn.TEM(small_space, epsilon=2.0)):
        verdicts = [untimed(dn.verify(mechanism, cache=False, workers=workers)) for workers in (1, 2, None)]
        assert verdicts == verdicts[:1] * 3


@pytest.mark.parametrize("gap", [1e-13, 1e-9, 1e-4, 0.1])
def test_rounding_of_tables_is_in_the_bounds(gap):
    """Between words that nearly coincide the bounds of a table enclose what its integers spend."""
    space = dn.Space(["a", "b", "c"], [[0.0], [gap], [1.0]], metric="chebyshev")
    mechanism = AsTables(space, epsilon=0.001)
    verdict = dn.verify(mechanism, cache=False)
    table = mechanism.law.tables(range(3))
    true = max(
        float((decimal.Decimal(int(table[w, y])) / decimal.Decimal(int(table[v, y]))).ln() / decimal.Decimal(apart))
        for w, v, apart in [(0, 1, gap), (1, 0, gap)]
        for y in range(3)
    )
    assert verdict.lower_bound <= verdict.epsilon
    assert true <= verdict.epsilon
    assert verdict.status != "refuted"
