"""How words stay by the distance to their nearest word, and Lemma 1 and Appendix C of Xu et al. 2021 beside it."""

import math

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.randomness import Streams, derive_key_from_seed, derive_stream_start
from deniable.measure.intervals import Estimate, estimate_mean
from deniable.published.truncated_gumbel.law import compute_gumbel_scale
from deniable.published.truncated_gumbel.mechanism import TruncatedGumbel, compute_min_epsilon
from deniable.published.truncated_gumbel.quadrature import integrate_row
from deniable.space import Space
from deniable.words import WordMechanism
from studies.reviews import LAPLACE
from studies.rows import Row, at, row_of
from studies.runner import Context
from studies.study import Axis, Line, Metric, Panel, Statement, Table, above, below, near
from studies.vocabularies import TABLES, Vocabulary

GUMBEL = "truncated-gumbel"
PLACES: dict[str, tuple[float, ...]] = {LAPLACE: (9.0, 12.0, 15.0), GUMBEL: (10.0, 14.0, 17.0)}
"""Where words are counted by the distance to their nearest word; for truncated Gumbel natural logarithms of epsilon."""
LEMMA = (0.0, 10.0, 17.0)
"""Natural logarithms of the epsilons at which Lemma 1 is looked at; 0 stands for the least one of a vocabulary."""
CANDIDATES = (1, 2, 3, 5, 10, 20, 50)
"""Fixed k of Algorithm 2 at which Lemma 1 is looked at."""
FIRST_WORDS = (5, 10, 20, 60, 200)
"""Sizes of small spaces, whose laws are exact for every word."""
TENTHS = 10
_NEAR = 0.03
"""Difference of two shares within which a formula counts as right."""


def name_density(vocabulary: str, mechanism: str, place: float) -> str:
    """Return the curve of one mechanism by the distance of words to their nearest one."""
    return f"{vocabulary}/{mechanism} {place:g}, by density"


def name_lemma(vocabulary: str, log: float) -> str:
    """Return the curve of truncated Gumbel at fixed numbers of candidates."""
    return f"{vocabulary}/{GUMBEL} {f'log {log:g}' if log else 'least epsilon'}, fixed k"


def name_small(vocabulary: str) -> str:
    """Return the curve of the first words of a vocabulary."""
    return f"{vocabulary}, first words"


def find_nearest_distances(space: Space) -> FloatArray:
    """Return delta(w), the distance from each point (n,) to the nearest other one."""

    def visit(first: int, distances: FloatArray) -> FloatArray:
        rows = np.arange(len(distances))
        distances[rows, first + rows] = np.inf
        nearest: FloatArray = distances.min(axis=1)
        return nearest

    return np.concatenate(space.map_row_blocks(visit, range(space.point_count)))


def measure_by_density(
    context: Context, vocabulary: Vocabulary, mechanism: WordMechanism, curve: str, runs: int
) -> list[Row]:
    """Return how often words stay and how far they go, by tenth of their distance to the nearest word.

    Beside multivariate Laplace is Appendix C's 1 - exp(-epsilon delta(w) / 4), the mean over the same words.

    Args:
        context: of the run.
        vocabulary: whose words are ordered from the densest place to the sparsest.
        mechanism: on its space.
        curve: of the rows; their place is the tenth, from 1.
        runs: of each word.
    """
    space = vocabulary.space
    nearest = context.share(f"nearest {vocabulary.name}", lambda: find_nearest_distances(space))
    order, rows, shares = np.argsort(nearest, kind="stable"), [], {}
    for number, members in enumerate(np.array_split(order, TENTHS), 1):
        tenth = float(number)
        if not len(members):
            continue
        rng = np.random.default_rng(context.derive_seed("density", vocabulary.name, number))
        points = np.sort(rng.choice(members, min(context.sizes.dense_words, len(members)), replace=False))
        kept, moved = _draw_repeatedly(context, mechanism, points, runs)
        shares[tenth] = estimate_mean(kept, (0.0, 1.0))
        rows += [
            row_of(curve, tenth, "distance to the nearest", estimate_mean(nearest[points])),
            row_of(curve, tenth, "share kept", shares[tenth]),
            row_of(curve, tenth, "distance moved", estimate_mean(moved)),
        ]
        if mechanism.name == LAPLACE:
            formula = -np.expm1(-mechanism.epsilon * nearest[points] / 4)
            rows.append(Row(curve, tenth, "share kept by Appendix C", float(formula.mean())))
    if {1, TENTHS} <= shares.keys():
        rows.append(row_of(curve, None, "sparsest less densest", _subtract(shares[TENTHS], shares[1])))
    return rows


