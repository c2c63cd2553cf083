"""The limits and the ladder."""

from deniable.serve.limits import EPSILON_LADDER, MIN_PENDING_BODIES, Limits


def test_the_ladder_ascends():
    """Epsilons are few, positive and ascending: each is a law that the service may have to compute."""
    assert [*EPSILON_LADDER] == sorted({*EPSILON_LADDER})
    assert EPSILON_LADDER[0] > 0
    assert len(EPSILON_LADDER) < 20


def test_limits_fit_each_other():
    """The largest body is far below what may be pending."""
    limits = Limits()
    assert 4 * limits.body_bytes <= limits.pending_bytes


def test_limits_of_an_operator():
    """What is chosen is taken; bodies of any size leave room for several, and the rest stays as it is."""
    small = Limits.make(body_bytes=1 << 20, texts=5, waiting=2, work_seconds=7)
    assert small == Limits(body_bytes=1 << 20, texts=5, waiting=2, work_seconds=7)
    large = Limits.make(body_bytes=1 << 30, texts=5, waiting=2, work_seconds=7)
    assert large.pending_bytes == MIN_PENDING_BODIES << 30
