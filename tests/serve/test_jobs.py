"""Long work in a process of its own."""
# ruff: noqa: ARG001 - jobs take a request and a report, needed or not

import asyncio
import os
import sys
import time

import pytest

import deniable as dn
from deniable.serve.jobs import JobEvent, JobSlot


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
    raise dn.InputError("The text is too short: give a longer one.")


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
    events = collect(JobSlot("A job", 600), repeat_text, text)
    assert events == [JobEvent("first"), JobEvent("second"), JobEvent(result={"text": text})]


@pytest.mark.parametrize(
    ("job", "status", "logged"),
    [
        (refuse_text, 422, []),
        (fail_with_text, 500, ["ValueError in test_jobs.py:"]),
        pytest.param(end_process, 500, ["its process ended with 7"], marks=pytest.mark.deep),
    ],
)
def test_an_error_names_no_text(job, status, logged, caplog):
    """Errors on purpose are passed on; of others the log holds type and place, and the answer neither."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - by its status
        collect(JobSlot("A job", 600), job, "tavistock")
    assert caught.value.status == status
    assert ("too short" in caught.value.detail) == (status == 422)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == len(logged)
    assert all(part in line for part, line in zip(logged, lines, strict=True))
    assert "tavistock" not in "".join([*lines, caught.value.detail])


@pytest.mark.deep
def test_a_limit_of_time_ends_the_process():
    """A job that takes too long is ended, and the slot is free again."""
    slot = JobSlot("A job", 3)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - by its status
        collect(slot, name_process, 600)
    assert caught.value.status == 504
    slot.seconds = 600
    assert collect(slot, name_process, 0)[-1].result == {}


def test_one_job_at_a_time_and_none_after_its_reader():
    """A second job is refused while one runs; when the first one's reader goes away its process ends."""

    async def run():
        slot = JobSlot("A job", 600)
        events = slot.run(name_process, 600)
        process_id = int((await anext(events)).stage)
        assert is_alive(process_id)
        with pytest.raises(Exception) as caught:  # noqa: PT011 - by its status
            await anext(slot.run(name_process, 0))
        assert caught.value.status == 503
        await events.aclose()
        assert not is_alive(process_id)
        assert [event.result async for event in slot.run(name_process, 0)][-1] == {}

    asyncio.run(run())
