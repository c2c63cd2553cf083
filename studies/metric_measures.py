"""What a study measures of the metrics of a space of words: promises of a law, reviews under it, and a reader."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.space import Space
from deniable.space.metrics import Metric
from deniable.words.outcomes import Outcomes
from studies.metric_graphs import store_path_lengths, store_step_counts
from studies.metric_laws import LawFamily, StepLaw, Target, WordLaw, draw_words, find_laws, store_distances
from studies.metric_reader import Reading, expect_words, is_model_installed, make_reader
from studies.metric_texts import (
    Outcome,
    estimate_accuracy,
    find_hidden_words,
    find_parts_of_speech,
    place_vectors,
    split_texts,
)
from studies.reviews import Corpus, read_halves
from studies.rows import Row, row_of
from studies.runner import Context
from studies.vocabularies import VECTORS

STEPS, STEPS_50D, NEAREST = "steps", "steps-50d", "nearest"
EUCLIDEAN, ANGULAR, GEODESIC = "euclidean", "angular", "geodesic"
DEGREES, REACHES = (8, 12, 16), (4, 5, 6)
_REACH = 5
VARIANTS = {
    f"steps-{degree}-{reach}": Metric.steps(degree, reach)
    for degree in DEGREES
    for reach in REACHES
    if (degree, reach) != (12, _REACH)
}
"""Steps on other regular graphs, to other distances."""
STEP_METRICS = {STEPS: Metric.steps(), STEPS_50D: Metric.steps(by="euclidean"), **VARIANTS}
RIVALS = (NEAREST, EUCLIDEAN, ANGULAR, GEODESIC)
READ = (STEPS, EUCLIDEAN)
"""Metrics under which a reader with a language model guesses."""
TARGETS = (Target("average", 0.2), Target("average", 0.33), Target("rare", 0.1), Target("rare", 0.25))
"""Success of the best guesser who sees one word: on all running words, or on those beyond rank 1,000."""
FURTHER_TARGETS = (Target("average", 0.15), Target("average", 0.45))
"""Where metrics that are read are measured too, so that they meet at some accuracies of the classifier."""
_STARTS = {NEAREST: 2.3, EUCLIDEAN: 1.55, ANGULAR: 7.9, GEODESIC: 0.85}
"""Scales from which the search begins; those of other metrics are about `_STEP_START`."""
_STEP_START = 2.15
RANKS = {
    1: ("to 100", 100),
    101: ("to 1,000", 1_000),
    1_001: ("to 5,000", 5_000),
    5_001: ("to 20,000", 20_000),
    20_001: ("beyond 20,000", 50_000),
}
"""First rank of a band -> what it is called here, and its last rank."""
SHOWN_WORDS = ("cancer", "hiv", "diabetes", "doctor", "the")
BEYOND = 1_000
"""Rank beyond which words are rare."""
_PERCENTILE = 0.99
NO_OUTPUT = "open/no output"


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Attributes:
        words: of each space, most frequent first.
        reviews: privatized, and as many others that classifiers are tested on.
        draws: of the private reviews that classifiers learn from.
        read: reviews that a reader with a language model guesses; 0 for none.
        read_words: of each of them, from its beginning.
    """

    words: int = 50_000
    reviews: int = 5_000
    draws: int = 2
    read: int = 60
    read_words: int = 100


def name_curve(space: str, metric: str, aim: str) -> str:
    """Return the curve of one metric on one space, at equal success on some words."""
    return f"{space}/{metric}/{aim}"


def measure(context: Context, space_name: str, metric_name: str) -> list[Row]:
    """Return what the law of one metric promises, and what becomes of reviews under it, at each success."""
    build, start = build_family(context, space_name, metric_name), _STARTS.get(metric_name, _STEP_START)
    is_read = space_name == "open" and metric_name in READ and context.sizes.read > 0 and is_model_installed()
    targets = [(target.aim, target) for target in TARGETS]
    laws = find_laws(build, TARGETS, start)
    if is_read:
        targets += [("further", target) for target in FURTHER_TARGETS]
        laws += find_laws(build, FURTHER_TARGETS, start)
    rows: list[Row] = []
    for (aim, target), (law, outcomes) in zip(targets, laws, strict=True):
        curve = name_curve(space_name, metric_name, aim)
        rows += describe_law(curve, target.success, law, outcomes)
        rows += measure_texts(context, space_name, curve, target.success, law)
        rows += read_words(context, curve, target.success, law) if is_read else ()
    return [*rows, *read_words(context, NO_OUTPUT, None, None)] if is_read and metric_name == STEPS else rows


