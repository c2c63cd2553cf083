"""Messages are told from progress."""

from deniable.cli import progress
from deniable.core.parallel import parallel_map
from deniable.core.progress import expect_passes
from tests.messages import select_messages


def test_messages_are_told_from_progress(monkeypatch):
    """Every line of progress is left out, at each of its stages, and a message beside it stays."""
    now, lines = [0.0], []
    monkeypatch.setattr(progress, "read_clock", lambda: now[0])
    works = [progress._Passes("calibrating and verifying"), progress._Bytes("privatizing", 300)]

    def advance(_):
        now[0] += 3.0
        works[1].advance(100)
        lines.extend(work.describe() for work in works)

    with progress.report_progress_to(works[0].report):
        parallel_map(advance, range(3), 1)
        with expect_passes(1):
            parallel_map(advance, range(3), 1)
    messages = "deniable: interrupted.\nwrote a.csv and b.csv\n"
    assert len(set(lines)) > 6
    assert select_messages("\n".join(lines) + "\n" + messages) == messages
