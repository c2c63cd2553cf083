"""Shared by the adapters: read a task, train on it, write what was seen, as one JSON line.

A task is one JSON object, the script's only argument. Its data are made here, the same for every package: `records`
records with `features` numbers each, and canaries. Canary i has a feature of its own, of size `norm`, a label drawn
with the data, and no other feature; it is among the data if `included[i]` is true. No other record has that feature, so
that in a linear model without a bias the canary acts on one weight alone, and nothing else but noise does. `norm` is so
large that the gradient of a canary exceeds the clipping norm as long as weights stay below a few times 1 / `norm`.

An adapter gives the weights after every step, what was drawn for every step, and facts. The answer has for each canary
a score: the last weight of its feature, with the sign of its label. The arrays are saved in `folder`:

    weights  (steps + 1, features + canaries), in float32 where the package computes in it
    counts   (steps, canaries), how often a canary was used in a step
    sizes    (steps,), how many records were used in a step, with repetitions
    places   which they were, one step after another; copies of a record have its place

A task of the kind "game" is trained on once for each coin. Its data are what shuffled batches protect worst: one
feature, whose weight all records push one way by the whole clipping norm, but one record, which pushes it the other
way if its coin is true, and has no feature otherwise. The arrays are `traces` (coins, steps): minus the change of the
weight in each step, in clipping norms. One epoch has `records` / (`batch` * `accumulation`) steps.

A task of the kind "sensitivity" asks for two sums instead: of the clipped gradients of the first step, before the
noise, at the same weights, on all records and on all records and one more. Their distance is what one record moves.

Imports only what every package's own environment has: the standard library and numpy.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]
Integers = np.ndarray[Any, np.dtype[np.int64]]
SENSITIVITY, GAME = "sensitivity", "game"


@dataclass(frozen=True)
class Task:
    """One training, or one comparison of two sums. Parameters that a package does not have are ignored."""

    package: str  # the distribution's name
    included: list[bool]  # one for each canary
    kind: str = "train"
    scheme: str = "default"  # a way of use that the adapter knows
    records: int = 500
    features: int = 50
    norm: float = 1000.0  # of a canary
    seed: int = 0  # of the data, and of nothing else
    batch: int = 50  # records in a physical batch, expected or exact
    accumulation: int = 1  # physical batches in a step
    epochs: int = 2
    clip: float = 1.0
    noise: float = 1.0  # standard deviation per clipping norm
    epsilon: float = 1.0  # for packages that take no noise
    delta: float = 1e-5
    rate: float = 0.01
    fresh_seed: bool = False  # where a package's trainer seeds its generators: with a secret seed, not with its default
    copies: int = 1  # of every record, for a package that repeats its records
    folder: str = "."

    def read_data(self) -> Data:
        """Return the records and the included canaries, in an order drawn with them."""
        if self.kind == GAME:
            return self._read_game()
        rng = np.random.default_rng(self.seed)
        canaries = len(self.included)
        labels = rng.integers(0, 2, self.records + canaries)
        x = np.zeros((self.records + canaries, self.features + canaries), np.float32)
        x[: self.records, : self.features] = rng.standard_normal((self.records, self.features))
        x[: self.records] /= np.sqrt(self.features)
        x[self.records + np.arange(canaries), self.features + np.arange(canaries)] = self.norm
        numbers = np.concatenate([np.full(self.records, -1), np.arange(canaries)])
        used = np.concatenate([np.ones(self.records, bool), np.array(self.included, bool)])
        order = rng.permutation(self.records + canaries)
        order = order[used[order]]
        return Data(x[order], labels[order], numbers[order], labels[self.records :])

    def _read_game(self) -> Data:
        x = np.full((self.records, 1), self.norm, np.float32)
        x[0] *= self.included[0]
        labels = np.zeros(self.records, np.int64)
        labels[0] = 1
        return Data(x, labels, np.full(self.records, -1), labels[:0])


@dataclass(frozen=True)
class Data:
    """What is trained on; the last field is known of canaries that are left out, too."""

    x: Floats  # (n, features + canaries)
    labels: Integers  # (n,) 0 or 1
    numbers: Integers  # (n,) the number of a canary, or -1
    canary_labels: Integers  # (canaries,)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.labels)


@dataclass
class Outcome:
    """What was seen of a training."""

    weights: list[Floats]  # before the first step and after each
    draws: list[list[int]] = field(default_factory=list)  # the places in the data that a step used; empty: not seen
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass
class Sums:
    """Two sums of clipped gradients, and what they are sums of."""

    whole: Floats
    more: Floats  # with one more record
    clip: float
    note: str = ""


def main(train: Callable[[Task], Outcome], compare: Callable[[Task], Sums] | None = None) -> None:
    """Do the task in the first argument and write the answer to the standard output."""
    # Packages print to the standard output; the answer needs it for itself.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        task = Task(**json.loads(sys.argv[1]))
        start = time.perf_counter()
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            if task.kind == SENSITIVITY:
                if compare is None:
                    message = f"the adapter of {task.package} compares no sums"
                    raise NotImplementedError(message)
                answer = describe_sums(compare(task))
            elif task.kind == GAME:
                answer = play(task, train)
            else:
                answer = describe_training(task, train(task))
        said = list(dict.fromkeys(" ".join(str(warning.message).split()) for warning in raised))
        answer |= {"package": task.package, "version": find_version(task.package), "warnings": said}
        answer["seconds"] = time.perf_counter() - start
        answers.write(f"{json.dumps(answer)}\n")


def find_version(package: str) -> str:
    """Return the installed version."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed as a distribution"


