"""Habernal 2021, Figure 1: how many pairs of vectors ADePT's noise does not cover."""

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from deniable.auditing.sensitivity import count_sensitivity_violations, find_farthest_pair
from deniable.core.arrays import FloatArray
from deniable.core.parallel import parallel_map
from deniable.studies.sensitivity.figure import draw
from deniable.studies.sensitivity.words import NORMAL, UNIFORM, WIDE, findings, table
from deniable.studies.study import Data, Result, Setting, Study, derived
from deniable.vectors import L1Ball, L2Ball

_Draw = Callable[[np.random.Generator, tuple[int, int]], FloatArray]
_DRAWS: dict[str, _Draw] = {
    UNIFORM: lambda random, shape: random.uniform(-1, 1, shape),
    NORMAL: lambda random, shape: random.normal(scale=0.1, size=shape),
    WIDE: lambda random, shape: random.normal(scale=math.sqrt(0.1), size=shape),
}
_REMEDIED = 1_000
"""Vectors on which the remedy is tried: that it works is proved."""


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is drawn.

    Attributes:
        vectors: drawn from each distribution at each dimension; all pairs are compared.
        dimensions: n, with 32 among them.
        radii: C, the norm that vectors are clipped to, with 1 among them.
        searched: dimensions at which the farthest pair is searched for.
    """

    vectors: int = 10_000
    dimensions: tuple[int, ...] = tuple(2**k for k in range(1, 11))
    radii: tuple[float, ...] = (0.1, 1.0, 10.0)
    searched: tuple[int, ...] = tuple(2**k for k in range(1, 9))


def run(sizes: Sizes, setting: Setting) -> Result:
    """Count the pairs beyond the claimed sensitivity, and search for the farthest."""
    cells = [(name, radius, n) for n in sizes.dimensions for name in _DRAWS for radius in sizes.radii]
    # One cell at a time, since each is counted on all cores, and the long ones first, for the time left.
    found = parallel_map(lambda cell: _count(sizes.vectors, *cell, setting.seed), cells[::-1], workers=1)[::-1]
    searched = {str(n): _searched(n, setting.seed) for n in sizes.searched}
    data = {
        "claimed sensitivity": "2 C",
        "proved sensitivity": {str(n): L2Ball(1.0).sensitivity(1, n) for n in sizes.dimensions},
        "searched sensitivity": searched,
        "shares": found,
        "l1 clip, vectors": min(sizes.vectors, _REMEDIED),
        "l1 clip, pairs beyond": sum(cell["beyond after an l1 clip"] for cell in found),
        "pairs": sizes.vectors * (sizes.vectors - 1) // 2,
        "dimensions": list(sizes.dimensions),
        "radii": list(sizes.radii),
    }
    return Result(data, table(data), findings(data))


def _count(vectors: int, name: str, radius: float, n: int, seed: int) -> Data:
    """Return what becomes of the pairs of one distribution at one dimension under one clip.

    The vectors do not depend on C, so that the lines of one distribution are about the same vectors.
    """
    drawn = _DRAWS[name](np.random.default_rng(derived(seed, name, n)), (vectors, n))
    clipped = L2Ball(radius).clip(drawn)
    counted = count_sensitivity_violations(clipped, 2 * radius)
    half = vectors // 2
    apart = np.abs(clipped[:half] - clipped[half : 2 * half]).sum(axis=1)
    # The remedy, for comparison: no pair can be farther apart after an l1 clip.
    remedy = count_sensitivity_violations(
        L1Ball(radius).clip(drawn[: min(vectors, _REMEDIED)]), 2 * radius * (1 + 1e-12)
    )
    return {
        "distribution": name,
        "C": radius,
        "n": n,
        "beyond": counted.violation_count,
        "share": counted.violation_share,
        "clipped": float((np.linalg.norm(drawn, axis=1) > radius).mean()),
        "median distance over 2 C": float(np.median(apart)) / (2 * radius),
        "beyond after an l1 clip": remedy.violation_count,
    }


def _searched(n: int, seed: int) -> float:
    """Return the largest l1 distance of two clipped vectors, C = 1, that gradient ascent finds."""
    return find_farthest_pair(L2Ball(1.0).clip, n, starts=2, seed=derived(seed, "search", n) % 2**32).distance


STUDY = Study(
    name="adept-sensitivity",
    summary="how many pairs of vectors ADePT's noise does not cover, by dimension",
    paper='Habernal 2021, "When differential privacy meets NLP: The devil is in the detail", Figure 1',
    full=Sizes(),
    quick=Sizes(vectors=1_000),
    run=run,
    draw=draw,
)
