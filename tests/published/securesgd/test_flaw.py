"""SecureSGD's flaw: the exact profile of uneven noise against the delta that its formula claims."""

import math

import pytest
from scipy import stats

from deniable import InputError
from deniable.published.securesgd.certificate import compute_heterogeneous_sigma
from deniable.published.securesgd.flaw import compute_true_delta


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 20.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.05, 0.5])
def test_the_formula_holds_for_even_noise(epsilon, delta):
    """With even noise the formula gives no less than the exact profile requires."""
    assert compute_true_delta(epsilon, delta) <= delta


def test_uneven_noise_breaks_the_plain_formula():
    """A coordinate with half of the mean variance has 3.6 times the delta claimed, by the exact Gaussian profile."""
    sigma = compute_heterogeneous_sigma(1.0, 1e-5) * math.sqrt(0.5)
    exact = stats.norm.cdf(0.5 / sigma - sigma) - math.e * stats.norm.cdf(-0.5 / sigma - sigma)
    assert compute_true_delta(1.0, 1e-5, 0.5) == pytest.approx(exact, rel=1e-9)
    assert exact == pytest.approx(3.63e-5, rel=1e-3)


@pytest.mark.parametrize("share", [0.95, 0.8])
def test_no_share_below_one_is_safe(share):
    """For shares near 1 the plain formula has slack at a large delta, and fails at a small one."""
    assert compute_true_delta(1.0, 0.1, share) < 0.1
    assert compute_true_delta(1.0, 1e-200, share) > 1e-200


def test_shares_are_checked():
    """A least share above the mean, or of nothing, is refused."""
    for share in (0.0, 1.5):
        with pytest.raises(InputError, match="least_share"):
            compute_true_delta(1.0, 1e-5, share)
