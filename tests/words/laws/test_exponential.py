"""The exponential law: the same as its rows, proved in closed form where that holds."""

import math

import numpy as np
import pytest

from deniable.space import Space
from deniable.words.laws import ExponentialKernel, ExponentialLaw, TabulatedLaw
from deniable.words.laws import exponential as module
from deniable.words.prior import compute_zipf_prior
from tests.contracts.statistics import streams


class OwnKernel(ExponentialKernel):
    """A subclass, which may compute anything."""


@pytest.fixture(scope="module")
def kernel():
    """Return a kernel with a cutoff and weights."""
    return ExponentialKernel(1.3, 2.5, np.random.default_rng(1).uniform(0.2, 3, size=60))


@pytest.fixture(scope="module")
def twin(small_space, kernel):
    """Return the law of the same rows without a closed form."""
    return TabulatedLaw(small_space, lambda _, distances: kernel.rows(distances))


def test_it_answers_what_its_rows_answer(small_space, kernel, twin):
    """Rows, tables, draws and outcomes are those of the same law known row by row."""
    law, points = ExponentialLaw(small_space, kernel), np.arange(60)
    np.testing.assert_array_equal(law.rows(points), twin.rows(points))
    np.testing.assert_array_equal(law.tables(points), twin.tables(points))
    inputs = points.astype(np.int32)
    np.testing.assert_array_equal(law.sample(inputs, streams(60, "e")), twin.sample(inputs, streams(60, "e")))
    (kept, recovered), (twin_kept, twin_recovered) = (one.outcomes(compute_zipf_prior(60)) for one in (law, twin))
    np.testing.assert_allclose(kept, twin_kept, rtol=1e-10)
    assert recovered == pytest.approx(twin_recovered, rel=1e-10)


def test_the_closed_form_covers_every_pair_of_tables(small_space, kernel, twin):
    """The proven epsilon is not below that of all pairs and outputs, and next to it."""
    proved, compared = ExponentialLaw(small_space, kernel).exact_epsilon(), twin.exact_epsilon()
    assert "closed form" in proved.method
    assert proved.is_exhaustive
    assert compared.finding.lower_bound <= proved.finding.epsilon
    assert proved.finding.lower_bound <= compared.finding.epsilon
    assert proved.finding.epsilon >= 0.5 * compared.finding.epsilon


def test_losses_bound_those_of_the_tables(small_space, kernel, twin):
    """The loss of each input against any other, and the largest of all, are covered."""
    law, points = ExponentialLaw(small_space, kernel), np.arange(60)
    logs = np.log(twin.tables(points).astype(float))
    losses = np.abs(logs[:, None] - logs[None]).max(axis=(1, 2))
    bounds = law.input_losses(points)
    assert (losses <= bounds).all()
    assert law.worst_loss() == pytest.approx(bounds.max(), rel=1e-6)
    assert law.worst_loss() <= 2 * losses.max() + 1e-6


def test_beyond_the_limit_the_divergence_is_a_bound(small_space, kernel, monkeypatch):
    """The bound of the family is not below the divergence of all pairs, and says that it is none of a pair."""
    law = ExponentialLaw(small_space, kernel)
    exact = law.renyi(3.0)
    assert exact.is_exact
    monkeypatch.setattr(module, "MAX_EXACT_POINTS", 10)
    bound = law.renyi(3.0)
    assert not bound.is_exact
    assert exact.divergence <= bound.divergence < math.inf


@pytest.mark.parametrize("part", ["kernel", "metric"])
def test_nothing_is_proved_of_code_from_elsewhere(part, small_space, small_vectors):
    """A subclass of the kernel, or a metric of one's own, is verified by its tables and bounds no loss."""

    def own(left, right):
        return np.abs(left[:, None] - right[None]).sum(axis=2)

    if part == "kernel":
        law = ExponentialLaw(small_space, OwnKernel(1.0))
    else:
        law = ExponentialLaw(Space(small_space.words, small_vectors, metric=own), ExponentialKernel(1.0))
    assert law.fingerprint is None
    assert law.worst_loss() is None
    assert law.input_losses(np.arange(2)) is None
    assert "integer tables" in law.exact_epsilon().method
    assert law.is_closed_form is (part == "metric")


def test_laws_that_differ_have_names_that_differ(small_space):
    """Another scale or cutoff is another name; the same kernel has the same."""
    names = [
        ExponentialLaw(small_space, ExponentialKernel(*given)).fingerprint for given in ((1.0,), (1.1,), (1.0, 3.0))
    ]
    assert len({*names}) == 3
    assert ExponentialLaw(small_space, ExponentialKernel(1.0)).fingerprint == names[0]
