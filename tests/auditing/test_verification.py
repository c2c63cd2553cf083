"""Verdicts about mechanisms and matrices: right ones proved, wrong ones refuted with the right witness."""

import dataclasses
import decimal
import functools
import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

import deniable as dn
from deniable.auditing import verification
from deniable.core.evidence import limit_status
from deniable.published.truncated_gumbel.law import GumbelQuadrature
from deniable.published.truncated_gumbel.mechanism import compute_min_epsilon
from deniable.words.laws import (
    ExponentialKernel,
    ExponentialLaw,
    SimulatedLaw,
    Simulation,
    TabulatedLaw,
    quadrature,
    tables,
    tabulated,
)
from deniable.words.multivariate_laplace import NearestNoisyPoint
from tests.contracts import reference

METRICS = ("euclidean", "manhattan", "chebyshev", "angular")
EXACT_METHODS = "exact over all"


def set_max_inputs(monkeypatch, count):
    """Set the number of inputs up to which all outputs of a law are compared."""
    for module in (verification, quadrature, tabulated):
        monkeypatch.setattr(module, "MAX_MATRIX_INPUTS", count)


def manhattan(x, y):
    """Return Manhattan distances, as a user would give them."""
    return np.abs(x[:, None, :] - y[None, :, :]).sum(axis=2)


def whole_law(mechanism):
    """Return the law (n, n) that is sampled, over the points of the space."""
    points = range(len(mechanism.space.points))
    if mechanism.law.is_tabulated:
        return mechanism.law.tables(points) / tables.TABLE_TOTAL
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
        return ExponentialLaw(self.space, ExponentialKernel(self.epsilon, self.gamma))


class WrongBottom(dn.TEM):
    """TEM as a published package has it: the score of bottom is -gamma + (2 / epsilon) ln(n / |L_w|)."""

    def build_law(self):
        return TabulatedLaw(self.space, self._compute_rows)

    def _compute_rows(self, _, distances):
        near = distances <= self.gamma
        close, count = near.sum(axis=1, keepdims=True), distances.shape[1]
        bottom = np.exp(-self.epsilon / 2 * self.gamma) * count / close
        far = np.broadcast_to(bottom / np.maximum(count - close, 1), distances.shape)
        out = np.where(near, np.exp(-self.epsilon / 2 * distances), far)
        return out / out.sum(axis=1, keepdims=True)


class BottomIsTheInput(dn.TEM):
    """TEM as another package has it: the input is returned when bottom is drawn."""

    def build_law(self):
        return TabulatedLaw(self.space, self._compute_rows)

    def _compute_rows(self, _, distances):
        near = distances <= self.gamma
        scores = np.exp(-self.epsilon / 2 * np.minimum(distances, self.gamma))
        out = np.where(near, scores, 0.0)
        out[distances == 0.0] += np.where(near, 0.0, scores).sum(axis=1)
        return out / out.sum(axis=1, keepdims=True)


# Wrong on purpose -----------------------------------------------------------------------------


def test_the_factor_of_two_dropped(lonely_space):
    """The scale epsilon in place of epsilon / 2 is refuted, at the lonely word and by the closed form."""
    mechanism = WithoutTheHalf(lonely_space, epsilon=10.0)
    verdict = dn.verify(mechanism, cache=False)
    assert verdict.status == "refuted"
    assert "closed form" in verdict.method
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
    assert "integer tables" in verdict.method
    check_witness(verdict, split_space, whole_law(mechanism), reference.distances(split_space.points))
    assert dn.verify(dn.TEM(split_space, epsilon=1.0, gamma=1.0)).status == "proved"


def test_a_wrong_score_of_bottom_in_a_large_space(split_space, monkeypatch):
    """Where not all outputs are compared, the loss found is a true one and no less than that of any output y = w."""
    set_max_inputs(monkeypatch, 20)
    mechanism = WrongBottom(split_space, epsilon=1.0, gamma=1.0)
    verdict = dn.verify(mechanism)
    probabilities, distances = whole_law(mechanism), reference.distances(split_space.points)
    own = losses(probabilities)[np.arange(40), :, np.arange(40)]
    np.fill_diagonal(own, -math.inf)
    largest = float((own / np.where(distances > 0, distances, 1.0)).max())
    w, other, output = (split_space.index_of(word) for word in witnessed(verdict))
    loss = losses(probabilities)[w, other, output] / distances[w, other]
    assert verdict.lower_bound == pytest.approx(loss, rel=1e-9)
    assert verdict.status == "refuted"
    assert verdict.lower_bound >= largest * (1 - 1e-9)
    assert verdict.lower_bound > 10
    assert verdict.epsilon == math.inf
    assert "at the output y = w, and the worst and the nearest of them at all outputs" in verdict.method


