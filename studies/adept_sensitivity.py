"""Habernal 2021, Figure 1: how many pairs of vectors ADePT's noise does not cover."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from deniable.auditing.sensitivity import find_farthest_pair
from deniable.core.arrays import FloatArray
from deniable.core.parallel import parallel_map
from deniable.vectors import L1Ball, L2Ball
from studies.rows import Row, at, rows_of
from studies.runner import Context
from studies.study import Axis, Grid, Line, Metric, Panel, Reference, Statement, Study, Table, above, below, near

UNIFORM, NORMAL, WIDE = "uniform on [-1, 1]", "normal, deviation 0.1", "normal, variance 0.1"
DRAWS: dict[str, Callable[[np.random.Generator, tuple[int, int]], FloatArray]] = {
    UNIFORM: lambda random, shape: random.uniform(-1, 1, shape),
    NORMAL: lambda random, shape: random.normal(scale=0.1, size=shape),
    WIDE: lambda random, shape: random.normal(scale=math.sqrt(0.1), size=shape),
}
RADII = (0.1, 1.0, 10.0)
DIMENSIONS = tuple(2**k for k in range(1, 11))
SEARCHED = DIMENSIONS[:8]
CLIP = "the clip"
_ROWS_PER_BLOCK = 256
_REMEDIED = 1_000
"""Vectors on which the remedy is tried: that it works is proved."""


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is drawn.

    Attributes:
        vectors: drawn from each distribution at each dimension; all pairs are compared.
    """

    vectors: int = 10_000


def name_curve(distribution: str, radius: float) -> str:
    """Return the curve of one distribution under one clip."""
    return f"{distribution}, C = {radius:g}"


def measure(context: Context, kind: str, *cell: Any) -> list[Row]:  # noqa: ANN401 - parts of a cell
    """Count the pairs beyond the claimed sensitivity, or search for the farthest pair."""
    return search_sensitivity(context, *cell) if kind == CLIP else count_pairs(context, kind, *cell)


def count_pairs(context: Context, distribution: str, radius: float, n: int) -> list[Row]:
    """Count pairs of one distribution under one clip; the vectors do not depend on C."""
    vectors: int = context.sizes.vectors
    drawn = DRAWS[distribution](np.random.default_rng(context.derive_seed(distribution, n)), (vectors, n))
    clipped = L2Ball(radius).clip(drawn)
    half = vectors // 2
    apart = np.abs(clipped[:half] - clipped[half : 2 * half]).sum(axis=1)
    # The remedy, for comparison: no pair can be farther apart after an l1 clip.
    remedied = L1Ball(radius).clip(drawn[: min(vectors, _REMEDIED)])
    return rows_of(
        name_curve(distribution, radius),
        n,
        pairs_beyond=count_pairs_beyond(clipped, 2 * radius) / math.comb(vectors, 2),
        vectors_clipped=float((np.linalg.norm(drawn, axis=1) > radius).mean()),
        loss_of_a_median_pair=float(np.median(apart)) / (2 * radius),
        pairs_beyond_after_an_l1_clip=count_pairs_beyond(remedied, 2 * radius * (1 + 1e-12)),
    )


def count_pairs_beyond(points: FloatArray, limit: float) -> int:
    """Count the pairs of points (N, n) that are farther apart than a limit in l1."""

    def count_block(first: int) -> int:
        distances = cdist(points[first : first + _ROWS_PER_BLOCK], points[first:], "cityblock")
        return int(np.triu(distances > limit, 1).sum())

    return sum(parallel_map(count_block, range(0, len(points), _ROWS_PER_BLOCK)))


def search_sensitivity(context: Context, n: int) -> list[Row]:
    """Search for the farthest pair of clipped vectors, C = 1, by gradient ascent, beside what is proved."""
    rows = rows_of(CLIP, n, sensitivity=L2Ball(1.0).sensitivity(1, n) / 2)
    if n in SEARCHED:
        seed = context.derive_seed("search", n) % 2**32
        pair = find_farthest_pair(L2Ball(1.0).clip, n, starts=2, seed=seed)
        rows += rows_of(CLIP, n, sensitivity_found=pair.distance / 2)
    return rows


CURVES = tuple(name_curve(distribution, radius) for distribution in DRAWS for radius in RADII)
NARROW = tuple(name_curve(distribution, 1.0) for distribution in (UNIFORM, NORMAL))
CELLS = (
    *((distribution, radius, n) for n in DIMENSIONS for distribution in DRAWS for radius in RADII),
    *((CLIP, n) for n in DIMENSIONS),
)
_LOOKS = dict(zip(RADII, (":o", "-s", "--D"), strict=True))

