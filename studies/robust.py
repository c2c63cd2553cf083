"""Xu et al. 2021, Tables 2 and 3: certified and augmented training of text classifiers, attacked by word mechanisms."""

import dataclasses
import math
from collections.abc import Iterator

from deniable.published.truncated_gumbel.mechanism import compute_min_epsilon
from studies import text_sizes
from studies.gumbel_deniability import TITLES as MECHANISMS
from studies.gumbel_deniability import describe_loss
from studies.reviews import LAPLACE, build_mechanism
from studies.rows import Row, at, rows_of
from studies.runner import Context
from studies.study import Axis, Grid, Line, Metric, Panel, Reference, Statement, Study, Table, above, below, near
from studies.substituted_words import IBP, NORMAL, SETS, SUBSTITUTIONS, Bench, TextTables, load_bench
from studies.vocabularies import VECTORS
from studies.word_density import GUMBEL

TEXTS = "texts"
ALONE = {NORMAL: "normal training", IBP: "certified training (IBP)", SETS: "augmented by the substitution sets"}
SMOOTHED = {"calibrated": 1.5, "tight": 1.5}
"""Mechanisms whose laws can be compared between words, so that they certify; and the epsilon at which they do."""
Points = dict[str, tuple[float, ...]]
"""Mechanism -> ln epsilon of truncated Gumbel, epsilon of the others."""
POINTS: dict[str, Points] = {
    "imdb": {
        GUMBEL: (4.67, 10.0, 17.0, 38.0, 86.0), LAPLACE: (20.0, 60.0, 100.0, 200.0), "calibrated": (1.25, 1.5),
        "tight": (1.5,),
    },
    "nli": {
        GUMBEL: (4.52, 17.0, 38.0, 86.0), LAPLACE: (20.0, 60.0, 200.0), "calibrated": (1.5,), "tight": (1.5,),
    },
}  # fmt: skip
"""Those of the full grid, by data set."""
_NEAR = 0.03
"""Difference of two accuracies within which ours and the paper's count as the same; 1,000 texts tell no finer."""
HALF = 0.5


@dataclasses.dataclass(frozen=True)
class Schedule:
    """How much is trained, attacked and drawn on one data set.

    Attributes:
        words: of the space, the most frequent ones; None for all.
        train: texts to learn from, drawn once for all models; None for all.
        test: texts that are tested and attacked; drawn once for all models.
        normal_epochs: passes of normal training.
        ibp_epochs: passes of certified training.
        augmented_epochs: passes over the texts and their copies.
        batch: texts of a step.
        copies: of each text.
        population: of the genetic attack.
        generations: of the genetic attack.
        pool: draws kept of a word, at most, of multivariate Laplace.
        smoothed: texts certified by smoothing.
        selection: draws that choose the class of each.
        estimation: draws that bound its chance.
        interval: steps from one checkpoint to the next.
    """

    words: int | None = None
    train: int | None = None
    test: int = 1_000
    normal_epochs: int = 10
    ibp_epochs: int = 60
    augmented_epochs: int = 4
    batch: int = 32
    copies: int = 4
    population: int = 60
    generations: int = 40
    pool: int = 32
    smoothed: int = 100
    selection: int = 100
    estimation: int = 2_000
    interval: int = 500


@dataclasses.dataclass(frozen=True)
class Sizes:
    """One schedule for each data set."""

    imdb: Schedule
    nli: Schedule


@dataclasses.dataclass(frozen=True)
class Published:
    """One of the paper's tables, percentages by place on the axis.

    Attributes:
        title: of the table.
        places: ln epsilon of truncated Gumbel, epsilon of multivariate Laplace.
        accuracy: of augmented training without attack.
        ibp: accuracy of the IBP model under attack.
        augmented: accuracy of augmented training under attack.
        only_above: the place above which alone augmented training is said to be ahead of IBP under attack.
        gain: by how much it is said to be ahead without attack.
        gain_above: the place above which it is said to be so.
    """

    title: str
    places: tuple[float, ...]
    accuracy: tuple[float, ...]
    ibp: tuple[float, ...]
    augmented: tuple[float, ...]
    only_above: float | None = None
    gain: float | None = None
    gain_above: float = 0.0