def _draw_repeatedly(
    context: Context, mechanism: WordMechanism, points: np.ndarray, runs: int
) -> tuple[FloatArray, FloatArray]:
    """Return of each point (k,) the share of runs in which it stays, and the mean distance to its outputs."""
    space = mechanism.space
    words = [space.index_of(space.first_word_at(point)) for point in points.tolist()]
    key = derive_key_from_seed(context.derive_seed("by density", mechanism.fingerprint))
    starts = [derive_stream_start(key, str(word)) for word in words]
    drawn = mechanism.draw_words(np.repeat(words, runs).astype(np.int32), Streams(key, starts, [runs] * len(words)))
    outputs = space.point_by_word[drawn.reshape(-1, runs)]
    distances = np.take_along_axis(space.distances(points), outputs.astype(np.int64), axis=1)
    return (outputs == points[:, None]).mean(axis=1), distances.mean(axis=1)


def _subtract(one: Estimate, other: Estimate) -> Estimate:
    """Return the difference of two independent means, with the interval that both intervals allow."""
    count = min(one.count, other.count)
    return Estimate(
        one.value - other.value, one.low - other.high, one.high - other.low, one.confidence, count, "difference"
    )


def compute_lemma_bound(scale: float, diameter: float) -> float:
    """Return p = exp(-e^(-2 Delta / b)) of Lemma 1 (Xu et al. 2021, Appendix B)."""
    return math.exp(-math.exp(-2 * diameter / scale))


def measure_lemma(vocabulary: Vocabulary, epsilon: float, curve: str) -> list[Row]:
    """Return the exact share of runs in which words of the sample stay at each fixed k, and Lemma 1's bound on it.

    Args:
        vocabulary: whose sampled words and distances count.
        epsilon: of truncated Gumbel.
        curve: of the rows; their place is k.
    """
    space = vocabulary.space
    scale = compute_gumbel_scale(epsilon, space.point_count, space.diameter, space.separation)
    points = [int(space.point_by_word[space.index_of(word)]) for word in vocabulary.sample]
    most = min(max(CANDIDATES), space.point_count)
    nearest = np.sort(np.partition(space.distances(points), most - 1, axis=1)[:, :most], axis=1)
    rows = []
    for k in (k for k in CANDIDATES if k <= most):
        # Without any mass below k all of these k words are candidates.
        stays = [integrate_row(row[:k], np.zeros(1), scale, space.diameter)[0] for row in nearest]
        rows += [
            row_of(curve, float(k), "kept at fixed k", estimate_mean(np.minimum(stays, 1.0), (0.0, 1.0))),
            Row(curve, float(k), "kept at most by Lemma 1", compute_lemma_bound(scale, space.diameter)),
        ]
    return rows


def measure_small_spaces(vocabulary: Vocabulary, above: float, curve: str) -> list[Row]:
    """Return the exact mean share of words that stay in small spaces, over all of their words, and Lemma 1's bound.

    Args:
        vocabulary: whose most frequent words make the spaces.
        above: epsilon as a multiple of the least one of each space.
        curve: of the rows; their place is the number of words.
    """
    whole, rows = vocabulary.space, []
    for count in (count for count in FIRST_WORDS if count <= len(whole)):
        space = Space(whole.words[:count], whole.vectors[:count], source=f"{count} words", metric="euclidean")
        mechanism = TruncatedGumbel(space, epsilon=above * compute_min_epsilon(space.point_count, space.separation))
        stays = np.diag(mechanism.law.rows(np.arange(space.point_count)))
        rows += [
            Row(curve, float(count), "share kept of all words", float(stays.mean())),
            Row(curve, float(count), "kept at most by Lemma 1", compute_lemma_bound(mechanism.scale, space.diameter)),
        ]
    return rows