@pytest.mark.parametrize("most", [3_000, 20])
def test_a_right_law_of_unknown_form_in_a_large_space(small_space, monkeypatch, most):
    """Rows of one's own are proved where all outputs are compared, and never where only some are."""

    class Plain(dn.TEM):
        def build_law(self):
            return TabulatedLaw(self.space, lambda _, distances: self.kernel.rows(distances))

    set_max_inputs(monkeypatch, most)
    verdict = dn.verify(Plain(small_space, epsilon=2.0))
    assert verdict.status == ("proved" if most == 3_000 else "not refuted")
    assert math.isfinite(verdict.epsilon) == (most == 3_000)
    assert verdict.lower_bound == pytest.approx(dn.verify(dn.TEM(small_space, epsilon=2.0)).epsilon, rel=1e-6)


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


@pytest.mark.parametrize(("row", "column"), [(0, 0), (3, 5), (59, 0), (31, 59)])
def test_one_output_that_is_never_given(small_space, row, column):
    """A probability of 0 in one row alone is an infinite loss, which text and strict JSON can tell."""
    matrix = uniform_rows(60)
    matrix[row, column] = 0.0
    matrix[row] /= matrix[row].sum()
    verdict = dn.verify(matrix, space=small_space, epsilon=3.0)
    assert (verdict.status, verdict.epsilon, verdict.lower_bound) == ("refuted", math.inf, math.inf)
    assert (verdict.witness.other, verdict.witness.output) == (small_space.words[row], small_space.words[column])
    assert f"never from {small_space.words[row]!r}" in str(verdict)
    assert "true epsilon infinite" in str(verdict)
    read = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert (read["epsilon"], read["lower_bound"], read["witness"]["loss"]) == ("inf",) * 3


@pytest.mark.parametrize("column", [0, 31, 59])
def test_an_output_that_nobody_gives(small_space, column):
    """A column of zeros is no loss."""
    matrix = dn.TEM(small_space, epsilon=2.0).law.rows(range(60))
    matrix[:, column] = 0.0
    matrix /= matrix.sum(axis=1, keepdims=True)
    verdict = dn.verify(matrix, space=small_space, epsilon=2.0)
    assert verdict.status == "proved"
    assert verdict.epsilon == pytest.approx(spent(matrix, reference.distances(small_space.points)), rel=1e-9)


def test_a_law_that_ignores_its_input(small_space):
    """Where all inputs have one law nothing is lost, under any claim."""
    verdict = dn.verify(uniform_rows(60), space=small_space, epsilon=1e-3)
    assert (verdict.status, verdict.lower_bound) == ("proved", 0.0)
    assert 0.0 <= verdict.epsilon < 1e-9


@pytest.mark.parametrize("zeros", [0, 1])
def test_the_witness_of_a_law_that_ignores_its_input(small_space, zeros):
    """A witness is two words and a loss of 0, or there is none, where all inputs have one law."""
    matrix = uniform_rows(60)
    matrix[:, :zeros] = 0.0
    matrix /= matrix.sum(axis=1, keepdims=True)
    witness = dn.verify(matrix, space=small_space, epsilon=1e-3).witness
    assert witness is None or (witness.input != witness.other and witness.loss == 0.0)


def close_pair(seed, gap):
    """Return 40 words far apart but for two, whose rows of a table differ by rounding, and where they lie."""
    vectors = 5 * np.random.default_rng(seed).normal(size=(40, 4))
    vectors[1] = vectors[0] + [gap, 0, 0, 0]
    return dn.Space([f"w{i}" for i in range(40)], vectors)


class AsTables(dn.TEM):
    """The law of TEM by rows of its own, so that no closed form is known."""

    def build_law(self):
        return TabulatedLaw(self.space, lambda _, distances: self.kernel.rows(distances))


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
    assert limit_status(mechanism.guarantee, verdict).status == "refuted"


@pytest.mark.parametrize("seed", range(4))
def test_a_guarantee_stands_no_higher_than_its_verdict(seed):
    """Where neither a witness nor a proof is found the guarantee of TEM is shown as undecided."""
    mechanism = dn.TEM(close_pair(seed, 1.6e-9), epsilon=8.0, gamma=math.inf)
    verdict = dn.verify(mechanism, cache=False)
    assert verdict.lower_bound <= 8 < verdict.epsilon
    assert verdict.status == "undecided"
    assert mechanism.guarantee.status == "proved"
    assert limit_status(mechanism.guarantee, verdict).status == "undecided"


@pytest.mark.parametrize("kind", [dn.CalibratedExponential, dn.TightExponential])
def test_calibrated_laws_over_words_that_differ_by_rounding(kind):
    """A law that is calibrated by its proof is refused where rounding alone breaks the claim, never shown as proved."""
    with pytest.raises(dn.InputError, match="rounding alone may add"):
        dn.verify(kind(close_pair(5, 1.6e-9), epsilon=8.0), cache=False)


