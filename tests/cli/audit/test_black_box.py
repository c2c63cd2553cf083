"""What audits of black boxes share: time limits, distances, requests."""

import time

import pytest

from deniable.cli.audit.black_box import SamplingRequest, limit_call_time, parse_distances, read_text_lines
from deniable.core.errors import InputError


def test_calls_in_time_and_late_calls():
    """A call in time returns its value, a late one is an error that names the limit and the option."""
    assert limit_call_time(lambda value: value + 1, 5.0, "The call")(1) == 2
    with pytest.raises(InputError, match=r"The call did not end within the 0\.05 seconds given: .* --time-limit"):
        limit_call_time(time.sleep, 0.05, "The call")(5)


def test_nothing_interrupts_after_the_call():
    """The timer of a call that ended in time is off."""
    limit_call_time(lambda: None, 0.05, "The call")()
    time.sleep(0.1)


def test_distances(tmp_path):
    """A distance is a number, or a file with one a line."""
    assert parse_distances("0.5") == 0.5
    path = tmp_path / "distances.txt"
    path.write_text("1\n0.25\n")
    assert parse_distances(str(path)) == [1.0, 0.25]
    path.write_text("1\ntwo\n")
    with pytest.raises(InputError, match="is neither a number nor a file of numbers, one a line"):
        parse_distances(str(path))


def test_lines_of_a_file(tmp_path):
    """The last line end makes no line of its own, and an empty file has none."""
    path = tmp_path / "lines.txt"
    path.write_text("a\n\nb\n")
    assert read_text_lines(str(path)) == ["a", "", "b"]
    path.write_text("")
    assert read_text_lines(str(path)) == []


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), 1e8])
def test_durations_out_of_range(seconds):
    """A duration must be a positive number of seconds."""
    with pytest.raises(InputError, match="The 'time_limit' parameter of audit must be a float in"):
        SamplingRequest(1.0, 0.0, 1.0, 0.95, 100, "auto", seconds, None)
