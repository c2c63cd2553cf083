"""The limits and the ladder."""

from deniable.serve.limits import EPSILON_LADDER, Limits


def test_the_ladder_ascends():
    """Epsilons are few, positive and ascending: each is a law that the service may have to compute."""
    assert [*EPSILON_LADDER] == sorted({*EPSILON_LADDER})
    assert EPSILON_LADDER[0] > 0
    assert len(EPSILON_LADDER) < 20


def test_limits_fit_each_other():
    """The largest body is far below what may be pending."""
    limits = Limits()
    assert 4 * limits.body_bytes <= limits.pending_bytes