# Right ones -----------------------------------------------------------------------------------


@functools.cache
def built(kind, metric, vectors):
    words = [f"w{i}" for i in range(len(vectors))]
    return kind(dn.Space(words, np.array(vectors), metric=metric), epsilon=3.0)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", [dn.TEM, dn.CalibratedExponential, dn.TightExponential])
def test_right_mechanisms_are_proved(small_vectors, metric, kind):
    """Every law of the family is proved in every metric, and its epsilon is that of all pairs and outputs."""
    mechanism = built(kind, metric, tuple(map(tuple, small_vectors)))
    verdict = dn.verify(mechanism)
    probabilities, distances = whole_law(mechanism), reference.distances(small_vectors, metric)
    assert verdict.status == "proved"
    assert spent(probabilities, distances) <= verdict.epsilon <= verdict.claim == 3.0
    assert verdict.epsilon == pytest.approx(spent(probabilities, distances), rel=1e-5)
    check_witness(verdict, mechanism.space, probabilities, distances, rel=1e-5)
    assert (verdict.confidence, verdict.samples) == (1.0, 0)
    assert "all 3,540 pairs and all outputs, closed form" in verdict.method


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", [dn.TEM, dn.CalibratedExponential, dn.TightExponential])
def test_a_matrix_has_the_verdict_of_its_mechanism(small_vectors, metric, kind):
    """The law of a mechanism, as anybody's matrix, has the mechanism's status and epsilon."""
    mechanism = built(kind, metric, tuple(map(tuple, small_vectors)))
    space = mechanism.space
    matrix = np.array([mechanism.probabilities(word) for word in space.words])
    verdict, own = dn.verify(matrix, space=space, epsilon=3.0), dn.verify(mechanism)
    assert verdict.status == own.status == "proved"
    assert verdict.epsilon == pytest.approx(own.epsilon, rel=1e-5)
    assert verdict.method == "exact over all 3,540 pairs and all outputs of the matrix"
    check_witness(verdict, space, matrix, reference.distances(small_vectors, metric))


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


def test_words_at_one_point_by_a_metric_of_the_users():
    """Equal words with equal rows are no loss under any metric."""
    space = dn.Space(["a", "b", "c"], [[0.0], [0.0], [1.0]], metric=manhattan)
    matrix = [[0.4, 0.4, 0.2], [0.4, 0.4, 0.2], [0.3, 0.3, 0.4]]
    assert dn.verify(matrix, space=space, epsilon=2.0).status == "proved"


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
    assert verdict.method == (
        "by theorem, nothing computed: Carvalho et al. 2021, Theorem 1; the noise is drawn in floating point"
    )
    assert verdict.witness is None
    assert "nothing computed" in str(verdict)


@pytest.mark.parametrize("status", ["claimed", "refuted"])
def test_a_theorem_that_proves_nothing(small_space, status):
    """What no theorem proves and no law tells is undecided, without an upper bound."""

    class Claimed(dn.MultivariateLaplace):
        @property
        def guarantee(self):
            return dataclasses.replace(super().guarantee, status=status)

    verdict = dn.verify(Claimed(small_space, epsilon=2.5))
    assert (verdict.status, verdict.epsilon) == ("undecided", math.inf)


# Cache ----------------------------------------------------------------------------------------


def untimed(verdict):
    return dataclasses.replace(verdict, seconds=0.0)


@pytest.mark.parametrize(
    ("kind", "epsilon"),
    [(dn.TEM, 3.0), (dn.CalibratedExponential, 3.0), (dn.TightExponential, 3.0), (dn.TruncatedGumbel, 60.0)],
)
def test_the_cache(small_space, monkeypatch, tmp_path, kind, epsilon):
    """A verdict from the cache is the one that was kept, time included, and the one computed anew."""
    monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path))
    first = dn.verify(kind(small_space, epsilon=epsilon))
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files
    assert dn.verify(kind(small_space, epsilon=epsilon)) == first
    assert untimed(dn.verify(kind(small_space, epsilon=epsilon), cache=False)) == untimed(first)
    assert sorted(path.name for path in tmp_path.iterdir()) == files


@pytest.mark.parametrize(
    ("kind", "epsilon"),
    [(dn.TEM, 3.0), (dn.CalibratedExponential, 3.0), (dn.TightExponential, 3.0), (dn.TruncatedGumbel, 60.0)],
)
def test_without_the_cache(small_vectors, monkeypatch, tmp_path, kind, epsilon):
    """Without the cache no file is written."""
    space = dn.Space([f"w{i}" for i in range(60)], small_vectors)
    mechanism = kind(space, epsilon=epsilon)
    monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path))
    dn.verify(mechanism, cache=False)
    assert [*tmp_path.iterdir()] == []