def play(task: Task, train: Callable[[Task], Outcome]) -> dict[str, Any]:
    """Train once for each coin, save the traces, and return the facts of the last training."""
    traces = []
    outcome = Outcome([])
    for coin in task.included:
        outcome = train(replace(task, included=[coin]))
        weights = np.stack(outcome.weights).astype(np.float64)[:, 0]
        traces.append(-np.diff(weights) * outcome.facts["divisor"] / (task.rate * outcome.facts["clip"]))
    np.savez(Path(task.folder) / "trace.npz", traces=np.stack(traces))
    return {"facts": {"records": task.records, "steps": len(traces[0])} | outcome.facts}


def describe_sums(sums: Sums) -> dict[str, Any]:
    """Return the distance of two sums, in float64."""
    distance = float(np.linalg.norm(sums.more.astype(np.float64) - sums.whole.astype(np.float64)))
    norms = [float(np.linalg.norm(values.astype(np.float64))) for values in (sums.whole, sums.more)]
    return {"distance": distance, "clip": sums.clip, "ratio": distance / sums.clip, "norms": norms, "note": sums.note}


def describe_training(task: Task, outcome: Outcome) -> dict[str, Any]:
    """Save the arrays and return scores and facts."""
    data = task.read_data()
    weights = np.stack(outcome.weights)
    signs = 2 * data.canary_labels - 1
    sizes = np.array([len(places) for places in outcome.draws], np.int64)
    counts = np.zeros((len(outcome.draws), len(task.included)), np.uint8)
    repeated = 0
    for step, drawn in enumerate(outcome.draws):
        # The records of a package that repeats its records come one whole copy after another.
        for record, count in Counter(place % len(data) for place in drawn).items():
            repeated += count > 1
            if data.numbers[record] >= 0:
                counts[step, data.numbers[record]] = count
    places = np.array([place % len(data) for step in outcome.draws for place in step], np.int64)
    np.savez(Path(task.folder) / "trace.npz", weights=weights, counts=counts, sizes=sizes, places=places)
    facts = {
        "records": len(data),
        "steps": len(weights) - 1,
        "repeated": repeated,  # pairs of a step and a record that it used more than once
        "sizes": summarize_sizes(sizes),
        "uses": sorted(Counter(counts[:, np.array(task.included, bool)].sum(axis=0).tolist()).items()),
    }
    scores = signs * weights[-1, task.features :].astype(np.float64)
    return {"scores": scores.tolist(), "facts": facts | outcome.facts}


def summarize_sizes(sizes: Integers) -> dict[str, Any]:
    """Return how the numbers of records in a step are distributed."""
    if not len(sizes):
        return {}
    return {
        "least": int(sizes.min()),
        "most": int(sizes.max()),
        "mean": float(sizes.mean()),
        "variance": float(sizes.var()),
        "last": int(sizes[-1]),
        "distinct": len(set(sizes.tolist())),
    }
