"""Long work in a process of its own."""
# ruff: noqa: ARG001 - jobs take a report and a request, needed or not

import asyncio
import os
import sys
import time

import pytest

import deniable as dn
from deniable.serve.jobs import JobSlot


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """Let the processes of jobs find the functions of this file."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


def repeat_text(report, request):
    """Report twice, print what is no answer, and return the request."""
    report("first")
    print("noise on standard output")  # noqa: T201 - what libraries do
    report("second")
    return {"text": request}


def name_process(report, request):
    """Report the number of this process, and wait."""
    report(str(os.getpid()))
    time.sleep(request)
    return {}


def refuse_text(report, request):
    raise dn.InputError("The text is too short: give a longer one.")


def fail_with_text(report, request):
    raise ValueError(f"secret {request}")


def end_process(report, request):
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
    assert events == [{"stage": "first"}, {"stage": "second"}, {"result": {"text": text}}]


@pytest.mark.parametrize(
    ("job", "status", "logged"),
    [
        (refuse_text, 422, []),
        (fail_with_text, 500, ["test_jobs.py:"]),
        pytest.param(end_process, 500, ["its process ended"], marks=pytest.mark.deep),
    ],
)
def test_an_error_names_no_text(job, status, logged, caplog, capfd):
    """Errors on purpose are passed on; of others the log holds type and place, and the answer neither."""
    (event,) = collect(JobSlot("A job", 600), job, "tavistock")
    assert event["problem"]["status"] == status
    assert ("too short" in event["problem"]["detail"]) == (status == 422)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == len(logged)
    assert all(part in line for part, line in zip(logged, lines, strict=True))
    assert "tavistock" not in "".join([*lines, str(event), *capfd.readouterr()])


@pytest.mark.deep
def test_a_limit_of_time_ends_the_process():
    """A job that takes too long is ended, and the slot is free again."""
    slot = JobSlot("A job", 3)
    assert collect(slot, name_process, 600)[-1]["problem"]["status"] == 504
    slot.seconds = 600
    assert collect(slot, name_process, 0)[-1] == {"result": {}}


def test_one_job_at_a_time_and_none_after_its_reader():
    """A second job is refused while one runs; when the first one's reader goes away its process ends."""

    async def run():
        slot = JobSlot("A job", 600)
        events = slot.run(name_process, 600)
        process_id = int((await anext(events))["stage"])
        assert is_alive(process_id)
        with pytest.raises(Exception) as caught:  # noqa: PT011 - by its status
            slot.respond(name_process, 0)
        assert caught.value.status_code == 503
        await events.aclose()
        assert not is_alive(process_id)
        assert [event async for event in slot.run(name_process, 0)][-1] == {"result": {}}

    asyncio.run(run())