def test_a_cached_finding_about_another_law_is_not_used(small_space, monkeypatch, tmp_path):
    """Epsilon, gamma and the space tell findings apart."""
    monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path))
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


@pytest.mark.parametrize("epsilon", [60.0, 1e4, 1e8])
def test_truncated_gumbel(small_space, epsilon):
    """The exact epsilon of the truncated Gumbel mechanism is that of the tables it draws from, by brute force."""
    mechanism = dn.TruncatedGumbel(small_space, epsilon=epsilon)
    verdict = dn.verify(mechanism)
    matrix = whole_law(mechanism)
    distances = reference.distances(small_space.points)
    assert verdict.status == "proved"
    assert verdict.lower_bound <= spent(matrix, distances) <= verdict.epsilon
    assert verdict.epsilon == pytest.approx(spent(matrix, distances), rel=1e-6)
    check_witness(verdict, small_space, matrix, distances, rel=1e-6)
    assert "all outputs of the integer tables" in verdict.method


@pytest.mark.usefixtures("simulated")
def test_truncated_gumbel_that_is_simulated(small_space):
    """Where draws are simulated the exact epsilon is that of the ideal law, and proved for ideal arithmetic only."""
    mechanism = dn.TruncatedGumbel(small_space, epsilon=1e8)
    verdict = dn.verify(mechanism)
    matrix = np.array([mechanism.probabilities(word) for word in small_space.words])
    distances = reference.distances(small_space.points)
    assert verdict.status == "proved for ideal arithmetic"
    assert verdict.lower_bound <= spent(matrix, distances) <= verdict.epsilon
    assert verdict.epsilon == pytest.approx(spent(matrix, distances), rel=1e-6)
    check_witness(verdict, small_space, matrix, distances, rel=1e-6)
    assert "of the ideal law, its estimated error in the bounds; the draws are simulated in" in verdict.method
    assert limit_status(mechanism.guarantee, verdict).status == "claimed"


@pytest.fixture
def simulated(monkeypatch):
    """Make truncated Gumbel draw as it does in large spaces."""
    monkeypatch.setattr("deniable.published.truncated_gumbel.mechanism.MAX_TABULATED_POINTS", 0)


@pytest.mark.parametrize(("claim", "spends"), [(79.6, 13.4), (398, 8.67), (1e4, 8.17), (1e6, 10.0), (1e10, 46.2)])
def test_truncated_gumbel_reference_figures(alphabetic, claim, spends):
    """On 400 words of GloVe the ideal law spends far less than its claim, and the tables less than the ideal law."""
    space = alphabetic(400)
    mechanism = dn.TruncatedGumbel(space, epsilon=claim)
    verdict = dn.verify(mechanism)
    ideal = dn.verify(mechanism.law.rows(range(400)), space=space, epsilon=claim)
    assert verdict.status == ideal.status == "proved"
    assert float(f"{ideal.epsilon:.3g}") == spends
    assert verdict.lower_bound == pytest.approx(verdict.epsilon, rel=1e-4)
    assert verdict.epsilon <= ideal.epsilon


def log_probability(mechanism, word, output):
    """Return ln P(output|word) of truncated Gumbel by its integral in logarithms, term by term, on an even grid."""
    space, b, limit = mechanism.space, mechanism.scale, mechanism.space.diameter
    count, mean = len(space), math.log(len(space))
    distances = np.linalg.norm(space.vectors - space.vectors[space.index_of(word)], axis=1)
    order = np.argsort(distances, kind="stable")
    rank = int(np.flatnonzero(order == space.index_of(output))[0])
    t = np.linspace(distances[order[rank]] - limit, limit, 1501)[1:-1]

    def below(x):
        return np.exp(-np.exp(-x / b))

    low, high = below(-limit), below(limit)
    survival, terms = np.zeros_like(t), []
    for k, number in enumerate(order, start=1):
        x = np.maximum(t - distances[number], -limit)
        survival += np.log((high - below(x)) / (high - low))
        if rank < k < min(count, rank + 300):
            terms.append(k * math.log(mean) - mean - math.lgamma(k + 1) + survival)
    terms.append(survival - mean)  # K = n where Y = 0
    x = t - distances[order[rank]]
    hazard = -x / b - np.exp(-x / b) - np.log(b * (high - below(x)))
    return float(logsumexp(logsumexp(terms, axis=0) + hazard) + math.log(t[1] - t[0]))


