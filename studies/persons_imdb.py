"""Film reviews as a private collection: what hides a whole record, or a whole person, and what it costs."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from deniable.persons.linear_training import compute_signal
from deniable.persons.options import GeneratorName
from studies.private_collections import (
    FILES,
    NO_NOISE,
    Collection,
    PrivateRows,
    build_synthesis_options,
    estimate_accuracy,
    find_record_epsilon,
    load_enquiries,
    load_reviews,
    load_start,
    plan_classifier,
    score_baseline,
    score_private_classifier,
    score_student,
    score_synthesis,
    select_persons,
    select_records,
)
from studies.rows import Row, at, find_row, row_of
from studies.runner import Context
from studies.study import Axis, Grid, Line, Metric, Panel, Reference, Statement, Study, Table, above

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
SPACE_EPSILONS = (1.0, 4.0, 8.0)
COUNTS = (25_000, 5_000, 1_000)
LABELS, NOISELESS = ", public labels", ", next to no noise"
PERSONS, TEN_RECORDS, SPACE_WORDS = "persons", "records, ten of a person", "records, words of the space"
PUBLIC, REAL = "public classifier", "student, real reviews"
ATIS_PUBLIC, ATIS_SPACE, ATIS_BLIND = "enquiries", "enquiries, words of the space", "enquiries, blind guess"
TILTED, RECOMBINED = "student, tilted", "student, recombined"
SMALL, COUNTED = "student, tilted, 5,000", "student, counts"
GENERATORS: dict[str, GeneratorName] = {
    TILTED: "tilted",
    RECOMBINED: "recombined",
    SMALL: "tilted",
    COUNTED: "counts",
}
BASELINES: dict[str, GeneratorName] = {"baseline, tilted": "tilted", "baseline, recombined": "recombined"}
_BLIND = 0.5


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Attributes:
        trials: draws of noise, subsets, persons and texts.
        rows: of a synthetic table.
    """

    trials: int = 3
    rows: int = 24_000


def name_records(count: int) -> str:
    """Return the curve of classifiers of so many records."""
    return f"records, {count:,}"


def measure(context: Context, curve: str, epsilon: float | None) -> Iterable[Row]:
    """Return the accuracy of one curve at one epsilon."""
    if curve.startswith(("student", "baseline")):
        return measure_texts(context, curve, epsilon)
    if curve.startswith("enquiries"):
        return measure_enquiries(context, curve, epsilon)
    return measure_classifiers(context, curve, epsilon)


def measure_classifiers(context: Context, curve: str, epsilon: float | None) -> Iterable[Row]:
    """Yield what private classifiers of reviews reach, or the public one."""
    reviews = load_reviews(context, "words of the space" if curve == SPACE_WORDS else "public texts")
    if curve == PUBLIC:
        yield summarize(curve, None, reviews, [reviews.score_weights(load_start(context))])
        return
    start = load_start(context) if LABELS in curve else None
    count = next((count for count in COUNTS if curve.startswith(name_records(count))), COUNTS[0])
    select = select_persons if curve.startswith(PERSONS) else select_records
    chosen = [
        select(reviews, count, context.derive_seed(select.__name__, count, trial))
        for trial in range(context.sizes.trials)
    ]
    spent = NO_NOISE if epsilon is None else epsilon
    if curve == TEN_RECORDS:
        spent = find_record_epsilon(reviews, chosen[0], spent)
        yield Row(curve, epsilon, "epsilon of a record", spent)
    signals = [compute_signal(plan_classifier(reviews, private, spent), len(private.units)) for private in chosen]
    yield Row(curve, epsilon, "signal", float(np.mean(signals)))
    yield fit_trials(context, curve, epsilon, reviews, chosen, spent, start)


