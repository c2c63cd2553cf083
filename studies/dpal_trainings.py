"""Phan et al. 2020 (DPAL): what one training hides: seeds, xi, the misprint of Eq. 10; and DPAL mended."""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from studies.dpal import DATA_SETS, FOUR, QUICK, Schedule, compute_p_value
from studies.dpal_variants import (
    ATTACKS,
    LOSS_MENDED,
    MENDED,
    MENDED_SILENT,
    NAME,
    PRINTED,
    SLOW,
    XIS,
    Sizes,
    measure,
    name_silent,
    name_xi,
)
from studies.rows import Row, at, row_of, rows_of
from studies.study import Axis, Grid, Line, Metric, Panel, Reference, Statement, Study, Table, above, between, near

MEASURED = ("accuracy", f"attacked, {FOUR}")
SIGNIFICANT = 0.05


def derive_rows(rows: Sequence[Row]) -> Iterable[Row]:
    """Yield means and ranges over seeds, also by xi, and what t-tests say of trainings of one system."""
    from deniable.measure.intervals import estimate_mean

    curves = dict.fromkeys(row.curve for row in rows if not row.curve.startswith(MENDED))
    places = {name_xi(xi): ("by xi", xi) for xi in XIS}
    for curve in curves:
        for metric in MEASURED:
            values = [row.value for row in rows if (row.curve, row.metric) == (curve, metric)]
            if not values:
                continue
            if metric == MEASURED[0]:
                yield from rows_of(curve, None, trainings=len(values))
            mean = estimate_mean(values, bounds=(0.0, 1.0))
            yield row_of(curve, None, f"mean of {metric}", mean)
            yield from rows_of(curve, None, **{f"least {metric}": min(values), f"largest {metric}": max(values)})
            yield from (row_of(*place, metric, mean) for place in find_places(places, curve))
    cases = {
        row.x: [other.value for other in rows if (other.curve, other.x) == (PRINTED, row.x) and is_case(other)]
        for row in rows
        if row.curve == PRINTED
    }
    p_values = [
        compute_p_value([first - second for first, second in zip(one, other, strict=True)])
        for one, other in itertools.combinations(cases.values(), 2)
    ]
    if p_values:
        share = sum(p < SIGNIFICANT for p in p_values) / len(p_values)
        yield from rows_of(PRINTED, None, pairs=len(p_values), pairs_that_differ=share, least_p_value=min(p_values))


def find_places(places: dict[str, tuple[str, float]], curve: str) -> Iterable[tuple[str, float]]:
    """Yield where a curve's mean lies on the curve of its sweep; as printed xi is 1."""
    if curve in places:
        yield places[curve]
    if curve == PRINTED:
        yield "by xi", 1.0


def is_case(row: Row) -> bool:
    """Say whether a row is one case of the paper's tests: one attack of one size."""
    return row.metric.startswith("by size ")


def build_cells(seeds: dict[str, Iterable[int]], epsilons: tuple[float, ...]) -> tuple[tuple[Any, ...], ...]:
    """Return the trainings of each curve of DPAL by their numbers, and the mended mechanism by its true epsilon."""
    trained = [(curve, float(seed)) for curve, own in seeds.items() for seed in own]
    return (*((MENDED, epsilon) for epsilon in epsilons), *trained)


SWEPT = tuple(map(name_xi, XIS))
SEED_CURVES = (PRINTED, LOSS_MENDED, SLOW, *SWEPT)
TITLES = {
    PRINTED: "DPAL, Algorithm 1, as printed",
    LOSS_MENDED: "DPAL with max(hW, 0) in Eq. 10",
    SLOW: "DPAL at the paper's rate, 1e-4, and ten attack steps",
    **{name_xi(xi): f"DPAL with xi = {xi:g}" for xi in XIS},
}
CURVES = {
    **TITLES,
    **{name_silent(curve): f"{title}, with its own training noise only" for curve, title in TITLES.items()},
    "by xi": "DPAL by xi",
    MENDED: "DPAL mended: fresh noise, sensitivity 2 d",
    MENDED_SILENT: "DPAL mended, no noise at inference",
}
_SHOWN = {
    "accuracy": "accuracy without attack",
    f"attacked, {FOUR}": "accuracy attacked, mean of four",
}
_PERCENT = (0.0, 100.0)
STATEMENTS = (
    Statement(
        "Figure 2, mean of four: DPAL has 89.59% at epsilon 2: the mean over trainings.",
        at(PRINTED, metric=f"mean of attacked, {FOUR}"),
        near(0.8959, 0.05),
    ),
)
QUESTIONS = (
    Statement(
        "Of pairs of trainings of one system at most one in twenty differ at p < 0.05, by the two-sided t-test over "
        "attacks and sizes with which Figures 2 to 7 are tested.",
        at(PRINTED, metric="pairs that differ"),
        between(0.0, SIGNIFICANT),
    ),
    Statement(
        "DPAL mended has half of the images right under attacks of 0.2 at a true epsilon of 10.",
        at((MENDED, MENDED_SILENT), 10.0, f"attacked, {FOUR}"),
        above(0.5),
    ),
)
_ACCURACY = Axis("accuracy, %", limits=_PERCENT)

