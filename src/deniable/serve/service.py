"""A running service: its offers, its lanes of work, its limits and its counts; routes are thin layers over it."""

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from typing import TypeVar

import prometheus_client

from deniable.core.errors import InputError
from deniable.serve.budgets import ANYBODY, CallerBudgets
from deniable.serve.catalogue import Catalogue, Choice
from deniable.serve.jobs import JobSlot
from deniable.serve.lanes import MAX_SHORT_CHARACTERS, BatchLane, CallLane
from deniable.serve.offers import Offer, PrivateText
from deniable.serve.problems import Problem

Result = TypeVar("Result")
MIN_PENDING_BODIES = 4
"""Bodies of the largest size that are read or worked on at a time, at least."""
CHECKING_SECONDS, MEASURING_SECONDS = 180.0, 900.0
"""How long a check of a certificate (whose proof takes some ten seconds), and a measurement of a table, may take."""
_MEGABYTE = 1 << 20
_MAX_CALLS = 16
"""Computations that may wait."""


@dataclasses.dataclass(frozen=True)
class Limits:
    """What is refused beyond.

    Attributes:
        body_bytes: of a request.
        pending_bytes: of all requests that are read or worked on at a time; several of the largest always may be.
        texts: of a request.
        characters: of a text.
        waiting: requests that wait for one lane of workers.
        connections: open ones.
        body_seconds: for the body of a request.
        work_seconds: for waiting and work.
        idle_seconds: of a connection between two requests.
    """

    body_bytes: int = 4 << 20
    pending_bytes: int = 64 << 20
    texts: int = 10_000
    characters: int = 1_000_000
    waiting: int = 1_024
    connections: int = 1_000
    body_seconds: float = 10.0
    work_seconds: float = 30.0
    idle_seconds: float = 15.0

    def __post_init__(self) -> None:
        """Make room for several bodies of the largest size."""
        object.__setattr__(self, "pending_bytes", max(self.pending_bytes, MIN_PENDING_BODIES * self.body_bytes))


