"""Xu et al. 2021, Figures 1 and 2: how deniable single words are, and what epsilon is spent for it.

What depends on the distance to the nearest word, and the paper's Lemma 1 and Appendix C, are in ``word_density.py``.
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence

import numpy as np

from deniable.auditing import verify
from deniable.measure.deniability import measure_deniability
from deniable.measure.intervals import estimate_mean
from deniable.published.truncated_gumbel.mechanism import compute_min_epsilon
from deniable.words import WordMechanism
from studies import word_density
from studies.reviews import LAPLACE, build_mechanism
from studies.rows import Row, at, find_row, row_of, rows_of
from studies.runner import Context
from studies.study import Axis, Grid, Line, Metric, Panel, Statement, Study, Table, above, below, near
from studies.vocabularies import FILES, TABLES, Vocabulary, compute_published_minimum, load_vocabulary
from studies.word_density import (
    GUMBEL,
    LEMMA,
    PLACES,
    measure_by_density,
    measure_lemma,
    measure_small_spaces,
    name_density,
    name_lemma,
    name_small,
)

TITLES = {
    LAPLACE: "multivariate Laplace",
    GUMBEL: "truncated Gumbel",
    "tem": "TEM",
    "calibrated": "calibrated",
    "tight": "tight",
}
EPSILONS: dict[str, tuple[float, ...]] = {
    LAPLACE: (1.0, 5.0, 9.0, 12.0, 15.0, 20.0, 40.0, 60.0, 80.0, 100.0, 150.0, 200.0),
    GUMBEL: (0.0, 4.67, 6.0, 8.0, 10.0, 14.0, 17.0, 23.0, 38.0, 50.0, 62.0, 74.0, 86.0),
    "tem": (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0),
    "calibrated": (0.5, 1.0, 1.25, 1.5, 2.0, 3.0),
    "tight": (1.0, 1.25, 1.5, 2.0),
}
"""Those of multivariate Laplace are those of Table 3 and 12 and 15 besides. For truncated Gumbel natural logarithms, as
in Table 2, and 6 and 8 besides; 0 stands for the least epsilon of a vocabulary, below which others are left out."""
THEIRS = {"IMDB": (48_210, 0.2208, 4.67, 20.0), "NLI": (11_673, 0.2263, 4.52, 17.5)}
"""The paper's |W|, Delta0, first ln epsilon of Table 2 and largest S_w; its NLI is SNLI."""
_ABOVE = 1.01
"""The first epsilon of truncated Gumbel is so many times the least one that gives it a scale."""
_CLOSE = 1.05
"""Bounds on epsilon within this factor of each other count as its value."""
HALF = 0.5
"""Share of the runs in which a word stays, at which mechanisms are compared."""


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is drawn.

    Attributes:
        words: drawn uniformly from each vocabulary.
        runs: of each word.
        vocabulary: words kept of each vocabulary, the most frequent ones; None for all.
        dense_words: drawn uniformly from each tenth of a vocabulary by the distance to the nearest word.
        dense_runs: of each of them.
    """

    words: int = 100
    runs: int = 1_000
    vocabulary: int | None = None
    dense_words: int = 20
    dense_runs: int = 100


def name_curve(vocabulary: str, mechanism: str) -> str:
    """Return the curve of one mechanism on one vocabulary."""
    return f"{vocabulary}/{mechanism}"


def measure(
    context: Context, name: str, mechanism: str | None, epsilon: float | None, part: str = "outputs"
) -> list[Row]:
    """Count what words become under one mechanism at one epsilon, or describe the vocabulary.

    Another part than the outputs is ``density``, ``lemma`` or ``small spaces``.
    """
    sizes: Sizes = context.sizes
    vocabulary = load_vocabulary(context, name, sizes.words, sizes.vocabulary)
    if mechanism is None or epsilon is None:
        return [Row(name, None, "runs", float(sizes.runs)), *describe_vocabulary(vocabulary)]
    place = epsilon
    if mechanism == GUMBEL:
        points = vocabulary.space.point_count
        least = _ABOVE * compute_min_epsilon(points, vocabulary.space.separation)
        epsilon = math.exp(epsilon) if epsilon else least
        if epsilon < least:
            return []
    match part:
        case "density":
            built = build_mechanism(mechanism, vocabulary.space, epsilon)
            curve = name_density(name, mechanism, place)
            return measure_by_density(context, vocabulary, built, curve, sizes.dense_runs)
        case "lemma":
            return measure_lemma(vocabulary, epsilon, name_lemma(name, place))
        case "small spaces":
            return measure_small_spaces(vocabulary, _ABOVE, name_small(name))
    return count_outputs(context, vocabulary, mechanism, epsilon)


def describe_vocabulary(vocabulary: Vocabulary) -> list[Row]:
    """Return what the bounds on truncated Gumbel's epsilon depend on, here and in the paper."""
    space, (count, separation, log, _) = vocabulary.space, THEIRS[vocabulary.name]
    rows = []
    for curve, points, distance in (
        (vocabulary.name, space.point_count, space.separation),
        (f"{vocabulary.name}, the paper's", count, separation),
    ):
        rows += rows_of(
            curve,
            None,
            words=points,
            smallest_distance=distance,
            least_epsilon=compute_min_epsilon(points, distance),
            least_epsilon_as_published=compute_published_minimum(points, distance),
        )
    return [
        *rows,
        Row(vocabulary.name, None, "largest distance", space.diameter),
        Row(f"{vocabulary.name}, the paper's", None, "first epsilon", math.exp(log)),
    ]


