"""Habernal 2022, Figure 2: what four functions make of uniform numbers, beside the exact law of each."""

import dataclasses
import itertools
import math
from collections.abc import Callable

import numpy as np
from scipy import stats

from deniable.auditing.inverse_samplers import audit_inverse_sampler
from deniable.core.arrays import FloatArray
from deniable.measure.intervals import estimate_share
from studies.rows import Row, at, row_of
from studies.study import Axis, Line, Metric, Panel, Statement, near

Function = Callable[[FloatArray], FloatArray]
WIDTH, END = 0.5, 5.0
"""Width of a histogram's bins, and where the outermost end."""
EDGES = np.arange(-END, END + WIDTH / 2, WIDTH)


@dataclasses.dataclass(frozen=True)
class Sampler:
    """A function of uniform numbers that is said to give Laplace noise of scale 1.

    Attributes:
        title: in the figure.
        function: from (k,) uniform numbers to (k,) values, NaN where there is none.
        lower: of the interval of the uniform numbers, whose length is 1.
        compute_cdf: the exact distribution function of what comes out.
        fills_with_zeros: whether 0 stands in for a value that does not exist; otherwise numbers are drawn until there
            is one.
    """

    title: str
    function: Function
    lower: float = 0.0
    compute_cdf: Function = stats.laplace.cdf
    fills_with_zeros: bool = False

    def draw(self, count: int, random: np.random.Generator) -> FloatArray:
        """Return (count,) values; those that do not exist are replaced, or left out, which is to draw them again."""
        with np.errstate(invalid="ignore"):
            values = self.function(random.uniform(self.lower, self.lower + 1, count))
        kept: FloatArray = np.nan_to_num(values, nan=0.0) if self.fills_with_zeros else values[~np.isnan(values)]
        return kept


def invert_by_sign(u: FloatArray) -> FloatArray:
    """Return -sgn(u - 1/2) ln(1 - 2 |u - 1/2|), equation 4."""
    return transform_as_published(u - 0.5)


def invert_by_halves(u: FloatArray) -> FloatArray:
    """Return ln(2 u) below 1/2, and -ln(2 - 2 u) from there on, equation 5."""
    return np.where(u < 0.5, np.log(2 * u), -np.log(2 - 2 * u))  # noqa: PLR2004 - the median


def transform_as_published(u: FloatArray) -> FloatArray:
    """Return -sgn(u) ln(1 - 2 |u|): equation 7 on (-1/2, 1/2), and equation 9 on (0, 1)."""
    noise: FloatArray = -np.sign(u) * np.log(1 - 2 * np.abs(u))
    return noise


def _compute_cdf_with_zeros(x: FloatArray) -> FloatArray:
    return np.where(np.asarray(x) < 0, 0.0, 0.5 + 0.5 * stats.expon.cdf(x))


CORRECT = ("equation 4", "equation 5", "equation 7")
AGAIN, ZEROS = "equation 9, missing drawn again", "equation 9, missing as 0"
SAMPLERS = {
    CORRECT[0]: Sampler("equation 4, u from (0, 1)", invert_by_sign),
    CORRECT[1]: Sampler("equation 5, u from (0, 1)", invert_by_halves),
    CORRECT[2]: Sampler("equation 7, u from (-1/2, 1/2)", transform_as_published, -0.5),
    AGAIN: Sampler("equation 9, missing drawn again", transform_as_published, compute_cdf=stats.expon.cdf),
    ZEROS: Sampler(
        "equation 9, missing as 0", transform_as_published, compute_cdf=_compute_cdf_with_zeros, fills_with_zeros=True
    ),
}
"""By curve. Equation 9 has the two ways in which DPText may treat the half of its noise that does not exist."""
TRANSFORM = "the published transform"
"""Equation 9, whose missing values are counted."""
TITLES = {TRANSFORM: TRANSFORM, **{name: sampler.title for name, sampler in SAMPLERS.items()}}
DRAWN, EXACT, FAR, NEITHER = "share of draws", "share by the law", "distance from Laplace", "no inverse"
METRICS = {
    "missing": Metric("draws that are no number", ".1%"),
    "negative draws": Metric("negative draws", ",.0f"),
    DRAWN: Metric("share of draws", ".2%"),
    EXACT: Metric("share by the exact law", ".2%"),
    FAR: Metric("largest distance from Laplace's distribution function", ".4f"),
    NEITHER: Metric("refuted as the inverse of a distribution function", ".0f"),
    "negative": Metric("negative values", ".1%"),
}