def measure_enquiries(context: Context, curve: str, epsilon: float | None) -> Iterable[Row]:
    """Yield what private classifiers of enquiries reach, or a blind guess."""
    enquiries = load_enquiries(context, "words of the space" if curve == ATIS_SPACE else "public texts")
    if curve == ATIS_BLIND or epsilon is None:
        most_frequent = np.bincount(enquiries.codes).argmax()
        yield summarize(curve, None, enquiries, [float((enquiries.test_codes == most_frequent).mean())])
        return
    chosen = [select_records(enquiries, len(enquiries.texts), 0)] * context.sizes.trials
    yield fit_trials(context, curve, epsilon, enquiries, chosen, epsilon, None)


def fit_trials(
    context: Context,
    curve: str,
    epsilon: float | None,
    collection: Collection,
    chosen: Sequence[PrivateRows],
    spent: float,
    start: np.typing.NDArray[np.float64] | None,
) -> Row:
    """Return the accuracy of classifiers, each of the private rows of one trial."""
    shares = [
        score_private_classifier(collection, private, spent, context.derive_seed("noise", curve, epsilon, trial), start)
        for trial, private in enumerate(chosen)
    ]
    return summarize(curve, epsilon, collection, shares)


def measure_texts(context: Context, curve: str, epsilon: float | None) -> Iterable[Row]:
    """Yield what classifiers reach that learn from synthetic texts, from those of no private record, or real ones."""
    sizes: Sizes = context.sizes
    reviews = load_reviews(context, "public texts")
    if curve == REAL:
        labels = [reviews.classes[code] for code in reviews.codes.tolist()]
        yield summarize(curve, None, reviews, [score_student(reviews, reviews.texts, labels)])
        return
    seeds = [context.derive_seed("texts", curve, epsilon, trial) for trial in range(sizes.trials)]
    if epsilon is None:
        choices = [build_synthesis_options(reviews, 1, 1.0, sizes.rows, BASELINES[curve], seed) for seed in seeds]
        yield summarize(curve, None, reviews, [score_baseline(reviews, options) for options in choices])
        return
    if curve == COUNTED:
        reviews = load_reviews(context, "words of the space")
    curves, count = ([TILTED, RECOMBINED], COUNTS[0]) if curve == TILTED else ([curve], COUNTS[curve == SMALL])
    students: list[list[float]] = [[] for _ in curves]
    classifiers = []
    for trial, seed in enumerate(seeds):
        private = select_records(reviews, count, context.derive_seed(select_records.__name__, count, trial))
        options = [
            build_synthesis_options(reviews, len(private.units), epsilon, sizes.rows, GENERATORS[name], seed)
            for name in curves
        ]
        accuracies, classifier = score_synthesis(reviews, private, options)
        for known, accuracy in zip(students, accuracies, strict=True):
            known.append(accuracy)
        classifiers.append(classifier)
    for name, shares in zip(curves, students, strict=True):
        yield summarize(name, epsilon, reviews, shares)
    yield summarize(curve, epsilon, reviews, classifiers, "accuracy of the classifier")


def summarize(
    curve: str, epsilon: float | None, collection: Collection, shares: Sequence[float], metric: str = "accuracy"
) -> Row:
    """Return the mean over trials, with an interval for trials and test rows."""
    return row_of(curve, epsilon, metric, estimate_accuracy(shares, len(collection.test_codes)))


def derive_rows(rows: Sequence[Row]) -> Iterable[Row]:
    """Yield which share is left of what all records gain over a blind guess with next to no noise."""
    best = find_row(rows, name_records(COUNTS[0]) + NOISELESS, None, "accuracy")
    for curve in map(name_records, COUNTS):
        for epsilon in EPSILONS:
            own = find_row(rows, curve, epsilon, "accuracy")
            if own is not None and best is not None and best.value > _BLIND:
                yield Row(curve, epsilon, "gain left", (own.value - _BLIND) / (best.value - _BLIND))