@dataclasses.dataclass(frozen=True)
class DataSet:
    """One data set and the paper's numbers about it.

    Attributes:
        title: in words.
        network: in `deniable.models.text.networks.TEXT_NETWORKS`.
        tables: its files.
        normal: accuracy of normal training (Table 3).
        ibp: accuracy of the IBP model without attack.
        points: n of the paper's vocabulary (Appendix A).
        separation: its Delta0.
        published: the paper's tables by mechanism.
    """

    title: str
    network: str
    tables: TextTables
    normal: float
    ibp: float
    points: int
    separation: float
    published: dict[str, Published]


_LOGS = (10.0, 14.0, 17.0, 23.0, 38.0, 50.0, 62.0, 74.0, 86.0)
_EPSILONS = (1.0, 5.0, 9.0, 20.0, 40.0, 60.0, 80.0, 100.0, 150.0, 200.0)
DATA_SETS = {
    "imdb": DataSet(
        "IMDB", "cnn", TextTables("imdb_train.parquet", "imdb_test.parquet"), 0.8950, 0.8100, 48_210, 0.2208,
        {
            GUMBEL: Published(
                "Table 2", (4.67, *_LOGS),
                (89.80, 89.60, 88.10, 90.00, 88.30, 89.20, 89.00, 89.40, 89.80, 89.70),
                (35.30, 34.60, 47.40, 58.60, 70.90, 79.90, 80.80, 80.90, 80.90, 81.00),
                (32.00, 34.90, 43.30, 60.20, 71.80, 86.20, 88.80, 89.30, 89.70, 89.70),
            ),
            LAPLACE: Published(
                "Table 3", _EPSILONS,
                (88.22, 88.20, 87.34, 87.38, 88.60, 88.74, 88.12, 88.46, 88.00, 87.76),
                (0.30, 0.50, 1.20, 4.90, 38.60, 68.30, 78.50, 80.30, 80.90, 81.00),
                (10.80, 8.50, 10.20, 6.90, 9.50, 17.70, 32.10, 53.00, 80.50, 88.30),
                only_above=150.0, gain=0.0874,
            ),
        },
    ),
    # SNLI's training pairs have a stand-in, pairs of MultiNLI and of counterfactual SNLI; the test pairs are its own.
    "nli": DataSet(
        "NLI stand-in", "bow", TextTables("nli_train.parquet", "snli_test.parquet", ("hypothesis", "premise")),
        0.8268, 0.7919, 11_673, 0.2263,
        {
            GUMBEL: Published(
                "Table 2", (4.52, *_LOGS),
                (78.89, 79.92, 81.32, 81.74, 81.77, 82.20, 82.18, 81.86, 81.65, 81.96),
                (12.5, 11.49, 12.98, 14.95, 24.01, 58.78, 74.51, 78.18, 78.88, 79.12),
                (21.05, 17.34, 16.57, 17.05, 23.96, 58.58, 76.54, 80.62, 81.41, 81.90),
            ),
            LAPLACE: Published(
                "Table 3", _EPSILONS,
                (76.68, 77.28, 77.07, 78.08, 81.38, 81.79, 81.75, 81.91, 82.17, 82.00),
                (1.84, 1.90, 2.21, 3.70, 9.22, 24.19, 46.62, 64.92, 78.73, 79.16),
                (2.44, 2.61, 3.01, 4.20, 9.14, 24.08, 46.94, 66.54, 81.44, 81.94),
                only_above=60.0, gain=0.0333, gain_above=20.0,
            ),
        },
    ),
}  # fmt: skip


def name_curve(name: str, training: str, place: float | None = None) -> str:
    """Return the curve of one training on one data set; with a place, that of the model smoothed there."""
    return f"{name}/{training}" if place is None else f"{name}/{training} {place:g}, smoothed"