def test_theorem_1_of_truncated_gumbel_is_refuted(alphabetic):
    """Near its least epsilon the claim fails on 8,000 words: the witness loses what an independent integral says."""
    space = alphabetic(8000)
    mechanism = dn.TruncatedGumbel(space, epsilon=1.001 * compute_min_epsilon(len(space), space.separation))
    verdict = dn.verify(mechanism, cache=False)
    assert verdict.status == "refuted"
    witness = verdict.witness
    loss = log_probability(mechanism, witness.input, witness.output) - log_probability(
        mechanism, witness.other, witness.output
    )
    assert verdict.lower_bound * witness.distance == pytest.approx(witness.loss, rel=1e-6)
    assert 0.98 * loss < witness.loss <= loss
    assert witness.loss / witness.distance > mechanism.epsilon


@pytest.mark.parametrize("count", [8, 32])
@pytest.mark.usefixtures("simulated")
def test_truncated_gumbel_that_cannot_be_integrated(small_space, monkeypatch, count):
    """Where the error of the quadrature exceeds a probability there is no upper bound, and nothing is proved."""
    bounded_rows = GumbelQuadrature.integrate_with_errors

    def blurred(self, points, distances):
        values, errors = bounded_rows(self, points, distances)
        errors[:, 3] = 2 * values[:, 3]
        return values, errors

    monkeypatch.setattr(GumbelQuadrature, "integrate_with_errors", blurred)
    space = dn.Space(small_space.words[:count], small_space.vectors[:count])
    verdict = dn.verify(dn.TruncatedGumbel(space, epsilon=60.0), cache=False)
    assert (verdict.status, verdict.epsilon) == ("undecided", math.inf)


@pytest.mark.usefixtures("simulated")
def test_truncated_gumbel_in_a_large_space(small_space, monkeypatch, tmp_path):
    """Where all inputs would take too long the most frequent are compared, and the verdict says so."""
    monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path))
    set_max_inputs(monkeypatch, 50)
    monkeypatch.setattr(quadrature, "SUBSET_SIZE", 8)
    mechanism = dn.TruncatedGumbel(small_space, epsilon=60.0)
    verdict = dn.verify(mechanism)
    assert (verdict.status, verdict.epsilon) == ("not refuted", math.inf)
    assert "the 8 most frequent of 60 inputs" in verdict.method
    assert "other inputs are not covered" in verdict.method
    matrix = np.array([mechanism.probabilities(word) for word in small_space.words])
    distances = reference.distances(small_space.points)
    some = losses(matrix)[:8, :8].max(axis=2)
    np.fill_diagonal(some, -math.inf)
    largest = (some / np.where(distances > 0, distances, 1.0)[:8, :8]).max()
    assert verdict.lower_bound == pytest.approx(largest, rel=1e-6)
    assert {verdict.witness.input, verdict.witness.other} <= set(small_space.words[:8])
    assert "no upper bound known" in str(verdict)


# Bad input ------------------------------------------------------------------------------------

ROW = [0.5, 0.25, 0.25]


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([ROW, ROW], r"must have shape \(3, 3\), a row for each word. Got \(2, 3\)"),
        (np.ones((3, 4)) / 4, r"Got \(3, 4\)"),
        (np.ones((3, 3, 3)) / 3, r"Got \(3, 3, 3\)"),
        ([], r"Got \(0,\)"),
        (1.0, "must be a mechanism, such as TEM.* Got 1.0"),
        (None, "must be a mechanism, .* or a matrix .* Got None"),
        ("P", "must be a mechanism, .* Got 'P'"),
        ([ROW, [1.0], ROW], "must be an array"),
        ([ROW, ROW, ["a", "b", "c"]], "must be an array"),
        ([[0.5, 0.1, 0.1], [0.25, 0.4, 0.4], [0.25, 0.5, 0.5]], r"its columns sum to 1, so transpose it, P\.T\.$"),
        ([[2.0, 1.0, 1.0], ROW, ROW], r"a sum of 4 .*: divide each row by its sum, in float64\.$"),
        ([ROW, [1.25, -0.25, 0.0], ROW], "Row 1 of the matrix, for 'b', is no distribution.* least entry of -0.25"),
        ([ROW, ROW, [math.nan, 0.5, 0.5]], "Row 2 of the matrix, for 'c'"),
        ([[math.inf, 0.0, 0.0], ROW, ROW], "Row 0 of the matrix, for 'a'.*Got a sum of inf"),
        ([ROW, [0.5, 0.25, 0.2500001], ROW], "Row 1 .* sum to 1. Got a sum of 1.0000001 "),
        ([ROW, ROW, [0.0, 0.0, 0.0]], "Row 2 .* Got a sum of 0 "),
        (np.ma.masked_array([ROW, ROW, ROW], mask=np.eye(3)), "Got a masked array: fill what is masked"),
        (np.array([ROW, ROW, ROW], dtype=complex), "Got entries of type complex128"),
        (pd.DataFrame([ROW] * 3, index=["a", "c", "b"]), "rows of the matrix must be the words .* Got 'c' where 'b'"),
        (
            pd.DataFrame([ROW] * 3, columns=["b", "a", "c"]),
            r"columns of .* Got 'b' where 'a' .* P\.loc\[words, words\]",
        ),
        (pd.DataFrame([ROW] * 3, index=[0, 2, 1]), "rows of .* Got 0 where 'a' is due"),
        (pd.DataFrame([ROW] * 2, index=["a", "b"]), "rows of the matrix must be the words"),
    ],
)
def test_bad_matrices(matrix, message):
    """What is no probability matrix over the space is refused in one line, with the row that is wrong."""
    space = dn.Space(["a", "b", "c"], [[0.0], [1.0], [3.0]])
    with pytest.raises(dn.InputError, match=message) as raised:
        dn.verify(matrix, space=space, epsilon=1.0)
    assert "\n" not in str(raised.value)


