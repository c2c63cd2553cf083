"""What is measured of a model: accuracy, interval bounds, attacks, and smoothing by its mechanism. Needs torch."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.core.intervals import Estimate, estimate_share
from deniable.core.randomness import derive_key_from_seed
from deniable.models.text.attacks import run_genetic_attack, run_greedy_attack
from deniable.models.text.attacks.search import TextAttackResult
from deniable.models.text.model import TextModel, certify_by_intervals
from deniable.models.text.smoothing import certify_texts
from deniable.models.text.substitutions import SubstituteSource
from deniable.studies.study import Data
from deniable.studies.substituted.bench import Bench
from deniable.studies.substituted.mechanisms import Mechanisms
from deniable.studies.substituted.plan import SETS, Cell, Measure, Point

DISTANCES = (0.0, 0.5, 1.0, 2.0, 4.0)
"""Total distances at which smoothing is told; a word's nearest neighbours are 3 to 5 away."""
CHANGES = (0, 1, 2, 3, 5)
KEPT = (0.0, 0.25, 0.5, 0.75)
"""Shares of the substitutes that bounds are told for besides all: what the size of the sets costs."""
Model = Callable[[], TextModel]
Hits = npt.NDArray[np.bool_]


def plain(bench: Bench, cell: Cell, model: TextModel) -> Data:
    """Return the accuracy without attack, and the share that interval bounds prove for every choice of the sets."""
    right = model.predict(bench.test) == bench.test.labels
    held = certify_by_intervals(model, bench.test, bench.sets)
    return {"points": [_point(cell, "clean", right), _point(cell, "certified", held, SETS)]}


def thinned(bench: Bench, cell: Cell, model: Model) -> Data:
    """Return the share that interval bounds prove where a part of the substitutes is left out at random."""
    points = []
    for kept in KEPT:
        sets = bench.sets.thin(kept, np.random.default_rng(bench.seed("thinned", kept)))
        points.append(_point(cell, "certified", certify_by_intervals(model(), bench.test, sets), SETS, kept))
    return {"points": points}


def by_sets(bench: Bench, cell: Cell, model: Model, attack: Measure) -> Data:
    """Return the accuracy under an attack whose words come from the substitution sets."""
    found = _attacked(bench, model(), attack, bench.sets, SETS)
    return {"points": [_point(cell, attack, found.correct_before & ~found.flipped, SETS, **_effort(found))]}


def by_mechanism(bench: Bench, cell: Cell, model: Model, mechanisms: Mechanisms, point: Point) -> Data:
    """Return the accuracy under the genetic attack whose words a mechanism draws."""
    found = _attacked(bench, model(), "genetic", mechanisms.attacking(point), point.title)
    hits = found.correct_before & ~found.flipped
    return {"points": [_point(cell, "genetic", hits, point.mechanism, point.at, **_effort(found))]}


def _attacked(bench: Bench, model: TextModel, attack: Measure, source: SubstituteSource, name: str) -> TextAttackResult:
    """Attack all test texts; every model meets the same draws of a source."""
    key, scorer = derive_key_from_seed(bench.seed("attack", attack, name)), model.network.make_scorer(bench.test)
    if attack == "greedy":
        return run_greedy_attack(scorer, bench.test, source, key)
    sizes = bench.sizes
    return run_genetic_attack(
        scorer, bench.test, source, key, population=sizes.population, generations=sizes.generations
    )


def _effort(found: TextAttackResult) -> Data:
    """Return how much of a text a successful attack changes, and how many texts it asks about."""
    flipped = found.flipped
    changed = found.changed_words[flipped] / np.maximum(found.texts.lengths[flipped], 1)
    return {
        "words changed": float(changed.mean()) if flipped.any() else None,
        "queries": float(found.queries[found.correct_before].mean()) if found.correct_before.any() else None,
    }


def smoothed(bench: Bench, cell: Cell, model: Model, mechanisms: Mechanisms, point: Point) -> Data:
    """Return what is certified of a model smoothed by the mechanism that its copies came from."""
    count, mechanism = min(bench.sizes.smoothed, len(bench.test)), mechanisms.at(point)
    some = bench.test.take(np.arange(count))
    found = certify_texts(
        mechanism,
        model().network.make_scorer(some),
        some.texts,
        key=derive_key_from_seed(bench.seed("smoothing", point.title)),
        replacements=bench.sets,
        selection=bench.sizes.selection,
        estimation=bench.sizes.estimation,
    )
    labels = some.labels.tolist()
    at = {"model": cell.name, "mechanism": point.mechanism, "at": point.at, "standing": found.status}
    distances = zip(DISTANCES, found.accuracy_at_distances(labels, DISTANCES), strict=True)
    changes = zip(CHANGES, found.accuracy_at_changes(labels, CHANGES), strict=True)
    return {
        "smoothed": [
            *({**at, "kind": "distance", "size": size, **_shown(held)} for size, held in distances),
            *({**at, "kind": "changes", "size": size, **_shown(held)} for size, held in changes),
        ]
    }


def _point(
    cell: Cell,
    measure: Measure,
    hits: Hits,
    source: str | None = None,
    at: float | None = None,
    **more: Any,  # noqa: ANN401 - what JSON holds
) -> Data:
    """Return a share of the test texts, and which of them: models are compared text by text."""
    return {
        "model": cell.name,
        "measure": measure,
        "source": source,
        "at": at,
        **_shown(estimate_share(int(hits.sum()), len(hits))),
        "texts": np.packbits(hits).tobytes().hex(),
        **more,
    }


def _shown(estimate: Estimate) -> Data:
    """Return an estimate as JSON holds it."""
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "count": estimate.count}