STUDY = Study(
    name="adept-sensitivity",
    title="ADePT's sensitivity",
    citation="Ivan Habernal (2021), *When differential privacy meets NLP: The devil is in the detail*, Figure 1.",
    question="ADePT clips a vector to an l2 ball of radius C and adds Laplace noise for a sensitivity of 2C. Laplace "
    "noise needs the l1 sensitivity, 2C sqrt(n). How many pairs of vectors does that concern?",
    picture="The share of pairs farther apart than 2C goes from none to all within a few doublings of n, later for "
    "larger C; the sensitivity found by search follows the proved sqrt(n).",
    full=Grid(CELLS, Sizes()),
    quick=Grid(CELLS, Sizes(vectors=1_000)),
    measure=measure,
    curves={CLIP: "the l2 clip", **{name: name for name in CURVES}},
    metrics={
        "pairs beyond": Metric("pairs farther apart than 2C in l1", ".2%"),
        "vectors clipped": Metric("vectors that the clip touches", ".1%"),
        "loss of a median pair": Metric("loss of a median pair over epsilon", ".2f"),
        "pairs beyond after an l1 clip": Metric("pairs farther apart than 2C after an l1 clip", ",.0f"),
        "sensitivity": Metric("l1 sensitivity over 2C, proved", ".2f"),
        "sensitivity found": Metric("l1 sensitivity over 2C, found by search", ".2f"),
    },
    statements=(
        Statement(
            "The sensitivity of the clip is 2C sqrt(n), not 2C (Theorem 5.1).",
            at(CLIP, metric="sensitivity found"),
            near(at(metric="sensitivity"), 1e-6),
            is_universal=True,
        ),
        Statement(
            "At usual dimensions, 32 to 1024, the sensitivity is at least 6 times and up to 32 times as claimed "
            "(abstract; Section 5).",
            at(CLIP, 32, "sensitivity"),
            above(6),
            also=((at(CLIP, 1024, "sensitivity"), near(32)),),
        ),
        Statement(
            "At n = 32 almost none of the data points would be protected (Section 6, Figure 1); C is not given.",
            at(NARROW, 32, "pairs beyond"),
            above(0.999),
            also=((at(tuple(name_curve(name, 10.0) for name in (UNIFORM, NORMAL)), 32, "pairs beyond"), above(0.999)),),
        ),
        Statement(
            "The share could easily reach 100% of the data set (abstract).",
            at(CURVES, 1024, "pairs beyond", "all distributions and clips at 1024"),
            near(1.0),
        ),
        Statement(
            "The normal distribution is rather optimistic: it samples most vectors close to zero (Section 6).",
            at(name_curve(NORMAL, 1.0), 32, "vectors clipped"),
            below(0.01),
        ),
        Statement(
            "Clipping in l1 is the remedy (Section 7).",
            at(CURVES, metric="pairs beyond after an l1 clip", label="all distributions and clips"),
            near(0),
        ),
        Statement(
            "Pairs beyond the claimed distance are not protected (Section 6).",
            at(name_curve(UNIFORM, 1.0), 32, "loss of a median pair"),
            above(1),
            also=((at(CLIP, 32, "sensitivity"), near(math.inf)),),
        ),
    ),
    panels=(
        Panel(
            "Pairs that noise for 2C does not cover",
            tuple(
                Line(name_curve(distribution, radius), "pairs beyond", _LOOKS[radius], colour=colour)
                for colour, distribution in enumerate(DRAWS)
                for radius in RADII
            ),
            Axis("dimension n", log=2, ticks=DIMENSIONS),
            Axis("pairs farther apart than 2C in l1, %", limits=(-3, 103)),
            (Reference(32, "x"),),
        ),
        Panel(
            "The sensitivity itself",
            (
                Line(CLIP, "sensitivity", "-", colour=3, label="proved: sqrt(n)"),
                Line(CLIP, "sensitivity found", "o", colour=1, label="found by search"),
            ),
            Axis("dimension n", log=2, ticks=DIMENSIONS[::2]),
            Axis("l1 sensitivity of the clip over 2C", log=2, ticks=(1, 2, 4, 8, 16, 32)),
            (Reference(1, label="claimed", style="--", colour=0),),
        ),
    ),
    tables=(Table("Pairs beyond the claimed sensitivity, by dimension", ("pairs beyond",), CURVES, across=True),),
)
