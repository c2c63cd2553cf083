"""Metrics of a space of words at equal attacker's success: a study of this package."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import BoolArray, FloatArray
from deniable.space import Space
from deniable.space.geodesic import CONVERSION, DEFAULT_NEIGHBOURS
from deniable.space.metrics import Metric as WordMetric
from deniable.space.metrics import resolve_metric
from deniable.words.prior import compute_zipf_prior
from studies.metric_laws import Exponential, SuccessCurve, prove_epsilon, store_metric
from studies.metric_texts import (
    Encoder,
    Outcome,
    build_encoder,
    draw_outputs,
    estimate_accuracy,
    find_hidden_words,
    find_parts_of_speech,
    join_words,
    train_classifier,
)
from studies.reviews import FILES, Corpus, read_halves
from studies.rows import Row, Selection, at, find_row, row_of
from studies.runner import Context
from studies.study import Axis, Expectation, Grid, Line, Metric, Panel, Statement, Study, Table, above, below
from studies.vocabularies import VECTORS

SUCCESSES = (0.25, 0.40)
"""Bayes success of the optimal attacker who sees one word, at which metrics are compared."""
SPACES = {"default": "the default space", "50d": "50 dimensions", "300d": "300 dimensions"}
EUCLIDEAN, ANGULAR = "euclidean", "angular"
NEIGHBOURS = (5, 10, 20, 50)
DIMENSIONS = (10, 20)
TITLES = {
    EUCLIDEAN: "Euclidean",
    ANGULAR: "angular",
    **{f"geodesic-{k}": f"geodesic, {k} neighbours" for k in NEIGHBOURS},
    **{f"projected-{d}": f"Euclidean, {d} components" for d in DIMENSIONS},
}
GEODESIC = f"geodesic-{DEFAULT_NEIGHBOURS}"
_MARKS = dict(zip(TITLES, "os^vD<>P", strict=True))
ALIKE = 0.02
"""Difference of two shares up to which metrics are alike."""
PUBLIC_EPSILON = 2.3
"""Euclidean epsilon whose like is looked for in the units of other metrics."""
NAMED = 0.30
"""Share of words named in context at which metrics are compared too."""
AT_CONTEXT = ("changed words, other vectors", "texts, other vectors", "accuracy")
"""Metrics that are read there."""


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Attributes:
        default_words: of the default space.
        words: of the spaces on which all metrics are compared, most frequent first.
        reviews: privatized, and as many others for classifiers and the attacker.
        letters: reviews compared letter by letter.
        attacked: reviews that the attacker who reads the context guesses.
    """

    default_words: int = 50_000
    words: int = 15_000
    reviews: int = 2_000
    letters: int = 500
    attacked: int = 60


def name_curve(space: str, metric: str) -> str:
    """Return the curve of one metric on one space."""
    return f"{space}/{metric}"


def measure(context: Context, space_name: str, metric_name: str) -> list[Row]:
    """Return what becomes of reviews under the law of one metric, at each success."""
    space = build_space(context, space_name, metric_name)
    stored = build_space(context, space_name, metric_name, is_stored=True)
    curve = name_curve(space_name, metric_name)
    unit = CONVERSION if metric_name.startswith("geodesic") else 1.0
    rows = []
    for target, (scale, success) in zip(
        SUCCESSES, SuccessCurve(stored, compute_zipf_prior(len(space))).find_scales(SUCCESSES), strict=True
    ):
        rows += [
            Row(curve, target, "success", success),
            Row(curve, target, "scale", scale * unit),
            Row(curve, target, "epsilon", prove_epsilon(space, stored, scale) * unit),
            *measure_texts(context, space_name, curve, target, Exponential(stored, epsilon=scale)),
        ]
    return rows