def build_cells(epsilons: Sequence[float], counts: Sequence[int] = COUNTS) -> tuple[tuple[str, float | None], ...]:
    """Return everything, what the first findings need before the rest."""
    later = [epsilon for epsilon in epsilons if epsilon >= 1]
    high = [epsilon for epsilon in later if epsilon in SPACE_EPSILONS[1:]]
    return (
        (PUBLIC, None),
        *((name_records(count) + labels, eps) for count in counts[:1] for labels in ("", LABELS) for eps in epsilons),
        *((name_records(count) + labels + NOISELESS, None) for count in counts[:1] for labels in ("", LABELS)),
        (REAL, None),
        *((curve, None) for curve in BASELINES),
        *((TILTED, epsilon) for epsilon in later),
        *((PERSONS + labels, epsilon) for labels in ("", LABELS) for epsilon in later),
        (ATIS_BLIND, None),
        *((ATIS_SPACE, epsilon) for epsilon in later),
        *((name_records(count) + labels, eps) for count in counts[1:] for labels in ("", LABELS) for eps in epsilons),
        *((name_records(count) + labels + NOISELESS, None) for count in counts[1:] for labels in ("", LABELS)),
        *((SMALL, epsilon) for epsilon in high),
        *((TEN_RECORDS, epsilon) for epsilon in later),
        *((COUNTED, epsilon) for epsilon in high[-1:]),
        *((SPACE_WORDS, epsilon) for epsilon in later if epsilon in SPACE_EPSILONS),
        *((ATIS_PUBLIC, epsilon) for epsilon in later),
    )


_SLOW = {PERSONS, PERSONS + LABELS, TEN_RECORDS, SPACE_WORDS, TILTED, COUNTED, REAL, ATIS_PUBLIC, *BASELINES}
"""Curves of 25,000 records, and of many features: left out of the small grid."""
_TITLES = {count: name_records(count).removeprefix("records, ") + " records" for count in COUNTS}
CURVES = {
    PUBLIC: "public classifier",
    **{name_records(count): title for count, title in _TITLES.items()},
    **{name_records(count) + LABELS: title + LABELS for count, title in _TITLES.items()},
    **{name_records(count) + NOISELESS: title + NOISELESS for count, title in _TITLES.items()},
    **{name_records(count) + LABELS + NOISELESS: title + LABELS + NOISELESS for count, title in _TITLES.items()},
    PERSONS: "persons, 1 to 10 reviews",
    PERSONS + LABELS: "persons, 1 to 10 reviews, public labels",
    TEN_RECORDS: "persons of ten, by records",
    SPACE_WORDS: "25,000 records, words of a space",
    REAL: "student of real reviews",
    "baseline, tilted": "baseline, tilted",
    "baseline, recombined": "baseline, recombined",
    TILTED: "student of tilted texts",
    RECOMBINED: "student of recombined texts",
    SMALL: "tilted texts, 5,000 records",
    COUNTED: "student of private phrases",
    ATIS_PUBLIC: "ATIS, public sentences",
    ATIS_SPACE: "ATIS, words of a space",
    ATIS_BLIND: "ATIS, blind guess",
}
_X = Axis("epsilon", log=2, limits=(0.45, 9), ticks=EPSILONS)
_REVIEW_AXIS = Axis("accuracy on 25,000 test reviews, %", limits=(50, 91))
_PUBLIC_LINE = Reference(at(PUBLIC, metric="accuracy"), label=CURVES[PUBLIC])


def draw_panel(
    title: str, curves: dict[str, tuple[str, int]], references: tuple[Reference, ...], y: Axis = _REVIEW_AXIS
) -> Panel:
    """Return accuracy against epsilon."""
    lines = tuple(
        Line(curve, "accuracy", style, colour, label="" if LABELS in curve else None)
        for curve, (style, colour) in curves.items()
    )
    return Panel(title, lines, _X, y, references)


def state(text: str, curve: str, epsilon: float, target: float, expect: Callable[[float], object] = above) -> Statement:
    """Return a target that was set before the study ran."""
    return Statement(text, at(curve, epsilon, "accuracy"), expect(target))  # type: ignore[arg-type]