def measure(context: Context, name: str, training: str, place: float | None) -> list[Row]:
    """Describe the texts of a data set, or train one model and attack it; beside it normal training and IBP."""
    from studies import text_models

    data_set, curve = DATA_SETS[name], name_curve(name, training)
    bench = load_bench(context, name, data_set.tables, data_set.network)
    if training == TEXTS:
        tables = data_set.tables
        lengths = text_sizes.measure_lengths(context, name, tables.train, tables.test, tables.columns[0])
        return [*describe_texts(bench), *lengths]
    if place is None:
        model = text_models.share_model(bench, training)
        thinned = text_models.measure_thinned(model, curve) if training == IBP else ()
        return [*text_models.measure_by_sets(model, curve, None), *thinned]
    epsilon = math.exp(place) if training == GUMBEL else place
    if training == GUMBEL and epsilon <= compute_min_epsilon(bench.space.point_count, bench.space.separation):
        return []
    mechanism = build_mechanism(training, bench.space, epsilon)
    model = text_models.augment_by(bench, mechanism, f"{training} {place:g}")
    smoothed_curve = name_curve(name, training, place)
    return [
        Row(curve, place, "epsilon claimed", epsilon),
        *(dataclasses.replace(row, x=place) for row in describe_loss(mechanism, curve)),
        *text_models.measure_by_sets(model, curve, place),
        *text_models.measure_under_draws(model, mechanism, curve, place),
        *(text_models.measure_smoothed(model, mechanism, smoothed_curve) if place == SMOOTHED.get(training) else ()),
    ]


def describe_texts(bench: Bench) -> list[Row]:
    """Return how much text there is, and the epsilon above which truncated Gumbel has a law, here and in the paper."""
    data_set, space, words = DATA_SETS[bench.name], bench.space, bench.test.texts.words
    first = math.exp(data_set.published[GUMBEL].places[0])
    theirs = compute_min_epsilon(data_set.points, data_set.separation)
    return [
        *rows_of(
            bench.name, None,
            training_texts=len(bench.train),
            test_texts=len(bench.test),
            texts_left_out=bench.left_out,
            words=len(space),
            words_with_substitutes=int((bench.sets.choice_counts > 1).sum()),
            substitutes_listed=float(bench.listed[words].mean()),
            substitutes_known=float((bench.sets.choice_counts - 1)[words].mean()),
            least_epsilon=compute_min_epsilon(space.point_count, space.separation),
        ),
        *rows_of(f"{bench.name}, the paper's", None, words=data_set.points, least_epsilon=theirs, first_epsilon=first),
    ]  # fmt: skip


def build_cells(points: dict[str, Points]) -> tuple[tuple[str, str, float | None], ...]:
    """Return for each data set its texts, the models without a mechanism, and each mechanism at each place."""
    return tuple(
        cell
        for name, own in points.items()
        for cell in (
            *((name, training, None) for training in (TEXTS, *ALONE)),
            *((name, mechanism, place) for mechanism, places in own.items() for place in places),
        )
    )


def name_published(name: str, mechanism: str) -> str:
    """Return the curve of the paper's numbers."""
    return f"{name_curve(name, mechanism)}, the paper's"


def list_published() -> Iterator[Row]:
    """Yield the numbers of both tables."""
    for name, data_set in DATA_SETS.items():
        for mechanism, table in data_set.published.items():
            curve = name_published(name, mechanism)
            for place, *percents in zip(table.places, table.accuracy, table.ibp, table.augmented, strict=True):
                for metric, percent in zip(("accuracy", "attacked, ibp", "attacked, augmented"), percents, strict=True):
                    yield Row(curve, place, metric, percent / 100)