def measure_texts(
    context: Context, space_name: str, curve: str, target: float, mechanism: Exponential
) -> Iterable[Row]:
    """Yield what becomes of the words, the texts and the classes of reviews, and what an attacker names."""
    sizes: Sizes = context.sizes
    space, corpora, encoders = mechanism.space, load_corpora(context, space_name), load_encoders(context, space_name)
    private, public = corpora["TR1"], corpora["TE1"]
    # All metrics of a space draw with one seed.
    outputs = draw_outputs(mechanism, private, context.derive_seed("draws", space_name, target))
    outcome = Outcome(space, private, outputs, load_hidden_words(context, space_name))
    yield row_of(curve, target, "words kept", outcome.estimate_kept())
    for name, encoder in encoders.items():
        yield row_of(curve, target, f"changed words, {name} vectors", outcome.estimate_changed_cosine(encoder))
        yield row_of(curve, target, f"texts, {name} vectors", outcome.estimate_text_cosine(encoder))
    yield row_of(curve, target, "texts, letters", outcome.estimate_letter_cosine(min(sizes.letters, sizes.reviews)))
    parts = load_parts(context, space_name)
    if parts is not None:
        yield row_of(curve, target, "same part of speech", outcome.estimate_same_part(parts))
    same_class = outcome.estimate_same_class()
    if same_class is not None:
        yield row_of(curve, target, "same class", same_class)
    yield from measure_classes(context, space_name, curve, target, outcome)
    in_context, alone = outcome.measure_contextual_success(
        mechanism, public, min(sizes.attacked, len(private.codes)), context.derive_seed("attack", space_name)
    )
    yield row_of(curve, target, "named in context", in_context)
    yield row_of(curve, target, "named alone", alone)


def measure_classes(context: Context, space_name: str, curve: str, target: float, outcome: Outcome) -> Iterable[Row]:
    """Yield the accuracy of classifiers that learn from private reviews, and of one that is given them."""
    space, private, public = outcome.space, outcome.corpus, load_corpora(context, space_name)["TE1"]
    originals = public.original()
    trained_on_private = train_classifier(space, outcome.outputs, private, private.offsets)
    yield row_of(
        curve, target, "accuracy", estimate_accuracy(trained_on_private, join_words(space, *originals), public)
    )
    trained_on_originals = context.share(
        f"classifier {space_name}", lambda: train_classifier(space, originals[0], public, originals[1])
    )
    texts = join_words(space, outcome.outputs, private.offsets)
    yield row_of(curve, target, "accuracy on private", estimate_accuracy(trained_on_originals, texts, private))


def build_space(context: Context, space_name: str, metric_name: str, *, is_stored: bool = False) -> Space:
    """Return the words of a space under a metric."""
    kind, _, number = metric_name.partition("-")
    metric = (
        WordMetric.geodesic(int(number))
        if kind == "geodesic"
        else resolve_metric(ANGULAR if kind == ANGULAR else EUCLIDEAN)
    )
    base, chosen = load_space(context, space_name), store_metric(metric) if is_stored else metric
    vectors = project_vectors(base.vectors, int(number)) if kind == "projected" else base.vectors
    return Space(base.words, vectors, metric=chosen, hide=base.hide[:-1])


def project_vectors(vectors: FloatArray, dimensions: int) -> FloatArray:
    """Return the first principal components (n, dimensions) of vectors (n, d), public as they are."""
    centred = vectors - vectors.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    components: FloatArray = centred @ directions[:, : -min(dimensions, vectors.shape[1]) - 1 : -1]
    return components


def load_space(context: Context, name: str) -> Space:
    """Return a space by name, under the Euclidean metric."""
    sizes: Sizes = context.sizes

    def read() -> Space:
        if name == "300d":
            return Space.load(context.find_file(VECTORS), limit=sizes.words)
        return Space.glove(sizes.default_words if name == "default" else sizes.words)

    return context.share(f"space {name}", read)


def load_corpora(context: Context, name: str) -> dict[str, Corpus]:
    """Return the parts of IMDB as words of a space."""
    return context.share(
        f"corpora {name}", lambda: read_halves(context, load_space(context, name), context.sizes.reviews)
    )


def load_encoders(context: Context, name: str) -> dict[str, Encoder]:
    """Return the space's own vectors of its words, and independent ones."""

    def build() -> dict[str, Encoder]:
        own, public = load_space(context, name), load_corpora(context, name)["TE1"]
        other = Space.glove(hide=()) if name == "300d" else Space.load(context.find_file(VECTORS), hide=())
        return {"own": build_encoder(own, own, public), "other": build_encoder(own, other, public)}

    return context.share(f"encoders {name}", build)


def load_hidden_words(context: Context, name: str) -> BoolArray:
    """Return which words of a space are hidden."""
    return context.share(f"hidden {name}", lambda: find_hidden_words(load_space(context, name)))


def load_parts(context: Context, name: str) -> npt.NDArray[np.uint8] | None:
    """Return the parts of speech of the words of a space; None without the lexicon."""
    return context.share(f"parts {name}", lambda: find_parts_of_speech(load_space(context, name)))


