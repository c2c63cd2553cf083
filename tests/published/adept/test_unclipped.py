"""ADePT without its clip: noise for one coordinate, released for n."""

import pytest

from deniable.published.adept.unclipped import ENTRY, UnclippedADePT
from deniable.vectors import Box


@pytest.mark.parametrize("n", [1, 8, 100])
def test_the_loss_is_epsilon_times_the_dimension(n):
    """The noise ignores the dimension, so that the loss grows with it; in one dimension the claim holds."""
    mechanism = UnclippedADePT(epsilon=0.5, domain=Box(0.0, 1.0))
    assert mechanism.sensitivity(n) == 1.0
    assert mechanism.exact_loss(n).lower == pytest.approx(0.5 * n, rel=1e-8)


def test_law_and_samples_refute_it():
    """The law spends eight times the claim, and a few hundred samples show more than the claim."""
    assert ENTRY.verify_law().lower_bound == pytest.approx(8.0, rel=1e-8)
    verdict = ENTRY.audit_samples(9)
    assert verdict.status == "refuted"
    assert 1.0 < verdict.lower_bound <= 8.0
