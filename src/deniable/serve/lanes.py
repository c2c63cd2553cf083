"""Lanes of work: texts in batches, and computations one at a time.

While a lane works, requests wait, and those that wait when it is free again share the next batch: one call for many
texts costs a fraction of a call for each. Every text still has noise of its own. Short texts take less time than a
thread takes to be told of them, and are privatized by the event loop itself; long ones have a thread, so that short
ones never wait for them.
"""

import asyncio
import contextlib
import dataclasses
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from deniable.serve.offers import Offer, PrivateText
from deniable.serve.problems import make_busy_problem

Result = TypeVar("Result")
MAX_SHORT_CHARACTERS = 4_000
"""Characters of a request that counts as short, and of a batch of such requests: a few milliseconds of work."""


@dataclasses.dataclass
class _Waiting:
    """The texts of one request, and where their private versions go."""

    offer: Offer
    texts: Sequence[str | None]
    size: int
    result: "asyncio.Future[list[PrivateText]]"


class BatchLane:
    """Privatizes the texts of requests in batches, one batch at a time.

    Args:
        name: of its thread; None to work on the event loop.
        max_waiting: requests that may wait.
        work_seconds: after which a request is given up.
    """

    def __init__(self, name: str | None, max_waiting: int, work_seconds: float) -> None:
        self._thread = None if name is None else ThreadPoolExecutor(1, thread_name_prefix=name)
        self._waiting: deque[_Waiting] = deque()
        self._max_waiting, self._work_seconds = max_waiting, work_seconds
        self._worker: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        """Return the number of requests that wait."""
        return len(self._waiting)

    async def privatize(self, offer: Offer, texts: Sequence[str | None]) -> list[PrivateText]:
        """Return texts privatized.

        Raises:
            Problem: too many requests wait, or this one waited too long.
            InputError: the texts cannot be privatized.
        """
        if len(self._waiting) >= self._max_waiting:
            raise make_busy_problem(f"{self._max_waiting:,} requests are waiting already: try again later.")
        result: asyncio.Future[list[PrivateText]] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(offer, texts, sum(len(text or "") + 1 for text in texts), result))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        try:
            async with asyncio.timeout(self._work_seconds):
                return await result
        except TimeoutError:
            detail = f"The texts were not privatized within {self._work_seconds:g} s: send fewer, or try again later."
            raise make_busy_problem(detail) from None

    def close(self) -> None:
        """End the thread when its batch is done."""
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)

    async def _work(self) -> None:
        while self._waiting:
            batch = self._take_batch()
            if batch:
                await self._run(batch)
                await asyncio.sleep(0)  # requests that arrived meanwhile join the next batch

    def _take_batch(self) -> list[_Waiting]:
        """Return requests for one offer, from the front; those that were given up are left out."""
        batch: list[_Waiting] = []
        size = 0
        while self._waiting:
            first = self._waiting[0]
            if batch and (first.offer is not batch[0].offer or size + first.size > MAX_SHORT_CHARACTERS):
                break
            self._waiting.popleft()
            if not first.result.done():
                batch.append(first)
                size += first.size
        return batch

    async def _run(self, batch: list[_Waiting]) -> None:
        texts = [text for waiting in batch for text in waiting.texts]
        try:
            released = await self._call(batch[0].offer, texts)
        except Exception as error:  # noqa: BLE001 - the requests raise it
            if len(batch) == 1:
                if not batch[0].result.done():
                    batch[0].result.set_exception(error)
                return
            for waiting in batch:  # whatever is wrong with one of them is no concern of the others
                await self._run([waiting])
            return
        first = 0
        for waiting in batch:
            last = first + len(waiting.texts)
            if not waiting.result.done():
                waiting.result.set_result(released[first:last])
            first = last

    async def _call(self, offer: Offer, texts: Sequence[str | None]) -> list[PrivateText]:
        if self._thread is None:
            return offer.privatize(texts)
        return await asyncio.get_running_loop().run_in_executor(self._thread, offer.privatize, texts)


class CallLane:
    """Runs functions one after the other, beside the event loop.

    Args:
        name: of its thread.
        max_waiting: calls that may wait, the one that runs among them.
        work_seconds: after which a call is given up; it still ends.
    """

    def __init__(self, name: str, max_waiting: int, work_seconds: float) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._max_waiting, self._work_seconds = max_waiting, work_seconds
        self._calls = 0

    def __len__(self) -> int:
        """Return the number of calls that wait or run."""
        return self._calls

    async def call(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Return ``function(*arguments)``.

        Raises:
            Problem: too many calls wait, or this one took too long.
        """
        if self._calls >= self._max_waiting:
            raise make_busy_problem(f"{self._max_waiting:,} computations are waiting already: try again later.", 5)
        self._calls += 1
        future = asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)
        future.add_done_callback(self._end_call)
        try:
            async with asyncio.timeout(self._work_seconds):
                return await asyncio.shield(future)
        except TimeoutError:
            detail = f"The computation is not done within {self._work_seconds:g} s, and goes on: try again later."
            raise make_busy_problem(detail, 10) from None

    def close(self) -> None:
        """End the thread when its call is done."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _end_call(self, future: "asyncio.Future[Result]") -> None:
        self._calls -= 1
        with contextlib.suppress(asyncio.CancelledError):
            future.exception()  # of a call that was given up: nobody else asks
