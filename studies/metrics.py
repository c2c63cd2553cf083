"""Metrics of a space of words at equal attacker's success: a study of this package."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from studies.metric_measures import (
    ANGULAR,
    EUCLIDEAN,
    FURTHER_TARGETS,
    GEODESIC,
    NEAREST,
    NO_OUTPUT,
    RANKS,
    READ,
    RIVALS,
    SHOWN_WORDS,
    STEPS,
    STEPS_50D,
    TARGETS,
    VARIANTS,
    Sizes,
    measure,
    name_curve,
)
from studies.metric_reader import BANDS
from studies.reviews import FILES
from studies.rows import Row, Selection, at, find_row
from studies.study import Axis, Expectation, Grid, Line, Metric, Panel, Statement, Study, Table, above, below
from studies.vocabularies import VECTORS

SPACES = {"open": "nothing hidden", "default": "names, places and numbers hidden"}
TITLES = {
    STEPS: "steps",
    STEPS_50D: "steps, lists of 50 dimensions",
    NEAREST: "steps to the 10 nearest",
    EUCLIDEAN: "Euclidean",
    ANGULAR: "angular",
    GEODESIC: "geodesic",
    **{name: f"steps, {name.split('-')[1]} neighbours, reach {name.split('-')[2]}" for name in VARIANTS},
}
AIMS = {"average": "equal on all words", "rare": "equal beyond rank 1,000"}
EQUAL_ACCURACIES = (0.76, 0.78, 0.80)
"""Accuracies of the classifier at which a reader's guesses are compared."""