def count_outputs(context: Context, vocabulary: Vocabulary, name: str, epsilon: float) -> list[Row]:
    """Return means of S_w and N_w over the sample, and the epsilon spent."""
    mechanism = build_mechanism(name, vocabulary.space, epsilon)
    curve, runs = name_curve(vocabulary.name, name), context.sizes.runs
    seed = context.derive_seed("draws", vocabulary.name, name, epsilon)
    counted = measure_deniability(mechanism, vocabulary.sample, runs=runs, seed=seed)
    rows = [
        row_of(curve, epsilon, "kept", estimate_mean(counted.unchanged)),
        row_of(curve, epsilon, "outputs", estimate_mean(counted.distinct)),
        Row(curve, epsilon, "most outputs", float(counted.distinct.max())),
        *describe_loss(mechanism, curve),
    ]
    if counted.expected_unchanged is not None:
        least = float(counted.expected_unchanged.min()) / runs
        rows.append(Row(curve, epsilon, "least share kept", least))
    return rows


def describe_loss(mechanism: WordMechanism, curve: str) -> list[Row]:
    """Return the true epsilon of a mechanism, as far as it is known, and whether the claim is refuted."""
    verdict, epsilon = verify(mechanism), mechanism.epsilon
    if verdict.method.startswith("by theorem"):
        return rows_of(curve, epsilon, epsilon_by_theorem=verdict.epsilon, refuted=0)
    least = verdict.lower_bound
    is_exact = verdict.epsilon <= _CLOSE * least
    # A lower bound of 0 says nothing.
    spent = {"epsilon_spent": verdict.epsilon} if is_exact else {"epsilon_at_least": least} if least > 0 else {}
    return rows_of(curve, epsilon, **spent, refuted=verdict.status == "refuted")


def derive_rows(rows: Sequence[Row]) -> Iterable[Row]:
    """Yield S_w where N_w is half of the runs: ln S_w by straight lines between two points."""
    runs = next((row.value for row in rows if row.metric == "runs"), math.nan)
    for curve in dict.fromkeys(row.curve for row in rows if row.metric == "kept"):
        kept = [row for row in rows if (row.curve, row.metric) == (curve, "kept")]
        pairs = [(row.value, math.log(other.value)) for row in kept if (other := _find_outputs(rows, row))]
        shares, logs = np.array(sorted(pairs)).T
        if shares[0] <= HALF * runs <= shares[-1]:
            yield Row(curve, None, "outputs at half", math.exp(float(np.interp(HALF * runs, shares, logs))))


