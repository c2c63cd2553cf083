"""How much a service takes, and the epsilons that it offers."""

import dataclasses

EPSILON_LADDER = (0.5, 1.0, 1.5, 2.0, 2.3, 2.6, 2.8, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0)
"""Epsilons that requests may choose from: every mechanism has a law for each, which takes seconds to compute."""
MIN_PENDING_BODIES = 4
"""Bodies of the largest size that are read or worked on at a time, at least."""


@dataclasses.dataclass(frozen=True)
class Limits:
    """What is refused beyond.

    Attributes:
        body_bytes: of a request.
        pending_bytes: of all requests that are read or worked on at a time.
        texts: of a request.
        characters: of a text.
        waiting: requests that wait for one lane of workers.
        connections: open ones.
        header_seconds: from the first byte of a request, or the opening of a connection, to the end of its headers.
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
    header_seconds: float = 10.0
    body_seconds: float = 10.0
    work_seconds: float = 30.0
    idle_seconds: float = 15.0

    @classmethod
    def make(cls, *, body_bytes: int, texts: int, waiting: int, work_seconds: float) -> "Limits":
        """Return the limits that an operator chooses; several bodies of the largest size can always be pending."""
        pending_bytes = max(cls.pending_bytes, MIN_PENDING_BODIES * body_bytes)
        return cls(
            body_bytes=body_bytes, pending_bytes=pending_bytes, texts=texts, waiting=waiting, work_seconds=work_seconds
        )