def derive_rows(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield shares by rank, and a reader's guesses at equal accuracy, between points of a curve by straight lines."""
    first = TARGETS[0]
    for metric in TITLES:
        for name, last in RANKS.values():
            found = find_row(rows, name_curve("open", metric, first.aim), first.success, f"unchanged, {name}")
            if found is not None:
                yield Row(f"open/{metric}/by rank", last, "unchanged by rank", found.value)
    for metric in READ:
        points = [
            *((name_curve("open", metric, target.aim), target.success) for target in TARGETS),
            *((name_curve("open", metric, "further"), target.success) for target in FURTHER_TARGETS),
        ]
        for band in ("", *BANDS):
            name = f"read, {band}" if band else "read"
            pairs = [(find_row(rows, *point, "accuracy"), find_row(rows, *point, name)) for point in points]
            known = sorted((x.value, y.value) for x, y in pairs if x is not None and y is not None)
            for accuracy in EQUAL_ACCURACIES:
                if known and known[0][0] <= accuracy <= known[-1][0]:
                    value = float(np.interp(accuracy, *np.transpose(known)))
                    yield Row(f"open/{metric}/at accuracy", accuracy, f"{name}, equal accuracy", value)


def build_cells(metrics: Sequence[str], hidden: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return metrics on the space that hides nothing, and on the one that hides names, places and numbers."""
    cells = (*(("open", metric) for metric in metrics), *(("default", metric) for metric in hidden))
    # What takes longest comes last.
    return tuple(sorted(cells, key=lambda cell: (cell[1] == GEODESIC, cell[1] not in READ)))


def compare(
    text: str,
    metric: str,
    expect: Callable[[Selection], Expectation],
    others: Sequence[str] = (EUCLIDEAN,),
    spaces: Sequence[str] = tuple(SPACES),
    aims: Sequence[str] = tuple(AIMS),
) -> Statement:
    """Return a statement that compares steps with other metrics, space by space and aim by aim."""
    checks = tuple(
        (at(name_curve(space, STEPS, aim), metric=metric), expect(at(name_curve(space, other, aim))))
        for other in others
        for space in spaces
        for aim in aims
        if space == "open" or other in READ
    )
    return Statement(text, *checks[0], also=checks[1:])


def compare_readers(text: str, bands: Sequence[str]) -> Statement:
    """Return a statement that a reader guesses fewer words under steps than under the Euclidean metric."""
    steps, euclidean = (f"open/{metric}/at accuracy" for metric in READ)
    checks = tuple((at(steps, metric=f"read, {band}, equal accuracy"), below(at(euclidean))) for band in bands)
    return Statement(text, *checks[0], also=checks[1:])


def list_curves(spaces: Sequence[str], metrics: Sequence[str], aim: str) -> tuple[str, ...]:
    """Return curves for a table."""
    return tuple(name_curve(space, metric, aim) for space in spaces for metric in metrics)


def draw_rare_panel(title: str, metric: str, axis: Axis) -> Panel:
    """Return the panel of one measure against the success of the best guesser on rare words."""
    lines = tuple(
        Line(name_curve("open", name, aim), metric, style, _COLOURS[name], "", x="rare guessed")
        for name in _COLOURS
        for aim, style in (("average", "o"), ("rare", "^"))
    )
    return Panel(title, lines, Axis("rare words guessed, one at a time, %"), axis)


_COLOURS = {name: number for number, name in enumerate((STEPS, *RIVALS))}
_MAIN = (STEPS, STEPS_50D, *RIVALS)
_LAW = (
    "scale",
    "epsilon",
    "any two words",
    "guessed",
    "rare guessed",
    "unchanged, 99th percentile",
    "unchanged, most exposed",
    *(f"unchanged: {word}" for word in SHOWN_WORDS),
)
_BY_BAND = tuple(f"{what}, {name}" for what in ("unchanged", "guessed") for name, _ in RANKS.values())
_TEXTS = ("cosine", "rare cosine", "same part of speech", "same class", "accuracy")
_READ = ("read", *(f"read, {band}" for band in BANDS))
_NAMES = {"average": "Equal success on all words", "rare": "Equal success on words beyond rank 1,000"}
STUDY = Study(
    name="metrics",
    title="Metrics at equal attacker's success",
    citation="A study of this package.",
    question="Epsilon is per unit of distance, and every metric has a unit of its own: at one epsilon they cannot be "
    "compared. Where the best guesser who sees one word is right about the same share of words, of all or of the rare "
    "ones, which metric guards rare words, keeps words near to their originals, and leaves a classifier more to learn?",
    picture="Four panels: shares of words that stay as they are, by rank, where 20% of all words are guessed; against "
    "the share of rare words that are guessed, how near changed rare words are to their originals, and the accuracy of "
    "a classifier; and against that accuracy, the rare words that a reader with a language model guesses.",
    full=Grid(build_cells((*_MAIN, *VARIANTS), READ), Sizes()),
    quick=Grid(build_cells((STEPS, EUCLIDEAN), (STEPS, EUCLIDEAN)), Sizes(words=4_000, reviews=300, read=10)),
    measure=measure,
    derive=derive_rows,
    curves={
        **{
            name_curve(space, name, aim): f"{title}, {hidden}"
            for aim in AIMS
            for space, hidden in SPACES.items()
            for name, title in TITLES.items()
        },
        **{f"open/{name}/by rank": title for name, title in TITLES.items()},
        **{name_curve("open", name, "further"): f"{TITLES[name]}, nothing hidden" for name in READ},
        **{f"open/{name}/at accuracy": TITLES[name] for name in READ},
        NO_OUTPUT: "nothing of the release",
    },
    metrics={
        "scale": Metric("scale", ".4g"),
        "epsilon": Metric("epsilon a unit", ".3f"),
        "any two words": Metric("epsilon of any two words", ".1f"),
        "guessed": Metric("guessed, all words", ".1%"),
        "rare guessed": Metric("guessed, beyond rank 1,000", ".1%"),
        "unchanged": Metric("unchanged, all words", ".1%"),
        "unchanged, 99th percentile": Metric("unchanged, 99th percentile of words", ".1%"),
        "unchanged, most exposed": Metric("unchanged, most exposed word", ".1%"),
        "unchanged by rank": Metric("words that stay as they are", ".1%"),
        **{name: Metric(name, ".1%") for name in (*_BY_BAND, *(f"unchanged: {word}" for word in SHOWN_WORDS))},
        "cosine": Metric("cosine of changed words", ".3f"),
        "rare cosine": Metric("cosine of changed words beyond rank 1,000", ".3f"),
        "same part of speech": Metric("changed words that keep a part of speech", ".1%"),
        "same class": Metric("words of a hidden class that stay in it", ".2%"),
        "accuracy": Metric("accuracy, trained on private reviews", ".1%"),
        "read": Metric("all words", ".1%"),
        **{f"read, {band}": Metric(band, ".1%") for band in BANDS},
        "read, equal accuracy": Metric("all words", ".1%"),
        **{f"read, {band}, equal accuracy": Metric(band, ".1%") for band in BANDS},
    },
    questions=(
        compare(
            "Steps: the most exposed word stays less often than under the Euclidean metric.",
            "unchanged, most exposed",
            below,
        ),
        compare("Steps: the loss of any two words is smaller.", "any two words", below),
        compare(
            "Steps: where all words are guessed alike, rare words are guessed less often.",
            "rare guessed",
            below,
            aims=("average",),
        ),
        compare(
            "Steps: a classifier that learns from private reviews is more accurate.",
            "accuracy",
            above,
        ),
        compare("Steps: changed rare words are nearer to their originals.", "rare cosine", above),
        compare(
            "Steps: more of the changed words keep a part of speech.",
            "same part of speech",
            above,
        ),
        compare(
            "Steps: more words of a hidden class stay in it.",
            "same class",
            above,
            spaces=("default",),
        ),
        compare(
            "Steps on a graph of equal degrees: a smaller epsilon a step than on the 10 nearest.",
            "epsilon",
            below,
            (NEAREST,),
        ),
        compare(
            "Equal degrees: the most exposed word stays less often than with the 10 nearest.",
            "unchanged, most exposed",
            below,
            (NEAREST,),
        ),
        compare(
            "Equal degrees: a classifier is more accurate than with the 10 nearest.",
            "accuracy",
            above,
            (NEAREST,),
        ),
        compare(
            "Steps: a classifier is more accurate than under the angular and the geodesic metric.",
            "accuracy",
            above,
            (ANGULAR, GEODESIC),
        ),
        compare(
            "Lists of 300 and 50 dimensions: a classifier is more accurate than with 50 alone.",
            "accuracy",
            above,
            (STEPS_50D,),
        ),
        compare_readers(
            "Where the classifier is as accurate, a reader guesses fewer words beyond rank 1,000.",
            ("all beyond 1,000",),
        ),
        compare_readers("So in each band beyond rank 1,000.", ("to 5,000", "beyond 5,000")),
        compare(
            "Where the guesser of single words is as successful, the reader guesses fewer words beyond rank 1,000.",
            "read, all beyond 1,000",
            below,
            spaces=("open",),
        ),
    ),
    panels=(
        Panel(
            "20% of all words guessed: who stays",
            tuple(Line(f"open/{name}/by rank", "unchanged by rank", "-o", number) for name, number in _COLOURS.items()),
            Axis("words to rank", log=10),
            Axis("words that stay as they are, %"),
        ),
        draw_rare_panel("changed rare words", "rare cosine", Axis("mean cosine to the original, 300 dimensions")),
        draw_rare_panel("classifier", "accuracy", Axis("accuracy on original reviews, %")),
        Panel(
            "reader with a language model",
            tuple(
                Line(name_curve("open", name, aim), "read, all beyond 1,000", style, _COLOURS[name], "", x="accuracy")
                for name in READ
                for aim, style in (("average", "o"), ("further", "o"), ("rare", "^"))
            ),
            Axis("accuracy of the classifier, %"),
            Axis("rare words guessed by a reader, %"),
        ),
    ),
    keys=(Line("", "", "o", label=AIMS["average"]), Line("", "", "^", label=AIMS["rare"])),
    tables=(
        *(
            Table(
                f"{title}: {what}",
                columns,
                (*list_curves(("open",), _MAIN, aim), *list_curves(("default",), READ, aim)),
                x="target",
            )
            for aim, title in _NAMES.items()
            for what, columns in (("promises", _LAW), ("bands of words", _BY_BAND), ("reviews", _TEXTS))
        ),
        Table(
            "Other degrees and reaches, equal success on all words",
            (*_LAW[:7], "cosine", "rare cosine", "accuracy"),
            list_curves(("open",), (STEPS, *VARIANTS), "average"),
            x="target",
        ),
        Table(
            "A reader with a language model: words guessed",
            ("accuracy", *_READ),
            (*(name_curve("open", metric, aim) for metric in READ for aim in (*AIMS, "further")), NO_OUTPUT),
            x="target",
        ),
        Table(
            "The reader where a classifier is as accurate, between points by straight lines",
            tuple(f"{name}, equal accuracy" for name in _READ),
            tuple(f"open/{metric}/at accuracy" for metric in READ),
            x="accuracy",
        ),
    ),
    files=(*FILES, VECTORS),
)