def test_a_labelled_matrix_in_the_order_of_the_words():
    """A table whose rows and columns are the words in order, or are numbered, has the verdict of its array."""
    space = dn.Space(["a", "b", "c"], [[0.0], [1.0], [3.0]])
    matrix = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]
    found = dn.verify(matrix, space=space, epsilon=1.0)
    words = list(space.words)
    for table in (pd.DataFrame(matrix), pd.DataFrame(matrix, index=words, columns=words), pd.DataFrame(matrix, words)):
        assert dn.verify(table, space=space, epsilon=1.0).lower_bound == found.lower_bound


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 1.0}, "'space' parameter of verify must be the Space of the matrix. Got None"),
        ({"space": "glove", "epsilon": 1.0}, "'space' parameter of verify .* Got 'glove'"),
        ({"space": True}, "'epsilon' parameter of verify .* Got None"),
        *[
            ({"space": True, "epsilon": bad}, "'epsilon' parameter of verify")
            for bad in (0, -1, math.inf, "1", math.nan)
        ],
    ],
)
def test_bad_claims(small_space, options, message):
    """A matrix needs its space and a positive finite claim."""
    options = {**options, **({"space": small_space} if options.get("space") is True else {})}
    with pytest.raises(dn.InputError, match=message):
        dn.verify(uniform_rows(60), **options)


@pytest.mark.parametrize("name", ["space", "epsilon"])
def test_a_mechanism_has_its_own(small_space, name):
    """A space or a claim beside a mechanism is refused, even where they are the same."""
    given = {"space": small_space, "epsilon": 1.0}[name]
    with pytest.raises(dn.InputError, match="a mechanism has its own"):
        dn.verify(dn.TEM(small_space, epsilon=1.0), **{name: given})


def test_a_matrix_that_is_too_large():
    """More words than can be compared are refused with the cost, and no work is done."""
    space = dn.Space([f"w{i}" for i in range(3001)], np.random.default_rng(0).normal(size=(3001, 2)))
    matrix = np.broadcast_to(1 / 3001, (3001, 3001))
    with pytest.raises(dn.NotTractable, match=r"A matrix of 3,001 words takes 2.7e\+10 comparisons, about 14 seconds"):
        dn.verify(matrix, space=space, epsilon=1.0)


def test_workers_change_nothing(small_space):
    """The verdict does not depend on the number of threads."""
    for mechanism in (WrongBottom(small_space, epsilon=2.0, gamma=1.0), dn.TEM(small_space, epsilon=2.0)):
        verdicts = [untimed(dn.verify(mechanism, cache=False, workers=workers)) for workers in (1, 2, 5, None)]
        assert verdicts == verdicts[:1] * 4


class OwnRows(dn.TEM):
    """The law of TEM by rows of its own, which are judged as a table."""

    def build_law(self):
        return TabulatedLaw(self.space, lambda _, distances: self.kernel.rows(distances))


@pytest.mark.parametrize("gap", [1e-13, 1e-9, 1e-4, 0.1])
def test_rounding_of_tables_is_in_the_bounds(gap):
    """Between words that nearly coincide the bounds of a table enclose what its integers spend."""
    space = dn.Space(["a", "b", "c"], [[0.0], [gap], [1.0]], metric="chebyshev")
    mechanism = OwnRows(space, epsilon=0.001)
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


class CopiedInput(Simulation):
    """Returns the input."""

    fingerprint = "multivariate-laplace"

    def draw(self, points, streams, workers=None):
        del streams, workers
        return points


class OtherRows(ExponentialKernel):
    """A kernel that draws from rows of its own."""

    def rows(self, distances):
        return ExponentialKernel(30.0).rows(distances)


class OtherDraws(TabulatedLaw):
    """The tables of TEM, and draws of its own."""

    def sample(self, points, streams, workers=None):
        del streams, workers
        return points


