"""A running service: its offers, its lanes of work, and its counts; routes are thin layers over it."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from deniable.core.errors import InputError
from deniable.serve.budgets import ANYBODY, CallerBudgets
from deniable.serve.catalogue import Catalogue, Choice
from deniable.serve.lanes import MAX_SHORT_CHARACTERS, BatchLane, CallLane
from deniable.serve.limits import Limits
from deniable.serve.metrics import Metrics
from deniable.serve.offers import Offer, PrivateTexts
from deniable.serve.problems import Problem

Result = TypeVar("Result")
_BUSY = 503
_SHOWN_BYTES = 1 << 20
_MAX_CALLS = 16
"""Computations that may wait."""


class Service:
    """What the routes of one application share.

    Args:
        catalogue: what is offered.
        limits: what is refused beyond.
        budgets: of callers, which are charged before a text leaves; None where nobody counts.

    Attributes:
        metrics: counts.
        pending_bytes: of bodies that are read or worked on.
        open_requests: number of requests that are read or worked on.
        is_draining: whether the service ends: requests in work are finished, new ones refused.
    """

    def __init__(self, catalogue: Catalogue, limits: Limits, budgets: CallerBudgets | None = None) -> None:
        self.catalogue, self.limits, self.metrics, self.budgets = catalogue, limits, Metrics(), budgets
        self.pending_bytes = self.open_requests = 0
        self.is_draining = False
        self._unavailable: dict[Choice, str] = {}
        self._climbing: dict[str, asyncio.Task[None]] = {}
        self._short = BatchLane(None, limits.waiting, limits.work_seconds)
        self._long = BatchLane("long", limits.waiting, limits.work_seconds)
        self._calls = CallLane("compute", _MAX_CALLS, limits.work_seconds)
        self._laws = CallLane("laws", _MAX_CALLS, limits.work_seconds)

    async def find_offer(self, mechanism: str | None, epsilon: float | None) -> Offer:
        """Return the offer that a request chooses, prepared.

        Raises:
            Problem: it is not offered, or is not prepared in time.
        """
        choice = self.catalogue.choose(mechanism, epsilon)
        if choice in self._unavailable:
            raise Problem(422, self._unavailable[choice])
        return self.catalogue.get(choice) or await self._prepare(choice)

    async def privatize(self, offer: Offer, texts: Sequence[str | None], caller: str = ANYBODY) -> PrivateTexts:
        """Return texts privatized, counted, and charged to the caller where there is a ledger.

        Raises:
            Problem: a text is too long, the service is busy, or the caller's budget does not cover the texts.
        """
        limit = self.limits.characters
        size = 0
        for row, text in enumerate(texts):
            length = len(text or "")
            size += length + 1
            if length > limit:
                raise Problem(
                    422, f"texts, item {row}: a text must have at most {limit:,} characters. Got {length:,}: split it."
                )
        lane = self._short if offer.is_quick and size <= MAX_SHORT_CHARACTERS else self._long
        try:
            released = await lane.privatize(offer, texts)
        except InputError as error:
            raise Problem(422, "texts: they cannot be privatized by this service's release.") from error
        await self._charge(caller, offer.count_units(released))
        offer.count(released, caller)
        return released

    async def _charge(self, caller: str, units: int) -> None:
        """Charge a caller for what was drawn and did not leave yet; where it may not leave, it is forgotten."""
        if self.budgets is None or not units or self.budgets.spend_paid(caller, units):
            return
        await asyncio.to_thread(self.budgets.pay, caller, units)

    async def compute(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Return ``function(*arguments)``, computed beside the event loop, one such call at a time.

        Raises:
            Problem: too many wait, or it takes too long.
        """
        return await self._calls.call(function, *arguments)

    def prepare_ladder(self, mechanism: str) -> dict[float, Offer | str | None]:
        """Return for each epsilon its offer, why there is none, or None; the next of those is computed meanwhile."""
        rungs: dict[float, Offer | str | None] = {}
        for epsilon in self.catalogue.epsilons:
            choice = Choice(mechanism, epsilon)
            rungs[epsilon] = self.catalogue.get(choice) or self._unavailable.get(choice)
        is_complete = all(rung is not None for rung in rungs.values())
        if not is_complete and mechanism not in self._climbing:
            self._climbing[mechanism] = asyncio.create_task(self._climb(mechanism))
        return rungs

    async def _climb(self, mechanism: str) -> None:
        """Prepare all offers of a mechanism, one after the other, on the thread for laws."""
        try:
            for epsilon in self.catalogue.epsilons:
                choice = Choice(mechanism, epsilon)
                if self.catalogue.get(choice) is None and choice not in self._unavailable:
                    await self._prepare_for_ladder(choice)
        finally:
            del self._climbing[mechanism]

    async def _prepare_for_ladder(self, choice: Choice) -> None:
        while True:
            try:
                await self._prepare(choice)
            except Problem as problem:
                if problem.status == _BUSY:
                    await asyncio.sleep(1)
                    continue
            return

    def list_gauges(self) -> dict[str, int]:
        """Return how much is going on, by name; bytes in whole megabytes, which hide the length of a text."""
        return {
            "open_requests": self.open_requests,
            "pending_bytes": -(-self.pending_bytes // _SHOWN_BYTES) * _SHOWN_BYTES,
            "waiting_short": len(self._short),
            "waiting_long": len(self._long),
            "waiting_computations": len(self._calls) + len(self._laws),
        }

    def close(self) -> None:
        """End the threads."""
        for lane in (self._short, self._long, self._calls, self._laws):
            lane.close()

    async def _prepare(self, choice: Choice) -> Offer:
        try:
            return await self._laws.call(self.catalogue.prepare, choice)
        except InputError as error:  # it speaks of mechanism, epsilon and space alone
            self._unavailable[choice] = str(error)
            raise Problem(422, str(error)) from None
