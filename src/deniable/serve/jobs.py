"""Long work of one request, in a process of its own that ends with the request: one job at a time.

What the job works on goes through a pipe, and so does what comes back: nothing of it is written to a disk. The
process ends when its work is done, at the limit of time, when whoever asked goes away, and when the service ends.
"""

import asyncio
import contextlib
import dataclasses
import json
import logging
import os
import pickle
import sys
import threading
import traceback
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any, BinaryIO

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from deniable.core.errors import DeniableError
from deniable.serve.problems import Problem, make_busy_problem

Report = Callable[[str], None]
"""Called by a job with the name of each part of its work."""
Job = Callable[[Any, Report], dict[str, Any]]
"""A function of a module, from a request that pickles and a report to a result that JSON can hold."""

_LOGGER = logging.getLogger("deniable.serve")
_MAX_LINE_BYTES = 64 << 20
_NICENESS = 10
"""Jobs yield the processors to requests that are answered at once."""


@dataclasses.dataclass(frozen=True)
class JobEvent:
    """What a job says: the name of the work that it began, or its result.

    Attributes:
        stage: the name; empty with a result.
        result: what the job returned; None before its end.
    """

    stage: str = ""
    result: dict[str, Any] | None = None


class JobSlot:
    """Room for one job at a time.

    Args:
        name: what runs there, for messages: "A measurement".
        seconds: how long a job may take.
    """

    def __init__(self, name: str, seconds: float) -> None:
        self.name, self.seconds = name, seconds
        self._is_busy = False

    async def run(self, job: Job, request: object) -> AsyncGenerator[JobEvent, None]:
        """Yield what a job says; closing the iterator ends its process.

        Raises:
            Problem: another job is running, the input cannot be used, the time is over, or the job failed.
        """
        if self._is_busy:
            raise make_busy_problem(
                f"{self.name} is running, and there is room for one at a time: try again later.", 10
            )
        self._is_busy = True
        try:
            async with contextlib.aclosing(_run_process(job, request, self.seconds)) as messages:
                async for message in messages:
                    event = self._read_message(message)
                    if event.result is not None:
                        break
                    yield event
        except TimeoutError:
            raise Problem(504, f"{self.name} took longer than {self.seconds:g} s and was ended: give less.") from None
        finally:
            self._is_busy = False
        yield event

    def _read_message(self, message: dict[str, Any]) -> JobEvent:
        """Return what a message says.

        Raises:
            Problem: it tells of an error.
        """
        if "refusal" in message:
            raise Problem(422, message["refusal"])
        if "failure" in message:
            _LOGGER.error("%s failed: %s", self.name, message["failure"])
            raise Problem(500, f"{self.name} failed: the log of the service says where.")
        return JobEvent(message.get("stage", ""), message.get("result"))


class JobResponse(Response):
    """What a job says, a JSON object a line: its stages, and at the end its result or a problem.

    The status follows from the first line, so that what is refused at once has the status of its problem. When the
    client goes away, the job ends.

    Args:
        slot: where the job runs.
        job: what is done.
        request: for the job.
    """

    media_type = "application/x-ndjson"

    def __init__(self, slot: JobSlot, job: Job, request: object) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._slot, self._job, self._request = slot, job, request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - of ASGI
        """Send the lines, until the last one or until nobody reads them.

        Raises:
            Problem: there is nothing but a problem to be sent.
        """
        tasks = [asyncio.create_task(self._send_lines(send)), asyncio.create_task(_wait_for_end(receive))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        if not tasks[0].cancelled():
            tasks[0].result()

    async def _send_lines(self, send: Send) -> None:
        has_begun = False
        try:
            async with contextlib.aclosing(self._slot.run(self._job, self._request)) as events:
                async for event in events:
                    if not has_begun:
                        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                        has_begun = True
                    line = {"stage": event.stage} if event.result is None else {"result": event.result}
                    await _send_line(send, line)
        except Problem as problem:
            if not has_begun:
                raise
            await _send_line(send, {"problem": {"status": problem.status, "detail": problem.detail}})
        await send({"type": "http.response.body", "body": b""})


async def _wait_for_end(receive: Receive) -> None:
    """Return when the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send_line(send: Send, content: dict[str, Any]) -> None:
    await send({"type": "http.response.body", "body": json.dumps(content).encode() + b"\n", "more_body": True})


async def _run_process(job: Job, request: object, seconds: float) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the messages of a process that runs a job, the result or an error last; it ends with the iterator.

    Raises:
        TimeoutError: there is no result after so many seconds.
    """
    deadline = asyncio.get_running_loop().time() + seconds
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", __name__),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,  # a traceback may hold a text
        limit=_MAX_LINE_BYTES,
        start_new_session=True,  # a Ctrl-C is for the service, which ends the job
    )
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise AssertionError
    try:
        async with asyncio.timeout_at(deadline):
            with contextlib.suppress(ConnectionError):  # a process that ended says so below
                stdin.write(pickle.dumps((job, request)))
                await stdin.drain()
        while True:
            async with asyncio.timeout_at(deadline):
                line = await stdout.readline()
            yield json.loads(line) if line else {"failure": f"its process ended with {await process.wait()}"}
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        stdin.close()
        await process.wait()


def _serve_job() -> None:
    """Run the job that standard input holds, and write what it says to standard output, a JSON object a line."""
    os.nice(_NICENESS)
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what a library prints is no answer
    job, request = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by the service that started this process
    threading.Thread(target=_end_with_service, daemon=True).start()

    def report(stage: str) -> None:
        _write_message(answers, {"stage": stage})

    _write_message(answers, _run_job(job, request, report))


def _run_job(job: Job, request: object, report: Report) -> dict[str, Any]:
    try:
        return {"result": job(request, report)}
    except DeniableError as error:
        return {"refusal": str(error)}
    except Exception as error:  # noqa: BLE001 - told by type and place, since a message may hold a text
        place = traceback.extract_tb(error.__traceback__)[-1]
        return {"failure": f"{type(error).__name__} in {Path(place.filename).name}:{place.lineno}"}


def _end_with_service() -> None:
    """End this process when standard input ends, which the service closes, or loses with its own end."""
    sys.stdin.buffer.read()
    os._exit(1)


def _write_message(stream: BinaryIO, message: dict[str, Any]) -> None:
    stream.write(json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    _serve_job()
