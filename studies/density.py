"""Whether noise is less where words are dense: a statement of Carvalho et al. 2021 and Xu et al. 2021, measured."""

import dataclasses
import math

import numpy as np

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.randomness import Streams, derive_key_from_seed, derive_stream_start
from deniable.registry import WORD_MECHANISMS
from deniable.space import Space
from deniable.words import WordMechanism
from studies.rows import Row, at, row_of_mean
from studies.runner import Context
from studies.study import Axis, Grid, Line, Metric, Panel, Statement, Study, Table, above, below, near

STEPS = "steps"
MECHANISMS = {
    "tem": "TEM",
    "multivariate-laplace": "multivariate Laplace",
    "truncated-gumbel": "truncated Gumbel",
    "calibrated": "calibrated",
    STEPS: "calibrated, steps",
}
EPSILONS: dict[str, tuple[float, ...]] = {
    "tem": (2.0, 3.0, 4.0, 6.0),
    "multivariate-laplace": (6.0, 9.0, 12.0, 18.0),
    "truncated-gumbel": (math.exp(4.67), math.exp(7.0), math.exp(10.0), math.exp(14.0)),
    "calibrated": (1.5, 2.0, 3.0, 4.0),
    STEPS: (2.0, 3.0, 4.0, 6.0),
}
DENSEST, SPARSEST = "densest tenth", "sparsest tenth"
ALIKE = 0.05
"""Difference of two kept shares up to which words are kept alike."""


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Attributes:
        words: of GloVe, most frequent first; a tenth of them are the densest, another the sparsest.
        draws: for each word, of a mechanism whose law is not known.
    """

    words: int = 2_500
    draws: int = 400


def measure(context: Context, name: str, epsilon: float) -> list[Row]:
    """Return what becomes of words in dense and in sparse surroundings under one mechanism at one epsilon."""
    sizes: Sizes = context.sizes
    spaces = context.share("spaces", lambda: _load_spaces(sizes.words))
    mechanism = WORD_MECHANISMS["calibrated" if name == STEPS else name](
        spaces[STEPS if name == STEPS else "euclidean"], epsilon=epsilon
    )
    distances = context.share("distances", lambda: _measure_distances(spaces["euclidean"]))
    nearest = np.where(np.eye(sizes.words, dtype=bool), np.inf, distances).min(axis=1)
    order, tenth = np.argsort(nearest, kind="stable"), sizes.words // 10
    rows = []
    for group, members in ((DENSEST, order[:tenth]), (SPARSEST, order[-tenth:])):
        laws = _find_laws(context, mechanism, members)
        curve = f"{name}, {group}"
        moved = (laws * distances[members]).sum(axis=1)
        rows += [
            row_of_mean(curve, epsilon, "kept", laws[np.arange(tenth), members].tolist()),
            Row(curve, epsilon, "moved", float(moved.mean())),
            Row(curve, epsilon, "moved in gaps", float((moved / nearest[members]).mean())),
            Row(curve, epsilon, "gap", float(nearest[members].mean())),
        ]
    return rows


def _load_spaces(words: int) -> dict[str, Space]:
    """Return the same words and vectors under both metrics."""
    space = Space.glove(words, hide=(), metric="euclidean")
    return {"euclidean": space, STEPS: Space(space.words, space.vectors, metric=STEPS, source=space.source)}


def _measure_distances(space: Space) -> FloatArray:
    """Return the Euclidean distances (n, n) of all words."""
    return space.distances(space.point_by_word)[:, space.point_by_word]


def _find_laws(context: Context, mechanism: WordMechanism, members: IntArray) -> FloatArray:
    """Return the law (k, n) of some words: exact where it is known, else the shares of draws."""
    space = mechanism.space
    if mechanism.law.has_rows:
        return np.array([mechanism.probabilities(space.words[number]) for number in members.tolist()])
    draws: int = context.sizes.draws
    key = derive_key_from_seed(context.derive_seed("draws"))
    starts = [derive_stream_start(key, mechanism.name, str(mechanism.epsilon), str(number)) for number in members]
    repeated = np.repeat(members, draws).astype(np.int32)
    drawn = mechanism.draw_words(repeated, Streams(key, starts, [draws] * len(members))).reshape(len(members), draws)
    laws = np.zeros((len(members), len(space)))
    for row, outputs in enumerate(drawn):
        laws[row] = np.bincount(outputs, minlength=len(space)) / draws
    return laws


def build_cells(epsilons: dict[str, tuple[float, ...]]) -> tuple[tuple[str, float], ...]:
    """Return each mechanism at each of its epsilons."""
    return tuple((name, epsilon) for name, own in epsilons.items() for epsilon in own)


def _draw(name: str, metric: str, axis: Axis) -> Panel:
    x = Axis("epsilon", log=10 if name == "truncated-gumbel" else None)
    lines = tuple(
        Line(f"{name}, {group}", metric, style, colour=colour, label=group)
        for group, style, colour in ((DENSEST, "-o", 0), (SPARSEST, "--s", 1))
    )
    return Panel(MECHANISMS[name], lines, x, axis)


STUDY = Study(
    name="density",
    title="Is there less noise where words are dense?",
    citation="A study of this package; the statements are those of Carvalho et al. (2021, TEM, Section 4.1) and Xu et "
    "al. (2021, truncated Gumbel).",
    question="Both papers say that their noise adapts to the words around: less where words are dense, more where they "
    "are sparse. How often does a word stay, and how far does it move, among the tenth of words with the nearest "
    "neighbours and the tenth with the farthest?",
    picture="The share of words kept against epsilon, for the densest and the sparsest tenth. Under every Euclidean "
    "mechanism the sparsest are kept more often; under steps the two lie close together.",
    full=Grid(build_cells(EPSILONS), Sizes()),
    quick=Grid(
        build_cells({name: epsilons[1:3] for name, epsilons in EPSILONS.items()}), Sizes(words=1_000, draws=100)
    ),
    measure=measure,
    curves={
        f"{name}, {group}": f"{title}, {group}" for name, title in MECHANISMS.items() for group in (DENSEST, SPARSEST)
    },
    metrics={
        "kept": Metric("words kept", ".1%"),
        "moved": Metric("mean distance moved", ".3f"),
        "moved in gaps": Metric("distance moved over that to the nearest word", ".3f"),
        "gap": Metric("distance to the nearest word", ".3f"),
    },
    statements=(
        Statement(
            "TEM adds less noise where words are dense and more where they are sparse (Carvalho et al. 2021, 4.1): a "
            "word moves less far in the densest tenth than in the sparsest.",
            at(f"tem, {DENSEST}", metric="moved"),
            below(at(f"tem, {SPARSEST}")),
            is_universal=True,
        ),
        Statement(
            "The same, by how often a word stays as it is.",
            at(f"tem, {DENSEST}", metric="kept"),
            above(at(f"tem, {SPARSEST}")),
            is_universal=True,
        ),
        Statement(
            "Truncated Gumbel's noise adapts to density (Xu et al. 2021): a word moves less far in the densest tenth "
            "than in the sparsest.",
            at(f"truncated-gumbel, {DENSEST}", metric="moved"),
            below(at(f"truncated-gumbel, {SPARSEST}")),
            is_universal=True,
        ),
    ),
    questions=(
        Statement(
            "Multivariate Laplace, which looks at no density, moves words in the densest tenth less far than in the "
            "sparsest.",
            at(f"multivariate-laplace, {DENSEST}", metric="moved"),
            below(at(f"multivariate-laplace, {SPARSEST}")),
        ),
        Statement(
            "Under steps both tenths are kept alike, within 5 points.",
            at(f"{STEPS}, {DENSEST}", metric="kept"),
            near(at(f"{STEPS}, {SPARSEST}"), ALIKE),
        ),
    ),
    panels=tuple(_draw(name, "kept", Axis("words kept, %")) for name in MECHANISMS),
    tables=(
        Table(
            "Every point",
            ("kept", "kept|low", "kept|high", "moved", "moved in gaps", "gap"),
            x="epsilon",
        ),
    ),
)
