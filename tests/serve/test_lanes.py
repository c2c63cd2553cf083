"""Lanes of work: batches, isolation, limits."""

import asyncio
import threading

import pytest

from deniable.serve.lanes import MAX_SHORT_CHARACTERS, BatchLane, CallLane


class Recorder:
    """An offer that writes texts in capitals, remembers its batches, and may wait for an event."""

    def __init__(self, event=None):
        self.batches, self.threads, self.event = [], set(), event

    def privatize(self, texts):
        self.batches.append(list(texts))
        self.threads.add(threading.get_ident())
        assert self.event is None or self.event.wait(120)
        if "fail" in texts:
            raise RuntimeError
        return [text and text.upper() for text in texts]


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
    offer = Recorder()
    texts = [[f"a{number}", None, f"b{number}"] for number in range(20)]
    results = run(BatchLane(name, 100, 600), *((offer, one) for one in texts))
    assert results == [[text and text.upper() for text in one] for one in texts]
    assert len(offer.batches) <= 3
    assert (threading.get_ident() in offer.threads) == (name is None)


def test_batches_are_bounded():
    """A batch ends where it would become long; offers are not mixed; one failure is nobody else's."""
    first, second = Recorder(), Recorder()
    half = "x" * (MAX_SHORT_CHARACTERS // 2)
    run(BatchLane(None, 100, 600), (first, [half]), (first, [half]), (second, ["y"]), (first, ["z"]))
    assert first.batches == [[half], [half], ["z"]]
    assert second.batches == [["y"]]
    mixed = run(BatchLane(None, 100, 600), (first, ["a"]), (first, ["fail"]), (first, ["b"]))
    assert [mixed[0], type(mixed[1]), mixed[2]] == [["A"], RuntimeError, ["B"]]


def test_waiting_is_bounded():
    """Beyond so many requests the next is refused for now."""
    results = run(BatchLane("thread", 3, 600), *((Recorder(), ["a"]) for _ in range(10)))
    assert [getattr(result, "status_code", None) for result in results] == [None] * 3 + [503] * 7


def test_a_slow_batch_is_given_up():
    """A request that waits too long is answered; those that were given up are not worked on."""
    offer = Recorder(threading.Event())
    results = run(BatchLane("thread", 10, 0.05), (offer, ["a"]), (Recorder(), ["b"]))
    assert [result.status_code for result in results] == [503, 503]
    assert offer.batches == [["a"]]
    offer.event.set()


def test_calls_run_one_by_one():
    """Calls run in order in one thread, raise what they raise, and are bounded in number and time."""
    lane, hasty = CallLane("calls", 2, 600), CallLane("hasty", 2, 0.05)

    async def fail(lane, function, *arguments):
        with pytest.raises(Exception) as caught:  # noqa: PT011 - by its status
            await lane.call(function, *arguments)
        return getattr(caught.value, "status_code", type(caught.value))

    async def send():
        order, event = [], threading.Event()
        calls = [asyncio.create_task(lane.call(order.append, number)) for number in (1, 2)]
        await asyncio.sleep(0)
        assert await fail(lane, order.append, 3) == 503
        await asyncio.gather(*calls)
        assert order == [1, 2]
        assert await fail(lane, lambda: 1 / 0) is ZeroDivisionError
        assert await fail(hasty, event.wait, 120) == 503
        assert len(hasty) == 1  # it goes on
        event.set()
        while len(hasty):  # noqa: ASYNC110 - the lane tells nobody
            await asyncio.sleep(0.01)

    asyncio.run(send())
    lane.close()
    hasty.close()