def state_all(name: str) -> Iterator[Statement]:
    """Yield the paper's statements about one data set."""
    data_set = DATA_SETS[name]
    for training, share in ((NORMAL, data_set.normal), (IBP, data_set.ibp)):
        text = f"{data_set.title}: {ALONE[training]} has {100 * share:.2f}% without attack."
        yield Statement(text, at(name_curve(name, training), metric="accuracy"), near(share, _NEAR))
    for mechanism, table in data_set.published.items():
        curve, where = name_curve(name, mechanism), f"{data_set.title}, {table.title}, {MECHANISMS[mechanism]}"
        for metric, text in (
            ("accuracy", "augmented training without attack"),
            ("attacked, ibp", "IBP under the genetic attack by its draws"),
            ("attacked, augmented", "augmented training under the same"),
        ):
            theirs = at(name_published(name, mechanism))
            yield Statement(f"{where}: accuracy of {text}.", at(curve, metric=metric), near(theirs, _NEAR))
        yield from state_order(where, curve, table)
    yield from text_sizes.state_sizes(name, data_set.title)
    yield Statement(
        f"{data_set.title}: augmented training keeps about normal training's accuracy without attack (Section 6.6).",
        at(
            tuple(name_curve(name, mechanism) for mechanism in data_set.published), metric="accuracy", label="augmented"
        ),
        near(at(name_curve(name, NORMAL)), _NEAR),
    )
    yield Statement(
        f"{data_set.title}, Table 2: its first epsilon is slightly larger than the lower bound, as the scale needs it.",
        at(f"{name}, the paper's", metric="first epsilon"),
        above(at(metric="least epsilon")),
    )
    yield Statement(
        f"{data_set.title}: truncated Gumbel is epsilon-metric-DP wherever it is defined (Theorem 1).",
        at(name_curve(name, GUMBEL), metric="refuted"),
        near(0),
        is_universal=True,
    )


def state_order(where: str, curve: str, table: Published) -> Iterator[Statement]:
    """Yield where augmented training is said to be ahead of IBP, without attack and under it (Section 6.6)."""
    clean = tuple(place for place in table.places if place > table.gain_above)
    gain = "" if table.gain is None else f" by about {100 * table.gain:.2f} points"
    yield Statement(
        f"{where}: augmented training outperforms IBP in clean accuracy{gain} (Section 6.6).",
        at(curve, clean, "wins over ibp"),
        above(HALF),
        () if table.gain is None else ((at(curve, clean, "gain over ibp"), near(table.gain, _NEAR)),),
    )
    limit, metric = table.only_above or 0.0, "wins over ibp, attacked"
    ahead, others = (tuple(place for place in table.places if (place > limit) == side) for side in (True, False))
    yield Statement(
        f"{where}: it outperforms IBP under attack{f' only when epsilon > {limit:g}' if limit else ''} (Section 6.6).",
        at(curve, ahead, metric),
        above(HALF),
        ((at(curve, others, metric), below(HALF)),) if others else (),
        is_universal=bool(limit),
    )


_ACCURACY = Axis("accuracy, %", limits=(0, 100))
LOOKS = {NORMAL: ("^", 1), IBP: ("s", 0), "augmented": ("o", 2)}
SHORT = {NORMAL: "normal training", IBP: "IBP", "augmented": "augmented by it"}


def draw_mechanism(name: str, mechanism: str, *, is_attacked: bool) -> Panel:
    """Return accuracies by the place of one mechanism, and the paper's beside them."""
    title = f"{DATA_SETS[name].title}, {MECHANISMS[mechanism]}: {'attacked by its draws' if is_attacked else 'clean'}"
    shown = {kind: f"attacked, {kind}" for kind in LOOKS} if is_attacked else {"augmented": "accuracy"}
    lines = [
        Line(name_curve(name, mechanism), metric, f"-{LOOKS[kind][0]}", LOOKS[kind][1], "")
        for kind, metric in shown.items()
    ]
    lines += [
        Line(name_published(name, mechanism), metric, *LOOKS[kind], "", is_hollow=True)
        for kind, metric in shown.items()
        if mechanism in DATA_SETS[name].published and kind != NORMAL
    ]
    references = tuple(
        Reference(at(name_curve(name, kind), metric="accuracy"), style="-", colour=LOOKS[kind][1])
        for kind in (() if is_attacked else (NORMAL, IBP))
    )
    limits = (1.0, 2.0) if mechanism in SMOOTHED else None
    x = Axis(f"{'log ' if mechanism == GUMBEL else ''}epsilon claimed", limits=limits)
    return Panel(title, tuple(lines), x, _ACCURACY, references)