class Metrics:
    """Figures about a running service for Prometheus, coarse enough for every caller.

    They count requests. Whoever reads them just before and just after the request of another caller learns that there
    was one, and how it was answered. No figure follows from what a text holds or from how long it is: there are no
    latencies, no times, and bytes that wait are in whole megabytes.

    Attributes:
        requests: their counts by route, as the service declares it and never as the client wrote it, method and status.
    """

    def __init__(self, service: "Service") -> None:
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = prometheus_client.CollectorRegistry()
        self.requests = prometheus_client.Counter(
            "deniable_requests",
            "Requests by route, method and status.",
            ["route", "method", "status"],
            registry=self._registry,
        )
        for name, text, read in (
            ("open_requests", "Requests that are read or worked on.", lambda: service.open_requests),
            (
                "pending_bytes",
                "Bytes of their bodies.",
                lambda: -(-service.pending_bytes // _MEGABYTE) * _MEGABYTE,
            ),
            ("waiting_short", "Requests of short texts that wait.", lambda: len(service.short)),
            ("waiting_long", "Requests of long texts that wait.", lambda: len(service.long)),
            ("waiting_computations", "Computations that wait or run.", lambda: len(service.calls) + len(service.laws)),
        ):
            prometheus_client.Gauge(f"deniable_{name}", text, registry=self._registry).set_function(read)

    def format(self) -> bytes:
        """Return all figures in the text format of Prometheus."""
        return prometheus_client.generate_latest(self._registry)


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
        short, long, calls, laws: lanes of short texts, long texts, computations and laws.
        checks, measurements: room for one job of each kind.
    """

    def __init__(self, catalogue: Catalogue, limits: Limits, budgets: CallerBudgets | None = None) -> None:
        self.catalogue, self.limits, self.budgets = catalogue, limits, budgets
        self.pending_bytes = self.open_requests = 0
        self.short = BatchLane(None, limits.waiting, limits.work_seconds)
        self.long = BatchLane("long", limits.waiting, limits.work_seconds)
        self.calls = CallLane("compute", _MAX_CALLS, limits.work_seconds)
        self.laws = CallLane("laws", _MAX_CALLS, limits.work_seconds)
        self.checks = JobSlot("A check", CHECKING_SECONDS)
        self.measurements = JobSlot("A measurement", MEASURING_SECONDS)
        self.metrics = Metrics(self)
        self._unavailable: dict[Choice, str] = {}
        self._climbing: asyncio.Task[None] | None = None

    async def find_offer(self, mechanism: str | None, epsilon: float | None) -> Offer:
        """Return the offer that a request chooses, prepared.

        Raises:
            Problem: it is not offered, or is not prepared in time.
        """
        choice = self.catalogue.choose(mechanism, epsilon)
        if choice in self._unavailable:
            raise Problem(422, self._unavailable[choice])
        return self.catalogue.get(choice) or await self._prepare(choice)

    async def privatize(self, offer: Offer, texts: Sequence[str | None], caller: str = ANYBODY) -> list[PrivateText]:
        """Return texts privatized, counted, and charged to the caller where there is a ledger.

        Raises:
            Problem: a text is too long, the service is busy, or the caller's budget does not cover the texts.
        """
        self.check_count("texts", texts)
        limit = self.limits.characters
        for row, text in enumerate(texts):
            if len(text or "") > limit:
                detail = f"a text must have at most {limit:,} characters. Got {len(text or ''):,}: split it."
                raise Problem(422, f"texts, item {row}: {detail}")
        size = sum(len(text or "") + 1 for text in texts)
        lane = self.short if offer.is_quick and size <= MAX_SHORT_CHARACTERS else self.long
        try:
            released = await lane.privatize(offer, texts)
        except InputError as error:
            raise Problem(422, "texts: they cannot be privatized by this service's release.") from error
        units = sum(one.units for one in released)
        # What was drawn and may not leave is forgotten.
        if self.budgets is not None and units and not self.budgets.spend_paid(caller, units):
            await asyncio.to_thread(self.budgets.pay, caller, units)
        offer.count(released, caller)
        return released

    def check_count(self, name: str, items: Sequence[object]) -> None:
        """Raise `Problem` for a field of too many items."""
        if len(items) > self.limits.texts:
            detail = f"there must be at most {self.limits.texts:,}. Got {len(items):,}: send fewer at a time."
            raise Problem(422, f"{name}: {detail}")

    async def compute(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Return ``function(*arguments)``, computed beside the event loop, one such call at a time.

        Raises:
            Problem: too many wait, or it takes too long.
        """
        return await self.calls.call(function, *arguments)

    def prepare_ladder(self, mechanism: str) -> dict[float, Offer | str | None]:
        """Return for each epsilon its offer, why there is none, or None; the next of those is computed meanwhile."""
        rungs: dict[float, Offer | str | None] = {}
        for epsilon in self.catalogue.epsilons:
            choice = Choice(mechanism, epsilon)
            rungs[epsilon] = self.catalogue.get(choice) or self._unavailable.get(choice)
            if rungs[epsilon] is None and (self._climbing is None or self._climbing.done()):
                self._climbing = asyncio.create_task(self._climb(choice))
        return rungs

    async def _climb(self, choice: Choice) -> None:
        with contextlib.suppress(Problem):  # which whoever asks again is told
            await self._prepare(choice)

    def close(self) -> None:
        """End the threads."""
        for lane in (self.short, self.long, self.calls, self.laws):
            lane.close()

    async def _prepare(self, choice: Choice) -> Offer:
        try:
            return await self.laws.call(self.catalogue.prepare, choice)
        except InputError as error:  # it speaks of mechanism, epsilon and space alone
            self._unavailable[choice] = str(error)
            raise Problem(422, str(error)) from None
