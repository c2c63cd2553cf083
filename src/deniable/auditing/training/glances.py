"""What many runs of a training are compared by: a few numbers are kept of each, and the run is forgotten."""

import dataclasses
from typing import Any

import numpy as np

from deniable.auditing.training.observation import ObservedRun
from deniable.core.arrays import FloatArray

_MAX_BITS = 256
"""Numbers of a run whose last bits are looked at: the first ones."""


@dataclasses.dataclass(frozen=True)
class Glance:
    """What is kept of a run.

    Attributes:
        values: of the statistics that need no fitting, by name.
        bits: the first numbers that it released, of one length in all runs.
    """

    values: dict[str, float]
    bits: FloatArray


@dataclasses.dataclass(frozen=True)
class Eye:
    """Looks at runs along the directions in which the canary moves what they release.

    Attributes:
        directions: (N,) mean difference of the numbers that runs release in order, with the canary and without it.
        steps: T, where all steps release equally many numbers; else 0.
    """

    directions: FloatArray
    steps: int

    def look(self, run: ObservedRun, canary: Any) -> Glance:  # noqa: ANN401 - any record
        """Return what is kept of a run."""
        numbers = flatten_steps(run, len(self.directions))
        values = {"size": float(count_numbers(run))}
        if len(numbers):
            values["updates"] = float(numbers @ self.directions)
        if self.steps > 1:
            mean = self.directions.reshape(self.steps, -1).mean(axis=0)
            values["largest step"] = float((numbers.reshape(self.steps, -1) @ mean).max())
        if run.result is not None or (run.plan is None and not run.steps):
            values["score"] = float(run.score([canary])[0])
        return Glance(values, numbers[:_MAX_BITS])


def count_numbers(run: ObservedRun) -> int:
    """Return how many numbers a run released."""
    return sum(step.released.size for step in run.steps)


def flatten_steps(run: ObservedRun, length: int) -> FloatArray:
    """Return the first numbers (length,) that a run released, followed by zeros where it released fewer."""
    numbers = np.concatenate([np.empty(0), *(step.released.ravel() for step in run.steps)])[:length]
    return np.pad(numbers, (0, length - len(numbers)))