def derive_rows(rows: Sequence[Row]) -> Iterable[Row]:
    """Yield epsilons and utility at equal success, between two points of a curve by straight lines."""
    for curve in (name_curve(space, metric) for space in SPACES for metric in TITLES):
        base = name_curve(curve.partition("/")[0], EUCLIDEAN)
        for success in SUCCESSES:
            own, theirs = (find_row(rows, name, success, "epsilon") for name in (curve, base))
            if own is not None and theirs is not None:
                yield Row(curve, success, "epsilon ratio", own.value / theirs.value)
        logs = [[math.log(value) for value in collect_values(rows, name, "epsilon")] for name in (base, curve)]
        yield from interpolate(curve, "epsilon like 2.3", math.log(PUBLIC_EPSILON), logs[0], logs[1], math.exp)
        named = collect_values(rows, curve, "named in context")
        for metric in AT_CONTEXT:
            yield from interpolate(curve, f"{metric}, in context", NAMED, named, collect_values(rows, curve, metric))


def collect_values(rows: Sequence[Row], curve: str, metric: str) -> list[float]:
    """Return the values of a metric at each success, as far as they were measured."""
    found = (find_row(rows, curve, success, metric) for success in SUCCESSES)
    return [row.value for row in found if row is not None]


def interpolate(
    curve: str,
    metric: str,
    place: float,
    xs: Sequence[float],
    ys: Sequence[float],
    transform: Callable[[float], float] = float,
) -> Iterable[Row]:
    """Yield the value at a place between two points, as a row without a place; nothing beyond them."""
    if len(xs) == len(ys) == len(SUCCESSES) and xs[0] <= place <= xs[-1]:
        yield Row(curve, None, metric, transform(float(np.interp(place, xs, ys))))


