"""Who reports progress, who listens, and how many passes are to come."""

import pytest

from deniable.core.parallel import parallel_map
from deniable.core.progress import (
    count_passes_ahead,
    expect_passes,
    get_progress_reporter,
    hide_progress,
    report_progress_to,
)


def test_plans_add_up():
    """Passes that outer and inner work expect to follow are added, and forgotten where the context ends."""
    assert count_passes_ahead() is None
    with expect_passes(3):
        assert count_passes_ahead() == 3
        with expect_passes(2):
            assert count_passes_ahead() == 5
        assert count_passes_ahead() == 3
    assert count_passes_ahead() is None


def test_a_plan_ends_with_an_error():
    """Work that fails leaves no plan behind."""
    with pytest.raises(LookupError), expect_passes(3):
        raise LookupError
    assert count_passes_ahead() is None


def test_a_listener_knows_its_own_plan_alone():
    """What was planned outside of a listener is not counted in what it shows."""
    with expect_passes(3), report_progress_to(lambda done, total: None):  # noqa: ARG005 - listens to nothing
        assert count_passes_ahead() is None
        with expect_passes(1):
            assert count_passes_ahead() == 1


def test_hidden_work():
    """Hidden work reports nothing, and the work around it goes on to."""
    reports = []
    with report_progress_to(lambda done, total: reports.append((done, total))):
        with hide_progress():
            parallel_map(abs, [1, 2])
        get_progress_reporter()(1, 3)
    assert reports == [(1, 3)]
