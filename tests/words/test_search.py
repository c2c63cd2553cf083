"""The search among kernels: what it finds is what the mechanism of that epsilon has."""

import numpy as np
import pytest

from deniable.words.calibrated_exponential import CalibratedExponential
from deniable.words.laws import ExponentialKernel
from deniable.words.search import KernelSearch
from deniable.words.tem import TEM


def test_defaults_are_the_parameter_itself_and_no_preparation():
    """Where only kernels are given a parameter is its epsilon, and nothing is prepared."""
    search = KernelSearch(ExponentialKernel)
    assert search.kernel_at(2.0).scale == 2.0
    assert search.epsilon_at(1.25) == 1.25
    assert search.prepare(1.0, 1.0) is None


@pytest.mark.parametrize("kind", [TEM, CalibratedExponential])
def test_the_mechanism_of_the_epsilon_found_has_the_kernel_found(kind, small_space):
    """A mechanism built with the epsilon of a parameter draws by the kernel of that parameter."""
    search = kind.kernel_search(small_space)
    kernel, epsilon = search.kernel_at(1.5), search.epsilon_at(1.5)
    points = np.arange(60)
    expected = kernel.rows(small_space.distances(points))
    np.testing.assert_allclose(kind(small_space, epsilon=epsilon).law.rows(points), expected, rtol=1e-4)


def test_the_epsilon_grows_with_the_parameter(small_space):
    """So that a search by bisection ends."""
    search = CalibratedExponential.kernel_search(small_space)
    epsilons = [search.epsilon_at(scale) for scale in (0.5, 1.0, 2.0, 4.0)]
    assert epsilons == sorted(set(epsilons))


def test_preparing_does_not_move_the_law(small_space):
    """Calibration that begins at a guess, however bad, ends at the law that it finds without one."""
    without = CalibratedExponential(small_space, epsilon=2.1).scale
    search = CalibratedExponential.kernel_search(small_space)
    search.prepare(50.0, 2.2)
    assert CalibratedExponential(small_space, epsilon=2.2).scale == pytest.approx(without * 2.2 / 2.1, rel=0.2)
