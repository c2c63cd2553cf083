"""Habernal 2022, Figure 1: the empirical loss of five mechanisms, as published and with a valid bound."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from deniable.auditing import audit
from deniable.core.parallel import parallel_map
from deniable.measure.intervals import estimate_share
from deniable.vectors import Laplace
from studies.majority_vote import (
    BOX,
    CONTROLS,
    RUNS,
    SUBJECTS,
    compute_limit,
    compute_their_deviations,
    count_votes,
    estimate_loss,
    estimate_losses,
    read_laplace,
    simulate_runs,
)
from studies.rows import Row, at, row_of, rows_of
from studies.runner import Context
from studies.study import (
    Axis,
    Grid,
    Line,
    Metric,
    Panel,
    Reference,
    Statement,
    Study,
    Table,
    above,
    below,
    infinite,
    near,
)

EPSILONS = (0.1, 1.0, 5.0, 10.0)
DIMENSIONS = (1, 2, 4, 8, 16, 32, 64, 128)
_ODDS = 7.0
"""Samples per e^epsilon of an audit: a claim of epsilon takes about 3 e^epsilon right guesses to refute."""
_FACTOR = 2.0
"""How many times its claim the broken Laplace mechanism spends."""
TIGHT, LOOSE, BROKEN = "half-sum", "read at 1/2", "spends twice its claim"
EVENTS = {
    LOOSE: lambda epsilon: (0.5 * math.exp(-epsilon / 2), 1 - 0.5 * math.exp(-epsilon / 2)),
    TIGHT: lambda epsilon: (0.5 * math.exp(-epsilon), 0.5),
}
"""Correct mechanisms at n = 1, x + Lap(1/epsilon) and half of that, with the chances that x = 0 and x' = 1 are read
as 1. The half's event, x + noise >= 1, is tight: its odds are e^epsilon."""
_SEED_NAMES = {LOOSE: "laplace", TIGHT: "half-sum"}
REPEATED, _SMALL = ("laplace", "adept-unclipped", "adept"), 0.1
"""Mechanisms whose check is run a hundred times, as footnote 7 does for ADePT: in the paper's code at this epsilon."""


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is drawn.

    Attributes:
        repeats: of the published check for each input, at most.
        coordinates: drawn for each input at most, which limits the repeats of long vectors.
        audit_samples: of the audit, where the claim does not need more.
        maximum_samples: of the audit in any case.
        repetitions: of the published check on correct mechanisms.
        audits: of correct mechanisms.
        audits_samples: of each of them.
    """

    repeats: int = 10_000_000
    coordinates: int = 10_000_000
    audit_samples: int = 20_000
    maximum_samples: int = 200_000
    repetitions: int = 10_000
    audits: int = 200
    audits_samples: int = 2_000


def name_curve(subject: str, epsilon: float) -> str:
    """Return the curve of one mechanism at one epsilon; controls have none."""
    return subject if subject in CONTROLS else f"{subject}, epsilon {epsilon:g}"


def name_runs(subject: str) -> str:
    """Return the curve of a hundred runs of the check on one mechanism."""
    return f"{RUNS} runs, {subject}"


def measure(context: Context, kind: str, *cell: Any) -> list[Row]:  # noqa: ANN401 - parts of a cell
    """Run the published check and the audit on one mechanism, or both on what shows their worth."""
    return MEASURES[kind](context, *cell)


def check_subject(context: Context, name: str, epsilon: float, n: int) -> list[Row]:
    """Return the published estimate, what it tends to, the truth, and the audit's verdict on the claim."""
    sizes: Sizes = context.sizes
    subject = SUBJECTS[name]
    mechanism = subject.build(epsilon, context.derive_seed("check", name, epsilon, n))
    repeats = max(min(sizes.repeats, sizes.coordinates // n), 1)
    from_x, from_x_prime = (count_votes(mechanism, x, subject.threshold, repeats) for x in subject.inputs(n))
    loss, limit = estimate_loss(from_x, from_x_prime, repeats), compute_limit(subject.coordinate(epsilon, n), n)
    verdict = audit(
        subject.build(epsilon, context.derive_seed("audit", name, epsilon, n)).sample,
        *subject.inputs(n),
        claim=epsilon,
        samples=min(sizes.maximum_samples, max(sizes.audit_samples, int(_ODDS * math.exp(epsilon)))),
        confidence=0.95,
        batched=True,
        seed=context.derive_seed("coins", name, epsilon, n),
    )
    return rows_of(
        name_curve(name, epsilon),
        n,
        published_estimate=loss,
        limit=limit,
        estimate_over_claim=loss / epsilon,
        limit_over_claim=limit / epsilon,
        true_loss=subject.build(epsilon, None).exact_loss(n).lower,
        lower_bound=verdict.lower_bound,
        refuted=verdict.status == "refuted",
    )


def accuse_correct(context: Context, name: str, epsilon: float, repeats: int) -> list[Row]:
    """Return how often the published estimate exceeds epsilon for a correct mechanism.

    A run of the check is two binomial counts, so that one with 10 million repeats is simulated by two draws.
    """
    count: int = context.sizes.repetitions
    random = np.random.default_rng(context.derive_seed("accused", _SEED_NAMES[name], epsilon, repeats))
    from_x, from_x_prime = (random.binomial(repeats, q, count).astype(float) for q in EVENTS[name](epsilon))
    accused = int((estimate_losses(from_x, from_x_prime, repeats) > epsilon).sum())
    return [row_of(f"{name}, {repeats:,} repeats", epsilon, "accused", estimate_share(accused, count))]


def audit_correct(context: Context, name: str) -> list[Row]:
    """Return how often an audit with 95% confidence refutes the same mechanism, at epsilon = 1."""
    sizes: Sizes = context.sizes
    factor = 0.5 if name == TIGHT else 1.0

    def is_refuted(number: int) -> bool:
        seed = context.derive_seed("audited", _SEED_NAMES[name], number)
        mechanism = Laplace(epsilon=1.0, domain=BOX, seed=seed)
        verdict = audit(
            lambda x: factor * mechanism.sample(x),
            np.zeros(1), np.ones(1),
            claim=1.0, samples=sizes.audits_samples, batched=True, seed=number,
        )  # fmt: skip
        return verdict.status == "refuted"

    refuted = sum(parallel_map(is_refuted, range(sizes.audits)))
    return [row_of(f"{name}, our audit", 1.0, "accused", estimate_share(refuted, sizes.audits))]


def check_broken(context: Context, n: int) -> list[Row]:
    """Return what check and audit say of Laplace noise that spends twice its claim of 1."""
    mechanism = Laplace(epsilon=_FACTOR, domain=BOX, seed=context.derive_seed("blind", n))
    coordinate = read_laplace(1.0, n / _FACTOR)
    verdict = audit(
        mechanism.sample, np.zeros(n), np.ones(n),
        claim=1.0, samples=context.sizes.audit_samples, batched=True, seed=context.derive_seed("coins", n),
    )  # fmt: skip
    return rows_of(
        BROKEN,
        n,
        limit=compute_limit(coordinate, n),
        limit_with_coins=compute_limit(coordinate, n, coin=True),
        true_loss=Laplace(epsilon=_FACTOR, domain=BOX).exact_loss(n).lower,
        lower_bound=verdict.lower_bound,
        refuted=verdict.status == "refuted",
    )


def compare_theirs(_context: Context) -> list[Row]:
    """Return how far their estimates lie from our limits, in standard deviations of their own repeats."""
    return [
        Row(f"their {name}", n, "deviations", deviations)
        for name, own in compute_their_deviations().items()
        for n, deviations in own.items()
    ]


def repeat_check(context: Context, name: str, n: int) -> list[Row]:
    """Return mean and deviation of a hundred runs of the published check, beside what they are by the law."""
    random = np.random.default_rng(context.derive_seed("hundred", name, n))
    return rows_of(name_runs(name), n, **simulate_runs(SUBJECTS[name], _SMALL, n, context.sizes.repeats, random))


MEASURES: dict[str, Callable[..., list[Row]]] = {
    "check": check_subject,
    "accuse": accuse_correct,
    "audit": audit_correct,
    "blind": check_broken,
    "theirs": compare_theirs,
    "repeat": repeat_check,
}


def build_cells(dimensions: tuple[int, ...]) -> tuple[tuple[Any, ...], ...]:
    """Return the grid over dimensions."""
    return (
        *(
            ("check", name, epsilon, n)
            for name in SUBJECTS
            for n in dimensions
            for epsilon in ((1.0,) if name in CONTROLS else EPSILONS)
        ),
        *(("accuse", name, e, count) for name in EVENTS for e in EPSILONS for count in (10_000, 1_000_000, 10_000_000)),
        *(("audit", name) for name in EVENTS),
        *(("blind", n) for n in dimensions),
        ("theirs",),
        *(("repeat", name, n) for name in REPEATED for n in dimensions),
    )


def name_curves(*subjects: str) -> tuple[str, ...]:
    """Return the curves of some mechanisms at all epsilons."""
    return tuple(dict.fromkeys(name_curve(subject, epsilon) for subject in subjects for epsilon in EPSILONS))


_ABOVE_ONE = DIMENSIONS[1:]
_CEILING, _FLOOR = 4e3, 3e-3
_STYLES = dict(zip(EPSILONS, "osDv", strict=True))


def draw_subjects(title: str) -> Panel:
    """Return the panel of the mechanisms with one title: truth, limit, published estimate, and our bound."""
    lines = []
    for subject in (name for name, each_ in SUBJECTS.items() if each_.title == title):
        for number, epsilon in enumerate((1.0,) if subject in CONTROLS else EPSILONS):
            curve = name_curve(subject, epsilon)
            colour = -1 if subject == "copy" else 1 if subject == "random" else number
            label = "" if subject in CONTROLS else f"epsilon {epsilon:g}"
            marker, shift = _STYLES[epsilon], 1.0 if subject in CONTROLS else 1.2 * 0.86 ** (3 - number)
            lines += [
                Line(curve, "true loss", "-", colour, label, width=1.8),
                Line(curve, "limit", ":", colour, "", width=0.8),
                Line(curve, "published estimate", marker, colour, "", is_hollow=True, shift=shift),
                Line(curve, "lower bound", "^", colour, "", only=("refuted", 1), shift=shift),
                Line(curve, "lower bound", "^", colour, "", only=("refuted", 0), alpha=0.35, shift=shift),
            ]
    ticks = (0.01, 0.1, 1, 10, 100, 1000)
    return Panel(
        title,
        tuple(lines),
        Axis("dimension n", log=2, ticks=DIMENSIONS),
        Axis("privacy loss", log=10, limits=(_FLOOR, _CEILING), ticks=((_FLOOR, "0"), *ticks, (_CEILING, "infinite"))),
        tuple(Reference(epsilon, style="--", colour=number) for number, epsilon in enumerate(EPSILONS)),
    )


STUDY = Study(
    name="sanity-check",
    title="The sanity check",
    citation="Ivan Habernal (2022), *How reparametrization trick broke differentially-private text representation "
    "learning*, Figure 1, Sections 4 and 5.",
    question="Zeros and ones go through a mechanism many times, the outputs are rounded and turned back by majority "
    "vote, and the logarithm of the odds among equal guesses is compared with epsilon. Is that a test of privacy?",
    picture="Six panels of loss against dimension. The published estimate follows its limit; our lower bounds stay "
    "below the truth everywhere, and exceed the claim where the mechanism is broken enough to be seen.",
    full=Grid(build_cells(DIMENSIONS), Sizes()),
    quick=Grid(
        build_cells((1, 2, 8, 32, 128)),
        Sizes(500_000, 500_000, 5_000, 5_000, repetitions=2_000, audits=20, audits_samples=1_000),
    ),
    measure=measure,
    curves={
        **{name: name for name in name_curves(*SUBJECTS)},
        **{
            f"{name}, {by}": f"{title}, {by}"
            for name, title in ((LOOSE, "x + Lap(1/epsilon), read at 1/2"), (TIGHT, "0.5 (x + Lap(1/epsilon))"))
            for by in ("10,000 repeats", "1,000,000 repeats", "10,000,000 repeats", "our audit")
        },
        BROKEN: "Laplace noise that spends 2 where 1 is claimed",
        **dict(zip(map(name_runs, REPEATED), ("Laplace", "x + Lap(1/epsilon)", "with the l2 clip"), strict=True)),
    },
    metrics={
        "published estimate": Metric("published estimate", ".4f"),
        "limit": Metric("its limit with infinitely many repeats", ".2f"),
        "limit with coins": Metric("the same, ties decided by a coin", ".2f"),
        "estimate over claim": Metric("published estimate over epsilon", ".3f"),
        "limit over claim": Metric("its limit over epsilon", ".3f"),
        "true loss": Metric("true loss", ".3g"),
        "lower bound": Metric("our lower bound, 95%", ".2f"),
        "refuted": Metric("refuted by our audit", ".0f"),
        "accused": Metric("runs that accuse a correct mechanism", ".1%"),
        "deviations": Metric("standard deviations from our limit", ".1f"),
        "mean estimate": Metric("mean estimate", ".5f"),
        "deviation": Metric("standard deviation", ".5f"),
        "deviation by the law": Metric("the same by the law", ".5f"),
        "relative deviation": Metric("standard deviation over mean", ".2%"),
        "deviations short": Metric("standard deviations short of the true loss", ".1f"),
    },
    statements=(
        Statement("Copying has no privacy (Figure 1, left).", at("copy", metric="published estimate"), infinite()),
        Statement(
            "Outputs drawn whatever the input have no loss (Figure 1, left).",
            at("random", metric="published estimate"),
            near(0, 0.01),
        ),
        Statement(
            "Laplace: all empirical losses are bounded by epsilon (Section 5).",
            at(name_curves("laplace"), metric="estimate over claim", label="Laplace"),
            below(1),
        ),
        Statement(
            "ADePT: the loss explodes with the dimension (Section 5, Figure 1).",
            at(name_curves("adept-unclipped"), _ABOVE_ONE, "estimate over claim", "x + Lap(1/epsilon), n > 1"),
            above(1),
            also=((at(name_curves("adept"), _ABOVE_ONE, "estimate over claim", "with the l2 clip, n > 1"), above(1)),),
        ),
        Statement(
            "DPText has infinite loss, regardless of the dimension (Theorem 3.2).",
            at(name_curves("dptext-zero", "dptext-redraw"), metric="true loss", label="DPText"),
            infinite(),
            is_universal=True,
        ),
        Statement(
            "The check shows the infinite loss of DPText (Section 5, Figure 1, right).",
            at(name_curves("dptext-zero"), metric="published estimate", label="missing noise taken as 0"),
            infinite(),
            also=(
                (
                    at(name_curves("dptext-redraw"), metric="published estimate", label="missing noise drawn again"),
                    infinite(),
                ),
            ),
        ),
        Statement(
            "10 million repeats give very precise estimates even for small epsilon (Section 4).",
            at(f"{LOOSE}, 10,000,000 repeats", metric="accused"),
            near(0, 0.01),
            also=((at(f"{TIGHT}, 10,000,000 repeats", metric="accused"), near(0, 0.01)),),
        ),
        Statement(
            "The check detects a mechanism that violates privacy with a fair degree of certainty (Section 4).",
            at(BROKEN, metric="limit"),
            above(1),
        ),
        Statement(
            "The numbers themselves: none in the text, but in the results of the code that it refers to.",
            at(("their laplace", "their adept-unclipped"), metric="deviations", label="Laplace and ADePT"),
            near(0, 4),
        ),
        Statement(
            "A general check, for any mechanism on real vectors (Section 4).",
            at(name_curves("adept-unclipped", "adept"), _ABOVE_ONE, "limit over claim", "both ADePTs, n > 1"),
            above(1),
            is_universal=True,
        ),
    ),
    questions=(
        Statement(
            "A hundred runs of the check on ADePT (footnote 7; in the paper's code at epsilon 0.1, n = 2) deviate by "
            "less than 1% of their mean.",
            at(name_runs("adept-unclipped"), 2, "relative deviation"),
            below(0.01),
        ),
        Statement(
            "The mean of a hundred runs is the privacy loss, within four standard deviations of one run.",
            at(tuple(map(name_runs, REPEATED)), metric="deviations short", label="all three, every n"),
            near(0, 4),
            is_universal=True,
        ),
    ),
    panels=tuple(map(draw_subjects, dict.fromkeys(subject.title for subject in SUBJECTS.values()))),
    tables=(
        Table("It accuses the innocent: correct mechanisms, by epsilon", ("accused",), across=True),
        Table(
            "It does not see the guilty: Laplace noise that spends 2 where 1 is claimed",
            ("limit", "limit with coins", "lower bound", "refuted"),
            (BROKEN,),
            x="n",
        ),
        Table(
            "A hundred runs at epsilon 0.1 (footnote 7)",
            ("mean estimate", "deviation", "deviation by the law", "true loss", "deviations short"),
            tuple(map(name_runs, REPEATED)),
            x="n",
        ),
    ),
    keys=(
        Line("", "", "-", label="true loss", width=1.8),
        Line("", "", "--", label="claimed", width=0.9),
        Line("", "", "o", label="published estimate", is_hollow=True),
        Line("", "", ":", label="its limit", width=0.8),
        Line("", "", "^", label="our lower bound, 95%: refutes"),
        Line("", "", "^", label="our lower bound: does not refute", alpha=0.35),
    ),
    is_parallel=True,
    columns=3,
)