@pytest.mark.parametrize(
    "members",
    [
        {"build_law": lambda self: ExponentialLaw(self.space, OtherRows(0.1))},
        {"build_law": lambda self: SimulatedLaw(self.space, CopiedInput())},
        {"__module__": "deniable.words.tem", "build_law": lambda self: SimulatedLaw(self.space, CopiedInput())},
    ],
    ids=["kernel", "simulation", "module"],
)
@pytest.mark.parametrize("parent", [dn.TEM, dn.MultivariateLaplace])
def test_a_subclass_that_copies_its_input_is_never_proved(small_space, parent, members):
    """Whatever law a subclass returns, and whatever module it names, it is no proof of what it copies."""
    leak = type(parent.__name__, (parent,), members)(small_space, epsilon=1.0)
    assert leak.sample(small_space.words[:9]) == list(small_space.words[:9])
    assert leak.law.fingerprint is None
    assert dn.verify(leak, cache=False).status not in {"proved", "proved for ideal arithmetic"}
    assert leak.document_guarantee(3, 1e-6).pure.status not in {"proved", "proved for ideal arithmetic"}


@pytest.mark.parametrize(
    "members",
    [
        {"sample": lambda self, words: list(words)},  # noqa: ARG005 - a method
        {"__call__": lambda self, word: word},  # noqa: ARG005
        {"draw_words": lambda self, words, streams, workers=None: words},  # noqa: ARG005
        {"__module__": "deniable.words.tem", "draw_words": lambda self, words, streams, workers=None: words},  # noqa: ARG005
        {"law": property(lambda self: SimulatedLaw(self.space, CopiedInput()))},
        {"__getattribute__": lambda self, name: (object.__getattribute__(self, name), name)[0]},
    ],
    ids=["sample", "call", "draw_words", "module", "law", "attributes"],
)
def test_who_overrides_how_words_are_drawn_is_refused(members):
    """No subclass draws otherwise than from the law that is verified: the class itself cannot be defined."""
    with pytest.raises(TypeError, match=r"TEM must not replace '\w+': what a mechanism draws is its law"):
        type("TEM", (dn.TEM,), members)
    mixin = type("Mixin", (), members)
    with pytest.raises(TypeError, match="must not replace"):
        type("TEM", (mixin, dn.TEM), {})


def test_a_law_of_another_class_is_refused(small_space):
    """A subclass of a law, whose draws may be any, is taken neither for drawing nor for proving."""

    def compute_rows(points, distances):
        del points
        return ExponentialKernel(0.5).rows(distances)

    leak = type("Leak", (dn.TEM,), {"build_law": lambda self: OtherDraws(self.space, compute_rows)})
    subject = leak(small_space, epsilon=1.0)
    for use in (
        lambda: subject.sample(["baran"]),
        lambda: dn.verify(subject),
        lambda: subject.document_guarantee(1, 0.1),
    ):
        with pytest.raises(TypeError, match=r"Leak.build_law must return one of .* and no subclass. Got OtherDraws"):
            use()


def copy_words(self, words, streams, workers=None):
    """Draw each word as itself."""
    del self, streams, workers
    return words


def swallow_check(cls, **options):
    """Stand in for a base that does not call the next one's."""
    del cls, options


def define_with_a_base_that_swallows_the_check(space):
    swallowing = type("Base", (), {"__init_subclass__": classmethod(swallow_check), "draw_words": copy_words})
    return type("Leak", (swallowing, dn.TEM), {})(space, epsilon=1.0)


def define_and_patch_class(space):
    leak = type("Leak", (dn.TEM,), {})
    leak.draw_words = copy_words
    return leak(space, epsilon=1.0)


def patch_object(space):
    leak = dn.TEM(space, epsilon=1.0)
    vars(leak)["draw_words"] = lambda words, streams, workers=None: words  # noqa: ARG005
    return leak


def patch_law(space):
    leak = dn.TEM(space, epsilon=1.0)
    vars(leak.law)["sample"] = lambda points, streams, workers=None: points  # noqa: ARG005
    return leak


@pytest.mark.parametrize(
    "define", [define_with_a_base_that_swallows_the_check, define_and_patch_class, patch_object, patch_law]
)
def test_draws_that_were_replaced_after_the_class_was_checked_are_refused(small_space, define):
    """Neither a verdict nor a guarantee of a text is given for draws that are not the law's."""
    leak = define(small_space)
    assert leak.sample(small_space.words[:9]) == list(small_space.words[:9])
    for use in (lambda: dn.verify(leak), lambda: dn.WordMechanism.document_guarantee(leak, 3, 1e-6)):
        with pytest.raises(TypeError, match=r"must not replace 'draw_words'|was replaced"):
            use()