def _find_outputs(rows: Sequence[Row], row: Row) -> Row | None:
    return find_row(rows, row.curve, row.x, "outputs")


def build_cells(
    epsilons: dict[str, tuple[float, ...]], density: dict[str, tuple[float, ...]]
) -> tuple[tuple[str | float | None, ...], ...]:
    """Return each vocabulary, on it each mechanism at each epsilon, and what depends on density and on k."""
    return tuple(
        cell
        for vocabulary in TABLES
        for cell in (
            (vocabulary, None, None),
            *((vocabulary, name, epsilon) for name, own in epsilons.items() for epsilon in own),
            *((vocabulary, name, epsilon, "density") for name, own in density.items() for epsilon in own),
            *((vocabulary, GUMBEL, log, "lemma") for log in LEMMA),
            (vocabulary, GUMBEL, 0.0, "small spaces"),
        )
    )


_MARKS = dict(zip(TITLES, "oD^sP", strict=True))
_SHOWN = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
_COUNT = Axis("mean N_w, S_w", limits=(-30, 1030))
CURVES = {
    name_curve(vocabulary, name): f"{title}, {vocabulary}" for vocabulary in TABLES for name, title in TITLES.items()
}


def draw_vocabulary(vocabulary: str) -> tuple[Panel, ...]:
    """Return the panels of one vocabulary."""
    curves = {name: name_curve(vocabulary, name) for name in TITLES}
    colours = {name: number for number, name in enumerate(TITLES)}

    def draw(name: str, metric: str, style: str, x: str | None = None, label: str = "") -> Line:
        return Line(curves[name], metric, f"{style}{_MARKS[name]}", colours[name], label, x=x)

    family = ("tem", "calibrated", "tight")
    gumbel = Axis("epsilon claimed (the paper shows its logarithm)", log=10)
    return (
        Panel(
            f"{vocabulary}: multivariate Laplace",
            (draw(LAPLACE, "kept", "-"), draw(LAPLACE, "outputs", "--")),
            Axis("epsilon claimed"),
            _COUNT,
        ),
        Panel(f"{vocabulary}: truncated Gumbel, N_w", (draw(GUMBEL, "kept", "-"),), gumbel, _COUNT),
        Panel(f"{vocabulary}: truncated Gumbel, S_w", (draw(GUMBEL, "outputs", "--"),), gumbel, Axis("mean S_w")),
        Panel(
            f"{vocabulary}: TEM, calibrated and tight",
            tuple(draw(name, metric, style) for name in family for metric, style in (("kept", "-"), ("outputs", "--"))),
            Axis("epsilon claimed"),
            _COUNT,
        ),
        Panel(
            "Words that one word becomes, where as many stay",
            tuple(draw(name, "outputs", "-", "kept", TITLES[name]) for name in TITLES),
            Axis("mean N_w"),
            Axis("mean S_w", log=10, ticks=(1, 10, 100, 1000)),
        ),
        Panel(
            "Words that stay, at the epsilon spent",
            (
                *(draw(name, "kept", "-", "epsilon spent") for name in family),
                Line(curves[LAPLACE], "kept", "-o", 0, "", x="epsilon by theorem", is_hollow=True),
                *(
                    Line(curves[GUMBEL], "kept", ">", 1, "", x="epsilon at least", only=("refuted", is_refuted),
                         is_hollow=not is_refuted)
                    for is_refuted in (0, 1)
                ),
            ),
            Axis("epsilon spent, as far as it is known", log=10, limits=(0.4, 600), ticks=_SHOWN),
            Axis("mean N_w", limits=(-30, 1030)),
        ),
    )  # fmt: skip