STUDY = Study(
    name="persons-imdb",
    title="A private collection of film reviews",
    citation="A study of this package.",
    question="A guarantee for whole records, or for all records of a person, needs a collection that somebody holds: "
    "noise is added once, to sums over all of it. How good is a classifier, how good are synthetic texts to learn "
    "from, and what would there be without any private record?",
    picture="Accuracy against epsilon. Above left: classifiers of 25,000, 5,000 and 1,000 records, with public labels "
    "to start from and without. Above right: records against persons as units. Below left: classifiers that learn from "
    "synthetic texts, between the baseline without private records and real reviews. Below right: intents of ATIS.",
    full=Grid(build_cells(EPSILONS), Sizes()),
    quick=Grid(
        tuple(cell for cell in build_cells((1.0, 4.0), COUNTS[1:]) if cell[0] not in _SLOW),
        Sizes(trials=2, rows=2_000),
    ),
    measure=measure,
    derive=derive_rows,
    curves=CURVES,
    metrics={
        "accuracy": Metric("accuracy", ".1%"),
        "accuracy of the classifier": Metric("accuracy of the classifier released beside", ".1%"),
        "signal": Metric("signal n mu", ".0f"),
        "gain left": Metric("gain over a blind guess left", ".2f"),
        "epsilon of a record": Metric("epsilon of a record", ".3g"),
    },
    questions=(
        state("Target: 25,000 records at epsilon 1, 85.5%.", name_records(COUNTS[0]), 1, 0.855),
        state("Target: 25,000 records at epsilon 4, 87%.", name_records(COUNTS[0]), 4, 0.87),
        state("Target: 25,000 records at epsilon 8, 87.5%.", name_records(COUNTS[0]), 8, 0.875),
        state("Target: student of tilted texts at epsilon 1, 82%.", TILTED, 1, 0.82),
        state("Target: student of tilted texts at epsilon 4, 83.5%.", TILTED, 4, 0.835),
        state("Target: persons at epsilon 1, 81%.", PERSONS, 1, 0.81),
        state("Target: persons at epsilon 4, 86%.", PERSONS, 4, 0.86),
        state("Target: ATIS at epsilon 2, 84%.", ATIS_SPACE, 2, 0.84),
    ),
    panels=(
        draw_panel(
            "Records",
            {
                name_records(count) + labels: (style, colour)
                for colour, count in enumerate(COUNTS)
                for labels, style in (("", "-o"), (LABELS, "--o"))
            },
            (_PUBLIC_LINE, Reference(at(name_records(COUNTS[0]) + NOISELESS, metric="accuracy"), style="-")),
        ),
        draw_panel(
            "Records or persons",
            {
                name_records(COUNTS[0]): ("-o", 0),
                PERSONS: ("-s", 3),
                PERSONS + LABELS: ("--s", 3),
                TEN_RECORDS: ("-^", 4),
                SPACE_WORDS: ("-v", 6),
            },
            (_PUBLIC_LINE,),
        ),
        draw_panel(
            "Students of synthetic texts",
            {
                TILTED: ("-D", 5),
                RECOMBINED: ("-s", 7),
                SMALL: ("--D", 5),
                COUNTED: ("^", 8),
            },
            (
                Reference(at(REAL, metric="accuracy"), label=CURVES[REAL], style="-", colour=-1),
                Reference(
                    at("baseline, tilted", metric="accuracy"), label=CURVES["baseline, tilted"], style="--", colour=5
                ),
            ),
        ),
        draw_panel(
            "Intents of ATIS",
            {ATIS_SPACE: ("-v", 6), ATIS_PUBLIC: ("-o", 9)},
            (Reference(at(ATIS_BLIND, metric="accuracy"), label=CURVES[ATIS_BLIND], style="-.", colour=-1),),
            Axis("accuracy on 893 test enquiries, %", limits=(65, 95)),
        ),
    ),
    tables=(
        Table(
            "Every point",
            ("accuracy", "accuracy|low", "accuracy|high", "accuracy of the classifier", "epsilon of a record"),
            x="epsilon",
        ),
        Table("Signal", ("signal", "gain left"), tuple(map(name_records, COUNTS)), x="epsilon"),
    ),
    keys=(Line("", "", "--o", label="started from public labels"),),
    files=FILES,
    packages=("sklearn",),
)