def build_family(context: Context, space_name: str, metric_name: str) -> LawFamily:
    """Return the laws of a metric on a space; all distances are in memory, but those in steps on regular graphs."""
    if metric_name in STEP_METRICS:
        space = build_space(context, space_name, STEP_METRICS[metric_name])
        return lambda scales: [StepLaw(space, scale) for scale in scales]
    space = build_space(context, space_name, ANGULAR if metric_name == ANGULAR else EUCLIDEAN)
    if metric_name == NEAREST:
        return store_step_counts(space, _REACH).build_laws
    return (store_path_lengths(space) if metric_name == GEODESIC else store_distances(space)).build_laws


def build_space(context: Context, space_name: str, metric: str | Metric) -> Space:
    """Return the words of a space under a metric."""
    words = context.sizes.words
    return Space.glove(words, metric=metric, hide=()) if space_name == "open" else Space.glove(words, metric=metric)


def describe_law(curve: str, target: float, law: WordLaw, outcomes: Outcomes) -> Iterator[Row]:
    """Yield what a law promises: of all words, of bands of them, and of single ones."""
    space, kept = law.space, law.shares.kept
    epsilon, any_two = law.bound_losses()
    is_open = ~find_hidden_words(space)
    values = {
        "scale": law.scale,
        "epsilon": epsilon,
        "any two words": any_two,
        "guessed": outcomes.guessed,
        "rare guessed": outcomes.rare_guessed,
        "unchanged": outcomes.kept,
        "unchanged, 99th percentile": float(np.quantile(kept[is_open], _PERCENTILE)),
        "unchanged, most exposed": outcomes.exposed_share,
        **{f"unchanged, {RANKS[band.first_rank][0]}": band.kept for band in outcomes.bands},
        **{f"guessed, {RANKS[band.first_rank][0]}": band.guessed for band in outcomes.bands},
        **{f"unchanged: {word}": kept[space.index_of(word)] for word in SHOWN_WORDS if word in space},
    }
    for name, value in values.items():
        if value is not None:
            yield Row(curve, target, name, float(value))


def measure_texts(context: Context, space_name: str, curve: str, target: float, law: WordLaw) -> Iterator[Row]:
    """Yield what becomes of the words of reviews, and of a classifier that learns from private ones."""
    space, corpora = law.space, load_corpora(context, space_name)
    private, public = corpora["TR1"], corpora["TE1"]
    # All metrics of a space draw with the same seeds.
    draws = [
        draw_words(law, private.words, context.derive_seed("draws", space_name, number))
        for number in range(context.sizes.draws)
    ]
    outcome = Outcome(space, private, draws[0], find_hidden_words(space))
    vectors = load_vectors(context, space_name)
    yield row_of(curve, target, "cosine", outcome.estimate_changed_cosine(vectors))
    if len(space) > BEYOND:
        yield row_of(curve, target, "rare cosine", outcome.estimate_changed_cosine(vectors, BEYOND))
    parts = load_parts(context, space_name)
    if parts is not None:
        yield row_of(curve, target, "same part of speech", outcome.estimate_same_part(parts))
    same_class = outcome.estimate_same_class()
    if same_class is not None:
        yield row_of(curve, target, "same class", same_class)
    yield row_of(curve, target, "accuracy", estimate_accuracy(private, draws, public))


def read_words(context: Context, curve: str, target: float | None, law: WordLaw | None) -> Iterator[Row]:
    """Yield how often a reader with a language model is right, by bands of words."""
    guesses = load_reading(context).guess(law, context.derive_seed("read"))
    for band, share in guesses.items():
        yield row_of(curve, target, f"read, {band}" if band else "read", share)


def load_reading(context: Context) -> Reading:
    """Return the beginnings of reviews, and what the model expects of each word; once in a run."""

    def read() -> Reading:
        reader = make_reader(build_space(context, "open", EUCLIDEAN))
        corpus = load_corpora(context, "open")["TE1"].head(context.sizes.read)
        texts = [text[: context.sizes.read_words] for text in split_texts(*corpus.original()) if len(text)]
        return Reading(texts, [expect_words(reader, text) for text in texts])

    return context.share("reading", read)


def load_corpora(context: Context, space_name: str) -> dict[str, Corpus]:
    """Return the parts of IMDB as words of a space."""
    return context.share(
        f"corpora {space_name}",
        lambda: read_halves(context, build_space(context, space_name, EUCLIDEAN), context.sizes.reviews, (1,)),
    )


def load_vectors(context: Context, space_name: str) -> FloatArray:
    """Return the vectors of the words of a space in 300 dimensions."""

    def read() -> FloatArray:
        source = Space.load(context.find_file(VECTORS), metric=EUCLIDEAN, hide=())
        return place_vectors(build_space(context, space_name, EUCLIDEAN), source)

    return context.share(f"vectors {space_name}", read)


def load_parts(context: Context, space_name: str) -> npt.NDArray[np.uint8] | None:
    """Return the parts of speech of the words of a space; None without the lexicon."""
    return context.share(
        f"parts {space_name}", lambda: find_parts_of_speech(build_space(context, space_name, EUCLIDEAN))
    )
