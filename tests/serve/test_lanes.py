"""Lanes of work: batches, isolation, limits."""

import asyncio
import threading
import time

import pytest

from deniable.serve.lanes import MAX_SHORT_CHARACTERS, BatchLane, CallLane
from deniable.serve.offers import PrivateTexts
from deniable.serve.problems import Problem


class Recorder:
    """An offer that writes texts in capitals, and remembers its batches."""

    def __init__(self, *, seconds=0.0):
        self.batches = []
        self.threads = set()
        self.seconds = seconds

    def privatize(self, texts):
        self.batches.append(list(texts))
        self.threads.add(threading.get_ident())
        time.sleep(self.seconds)
        if "fail" in texts:
            raise RuntimeError
        return PrivateTexts([text and text.upper() for text in texts], [1] * len(texts))


def run(lane, *requests):
    """Return what becomes of requests (offer, texts) that are sent at once."""

    async def send():
        return await asyncio.gather(*(lane.privatize(*request) for request in requests), return_exceptions=True)

    try:
        return asyncio.run(send())
    finally:
        lane.close()


@pytest.mark.parametrize("name", [None, "thread"])
def test_requests_share_batches(name):
    """Requests that wait together are one batch, and each gets its own texts back, in order."""
    offer = Recorder(seconds=0.02)
    texts = [[f"a{number}", None, f"b{number}"] for number in range(20)]
    results = run(BatchLane(name, 100, 5), *((offer, one) for one in texts))
    assert [result.texts for result in results] == [[text and text.upper() for text in one] for one in texts]
    assert len(offer.batches) <= 3
    assert (threading.get_ident() in offer.threads) == (name is None)


def test_batches_are_bounded():
    """A batch ends where it would become long; offers are not mixed."""
    first, second = Recorder(), Recorder()
    half = "x" * (MAX_SHORT_CHARACTERS // 2)
    requests = [(first, [half]), (first, [half]), (second, ["y"]), (first, ["z"])]
    run(BatchLane(None, 100, 5), *requests)
    assert first.batches == [[half], [half], ["z"]]
    assert second.batches == [["y"]]


def test_one_failure_is_nobody_elses():
    """Of requests in one batch only the one that fails fails."""
    offer = Recorder()
    results = run(BatchLane(None, 100, 5), (offer, ["a"]), (offer, ["fail"]), (offer, ["b"]))
    assert [results[0].texts, results[2].texts] == [["A"], ["B"]]
    assert isinstance(results[1], RuntimeError)


def test_waiting_is_bounded():
    """Beyond so many requests the next is refused for now."""
    offer = Recorder(seconds=0.05)
    results = run(BatchLane("thread", 3, 5), *((offer, ["a"]) for _ in range(10)))
    refused = [result for result in results if isinstance(result, Problem)]
    assert len(refused) == 7
    assert {result.status for result in refused} == {503}


def test_a_slow_batch_is_given_up():
    """A request that waits too long is answered; those that were given up are not worked on."""
    offer = Recorder(seconds=0.3)
    lane = BatchLane("thread", 10, 0.05)

    async def send():
        first = asyncio.create_task(lane.privatize(offer, ["a"]))
        await asyncio.sleep(0.01)
        second = asyncio.create_task(lane.privatize(offer, ["b"]))
        results = await asyncio.gather(first, second, return_exceptions=True)
        await asyncio.sleep(0.5)
        return results

    results = asyncio.run(send())
    lane.close()
    assert [result.status for result in results] == [503, 503]
    assert offer.batches == [["a"]]


def test_calls_run_one_by_one():
    """Calls run in order in one thread, raise what they raise, and are bounded in number and time."""
    lane = CallLane("calls", 2, 0.2)

    async def send():
        order = []
        first = asyncio.create_task(lane.call(order.append, 1))
        second = asyncio.create_task(lane.call(order.append, 2))
        await asyncio.sleep(0)
        with pytest.raises(Problem, match="waiting already"):
            await lane.call(order.append, 3)
        await asyncio.gather(first, second)
        assert order == [1, 2]
        with pytest.raises(ZeroDivisionError):
            await lane.call(lambda: 1 / 0)
        with pytest.raises(Problem, match="goes on"):
            await lane.call(time.sleep, 0.4)
        assert len(lane) == 1
        await asyncio.sleep(0.4)
        assert len(lane) == 0

    asyncio.run(send())
    lane.close()