def select(name: str) -> tuple[str, ...]:
    """Return the curves of one mechanism on both vocabularies."""
    return tuple(name_curve(vocabulary, name) for vocabulary in TABLES)


STUDY = Study(
    name="gumbel-deniability",
    title="Deniability of single words",
    citation="Nan Xu, Oluwaseyi Feyisetan, Abhinav Aggarwal, Zekun Xu and Nathanael Teissier (2021), *Differentially "
    "Private Adversarial Robustness Through Randomized Perturbations*, Figures 1 and 2, Section 6.5, Appendices A and "
    "C.",
    question="Every word of a sample goes through a mechanism 1,000 times. How often does it stay (N_w), how many "
    "words does it become (S_w), and what epsilon is spent for that?",
    picture="For each vocabulary six panels. Under multivariate Laplace N_w rises and S_w falls with epsilon; under "
    "truncated Gumbel both hardly change over many powers of ten, and a word becomes at most about 18. Where half of "
    "the words stay, truncated Gumbel gives about 15 outputs and all others hundreds. At the epsilon spent tight keeps "
    "most.",
    full=Grid(build_cells(EPSILONS, PLACES), Sizes()),
    quick=Grid(
        build_cells(
            {
                LAPLACE: (1.0, 5.0, 9.0, 12.0, 15.0, 20.0, 40.0, 200.0),
                GUMBEL: (0.0, 4.67, 6.0, 10.0, 17.0, 23.0, 38.0, 86.0),
                "tem": (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0),
                "calibrated": (0.5, 1.0, 1.25, 1.5, 2.0),
                "tight": EPSILONS["tight"],
            },
            {LAPLACE: (12.0,), GUMBEL: (10.0,)},
        ),
        # Above the 3,000 words up to which truncated Gumbel's exact epsilon is computed, a minute a point.
        Sizes(words=40, vocabulary=4_000),
    ),
    measure=measure,
    derive=derive_rows,
    curves={
        **CURVES,
        **{curve: curve for name in TABLES for curve in (name, f"{name}, the paper's")},
        **word_density.CURVES,
    },
    metrics={
        "kept": Metric("mean N_w", ".1f"),
        "outputs": Metric("mean S_w", ".1f"),
        "most outputs": Metric("largest S_w", ".0f"),
        "outputs at half": Metric("S_w where N_w is half", ".3g"),
        "least share kept": Metric("least expected share kept of any word", ".1%"),
        "epsilon spent": Metric("epsilon spent", ".4g"),
        "epsilon by theorem": Metric("epsilon by theorem, at most", ".4g"),
        "epsilon at least": Metric("epsilon at least", ".4g"),
        "refuted": Metric("claim refuted", ".0f"),
        "words": Metric("words", ",.0f"),
        "runs": Metric("runs of each word", ",.0f"),
        "smallest distance": Metric("Delta0", ".4f"),
        "largest distance": Metric("Delta", ".2f"),
        "least epsilon": Metric("(5 + 2 ln n) / Delta0", ".1f"),
        "least epsilon as published": Metric("(2 + 2 ln n) / Delta0", ".1f"),
        "first epsilon": Metric("first epsilon of Table 2", ".1f"),
        **word_density.METRICS,
    },
    statements=(
        Statement(
            "Vocabularies with Delta0 = .2208 (IMDB) and .2263 (SNLI), by GloVe in 300 dimensions (Appendix A).",
            at("IMDB", metric="smallest distance"),
            near(0.2208, 0.001),
            also=((at("NLI", metric="smallest distance"), near(0.2263, 0.001)),),
        ),
        Statement(
            "Multivariate Laplace: S_w decreases from 1,000 to 0, N_w shows the opposite trend (Section 6.5).",
            at(select(LAPLACE), 1.0, "outputs"),
            near(1_000, 100),
            also=(
                (at(select(LAPLACE), 200.0, "outputs"), near(0, 1)),
                (at(select(LAPLACE), 1.0, "kept"), near(0, 50)),
                (at(select(LAPLACE), 200.0, "kept"), near(1_000, 50)),
            ),
        ),
        Statement(
            "Truncated Gumbel: the maximum amount of distinct substitutions one word can have is around 20 on IMDB and "
            "17.5 on SNLI (Section 6.5).",
            at(name_curve("IMDB", GUMBEL), metric="most outputs", label="IMDB"),
            below(22.5),
            also=((at(name_curve("NLI", GUMBEL), metric="most outputs", label="NLI"), below(20)),),
        ),
        Statement(
            "A minor increase or decrease in epsilon does not influence the substitutions of truncated Gumbel "
            "(Section 6.5): from 106.7, their first epsilon on IMDB, to four times that.",
            at(select(GUMBEL), math.exp(6.0), "kept"),
            near(at(x=math.exp(4.67)), 100),
        ),
        Statement(
            "At the same N_w, multivariate Laplace has a much broader range of substitutions than truncated Gumbel "
            "(Section 6.5, Figure 2).",
            at(name_curve("IMDB", LAPLACE), metric="outputs at half"),
            above(at(name_curve("IMDB", GUMBEL)), 100),
            also=(
                (
                    at(name_curve("NLI", LAPLACE), metric="outputs at half"),
                    above(at(name_curve("NLI", GUMBEL)), 100),
                ),
            ),
        ),
        Statement(
            "Truncated Gumbel keeps a word with probability at least 36.7%, however close the next one (Appendix C).",
            at(select(GUMBEL), metric="least share kept", label="truncated Gumbel, where the law is computed"),
            above(0.367),
            is_universal=True,
        ),
        Statement(
            "The mechanism is defined for epsilon above 2 (1 + ln n) / Delta0 (Appendix A), and so at the first "
            "epsilon of Table 2: its scale is positive only above (5 + 2 ln n) / Delta0.",
            at(tuple(f"{name}, the paper's" for name in TABLES), metric="first epsilon"),
            above(at(metric="least epsilon")),
        ),
        Statement(
            "Truncated Gumbel is epsilon-metric-DP for every epsilon that it is defined for (Theorem 1).",
            at(select(GUMBEL), metric="refuted", label="truncated Gumbel"),
            near(0),
            is_universal=True,
        ),
        *word_density.STATEMENTS,
    ),
    questions=word_density.QUESTIONS,
    panels=tuple(
        panel
        for draw in (draw_vocabulary, word_density.draw_density)
        for row in zip(*map(draw, TABLES), strict=True)
        for panel in row
    ),
    tables=(
        Table(
            "Vocabularies",
            (
                "words",
                "smallest distance",
                "largest distance",
                "least epsilon as published",
                "least epsilon",
                "first epsilon",
            ),
            tuple(curve for name in TABLES for curve in (name, f"{name}, the paper's")),
        ),
        Table("Where half of the words stay", ("outputs at half",), tuple(CURVES)),
        Table(
            "Every point",
            (
                "kept",
                "outputs",
                "most outputs",
                "epsilon spent",
                "epsilon by theorem",
                "epsilon at least",
                "refuted",
            ),
            tuple(CURVES),
            x="epsilon",
        ),
        *word_density.DENSITY_TABLES,
    ),
    keys=(
        Line("", "", "-", label="N_w: how often a word stays"),
        Line("", "", "--", label="S_w: how many words it becomes"),
        Line("", "", "o", 0, "epsilon by theorem, at most", is_hollow=True),
        Line("", "", ">", 1, "epsilon at least this", is_hollow=True),
        Line("", "", ">", 1, "the same, above the claim: refuted"),
        *word_density.KEYS,
    ),
    files=FILES,
    packages=("torch",),
)