def draw_data_set(name: str) -> tuple[Panel, ...]:
    """Return the panels of one data set."""
    title = DATA_SETS[name].title
    by_sets = tuple(
        Line(name_curve(name, training), metric, mark, colour, "" if number else label, x=float(number))
        for number, training in enumerate(ALONE)
        for metric, mark, colour, label in (
            ("accuracy", "D", 4, "without attack"),
            ("genetic, sets", "v", 3, "genetic attack by the sets"),
            ("greedy, sets", "x", 5, "greedy attack by the sets"),
            ("proved", "P", 8, "proved for all choices of the sets"),
        )
    )
    smoothed = tuple(
        Line(name_curve(name, mechanism, place), "certified by distance", "-o", colour, f"{mechanism} {place:g}")
        for colour, (mechanism, place) in enumerate(SMOOTHED.items())
    )
    ticks = tuple((float(number), training) for number, training in enumerate(ALONE))
    return (
        *(draw_mechanism(name, each, is_attacked=kind) for each in (GUMBEL, LAPLACE) for kind in (False, True)),
        *(draw_mechanism(name, each, is_attacked=True) for each in SMOOTHED),
        Panel(f"{title}: words from the sets", by_sets, Axis(limits=(-0.5, 2.5), ticks=ticks), _ACCURACY),
        Panel(f"{title}: smoothed, certified", smoothed, Axis("total distance by which words may move"), _ACCURACY),
    )


MECHANISM_CURVES = {
    name_curve(name, mechanism): f"{data_set.title}, {MECHANISMS[mechanism]}"
    for name, data_set in DATA_SETS.items()
    for mechanism in (GUMBEL, LAPLACE, *SMOOTHED)
}
MODEL_CURVES = {
    name_curve(name, training): f"{data_set.title}, {title}"
    for name, data_set in DATA_SETS.items()
    for training, title in ALONE.items()
}
SMOOTHED_CURVES = {
    name_curve(name, mechanism, place): f"{data_set.title}, smoothed by {mechanism} {place:g}"
    for name, data_set in DATA_SETS.items()
    for mechanism, place in SMOOTHED.items()
}
TEXT_CURVES = {
    curve: title
    for name, data_set in DATA_SETS.items()
    for curve, title in ((name, data_set.title), (f"{name}, the paper's", f"{data_set.title}, the paper's"))
}
_QUICK_POINTS: Points = {GUMBEL: (10.0,), LAPLACE: (20.0,), "calibrated": (1.5,)}
_QUICK = Schedule(
    words=8_000, train=2_000, test=60, normal_epochs=4, ibp_epochs=10, augmented_epochs=2, population=20,
    generations=10, pool=16, smoothed=20, estimation=500,
)  # fmt: skip

