"""Utility of all word mechanisms at equal proven epsilon, and at equal attacker's success: a study of this package."""

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from deniable.core.parallel import parallel_map
from deniable.space import Space
from studies.reviews import (
    FILES,
    LAPLACE,
    METRICS,
    ORIGINAL,
    Corpus,
    Offsets,
    Words,
    build_mechanism,
    describe_mechanism,
    measure_accuracy,
    privatize_corpus,
    read_halves,
    train_classifier,
)
from studies.rows import Row, at, find_row, row_of_mean
from studies.runner import Context
from studies.study import Axis, Grid, Line, Metric, Panel, Reference, Statement, Study, Table, above, near

EPSILONS: dict[str, tuple[float, ...]] = {
    "calibrated": (1.5, 2.0, 2.5, 3.0, 4.0),
    "tight": (1.5, 2.0, 2.5, 3.0),
    "tem": (2.0, 3.0, 4.0, 5.0, 6.0),
    LAPLACE: (6.0, 10.0, 14.0, 20.0, 30.0),
    "truncated-gumbel": (90.0, 200.0, 1e4, 1e8),
}
PLACES = {
    "accuracy at claim": (None, (1.5, 2.0, 2.5, 3.0, 4.0, 6.0)),
    "accuracy at proof": ("epsilon proved", (1.5, 2.0, 2.5, 3.0)),
    "accuracy at success": ("words named", (0.2, 0.4, 0.6, 0.8)),
}
"""Derived metric -> the metric on its axis, None for the claimed epsilon, and the places at which it is read."""
Form = tuple[Words, Offsets]
ALIKE = 0.02
"""Difference of two accuracies up to which mechanisms are alike."""


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is trained.

    Attributes:
        trials: trainings of each model, each on a privatized corpus of its own.
        laplace_copies: privatized corpora of multivariate Laplace that its trials share.
        reviews: trained on, and tested on.
        words: of the default space, most frequent first.
        dimensions: of FastText's embeddings.
        epochs: of FastText.
    """

    trials: int = 3
    laplace_copies: int = 1
    reviews: int = 5_000
    words: int = 50_000
    dimensions: int = 16
    epochs: int = 20


def measure(context: Context, name: str, epsilon: float | None) -> list[Row]:
    """Return what becomes of one mechanism at one epsilon, or of the original text."""
    sizes: Sizes = context.sizes
    corpora, space = load_corpora(context), load_space(context)
    learned = corpora["TR1"]
    if epsilon is None:
        return [train_trials(context, name, epsilon, [learned.original()])]
    mechanism = build_mechanism(name, space, epsilon)
    copies = sizes.laplace_copies if name == LAPLACE else sizes.trials
    drawn = privatize_corpus(context, mechanism, learned, copies)
    return [
        *describe_mechanism(context, mechanism, name),
        Row(name, epsilon, "words kept", float((drawn == learned.words).mean())),
        train_trials(context, name, epsilon, [(copy, learned.offsets) for copy in drawn]),
    ]


def train_trials(context: Context, name: str, epsilon: float | None, forms: Sequence[Form]) -> Row:
    """Return the mean accuracy on original reviews of classifiers trained on forms (words, offsets) of the reviews."""
    sizes: Sizes = context.sizes
    corpora = load_corpora(context)

    def train(trial: int) -> float:
        words, offsets = forms[trial % len(forms)]
        net = train_classifier(
            corpora["TR1"],
            words,
            offsets,
            load_space(context),
            seed=context.derive_seed("train", name, epsilon or 0.0, trial),
            dimensions=sizes.dimensions,
            epochs=sizes.epochs,
        )
        return measure_accuracy(net, corpora["TE1"])

    return row_of_mean(name, epsilon, "accuracy", parallel_map(train, range(sizes.trials)))


def load_space(context: Context) -> Space:
    """Return the words of the study."""
    return context.share("space", lambda: Space.glove(context.sizes.words, hide=(), metric="euclidean"))


def load_corpora(context: Context) -> dict[str, Corpus]:
    """Return the four parts of IMDB."""
    return context.share("corpora", lambda: read_halves(context, load_space(context), context.sizes.reviews))


def derive_rows(rows: Sequence[Row]) -> Iterable[Row]:
    """Yield accuracies between two points of a curve, by straight lines; nothing outside its points."""
    for metric, (axis, places) in PLACES.items():
        for name in EPSILONS:
            pairs = []
            for row in rows:
                if (row.curve, row.metric) == (name, "accuracy") and row.x is not None:
                    place = find_row(rows, name, row.x, axis) if axis else None
                    if place is not None or axis is None:
                        pairs.append((row.x if place is None else place.value, row.value))
            xs, accuracies = np.array(sorted(pairs)).reshape(-1, 2).T
            for place_wanted in places:
                if len(xs) and xs[0] <= place_wanted <= xs[-1]:
                    yield Row(name, place_wanted, metric, float(np.interp(place_wanted, xs, accuracies)))


def build_cells(epsilons: dict[str, tuple[float, ...]]) -> tuple[tuple[str, float | None], ...]:
    """Return the original text, and each mechanism at each of its epsilons."""
    return ((ORIGINAL, None), *((name, epsilon) for name, own in epsilons.items() for epsilon in own))


def draw_accuracy(title: str, x: Axis, metric: str) -> Panel:
    """Return the panel of accuracy against one of the two common scales."""
    lines = tuple(
        Line(name, "accuracy", f"-{mark}", x=metric)
        for name, mark in zip(EPSILONS, "Dsov^", strict=True)
        if (name, metric) != ("truncated-gumbel", "epsilon proved")  # nothing is proved of it in a space of this size
    )
    original = Reference(at(ORIGINAL, metric="accuracy"), label=ORIGINAL, style="-", colour=-1)
    return Panel(title, lines, x, Axis("accuracy on original reviews, %"), (original, Reference(50)))


STUDY = Study(
    name="frontier",
    title="The frontier: utility at equal proof, and at equal attacker's success",
    citation="A study of this package; the papers' statements are those of Carvalho et al. (2021, TEM) and Xu et al. "
    "(2021, truncated Gumbel).",
    question="Mechanisms are usually compared at one epsilon, and each has an epsilon of its own making: what its "
    "theorem could prove. How do they compare on scales that mean the same for all, the epsilon that is proved over "
    "all pairs of words, and the share of words that the best guesser names?",
    picture="Accuracy against proven epsilon and against attacker's success. TEM and calibrated lie on one curve, "
    "tight above them at the same proof; multivariate Laplace needs several times the epsilon. Against the attacker's "
    "success all curves lie close together.",
    full=Grid(build_cells(EPSILONS), Sizes()),
    quick=Grid(
        build_cells(
            {
                "calibrated": (1.5, 2.0),
                "tight": (1.5, 2.0),
                "tem": (2.0, 4.0),
                LAPLACE: (6.0, 14.0),
                "truncated-gumbel": (90.0, 1e4),
            }
        ),
        # Above the 3,000 words up to which truncated Gumbel's exact epsilon is computed, a minute a point.
        Sizes(trials=2, reviews=1_500, words=4_000),
    ),
    measure=measure,
    derive=derive_rows,
    curves={
        ORIGINAL: ORIGINAL,
        "calibrated": "calibrated",
        "tight": "tight",
        "tem": "TEM",
        LAPLACE: "multivariate Laplace (Madlib)",
        "truncated-gumbel": "truncated Gumbel",
    },
    metrics={
        **METRICS,
        "accuracy at claim": Metric("accuracy at claimed epsilon", ".1%"),
        "accuracy at proof": Metric("accuracy at proven epsilon", ".1%"),
        "accuracy at success": Metric("accuracy at attacker's success", ".1%"),
    },
    statements=(
        Statement(
            "At the same epsilon TEM gives more utility than multivariate Laplace (Carvalho et al. 2021, Figure 1a).",
            at("tem", metric="accuracy at claim"),
            above(at(LAPLACE), ALIKE),
        ),
    ),
    questions=(
        Statement(
            "At the same attacker's success TEM gives more utility than multivariate Laplace.",
            at("tem", metric="accuracy at success"),
            above(at(LAPLACE), ALIKE),
        ),
        Statement(
            "At the same attacker's success truncated Gumbel gives more utility than multivariate Laplace, since it is "
            "said to preserve meaning better (Xu et al. 2021, contributions).",
            at("truncated-gumbel", metric="accuracy at success"),
            above(at(LAPLACE), ALIKE),
        ),
        Statement(
            "At the epsilon of each mechanism's own theorem calibrated gives more than TEM.",
            at("calibrated", (2.0, 2.5, 3.0), "accuracy at claim"),
            above(at("tem"), ALIKE),
        ),
        Statement(
            "At the epsilon that is computed the two, one family of laws, are alike within 2 points.",
            at("calibrated", metric="accuracy at proof"),
            near(at("tem"), ALIKE),
        ),
        Statement(
            "At the epsilon that is computed tight gives more than calibrated.",
            at("tight", metric="accuracy at proof"),
            above(at("calibrated"), ALIKE),
        ),
        Statement(
            "At the same attacker's success tight and calibrated are alike, within 2 points.",
            at("tight", metric="accuracy at success"),
            near(at("calibrated"), ALIKE),
        ),
    ),
    panels=(
        draw_accuracy(
            "At the same proof",
            Axis("proven epsilon (multivariate Laplace: by its theorem)", log=10, ticks=(1, 2, 3, 5, 10, 20, 30)),
            "epsilon proved",
        ),
        draw_accuracy(
            "At the same attacker's success", Axis("words named by a context-free attacker, %"), "words named"
        ),
    ),
    tables=(
        Table("Accuracy by claimed epsilon, between points by straight lines", ("accuracy at claim",), across=True),
        Table("Accuracy by proven epsilon", ("accuracy at proof",), across=True),
        Table("Accuracy by attacker's success", ("accuracy at success",), across=True),
        Table(
            "Every point",
            (
                "epsilon proved",
                "epsilon at least",
                "refuted",
                "words named",
                "words kept",
                "accuracy",
                "accuracy|low",
                "accuracy|high",
            ),
            x="epsilon",
        ),
    ),
    files=FILES,
    packages=("torch",),
)