def test_a_class_that_is_only_registered_is_refused(small_space):
    """What never inherited how words are drawn is no mechanism, whatever it registers as."""
    register = type("Registered", (), {"space": small_space, "law": dn.TEM(small_space, epsilon=1.0).law})
    dn.WordMechanism.register(register)
    with pytest.raises(TypeError, match="Registered must not replace"):
        dn.verify(register())


def test_a_law_over_another_space_is_refused(small_space):
    """What is proved of one space's words is not proved of another's, though both have as many."""
    other = dn.Space(small_space.words, 1000 * small_space.vectors)
    leak = type("Leak", (dn.TEM,), {"build_law": lambda self: ExponentialLaw(other, self.kernel)})
    subject = leak(small_space, epsilon=1.0)
    for use in (lambda: dn.verify(subject), lambda: subject.sample(["baran"])):
        with pytest.raises(TypeError, match=r"Leak.build_law must return a law over the mechanism's own space"):
            use()


@pytest.mark.parametrize("method", ["document_guarantee", "is_builtin", "has_fingerprint", "expected_kept_share"])
def test_what_is_said_of_draws_is_not_replaced(method):
    """No subclass calls itself this package's, nor states the guarantee of a text or a share by code of its own."""
    with pytest.raises(TypeError, match=f"Leak must not replace '{method}'"):
        type("Leak", (dn.MultivariateLaplace,), {method: True})


def test_parts_made_for_another_space_name_no_law(small_space):
    """Their fingerprint is of the law over the other space."""
    other = dn.Space(small_space.words, 2 * small_space.vectors)
    part = NearestNoisyPoint(other, 1.0)
    assert SimulatedLaw(other, part).fingerprint == part.fingerprint
    assert SimulatedLaw(small_space, part).fingerprint is None


def test_law_is_built_once(small_space):
    """The object that is verified is the one that is drawn from, even where each build gives another."""
    laws = iter([0.1, 30.0])
    kinds = {"build_law": lambda self: ExponentialLaw(self.space, ExponentialKernel(next(laws)))}
    subject = type("Turncoat", (dn.TEM,), kinds)(small_space, epsilon=1.0)
    assert dn.verify(subject, cache=False).status == "proved"
    assert subject.sample(small_space.words[:9]) != list(small_space.words[:9])


@pytest.mark.parametrize(
    "claim", [dn.PureDP(1.0, "of any two words"), dn.MetricDP(1.0, "angular", "by another metric")], ids=str
)
def test_a_guarantee_of_another_kind_is_not_compared(small_space, claim):
    """An epsilon per unit of distance says nothing of a guarantee without distances, or with others."""
    subject = type("Other", (dn.TEM,), {"guarantee": claim})(small_space, epsilon=1.0)
    with pytest.raises(dn.InputError, match="must be a MetricDP about the metric of its space"):
        dn.verify(subject)


@pytest.mark.parametrize("change", [{"unit": "person"}, {"unit": "record"}, {"adjacency": "any two synonyms"}])
def test_a_guarantee_of_another_unit_is_not_proved(small_space, change):
    """The law of a word says nothing of a person, nor only of some pairs: a guarantee of these is refused."""
    claim = dataclasses.replace(dn.MetricDP(1.0, "euclidean", "a theorem"), **change)
    with pytest.raises(dn.InputError, match="must be about one word, for any two words"):
        dn.verify(type("Other", (dn.TEM,), {"guarantee": claim})(small_space, epsilon=1.0))


@pytest.mark.parametrize("epsilon", [math.inf, math.nan, -1.0, "1", True, None])
def test_a_guarantee_without_a_number_is_not_judged(small_space, epsilon):
    """What is no finite epsilon is refused in one line, and not called proved."""
    claim = dn.MetricDP(epsilon, "euclidean", "a theorem")
    with pytest.raises(dn.InputError, match=r"The 'guarantee.epsilon' parameter of Other must be a float in \[0"):
        dn.verify(type("Other", (dn.TEM,), {"guarantee": claim})(small_space, epsilon=1.0))


@pytest.mark.parametrize("wrong", ["x", b"x", None, 3, {"a": 1}, dn.TEM])
def test_what_cannot_be_verified_is_told_what_is_wanted(small_space, wrong):
    """What is neither a mechanism nor a matrix is refused in one line that names both, with a space or without."""
    for options in ({}, {"space": small_space, "epsilon": 1.0}):
        with pytest.raises(dn.InputError) as caught:
            dn.verify(wrong, **options)
        assert str(caught.value).startswith(
            "The 'subject' parameter of verify must be a mechanism, such as TEM(space, epsilon=3.0), or a matrix "
            "(n, n) of probabilities. Got "
        )
        assert "\n" not in str(caught.value)
    with pytest.raises(dn.InputError, match=r"'subject' parameter of verify .* Got Space"):
        dn.verify(small_space)
