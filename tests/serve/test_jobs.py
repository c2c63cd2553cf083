"""Long work in a process of its own."""
# ruff: noqa: ARG001 - jobs take a request and a report, needed or not

import asyncio
import os
import sys
import time

import pytest

from deniable.core.errors import InputError
from deniable.serve.jobs import JobEvent, JobSlot
from deniable.serve.problems import Problem


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """Let the processes of jobs find the functions of this file."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


def repeat_text(request, report):
    """Report twice, print what is no answer, and return the request."""
    report("first")
    print("noise on standard output")  # noqa: T201 - what libraries do
    report("second")
    return {"text": request}


def name_process(request, report):
    """Report the number of this process, and wait."""
    report(str(os.getpid()))
    time.sleep(request)
    return {}


def refuse_text(request, report):
    raise InputError("The text is too short: give a longer one.")


def fail_with_text(request, report):
    raise ValueError(f"secret {request}")


def end_process(request, report):
    os._exit(7)


def collect(slot, job, request):
    """Return all events of a job."""

    async def run():
        return [event async for event in slot.run(job, request)]

    return asyncio.run(run())


def is_alive(process_id):
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_job_reports_and_returns():
    """Stages come in their order and the result last; what a library prints is neither."""
    text = 'lone \ud800 surrogate, "quotes", \0, \u202e and 😀'
    events = collect(JobSlot("A job", 30), repeat_text, text)
    assert events == [JobEvent("first"), JobEvent("second"), JobEvent(result={"text": text})]


@pytest.mark.parametrize(
    ("job", "status", "message", "logged"),
    [
        (refuse_text, 422, "The text is too short: give a longer one.", []),
        (fail_with_text, 500, "A job failed: the log of the service says where.", ["ValueError in test_jobs.py:"]),
        (end_process, 500, "A job failed: the log of the service says where.", ["its process ended with 7"]),
    ],
)
def test_an_error_names_no_text(job, status, message, logged, caplog):
    """Errors on purpose are passed on; of others the log holds type and place, and the answer neither."""
    with pytest.raises(Problem) as caught:
        collect(JobSlot("A job", 30), job, "tavistock")
    assert (caught.value.status, caught.value.detail) == (status, message)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == len(logged)
    assert all(part in line for part, line in zip(logged, lines, strict=True))
    assert "tavistock" not in "".join(lines)


def test_a_limit_of_time_ends_the_process():
    """A job that takes too long is ended, and the slot is free again."""
    slot = JobSlot("A job", 3)
    with pytest.raises(Problem, match="took longer than 3 s") as caught:
        collect(slot, name_process, 60)
    assert caught.value.status == 504
    assert collect(slot, name_process, 0)[-1].result == {}


def test_one_job_at_a_time_and_none_after_its_reader():
    """A second job is refused while one runs; when the first one's reader goes away its process ends."""

    async def run():
        slot = JobSlot("A job", 30)
        events = slot.run(name_process, 60)
        process_id = int((await anext(events)).stage)
        assert is_alive(process_id)
        with pytest.raises(Problem, match="room for one at a time") as caught:
            await anext(slot.run(name_process, 0))
        assert caught.value.status == 503
        await events.aclose()
        assert not is_alive(process_id)
        assert [event.result async for event in slot.run(name_process, 0)][-1] == {}

    asyncio.run(run())
