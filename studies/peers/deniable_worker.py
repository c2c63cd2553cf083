"""Worker for `deniable` itself, timed by the same code as its peers."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import timing

import deniable as dn

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def open_mechanism(job: timing.Job) -> Iterator[timing.Privatize]:
    """Set up on the space that the peers were given."""
    space = (
        dn.Space.glove(hide=(), metric="euclidean")
        if job.space == "glove"
        else dn.Space.load(job.space, hide=(), metric="euclidean")
    )
    timing.require_size(len(space.words), job)
    kind = dn.MultivariateLaplace if job.mechanism == "laplace" else dn.TEM
    yield kind(space, epsilon=job.epsilon).sample


if __name__ == "__main__":
    timing.main(open_mechanism)
