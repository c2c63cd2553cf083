"""Laws of the exponential family and their kernels, against brute force over all pairs."""

import copy
import math
import pickle

import numpy as np
import pytest

import deniable as dn
from deniable.words.laws.kernel import sum_decays
from tests.contracts.statistics import streams
from tests.refusals import refuses

POINTS = np.arange(60)
ZIPF = 1 / np.arange(1, 61) / (1 / np.arange(1, 61)).sum()


@pytest.fixture(scope="module")
def cloud():
    """Return 700 random points: more than one block of distances."""
    return dn.Space([f"w{number}" for number in range(700)], np.random.default_rng(3).normal(size=(700, 8)))


def own_metric(left, right):
    """Return Manhattan distances, as a metric whose rounding nobody knows."""
    return np.abs(left[:, None] - right[None]).sum(axis=2)


class TestKernel:
    """What the laws of the exponential family are made of."""

    def test_rows_are_the_formula(self):
        """A law is proportional to c(y) exp(-s min(d, cutoff)), row by row, in place."""
        distances = np.random.default_rng(3).uniform(0, 5, size=(6, 9))
        weights = np.random.default_rng(4).uniform(0, 2, size=9)
        for kernel in (
            dn.laws.ExponentialKernel(0.7, 3.0),
            dn.laws.ExponentialKernel(0.7, weights=weights),
            dn.laws.ExponentialKernel(0.7, 3.0, weights),
        ):
            expected = np.exp(-0.7 * np.minimum(distances, kernel.cutoff))
            expected *= 1.0 if kernel.weights is None else weights
            given = distances.copy()
            assert kernel(None, given) is given
            np.testing.assert_allclose(given, expected / expected.sum(axis=1, keepdims=True), rtol=1e-14)

    @pytest.mark.parametrize("cutoff", [1.5, math.inf])
    def test_normalisers_are_sums_of_rows(self, cloud, cutoff):
        """Sums over all pairs are those of whole rows, for any number of workers."""
        weights = np.random.default_rng(1).uniform(0.1, 5, size=700)
        decay = np.exp(-1.1 * np.minimum(cloud.distances(range(700)), cutoff))
        for given, factors in ((None, np.ones(700)), (weights, weights)):
            kernel = dn.laws.ExponentialKernel(1.1, cutoff, given)
            sums = sum_decays(cloud, kernel, workers=1)
            np.testing.assert_allclose(sums, decay @ factors, rtol=1e-11)
            np.testing.assert_array_equal(sums, sum_decays(cloud, kernel, workers=2))

    @pytest.mark.parametrize(
        ("name", "values"),
        [
            ("scale", (math.nan, math.inf, 0.0, -0.3)),
            ("cutoff", (math.nan, 0.0, -1.0)),
            ("weights", ([1, math.nan], [1, -0.5], [1, math.inf], [1, 1e-310], [1, 1e300], [0.0, 0.0], [], [[1.0]])),
        ],
    )
    def test_no_law_of_other_numbers(self, name, values):
        """A law is of numbers for which the bound on rounding holds."""
        for value in values:
            with refuses(f"'{name}'"):
                dn.laws.ExponentialKernel(**{"scale": 1.0, name: np.array(value) if name == "weights" else value})

    def test_numbers_stay_as_they_were(self):
        """What is proved of a kernel stays true when the arrays that it was given change, and of its copies."""

        class Disguised(float):
            def __repr__(self):
                return "0.5"

        scale, weights = np.array(0.5), np.ones(3)
        kernel = dn.laws.ExponentialKernel(scale, Disguised(3.0), weights)
        scale[()], weights[0] = 40.0, 1e9
        assert (kernel.scale, kernel.cutoff, kernel.weights.tolist()) == (0.5, 3.0, [1, 1, 1])
        for one in (kernel, copy.copy(kernel), copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
            assert one.fingerprint == kernel.fingerprint
            with refuses("read-only", ValueError):
                one.weights[0] = 5.0

    def test_fingerprints_tell_laws_apart(self, small_space):
        """Scale, cutoff and weights each change the fingerprint; equal kernels, and their laws, share it."""
        kernels = [
            *(dn.laws.ExponentialKernel(*given) for given in ((1.0,), (2.0,), (1.0, 2.0), (1.0, 0.5))),
            *(dn.laws.ExponentialKernel(1.0, weights=np.full(60, value)) for value in (1.0, 2.0)),
        ]
        for named in (kernels, [dn.laws.ExponentialLaw(small_space, kernel) for kernel in kernels]):
            assert len({one.fingerprint for one in named}) == 6
        assert dn.laws.ExponentialKernel(1.0, weights=np.ones(60)).fingerprint == kernels[4].fingerprint


class TestExponential:
    """The same as its rows, proved in closed form where that holds."""

    @pytest.fixture(scope="class")
    @classmethod
    def law(cls, small_space):
        """Return a law with a cutoff and weights."""
        weights = np.random.default_rng(1).uniform(0.2, 3, size=60)
        return dn.laws.ExponentialLaw(small_space, dn.laws.ExponentialKernel(1.3, 2.5, weights))

    @pytest.fixture(scope="class")
    @classmethod
    def twin(cls, law):
        """Return the law of the same rows without a closed form."""
        return dn.laws.TabulatedLaw(law.space, lambda _, distances: law.kernel(None, distances))

    def test_it_answers_what_its_rows_answer(self, law, twin):
        """Rows, tables, draws and outcomes are those of the same law known row by row."""
        np.testing.assert_array_equal(law.rows(POINTS), twin.rows(POINTS))
        np.testing.assert_array_equal(law.tables(POINTS), twin.tables(POINTS))
        inputs = POINTS.astype(np.int32)
        np.testing.assert_array_equal(law.sample(inputs, streams(60, "e")), twin.sample(inputs, streams(60, "e")))
        shares, twin_shares = (one.outcomes(ZIPF) for one in (law, twin))
        np.testing.assert_allclose(shares.kept, twin_shares.kept, rtol=1e-10)
        np.testing.assert_allclose(shares.guessed, twin_shares.guessed, rtol=1e-10)

    def test_the_closed_form_covers_every_pair_of_tables(self, law, twin):
        """The proven epsilon is not below that of all pairs and outputs, and next to it."""
        proved, compared = law.exact_epsilon(), twin.exact_epsilon()
        assert proved.is_exhaustive
        assert proved.method != compared.method
        assert compared.lower_bound <= proved.epsilon
        assert proved.lower_bound <= compared.epsilon <= 2 * proved.epsilon

    def test_losses_bound_those_of_the_tables(self, law, twin):
        """The loss of each input against any other, and the largest of all, are covered."""
        logs = np.log(twin.tables(POINTS).astype(float))
        losses = np.abs(logs[:, None] - logs[None]).max(axis=(1, 2))
        bounds = law.input_losses(POINTS)
        assert (losses <= bounds).all()
        assert law.input_losses(np.array([5, 0])) == pytest.approx(bounds[[5, 0]])
        assert bounds.max() <= law.worst_loss() * (1 + 1e-6) <= 2 * losses.max() + 1e-6

    @pytest.mark.parametrize("cutoff", [math.inf, 4.0, 0.1])
    def test_losses_and_outcomes_over_several_blocks(self, cloud, cutoff):
        """The largest loss is that of all pairs, and so is each best guess, at any scale."""
        distances = np.minimum(cloud.distances(range(700)), cutoff)
        prior = np.where(np.arange(700) % 3, 1 / np.arange(1, 701), 0.0)
        prior /= prior.sum()
        for scale in (1e-13, 1e-5, 1.0, 60.0, 1e7):
            kernel = dn.laws.ExponentialKernel(scale, cutoff)
            law, logs = dn.laws.ExponentialLaw(cloud, kernel), np.log(sum_decays(cloud, kernel))
            losses = scale * distances + logs[None] - logs[:, None]
            assert law.worst_loss(1) == pytest.approx(losses.max(), rel=1e-6, abs=1e-6)
            shares = law.outcomes(prior, 2)
            np.testing.assert_allclose(shares.kept, np.exp(-logs), rtol=1e-10)
            matrix = np.exp(-scale * distances - logs[:, None])
            guesses = (prior[:, None] * matrix).argmax(axis=0)
            guessed = np.where(prior > 0, np.bincount(guesses, matrix[guesses, np.arange(700)], minlength=700), 0.0)
            np.testing.assert_allclose(shares.guessed, guessed, rtol=1e-9, atol=1e-12)
            assert prior @ shares.guessed == pytest.approx(prior @ guessed, rel=1e-10)

    def test_nothing_is_proved_of_a_metric_from_elsewhere(self, small_space, small_vectors):
        """Under a metric of one's own a law is verified by its tables, bounds no loss and has no name."""
        space = dn.Space(small_space.words, small_vectors, metric=own_metric)
        law = dn.laws.ExponentialLaw(space, dn.laws.ExponentialKernel(1.0))
        assert law.fingerprint is law.worst_loss() is law.input_losses(np.arange(2)) is None
        twin = dn.laws.TabulatedLaw(law.space, lambda _, distances: law.kernel(None, distances))
        assert law.exact_epsilon().epsilon == twin.exact_epsilon().epsilon

    def test_a_kernel_from_elsewhere_is_refused(self, small_space):
        """A kernel's subclass, whose rows may be any, makes no law of the family."""
        with refuses("OwnKernel", TypeError):
            dn.laws.ExponentialLaw(small_space, type("OwnKernel", (dn.laws.ExponentialKernel,), {})(1.0))

    @pytest.mark.parametrize("name", ["small_space", "twin_space"])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_outcomes_against_the_matrix_of_words(self, request, name, weighted):
        """Shares kept and recovered are those of the matrix of words by words, twins included."""
        space, generator = request.getfixturevalue(name), np.random.default_rng(7)
        count = space.point_count
        kernel = dn.laws.ExponentialKernel(1.3, 1.1, generator.uniform(0.2, 3, size=count) if weighted else None)
        prior = generator.dirichlet(np.full(len(space), 0.5))
        rows = kernel(None, space.distances(range(count))) / np.bincount(space.point_by_word)
        matrix = rows[np.ix_(space.point_by_word, space.point_by_word)]
        for law in (
            dn.laws.ExponentialLaw(space, kernel),
            dn.laws.TabulatedLaw(space, lambda _, distances: kernel(None, distances)),
        ):
            for workers in (1, 2):
                shares = law.outcomes(prior, workers)
                np.testing.assert_allclose(shares.kept, matrix.diagonal(), rtol=1e-12)
                assert prior @ shares.guessed == pytest.approx((prior[:, None] * matrix).max(axis=0).sum(), rel=1e-12)
