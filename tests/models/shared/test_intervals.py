"""Bounds: they solve the equations that define them, and are wrong as rarely as they say."""

import numpy as np
import pytest
from scipy import stats

from deniable import InputError
from deniable.core.intervals import estimate_share
from deniable.models.shared.intervals import (
    bound_both_classes,
    bound_by_complement,
    compute_clopper_pearson_lower,
    compute_clopper_pearson_upper,
    compute_hoeffding_bounds,
    select_class,
)
from tests.models.shared.tallies import counted


@pytest.mark.parametrize(("successes", "draws"), [(1, 1), (3, 10), (950, 1_000), (99_000, 100_000)])
def test_lower_solves_its_equation(successes, draws):
    """At the lower bound, so many successes or more have the probability alpha exactly."""
    bound = compute_clopper_pearson_lower(successes, draws, 0.01)
    assert stats.binom.sf(successes - 1, draws, bound) == pytest.approx(0.01, rel=1e-6)
    assert compute_clopper_pearson_upper(draws - successes, draws, 0.01) == pytest.approx(1 - bound)


def test_bounds_are_half_of_the_interval():
    """The two bounds at alpha / 2 each are the two-sided interval of `estimate_share`."""
    found = estimate_share(37, 50, 0.9)
    assert (compute_clopper_pearson_lower(37, 50, 0.05), compute_clopper_pearson_upper(37, 50, 0.05)) == pytest.approx(
        (found.low, found.high)
    )


def test_bounds_at_the_ends():
    """No success bounds from below by 0, and no failure from above by 1."""
    assert (compute_clopper_pearson_lower(0, 10, 0.05), compute_clopper_pearson_upper(10, 10, 0.05)) == (0.0, 1.0)
    assert compute_clopper_pearson_lower(10, 10, 0.05) == pytest.approx(0.05**0.1)


def test_hoeffding_half_width():
    """Hoeffding's bounds lie sqrt(ln(1 / alpha) / 2n) about the means, and stay in [0, 1]."""
    low, high = compute_hoeffding_bounds([50.0, 0.0, 100.0], 100, 0.05)
    half = np.sqrt(np.log(20) / 200)
    np.testing.assert_allclose(low, [0.5 - half, 0.0, 1 - half])
    np.testing.assert_allclose(high, [0.5 + half, half, 1.0])


def test_levels_are_split():
    """One bound takes all of alpha; two take half each, and the second is shared by the other classes."""
    found = counted([700, 200, 50, 50])
    assert bound_by_complement(found, 0, 0.04) == (
        compute_clopper_pearson_lower(700, 1_000, 0.04),
        1 - compute_clopper_pearson_lower(700, 1_000, 0.04),
    )
    assert bound_both_classes(found, 0, 0.04) == (
        compute_clopper_pearson_lower(700, 1_000, 0.02),
        compute_clopper_pearson_upper(200, 1_000, 0.02 / 3),
    )


def test_a_rival_is_never_likelier_than_the_rest():
    """With two classes the bound on p_A limits p_B better than a bound of its own."""
    low, high = bound_both_classes(counted([900, 100]), 0, 0.05)
    assert high == 1 - low


@pytest.mark.parametrize("alpha", [0, 1, -0.1, float("nan"), "0.1"])
def test_alpha_is_checked(alpha):
    """An alpha outside (0, 1) is refused in one line."""
    for call in (
        lambda: compute_clopper_pearson_lower(1, 2, alpha),
        lambda: compute_hoeffding_bounds([1.0], 2, alpha),
        lambda: select_class(counted([1, 1]), counted([1, 1]), alpha),
    ):
        with pytest.raises(InputError, match="alpha") as error:
            call()
        assert "\n" not in str(error.value)


def test_counts_are_checked():
    """More successes than draws, no draws, and tallies of different classes are refused."""
    with pytest.raises(InputError, match="successes"):
        compute_clopper_pearson_lower(3, 2, 0.1)
    with pytest.raises(InputError, match="draws"):
        compute_hoeffding_bounds([0.0], 0, 0.1)
    with pytest.raises(InputError, match="2 and 3 classes"):
        select_class(counted([1, 1]), counted([1, 1, 0]), 0.1)
