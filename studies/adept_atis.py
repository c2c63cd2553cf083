"""Habernal 2021 on Krishna et al. 2021 (ADePT), on ATIS: what rewriting leaves of texts, and who finds them again."""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

from studies.flights import FILES
from studies.rows import Row, at
from studies.runner import Context
from studies.study import Axis, Grid, Line, Metric, Panel, Reference, Statement, Study, Table, above, below, near

PUBLISHED, L1, TRUE, NORM, GAUSSIAN = "adept", "adept-l1", "adept-true", "adept-norm", "adept-gaussian"
BOX, BOX_NORM, TOKENS = "dptext-fixed", "dptext-norm", "tokens"
TITLES = {
    PUBLISHED: "ADePT as published (refuted)",
    L1: "ADePT, l1 clip",
    TRUE: "ADePT, true sensitivity",
    NORM: "ADePT, noise in the l2 norm",
    GAUSSIAN: "ADePT, Gaussian noise",
    BOX: "DPText, corrected and fixed",
    BOX_NORM: "DPText, noise in the maximum norm",
    TOKENS: "one token at a time",
}
REMEDIES = (L1, TRUE, NORM, GAUSSIAN, BOX, BOX_NORM, TOKENS)
VECTORS = (PUBLISHED, L1, TRUE, NORM, GAUSSIAN, BOX, BOX_NORM)
"""Methods that release a vector."""
TRAINED = (PUBLISHED, GAUSSIAN)
"""Methods with whose noise networks are trained: the auto-encoder, and an attacker's decoder."""
ENCODERS, ORIGINAL, SILENT, FREQUENT, BLIND = "encoders", "original texts", "no noise", "most frequent intent", "blind"
VIEWS = ("vector", "likelihood", "text")
"""What an audit is shown of releases."""
READERS = {
    "public decoder": "read by the public decoder",
    "trained decoder": "read by a decoder trained on releases",
    "trained decoder, some": "read by that decoder, of the texts searched",
    "search": "read by a search from there",
    "guess": "guessed from a language model",
}
"""Whose guesses of test texts are compared with them."""
EPSILONS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
DIMENSIONS = (8, 16, 32, 64, 128)


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is trained, rewritten, attacked and audited.

    Attributes:
        dimensions: n of the auto-encoder that rewrites.
        hidden: size of its decoder's state.
        embedding: size of its vectors of tokens.
        epochs: of its training, at most.
        spliced: texts made of two of the corpus that it learns from besides, for each text of it.
        short: epochs of the encoders of other dimensions, of which only distances and losses are looked at; they
            learn from no spliced texts.
        train: training texts, drawn; None for all.
        test: test texts, likewise.
        delta: of Gaussian noise.
        draws: tokens drawn for a text, at most, by the method that draws tokens.
        releases: vectors attacked at an epsilon whose claim leaves the attacker a chance below one half.
        beyond: vectors attacked at larger ones, which no success could refute.
        rewritten: rewritten texts attacked.
        proposals: texts that a language model proposes besides the corpus.
        inverting: epochs of an attacker's decoder.
        searched: test texts that a search by gradients looks for.
        tuning: epochs of training on with the noise of a method, at most.
        audited: epsilon of audits and distances.
        samples: of an audit.
        interval: steps from one checkpoint to the next.
    """

    dimensions: int = 64
    hidden: int = 384
    embedding: int = 128
    epochs: int = 12
    spliced: int = 9
    short: int = 12
    train: int | None = None
    test: int | None = None
    delta: float = 1e-5
    draws: int = 24
    releases: int = 60_000
    beyond: int = 5_000
    rewritten: int = 5_000
    proposals: int = 20_000
    inverting: int = 6
    searched: int = 200
    tuning: int = 2
    audited: float = 1.0
    samples: int = 20_000
    interval: int = 300


def name_tuned(name: str) -> str:
    """Return the curve of a method whose auto-encoder was trained on with its noise."""
    return f"{name}, trained with it"


def measure(context: Context, kind: str, *cell: Any) -> list[Row]:  # noqa: ANN401 - parts of a cell
    """Return the rows of one cell, by its kind."""
    from studies import rewritten

    bench = context.share("bench", lambda: rewritten.read_corpus(context))
    measures: dict[str, Callable[..., list[Row]]] = {
        "corpus": lambda: rewritten.describe_corpus(bench, ORIGINAL, SILENT, FREQUENT),
        "distances": partial(rewritten.measure_distances, bench),
        "audit": partial(rewritten.audit_method, bench),
        "encoder": partial(rewritten.measure_encoder, bench, PUBLISHED, ENCODERS),
        "method": partial(rewritten.measure_method, bench),
        "tuned": lambda name, epsilon: rewritten.measure_tuned(bench, name, name_tuned(name), epsilon),
        "blind guesses": lambda: rewritten.guess_blindly(bench, BLIND),
        "guesses": partial(rewritten.guess_texts, bench),
        "inversion": partial(rewritten.invert_vectors, bench),
    }
    return measures[kind](*cell)


def build_cells(
    epsilons: tuple[float, ...],
    dimensions: tuple[int, ...],
    tuned: tuple[float, ...],
    inverted: tuple[float, ...],
) -> tuple[tuple[Any, ...], ...]:
    """Return everything that is measured: the corpus first, which trains the auto-encoder."""
    return (
        ("corpus",),
        *(("distances", name) for name in VECTORS),
        *(("audit", PUBLISHED, view) for view in VIEWS),
        *(("audit", name, "likelihood") for name in VECTORS if name != PUBLISHED),
        *(("encoder", n) for n in dimensions),
        *(("method", name, epsilon) for epsilon in epsilons for name in TITLES),
        *(("tuned", name, epsilon) for name in TRAINED for epsilon in tuned),
        ("blind guesses",),
        *(("guesses", name, epsilon) for name in TRAINED for epsilon in epsilons),
        *(("inversion", name, epsilon) for name in TRAINED for epsilon in inverted),
    )


_MARKS = (("--o", 0), ("-s", 2), ("-D", 3), ("-X", 1), ("-v", 4), ("-^", 5), ("->", 8), ("-P", 7))
_LOOKS = dict(zip(TITLES, _MARKS, strict=True))
_CLAIM = Axis("epsilon claimed, of one text", log=10, ticks=EPSILONS)
_FLOOR = 4e-3
_SHARE = ((_FLOOR, "0"), 0.01, 0.1, 1, 10, 100)
_SMALL = (1.0, 3.0, 10.0)
"""Epsilons at which a claim says something of some thousand texts."""


def draw_methods(metric: str, *, has_labels: bool = False) -> tuple[Line, ...]:
    """Return all methods by one metric; those that release no vector have none that is named from it."""
    names = VECTORS if metric.endswith("from the vector") else tuple(_LOOKS)
    return tuple(Line(name, metric, *_LOOKS[name], None if has_labels else "") for name in names)


def draw_success(title: str, metric: str, permitted: str) -> Panel:
    """Return how often the true text came first, and what pure epsilon permits."""
    limit = Line(PUBLISHED, permitted, "-", -1, "most that epsilon permits", width=2.2)
    lines = (*draw_methods(metric), limit)
    return Panel(title, lines, _CLAIM, Axis("true text, %", log=10, limits=(_FLOOR, 150), ticks=_SHARE))


STUDY = Study(
    name="adept-atis",
    title="ADePT on ATIS",
    citation="Ivan Habernal (2021), *When differential privacy meets NLP: The devil is in the detail*, Appendix C; on "
    "Satyapriya Krishna and others (2021), *ADePT: Auto-encoder based Differentially Private Text Transformation*.",
    question="Habernal found ADePT's sensitivity wrong, simulated vectors, and sketched an attack, as no trained model "
    "was at hand. Here one is trained: what does the published system leave of texts, who finds them again, and what "
    "do its remedies cost?",
    picture="By epsilon: BLEU of rewritten test texts and accuracy of intents, how often the true text is named from "
    "the vector and from the rewritten text, and the most that epsilon permits, in black; then losses of the published "
    "method by the encoder's dimension.",
    full=Grid(build_cells(EPSILONS, DIMENSIONS, (10.0, 100.0, 1000.0), (10.0, 30.0, 100.0)), Sizes()),
    quick=Grid(
        build_cells((1.0, 10.0, 100.0, 1000.0), (8, 32), (100.0,), (100.0,)),
        Sizes(
            dimensions=32, hidden=96, embedding=48, epochs=6, spliced=2, short=6, train=1_500, test=300,
            releases=10_000, beyond=1_000, rewritten=500, proposals=3_000, inverting=2, searched=50, tuning=1,
            samples=6_000,
        ),
    ),
    measure=measure,
    curves={
        **TITLES,
        **{name_tuned(name): f"{TITLES[name]}, trained on with it" for name in TRAINED},
        ENCODERS: "encoders",
        ORIGINAL: ORIGINAL,
        SILENT: "through the auto-encoder, no noise",
        FREQUENT: FREQUENT,
        BLIND: "guessed blindly",
    },
    metrics={
        "BLEU": Metric("BLEU of rewritten test texts", ".1f"),
        "returned": Metric("returned word for word", ".1%"),
        "intents named": Metric("intents named", ".1%"),
        **{
            f"{word} {what}": Metric(f"{title} {what}", ".2%")
            for word, title in (("named", "text named"), ("among ten", "text among ten"))
            for what in ("from the vector", "from the text")
        },
        "named, permitted": Metric("naming permitted", ".2%"),
        "among ten, permitted": Metric("among ten permitted", ".2%"),
        "epsilon by ranking": Metric("epsilon at least, by ranking", ".3g"),
        "refuted by ranking": Metric("refuted by ranking", ".0f"),
        **{f"epsilon at least, {view}": Metric(f"epsilon at least, audit by {view}", ".3g") for view in VIEWS},
        **{f"refuted, {view}": Metric(f"refuted, audit by {view}", ".0f") for view in VIEWS},
        **{f"detectable, {view}": Metric(f"detectable, audit by {view}", ".3g") for view in VIEWS},
        "pairs": Metric("pairs of texts", ",.0f"),
        "pairs beyond": Metric("pairs beyond the sensitivity", ".3%"),
        "median distance": Metric("median pair, in sensitivities", ".3g"),
        "largest distance": Metric("farthest pair, in sensitivities", ".3g"),
        "largest distance of vectors": Metric("farthest two vectors, in sensitivities", ".3g"),
        "square root": Metric("square root of n", ".3g"),
        **{f"texts, {reader}": Metric(f"texts {title}", ".1%") for reader, title in READERS.items()},
        **{f"words, {reader}": Metric(f"words {title}", ".1%") for reader, title in READERS.items()},
        "reached": Metric("texts among the guesses", ".2%"),
        "guesses": Metric("texts to guess from", ",.0f"),
        "candidates": Metric("distinct texts", ",.0f"),
        "vocabulary": Metric("words of the vocabulary", ",.0f"),
        "utterances": Metric("distinct texts of ATIS", ",.0f"),
        "shortest": Metric("words of the shortest", ".0f"),
        "longest": Metric("words of the longest", ".0f"),
        "words": Metric("different words, by white space", ",.0f"),
        "words, apostrophes apart": Metric("different words, apostrophes apart", ",.0f"),
    },
    statements=(
        Statement(
            "ATIS contains 5,473 utterances of lengths 1 to 46 tokens, with a quite limited vocabulary of 941 words "
            "(Habernal 2021, Section 7).",
            at(ORIGINAL, metric="utterances"),
            near(5_473),
            also=(
                (at(ORIGINAL, metric="shortest"), near(1)),
                (at(ORIGINAL, metric="longest"), near(46)),
                (at(ORIGINAL, metric="words"), near(941)),
            ),
        ),
        Statement(
            "The sensitivity of the clip is 2C sqrt(n), not 2C (Habernal 2021, Theorem 5.1).",
            at(ENCODERS, metric="largest distance of vectors"),
            near(at(metric="square root"), 1e-6),
            also=((at(ENCODERS, metric="largest distance"), above(1)),),
            is_universal=True,
        ),
        Statement(
            "It is higher by at least factor 6 in an optimistic case of a very small encoder's dimension, 32 (Habernal "
            "2021, abstract and Section 5).",
            at(ENCODERS, 32, "largest distance of vectors"),
            above(6),
        ),
        Statement(
            "The amount of utterances that are not privatized could easily reach 100% of the entire dataset (Habernal "
            "2021, abstract; Section 6 simulates vectors).",
            at(PUBLISHED, metric="pairs beyond"),
            above(0.99),
        ),
        Statement(
            "The transformation from a text to a text is epsilon-DP (Krishna et al. 2021, Theorem 1; false: Habernal "
            "2021, Theorem 3.1).",
            at(PUBLISHED, metric="refuted, likelihood"),
            near(0),
            is_universal=True,
        ),
        Statement(
            "With the trained auto-encoder and the corpus an attacker can explore the neighbourhood of a released "
            "vector (Habernal 2021, Appendix C); here more often than the claim permits, and than remedies do.",
            at(PUBLISHED, (1.0, 3.0), "refuted by ranking"),
            near(1),
            also=((at(REMEDIES, metric="refuted by ranking", label="remedies"), near(0)),),
        ),
        Statement(
            "The privacy loss of ADePT explodes for larger dimensions (Habernal 2022, Section 5; there vectors of "
            "zeros and ones, without the clip).",
            at(ENCODERS, (32, 64, 128), "largest distance"),
            above(at(x=8)),
        ),
        Statement(
            "Remedies are an l1 clip and the correct sensitivity; utility is expected to be worse (Habernal 2021, "
            "Section 7).",
            at((L1, TRUE), metric="BLEU", label="l1 clip and true sensitivity"),
            below(at(PUBLISHED)),
        ),
        Statement(
            "ADePT achieves promising results on downstream tasks while providing tight privacy guarantees (Krishna et "
            "al. 2021, as Habernal 2021, abstract, reports it).",
            at(PUBLISHED, _SMALL, "intents named"),
            above(at(FREQUENT)),
            also=((at(PUBLISHED, metric="refuted, likelihood"), near(0)),),
            is_universal=True,
        ),
    ),
    questions=(
        Statement(
            "Half of the texts are among those that a language model of ATIS writes, the search space of Appendix C "
            "(Habernal 2021).",
            at(BLIND, metric="reached"),
            above(0.5),
        ),
        Statement(
            "From the vector more words are guessed among them than without it: a similar utterance may be good enough "
            "(Habernal 2021, Appendix C).",
            at(PUBLISHED, 1000.0, "words, guess"),
            above(at(BLIND)),
        ),
        Statement(
            "Where an apostrophe begins a word of its own, as in i 'd and o 'clock, ATIS has 941 words.",
            at(ORIGINAL, metric="words, apostrophes apart"),
            near(941),
        ),
        Statement(
            "Below epsilon 30 no remedy leaves a BLEU of 2.",
            at(REMEDIES, _SMALL, "BLEU", "remedies"),
            below(2),
        ),
        Statement(
            "From 30 on noise in the norm of the domain leaves more of a text than Laplace noise for the true "
            "sensitivity.",
            at(NORM, (30.0, 100.0, 300.0), "BLEU"),
            above(at(TRUE)),
            also=((at(BOX_NORM, (30.0, 100.0, 300.0), "BLEU"), above(at(BOX))),),
        ),
    ),
    panels=(
        Panel(
            "What is left of a text",
            (
                *draw_methods("BLEU", has_labels=True),
                *(
                    Line(name_tuned(name), "BLEU", _LOOKS[name][0][-1], _LOOKS[name][1], "", is_hollow=True)
                    for name in TRAINED
                ),
            ),
            _CLAIM,
            Axis("BLEU of rewritten test texts"),
            (Reference(at(SILENT, metric="BLEU")),),
        ),
        Panel(
            "Classifier trained on rewritten texts",
            draw_methods("intents named"),
            _CLAIM,
            Axis("intents of original test texts, %"),
            (
                Reference(at(ORIGINAL, metric="intents named"), label="originals, or no noise"),
                Reference(at(FREQUENT, metric="intents named"), label=FREQUENT, style="--"),
            ),
        ),
        draw_success("True text named from the vector", "named from the vector", "named, permitted"),
        draw_success("True text among ten from the vector", "among ten from the vector", "among ten, permitted"),
        draw_success("True text named from the rewritten text", "named from the text", "named, permitted"),
        Panel(
            "Losses of ADePT as published, over its claim",
            (
                Line(ENCODERS, "largest distance of vectors", "-", 0, "worst two vectors, exact"),
                Line(ENCODERS, "largest distance", "-s", 6, "worst two texts of ATIS"),
                Line(ENCODERS, "median distance", "-D", 9, "median two texts"),
                Line(ENCODERS, "epsilon at least, likelihood", "-v", 8, "shown of the worst two by an audit"),
            ),
            Axis("coordinates n of the encoder", log=2, ticks=DIMENSIONS),
            Axis("loss over epsilon claimed"),
            (Reference(1, label="claimed", style="-", colour=-1),),
        ),
    ),
    keys=(Line("", "", "o", label="trained on with the noise", is_hollow=True),),
    tables=(
        Table(
            "Every method",
            ("BLEU", "returned", "intents named", "named from the vector", "among ten from the vector",
             "named from the text", "among ten from the text", "named, permitted", "among ten, permitted",
             "epsilon by ranking"),
            x="epsilon",
        ),
        Table("Audits of the two texts farthest apart", tuple(
            f"{what}, {view}" for view in VIEWS for what in ("epsilon at least", "detectable")
        ), VECTORS, x="epsilon"),
        Table("Distances", ("pairs", "pairs beyond", "median distance", "largest distance"), VECTORS),
        Table(
            "Distances and losses by the encoder's dimension",
            ("pairs beyond", "median distance", "largest distance", "largest distance of vectors",
             "epsilon at least, likelihood"),
            (ENCODERS,),
            x="coordinates",
        ),
        Table(
            "Read and guessed from the vector",
            tuple(f"{what}, {reader}" for reader in READERS for what in ("texts", "words")),
            (*TRAINED, BLIND),
            x="epsilon",
        ),
    ),
    files=FILES,
    packages=("torch",),
    columns=3,
)  # fmt: skip