def count_missing(count: int, seed: int) -> list[Row]:
    """Return what becomes of uniform numbers from (0, 1) in equation 9."""
    with np.errstate(invalid="ignore"):
        noise = transform_as_published(np.random.default_rng(seed).random(count))
    return [
        row_of(TRANSFORM, None, "missing", estimate_share(int(np.isnan(noise).sum()), count)),
        Row(TRANSFORM, None, "negative draws", float((noise < 0).sum())),
    ]


def measure_sampler(name: str, count: int, seed: int) -> list[Row]:
    """Return a histogram of draws and of the exact law, how far the draws are from Laplace noise, and an audit."""
    sampler = SAMPLERS[name]
    values = np.sort(sampler.draw(count, np.random.default_rng(seed)))
    number, expected = len(values), stats.laplace.cdf(values)
    steps = np.arange(number + 1) / number
    rows = []
    for left, right in itertools.pairwise(EDGES.tolist()):
        inside = int(((values >= left) & (values < right)).sum())
        middle = (left + right) / 2
        # The only value with a probability of its own is 0, which is the left end of a bin.
        below = sampler.compute_cdf(np.array([np.nextafter(left, -math.inf), np.nextafter(right, -math.inf)]))
        rows.append(row_of(name, middle, DRAWN, estimate_share(inside, number)))
        rows.append(Row(name, middle, EXACT, float(below[1] - below[0])))
    audit = audit_inverse_sampler(
        sampler.function, batched=True, lower=sampler.lower, upper=sampler.lower + 1, law="laplace"
    )
    return [
        *rows,
        Row(name, None, FAR, float(max((steps[1:] - expected).max(), (expected - steps[:-1]).max()))),
        row_of(name, None, "negative", estimate_share(int((values < 0).sum()), number)),
        Row(name, None, NEITHER, float(audit.status == "refuted")),
    ]


_TOLERANCE = 0.002
"""A million draws of the law are farther from it in fewer than one of 1,000 runs (Dvoretzky, Kiefer and Wolfowitz)."""
STATEMENTS = (
    Statement(
        "With u from (0, 1) the transform gives positive numbers or NaN only, half of them NaN (Habernal 2022, Theorem "
        "3.1).",
        at(TRANSFORM, metric="missing"),
        near(0.5, 0.002),
        also=((at(TRANSFORM, metric="negative draws"), near(0)),),
        is_universal=True,
    ),
    Statement(
        "Equations 4, 5 and 7 draw from the Laplace distribution (Habernal 2022, Section 3.2 and Figure 2).",
        at(CORRECT, metric=FAR),
        near(0, _TOLERANCE),
        also=((at(CORRECT, metric=NEITHER), near(0)),),
    ),
    Statement(
        "Equation 9 is the inverse of no distribution function, and gives no negative value however missing numbers "
        "are treated (Habernal 2022, Theorem 3.1 and Figure 2).",
        at((AGAIN, ZEROS), metric=NEITHER),
        near(1),
        also=((at((AGAIN, ZEROS), metric="negative"), near(0)),),
        is_universal=True,
    ),
)
_FLOOR = 1e-3
_VALUES = Axis("noise of scale 1", limits=(-END, END))
_SHARES = Axis("share of draws, %", log=10, limits=(_FLOOR * 100, 100), ticks=((_FLOOR * 100, "0"), 1, 10, 100))


def draw_samplers(title: str, names: tuple[str, ...], looks: tuple[tuple[str, int], ...]) -> Panel:
    """Return histograms of some samplers, with their law, and with that of Laplace where it is another one."""
    lines = [Line(names[0], EXACT, "-", -1, "exact law of the sampler", width=0.9)]
    if names[0] not in CORRECT:
        lines.append(Line(CORRECT[0], EXACT, "--", -1, "Laplace distribution", width=0.9))
    lines += [Line(name, DRAWN, mark, colour, TITLES[name]) for name, (mark, colour) in zip(names, looks, strict=True)]
    return Panel(title, tuple(lines), _VALUES, _SHARES)


PANELS = (
    draw_samplers("Uniform numbers through equations 4, 5 and 7", CORRECT, (("o", 4), ("v", 5), ("D", 6))),
    draw_samplers("Through equation 9, missing drawn again", (AGAIN,), (("s", 2),)),
    draw_samplers("Through equation 9, missing as 0", (ZEROS,), (("s", 3),)),
)