STUDY = Study(
    name="robust",
    title="Certified and augmented training of text classifiers",
    citation="Nan Xu, Oluwaseyi Feyisetan, Abhinav Aggarwal, Zekun Xu and Nathanael Teissier (2021), *Differentially "
    "Private Adversarial Robustness Through Randomized Perturbations*, Tables 2 and 3.",
    question="Classifiers of reviews and of pairs are trained with certified bounds over substitution sets (IBP, Jia "
    "et al. 2019), or on copies that a mechanism draws, and attacked by a genetic search with the mechanism's words. "
    "Which training withstands what, and what of it is proved?",
    picture="For each data set accuracy without attack and under attack by epsilon, for truncated Gumbel and "
    "multivariate Laplace with the paper's numbers as hollow marks, and for calibrated and tight; then what attacks by "
    "the substitution sets leave and what is proved, and the certified accuracy of smoothed models by distance.",
    full=Grid(
        build_cells(POINTS),
        Sizes(Schedule(), Schedule(normal_epochs=15, ibp_epochs=30, augmented_epochs=3, batch=128, smoothed=200)),
    ),
    quick=Grid(
        build_cells(dict.fromkeys(DATA_SETS, _QUICK_POINTS)),
        Sizes(_QUICK, dataclasses.replace(_QUICK, train=3_000)),
    ),
    measure=measure,
    curves={
        **MODEL_CURVES,
        **MECHANISM_CURVES,
        **SMOOTHED_CURVES,
        **TEXT_CURVES,
        **{
            name_published(name, mechanism): f"{data_set.title}, {MECHANISMS[mechanism]}, the paper's"
            for name, data_set in DATA_SETS.items()
            for mechanism in data_set.published
        },
    },
    metrics={
        "accuracy": Metric("without attack", ".1%"),
        "proved": Metric("proved for the sets", ".1%"),
        "genetic, sets": Metric("genetic attack, sets", ".1%"),
        "greedy, sets": Metric("greedy attack, sets", ".1%"),
        "proved, sets thinned": Metric("proved where a share of the substitutes is kept", ".1%"),
        **{f"attacked, {kind}": Metric(f"attacked by its draws: {title}", ".1%") for kind, title in SHORT.items()},
        "gain over ibp": Metric("accuracy of augmented less IBP", ".1%"),
        "wins over ibp": Metric("won from IBP, of the texts that one alone has right", ".1%"),
        **{
            f"wins over {kind}, attacked": Metric(f"attacked: won from {SHORT[kind]}, of those texts", ".1%")
            for kind in (IBP, NORMAL)
        },
        "epsilon claimed": Metric("epsilon claimed", ".4g"),
        "epsilon by theorem": Metric("epsilon by theorem", ".4g"),
        "epsilon spent": Metric("epsilon spent", ".4g"),
        "epsilon at least": Metric("epsilon at least", ".4g"),
        "refuted": Metric("claim refuted", ".0f"),
        "certificate proved": Metric("certificate proved", ".0f"),
        "certified by distance": Metric("certified within a total distance", ".1%"),
        "certified by changes": Metric("certified for words changed within the sets", ".1%"),
        "training texts": Metric("training texts", ",.0f"),
        "test texts": Metric("test texts", ",.0f"),
        "texts left out": Metric("left out", ",.0f"),
        "words": Metric("words", ",.0f"),
        "words with substitutes": Metric("words with substitutes", ",.0f"),
        "substitutes listed": Metric("substitutes listed for a test word", ".2f"),
        "substitutes known": Metric("of them in the space", ".2f"),
        "least epsilon": Metric("(5 + 2 ln n) / Delta0", ".1f"),
        "first epsilon": Metric("first epsilon of Table 2", ".1f"),
        **text_sizes.METRICS,
    },
    statements=tuple(statement for name in DATA_SETS for statement in state_all(name)),
    panels=tuple(panel for row in zip(*map(draw_data_set, DATA_SETS), strict=True) for panel in row),
    tables=(
        Table(
            "Every model", ("accuracy", "proved", "genetic, sets", "greedy, sets"),
            (*MODEL_CURVES, *MECHANISM_CURVES), x="log epsilon of truncated Gumbel, else epsilon",
        ),
        Table(
            "Attacked by a mechanism's draws",
            (
                "epsilon claimed", "epsilon by theorem", "epsilon spent", "epsilon at least", "refuted",
                *(f"attacked, {kind}" for kind in LOOKS), "gain over ibp",
                "wins over ibp", "wins over ibp, attacked", "wins over normal, attacked",
            ),
            tuple(MECHANISM_CURVES), x="log epsilon of truncated Gumbel, else epsilon",
        ),
        Table("Proved of IBP where a share of the substitutes is kept", ("proved, sets thinned",), across=True),
        Table("Smoothed: certified within a total distance", ("certified by distance",), across=True),
        Table("Smoothed: certified for words changed within the sets", ("certified by changes",), across=True),
        Table(
            "Texts and words",
            (
                "training texts", "test texts", "texts left out", "words", "words with substitutes",
                "substitutes listed", "substitutes known", "least epsilon", "first epsilon", *text_sizes.METRICS,
            ),
            tuple(TEXT_CURVES),
        ),
    ),
    keys=(
        *(Line("", "", f"-{mark}", colour, title) for (mark, colour), title in zip(
            LOOKS.values(), ("normal training", "certified training (IBP)", "augmented by the mechanism's own copies"),
            strict=True,
        )),
        Line("", "", "o", 2, "the paper's", is_hollow=True),
    ),
    published=tuple(list_published()),
    files=(
        VECTORS, SUBSTITUTIONS, *(file for own in DATA_SETS.values() for file in (own.tables.train, own.tables.test))
    ),
    packages=("torch",),
)  # fmt: skip
