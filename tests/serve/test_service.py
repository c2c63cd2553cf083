"""A running service: which lane does what, and the ladder that is climbed in the background."""

import asyncio
import threading

import pytest

from deniable.serve.catalogue import Catalogue, Choice
from deniable.serve.lanes import MAX_SHORT_CHARACTERS
from deniable.serve.limits import Limits
from deniable.serve.problems import Problem
from deniable.serve.service import Service
from tests.serve.helpers import SECRET, build_fixed
from tests.text.helpers import SPACE


async def wait_for_ladder(service):
    """Return the rungs of a ladder when all are there, and its task has ended."""
    for _ in range(500):
        rungs = service.prepare_ladder("tem")
        if all(rungs.values()):
            await asyncio.sleep(0.05)
            break
        await asyncio.sleep(0.01)
    return rungs


def test_short_texts_do_not_wait_for_long_ones():
    """While a long text is worked on, a short one is answered; the long one has a thread of its own."""
    catalogue = build_fixed()
    offer = catalogue.get(catalogue.default)
    release, threads = threading.Event(), {}
    privatize = offer.privatize

    def watch(texts):
        threads[len(texts[0])] = threading.get_ident()
        if len(texts[0]) > MAX_SHORT_CHARACTERS:
            assert release.wait(10)
        return privatize(texts)

    offer.privatize = watch
    service = Service(catalogue, Limits())

    async def send():
        long = asyncio.create_task(service.privatize(offer, ["a " * MAX_SHORT_CHARACTERS]))
        await asyncio.sleep(0.05)
        short = await service.privatize(offer, ["food"])
        assert not long.done()
        release.set()
        return short, await long

    try:
        short, long = asyncio.run(send())
    finally:
        del offer.privatize
        service.close()
    assert (sum(short.lengths), sum(long.lengths)) == (1, MAX_SHORT_CHARACTERS)
    assert threads.pop(4) == threading.get_ident() not in threads.values()


def test_a_law_that_cannot_be_had():
    """A mechanism that does not suit the space is refused with its reason, and not tried again."""
    calls = []

    def build(choice):
        calls.append(choice)
        from deniable.core.errors import InputError

        raise InputError("It does not suit.")

    service = Service(Catalogue(["tem"], [1.0, 2.0], 1.0, build, is_fixed=False), Limits())

    async def send():
        for _ in range(2):
            with pytest.raises(Problem, match="does not suit"):
                await service.find_offer("tem", 2.0)
        service.prepare_ladder("tem")
        return await wait_for_ladder(service)

    rungs = asyncio.run(send())
    service.close()
    assert rungs == {1.0: "It does not suit.", 2.0: "It does not suit."}
    assert sorted(calls, key=str) == [Choice("tem", 1.0), Choice("tem", 2.0)]


def test_the_ladder_is_climbed_once():
    """Asking starts the computation of the rungs in the background; in the end all are ready."""
    service = Service(Catalogue.of_space(SPACE, ["tem"], [1.0, 2.0], default=1.0), Limits())

    async def climb():
        assert set(service.prepare_ladder("tem").values()) == {None}
        return await wait_for_ladder(service)

    rungs = asyncio.run(climb())
    service.close()
    assert [offer.release.mechanism.epsilon for offer in rungs.values()] == [1.0, 2.0]


def test_an_input_error_shows_no_text(monkeypatch):
    """Where texts cannot be privatized the problem does not repeat what the error says of them."""
    from deniable.core.errors import InputError

    catalogue = build_fixed()
    offer = catalogue.get(catalogue.default)

    def refuse(texts):
        raise InputError(str(texts))

    monkeypatch.setattr(offer, "privatize", refuse)
    service = Service(catalogue, Limits())
    with pytest.raises(Problem) as caught:
        asyncio.run(service.privatize(offer, [SECRET]))
    service.close()
    assert SECRET not in caught.value.detail