STUDY = Study(
    name="dpal-trainings",
    title="DPAL, trained again and mended",
    citation="NhatHai Phan and others (2020), *Differential Privacy in Adversarial Learning with Provable Robustness*, "
    "under review at ICLR, section 4.",
    question="How much of what one training of DPAL on MNIST at epsilon 2 shows is chance, and what does DPAL reach "
    "with the noise that its claim needs?",
    picture="Accuracy of each training, and accuracy of DPAL mended over its true epsilon.",
    full=Grid(
        build_cells(
            {PRINTED: (1, 3, 4, 5), **dict.fromkeys((LOSS_MENDED, *SWEPT), (1,))}, (10.0, 100.0, 1_000.0, 10_000.0)
        ),
        Sizes(Schedule(width=0.25, images=200, attack_sizes=(0.1, 0.2, 0.4))),
    ),
    quick=Grid(
        build_cells({PRINTED: (1, 2), LOSS_MENDED: (1,), name_xi(0): (1,), SLOW: (1,)}, (10.0, 1_000.0)),
        Sizes(QUICK, slow_steps=4, mended_steps=12, mended_batch=300),
    ),
    measure=measure,
    derive=derive_rows,
    curves=CURVES,
    metrics={
        **{metric: Metric(title, ".1%") for metric, title in _SHOWN.items()},
        **{f"attacked, {attack}": Metric(f"accuracy attacked, {attack}", ".1%") for attack in ATTACKS},
        **{
            f"by size {size:g}, {attack}": Metric(f"accuracy attacked by {attack} of {size:g}", ".1%")
            for size in (0.05, 0.1, 0.2, 0.4, 0.6)
            for attack in ATTACKS
        },
        **{
            f"{kind} {metric}": Metric(f"{title}: {word}", ".1%")
            for metric, title in _SHOWN.items()
            for kind, word in (("mean of", "mean"), ("least", "least"), ("largest", "largest"))
        },
        "trainings": Metric("trainings", ".0f"),
        "pairs": Metric("pairs of trainings", ".0f"),
        "pairs that differ": Metric("pairs of trainings with p < 0.05", ".1%"),
        "least p value": Metric("least p-value", ".2g"),
        "proved at 0.01": Metric("proved right under every l_inf attack of 0.01", ".1%"),
        "proved at 0.05": Metric("proved right under every l_inf attack of 0.05", ".1%"),
        "noise scale": Metric("scale of the noise on a pixel of [-1, 1]", ".3g"),
        "epsilon at delta": Metric("epsilon at delta 1e-5", ".3g"),
    },
    statements=STATEMENTS,
    questions=QUESTIONS,
    panels=(
        Panel(
            "Trainings at epsilon 2, without attack",
            (
                Line(PRINTED, "accuracy", "o"),
                Line(name_silent(PRINTED), "accuracy", "x", 0),
            ),
            Axis("training"),
            _ACCURACY,
            (Reference(10),),
        ),
        Panel(
            "DPAL mended, by its true epsilon",
            (
                Line(MENDED, "accuracy", label="noise at inference"),
                Line(MENDED, f"attacked, {FOUR}", "-s", label="the same, attacked, 0.2"),
                Line(MENDED_SILENT, "accuracy", "--o", label="no noise at inference"),
                Line(MENDED_SILENT, f"attacked, {FOUR}", "--s", label="the same, attacked, 0.2"),
            ),
            Axis("epsilon, one record replaced", log=10),
            _ACCURACY,
            (Reference(10),),
        ),
    ),
    tables=(
        Table("Every training", ("accuracy", f"attacked, {FOUR}"), (PRINTED, LOSS_MENDED, SLOW, *SWEPT), x="seed"),
        Table(
            "Over trainings",
            ("trainings", *(f"{kind} {metric}" for metric in MEASURED for kind in ("mean of", "least", "largest"))),
            tuple(name for curve in SEED_CURVES for name in (curve, name_silent(curve))),
        ),
        Table("By xi, the mean over trainings", MEASURED, ("by xi",), x="xi"),
        Table(
            "DPAL mended",
            ("epsilon at delta", "noise scale", "accuracy", f"attacked, {FOUR}", "proved at 0.01", "proved at 0.05"),
            (MENDED, MENDED_SILENT),
            x="epsilon",
        ),
    ),
    files=(DATA_SETS[NAME].file,),
    packages=("torch", "dp_accounting"),
)  # fmt: skip