def build_cells(metrics: Sequence[str], default_metrics: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return some metrics on the default space, and each on the two spaces of all metrics."""
    return (
        *(("default", metric) for metric in default_metrics),
        *((space, metric) for space in SPACES if space != "default" for metric in metrics),
    )


def compare(text: str, metric: str, expect: Callable[[Selection], Expectation], name: str = GEODESIC) -> Statement:
    """Return a statement that compares a metric with the Euclidean one, space by space."""
    checks = tuple(
        (at(name_curve(space, name), metric=metric), expect(at(name_curve(space, EUCLIDEAN)))) for space in SPACES
    )
    return Statement(text, *checks[0], also=checks[1:])


def draw_panel(space: str, title: str, metric: str, axis: Axis, *, has_legend: bool = False) -> Panel:
    """Return the panel of one measure of all metrics against the success of the attacker who reads the context."""
    lines = tuple(
        Line(
            name_curve(space, name),
            metric,
            f"-{mark}",
            colour,
            TITLES[name] if has_legend else "",
            x="named in context",
        )
        for colour, (name, mark) in enumerate(_MARKS.items())
    )
    return Panel(f"{SPACES[space]}: {title}", lines, Axis("words named by an attacker who reads the context, %"), axis)


_COSINE = Axis("mean cosine to the original, by other vectors")
_ACCURACY = Axis("accuracy on original reviews, %")
_WORD_METRICS = (
    "success",
    "scale",
    "epsilon",
    "epsilon ratio",
    "words kept",
    "changed words, own vectors",
    "changed words, other vectors",
    "same part of speech",
    "same class",
)
_TEXT_METRICS = (
    "texts, own vectors",
    "texts, other vectors",
    "texts, letters",
    "accuracy",
    "accuracy on private",
    "named alone",
    "named in context",
)
STUDY = Study(
    name="metrics",
    title="Metrics at equal attacker's success",
    citation="A study of this package.",
    question="Epsilon is per unit of distance, and every metric has a unit of its own: at one epsilon they cannot be "
    "compared. Where the best guesser who sees one word names the same share of words, which metric replaces words by "
    "related ones, and what does an attacker who reads the context make of it?",
    picture="For each space two panels, against the share of words that an attacker names who reads the context: how "
    "near changed words are to their originals by vectors of another source, and the accuracy of a classifier that "
    "learns from private reviews.",
    full=Grid(build_cells(tuple(TITLES), (EUCLIDEAN, GEODESIC)), Sizes()),
    quick=Grid(
        build_cells((EUCLIDEAN, GEODESIC), (EUCLIDEAN, GEODESIC)),
        Sizes(default_words=8_000, words=4_000, reviews=300, letters=100, attacked=20),
    ),
    measure=measure,
    derive=derive_rows,
    curves={name_curve(space, name): f"{title}, {SPACES[space]}" for space in SPACES for name, title in TITLES.items()},
    metrics={
        "success": Metric("success of the best guesser, one word at a time", ".2%"),
        "scale": Metric("scale of the law", ".4g"),
        "epsilon": Metric("exact epsilon", ".4g"),
        "epsilon ratio": Metric("epsilon / Euclidean epsilon", ".3f"),
        "epsilon like 2.3": Metric("epsilon of the success of Euclidean 2.3", ".4g"),
        "words kept": Metric("words kept", ".1%"),
        "changed words, own vectors": Metric("cosine of changed words, own vectors", ".3f"),
        "changed words, other vectors": Metric("cosine of changed words, other vectors", ".3f"),
        "texts, own vectors": Metric("cosine of texts, own vectors", ".3f"),
        "texts, other vectors": Metric("cosine of texts, other vectors", ".3f"),
        "texts, letters": Metric("cosine of texts, letters", ".3f"),
        "same part of speech": Metric("changed words that keep a part of speech", ".1%"),
        "same class": Metric("words of a hidden class that stay in it", ".1%"),
        "accuracy": Metric("accuracy, trained on private reviews", ".1%"),
        "accuracy on private": Metric("accuracy on private reviews, trained on originals", ".1%"),
        "named alone": Metric("words named, one at a time", ".1%"),
        "named in context": Metric("words named in context", ".1%"),
        "changed words, other vectors, in context": Metric("cosine of changed words", ".3f"),
        "texts, other vectors, in context": Metric("cosine of texts", ".3f"),
        "accuracy, in context": Metric("accuracy", ".1%"),
    },
    statements=(
        compare(
            "Geodesic: changed words are nearer to their originals than under the Euclidean metric, by independent "
            "vectors.",
            "changed words, other vectors",
            above,
        ),
        compare("Geodesic: more of the changed words keep a part of speech.", "same part of speech", above),
        compare(
            "Geodesic: whole texts are nearer to their originals, by independent vectors.",
            "texts, other vectors",
            above,
        ),
        compare(
            "Geodesic: the accuracy of a classifier that learns from private reviews is not 2 points lower.",
            "accuracy",
            lambda base: above(base, -ALIKE),
        ),
        compare(
            "Geodesic: the attacker who reads the context does not name 2 points more of the words.",
            "named in context",
            lambda base: below(base, -ALIKE),
        ),
        compare(
            "Geodesic: changed words are nearer also where the attacker who reads the context names the same share.",
            "changed words, other vectors, in context",
            above,
        ),
        compare("Geodesic: more words of a hidden class stay in it.", "same class", above),
        compare(
            "Angular: changed words are nearer to their originals than under the Euclidean metric, by independent "
            "vectors.",
            "changed words, other vectors",
            above,
            ANGULAR,
        ),
        compare(
            "Euclidean on 20 principal components: changed words are nearer to their originals than on all dimensions, "
            "by independent vectors.",
            "changed words, other vectors",
            above,
            "projected-20",
        ),
        Statement(
            "The fewer the neighbours, the nearer are changed words: 5 against 20.",
            at(name_curve("50d", "geodesic-5"), metric="changed words, other vectors"),
            above(at(name_curve("50d", "geodesic-20"))),
            also=(
                (
                    at(name_curve("300d", "geodesic-5"), metric="changed words, other vectors"),
                    above(at(name_curve("300d", "geodesic-20"))),
                ),
            ),
        ),
    ),
    panels=(
        draw_panel("50d", "changed words", "changed words, other vectors", _COSINE, has_legend=True),
        draw_panel("300d", "changed words", "changed words, other vectors", _COSINE),
        draw_panel("50d", "classifier", "accuracy", _ACCURACY),
        draw_panel("300d", "classifier", "accuracy", _ACCURACY),
    ),
    tables=(
        Table("Epsilon of the success of Euclidean epsilon 2.3", ("epsilon like 2.3",)),
        Table(
            "Where 30 % of the words are named in context, between points by straight lines",
            tuple(f"{metric}, in context" for metric in AT_CONTEXT),
        ),
        Table("Words", _WORD_METRICS, x="target"),
        Table("Texts, classifiers and attackers", _TEXT_METRICS, x="target"),
    ),
    files=(*FILES, VECTORS),
)