DENSITY_CURVES = {
    name_density(vocabulary, mechanism, place): f"{title} {place:g}, {vocabulary}, by density"
    for vocabulary in TABLES
    for mechanism, title in ((LAPLACE, "multivariate Laplace"), (GUMBEL, "truncated Gumbel, log epsilon"))
    for place in PLACES[mechanism]
}
LEMMA_CURVES = {
    name_lemma(vocabulary, log): f"truncated Gumbel, {f'log epsilon {log:g}' if log else 'least epsilon'}, {vocabulary}"
    for vocabulary in TABLES
    for log in LEMMA
}
SMALL_CURVES = {name_small(vocabulary): f"first words of {vocabulary}, least epsilon" for vocabulary in TABLES}
CURVES = {**DENSITY_CURVES, **LEMMA_CURVES, **SMALL_CURVES}
METRICS = {
    "distance to the nearest": Metric("distance to the nearest word", ".2f"),
    "share kept": Metric("share kept", ".1%"),
    "share kept by Appendix C": Metric("share kept by Appendix C", ".1%"),
    "distance moved": Metric("mean distance moved", ".2f"),
    "sparsest less densest": Metric("share kept, sparsest less densest tenth", ".1%"),
    "kept at fixed k": Metric("stays among k candidates", ".1%"),
    "share kept of all words": Metric("share kept of all words", ".1%"),
    "kept at most by Lemma 1": Metric("at most, by Lemma 1", ".1%"),
}
_LAPLACE_CURVES = tuple(name_density(name, LAPLACE, place) for name in TABLES for place in PLACES[LAPLACE])
STATEMENTS = (
    Statement(
        "At any fixed k a word stays with probability at most p = exp(-e^(-2 Delta / b)) (Lemma 1, Appendix B).",
        at(tuple(LEMMA_CURVES), metric="kept at fixed k", label="truncated Gumbel, exact, at each k"),
        below(at(metric="kept at most by Lemma 1")),
        is_universal=True,
    ),
    Statement(
        "In particular E(N_w) is at most p times the number of words (Lemma 1): in spaces of the first words.",
        at(tuple(SMALL_CURVES), metric="share kept of all words", label="truncated Gumbel, exact, all words"),
        below(at(metric="kept at most by Lemma 1")),
        is_universal=True,
    ),
    Statement(
        "Multivariate Laplace keeps a word with probability 1 - e^(-epsilon delta(w) / 4) (Appendix C).",
        at(_LAPLACE_CURVES, metric="share kept", label="multivariate Laplace, by tenths"),
        near(at(metric="share kept by Appendix C"), _NEAR),
        is_universal=True,
    ),
    Statement(
        "Under multivariate Laplace words in sparse regions tend to stay, those in dense ones to change (Appendix C): "
        "the sparsest tenth against the densest.",
        at(_LAPLACE_CURVES, float(TENTHS), "share kept"),
        above(at(x=1.0)),
    ),
)
QUESTIONS = tuple(
    Statement(
        f"{vocabulary}: of the densest tenth truncated Gumbel at log epsilon 10 and multivariate Laplace at 15 keep "
        "about as many; truncated Gumbel moves them less far.",
        at(name_density(vocabulary, GUMBEL, 10.0), 1.0, "distance moved"),
        below(at(name_density(vocabulary, LAPLACE, 15.0))),
    )
    for vocabulary in TABLES
)
_TENTH = Axis("tenth of the words by the distance to the nearest, the densest first")


def draw_density(vocabulary: str) -> tuple[Panel, ...]:
    """Return how many words stay by density, and Lemma 1 by k."""
    mechanisms = ((LAPLACE, "o", 0), (GUMBEL, "D", 1))
    kept = tuple(
        Line(name_density(vocabulary, mechanism, place), "share kept", f"-{mark}", colour, "")
        for mechanism, mark, colour in mechanisms
        for place in PLACES[mechanism]
    )
    formula = tuple(
        Line(name_density(vocabulary, LAPLACE, place), "share kept by Appendix C", "o", 0, "", is_hollow=True)
        for place in PLACES[LAPLACE]
    )
    least = name_lemma(vocabulary, 0.0)
    lemma = (
        Line(least, "kept at fixed k", "-D", 1, ""),
        Line(least, "kept at most by Lemma 1", ":", 1, ""),
    )
    share = Axis("share kept, %", limits=(0, 102))
    return (
        Panel(f"{vocabulary}: words that stay, by density", (*kept, *formula), _TENTH, share),
        Panel(f"{vocabulary}: Lemma 1 at the least epsilon", lemma, Axis("k candidates", log=10), share),
    )


KEYS = (
    Line("", "", "o", 0, "by density: 1 - e^(-epsilon delta / 4), Appendix C", is_hollow=True),
    Line("", "", ":", 1, "Lemma 1: at most"),
)
DENSITY_TABLES = (
    Table(
        "By the distance to the nearest word, tenths from the densest to the sparsest",
        ("distance to the nearest", "share kept", "share kept by Appendix C", "distance moved"),
        tuple(DENSITY_CURVES),
        x="tenth",
    ),
    Table("Lemma 1 at fixed k, exact", ("kept at fixed k", "kept at most by Lemma 1"), tuple(LEMMA_CURVES), x="k"),
    Table(
        "Lemma 1 over all words of small spaces, exact",
        ("share kept of all words", "kept at most by Lemma 1"),
        tuple(SMALL_CURVES),
        x="words",
    ),
)
