"""Long work of one request, in a process of its own that ends with the request: one job at a time.

What the job works on goes through a pipe, and so does what comes back: nothing of it is written to a disk. The
process ends when its work is done, at the limit of time, when whoever asked goes away, and when the service ends.
"""

import asyncio
import json
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import AsyncGenerator, Callable
from multiprocessing.connection import Connection
from typing import Any

from starlette.responses import Response, StreamingResponse

from deniable.core.errors import DeniableError
from deniable.serve.problems import Problem, describe_failure, make_busy_problem

Report = Callable[[str], None]
"""Called by a job with the name of each part of its work."""
Job = Callable[..., dict[str, Any]]
"""A function of a module, of a `Report` and of arguments that pickle, which returns what JSON can hold."""

_LOGGER = logging.getLogger("deniable.serve")
_NICENESS = 10
"""Jobs yield the processors to requests that are answered at once."""


class JobSlot:
    """Room for one job at a time.

    Args:
        name: what runs there, for messages: "A measurement".
        seconds: how long a job may take.
    """

    def __init__(self, name: str, seconds: float) -> None:
        self.name, self.seconds = name, seconds
        self._lock = asyncio.Lock()

    def respond(self, job: Job, *arguments: object) -> Response:
        """Return the response of a job: a JSON object a line, its stages, and at the end its result or a problem.

        Raises:
            Problem: another job is running.
        """
        if self._lock.locked():
            detail = f"{self.name} is running, and there is room for one at a time: try again later."
            raise make_busy_problem(detail, 10)
        lines = (json.dumps(event) + "\n" async for event in self.run(job, *arguments))
        return StreamingResponse(lines, media_type="application/x-ndjson")

    async def run(self, job: Job, *arguments: object) -> AsyncGenerator[dict[str, Any], None]:
        """Yield what a job says; closing the generator ends its process."""
        context, now = multiprocessing.get_context("spawn"), asyncio.get_running_loop().time
        pipe, end = context.Pipe()
        process = context.Process(target=_run_job, args=(end,), daemon=True)
        async with self._lock:
            deadline, kind = now() + self.seconds, "stage"
            process.start()
            end.close()
            try:
                await asyncio.wait_for(asyncio.to_thread(pipe.send, (job, arguments)), deadline - now())
                while kind == "stage":
                    line = await asyncio.wait_for(asyncio.to_thread(pipe.recv_bytes), deadline - now())
                    kind, content = json.loads(line)
                    yield self._describe_event(kind, content)
            except TimeoutError:
                detail = f"{self.name} took longer than {self.seconds:g} s and was ended: give less."
                yield {"problem": Problem(504, detail).fields}
            except (EOFError, ConnectionError):
                yield self._describe_event("failure", "its process ended")
            finally:
                process.kill()
                await asyncio.to_thread(process.join)
                pipe.close()

    def _describe_event(self, kind: str, content: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
        """Return a line of the response; where a job failed is for the log."""
        if kind == "refusal":
            return {"problem": Problem(422, content).fields}
        if kind == "failure":
            _LOGGER.error("%s failed: %s", self.name, content)
            return {"problem": Problem(500, f"{self.name} failed: the log of the service says where.").fields}
        return {kind: content}


def _run_job(pipe: Connection) -> None:
    """Run the job that comes through a pipe, and send what it says."""
    os.nice(_NICENESS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for the service, which ends the job
    for output in (1, 2):  # what a library prints is no answer, and a traceback may hold a text
        os.dup2(os.open(os.devnull, os.O_WRONLY), output)
    threading.Thread(target=_end_with_service, daemon=True).start()

    def send(kind: str, content: object) -> None:
        pipe.send_bytes(json.dumps([kind, content]).encode())

    job, arguments = pipe.recv()
    try:
        send("result", job(lambda stage: send("stage", stage), *arguments))
    except DeniableError as error:
        send("refusal", str(error))
    except Exception as error:  # noqa: BLE001 - told by type and place, since a message may hold a text
        send("failure", describe_failure(error))


def _end_with_service() -> None:
    """End this process when the service has ended, however it did."""
    service = multiprocessing.parent_process()
    if service is not None:
        service.join()
    os._exit(1)
