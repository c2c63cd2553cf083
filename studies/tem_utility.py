"""Carvalho et al. 2021 (TEM), Figure 1: accuracy and membership inference of models trained on private text."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

from deniable.core.arrays import FloatArray
from deniable.core.parallel import parallel_map
from deniable.measure.membership import fit_shadow_network
from deniable.measure.roc import compute_roc
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
from studies.rows import Row, at, row_of_mean
from studies.runner import Context
from studies.study import Axis, Grid, Line, Metric, Panel, Reference, Statement, Study, Table, above, below, near

if TYPE_CHECKING:
    from deniable.measure.fasttext import FastTextClassifier

Attack = Callable[[FloatArray], FloatArray]
VECTORS = "glove.840B.300d.33860.npz"
NAMES = (LAPLACE, "tem", "auto")
EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is trained.

    Attributes:
        trials: trainings of each model.
        reviews: in each of TR1, TR2, TE1 and TE2.
        outsiders: reviews of TR2 that are privatized too, for the attack with private records.
        laplace_copies: privatized corpora of multivariate Laplace that its trials share.
        words: of the vocabulary, most frequent first; None for all.
        dimensions: of FastText's embeddings.
        epochs: of FastText.
    """

    trials: int = 5
    reviews: int = 12_500
    outsiders: int = 2_500
    laplace_copies: int = 1
    words: int | None = None
    dimensions: int = 16
    epochs: int = 20


def measure(context: Context, name: str, epsilon: float | None) -> list[Row]:
    """Return what becomes of one mechanism at one epsilon, or of the original text."""
    sizes: Sizes = context.sizes
    corpora, space = load_corpora(context), load_space(context)
    inside = TrainingTexts(*corpora["TR1"].original())
    if epsilon is None:
        trials = parallel_map(
            lambda trial: measure_model(context, inside, None, trial, (ORIGINAL, trial)), range(sizes.trials)
        )
        return summarize_trials(ORIGINAL, None, trials)
    mechanism = build_mechanism(name, space, epsilon)
    trained, others = corpora["TR1"], corpora["TR2"]
    copies = sizes.laplace_copies if name == LAPLACE else sizes.trials
    drawn = privatize_corpus(context, mechanism, trained, copies)
    strangers = others.head(min(sizes.outsiders, len(others.codes)))
    outside = TrainingTexts(privatize_corpus(context, mechanism, strangers, 1)[0], strangers.offsets)

    def measure_trial(trial: int) -> dict[str, float]:
        own = TrainingTexts(drawn[trial % copies], trained.offsets)
        return measure_model(context, own, outside, trial, (name, epsilon, trial))

    return [
        *describe_mechanism(context, mechanism, name),
        Row(name, epsilon, "words kept", float((drawn == trained.words).mean())),
        *summarize_trials(name, epsilon, parallel_map(measure_trial, range(sizes.trials))),
    ]


@dataclasses.dataclass(frozen=True)
class TrainingTexts:
    """Texts in one form: words (N,) end to end, and where each text begins."""

    words: Words
    offsets: Offsets


def load_space(context: Context) -> Space:
    """Return the words of the study."""
    return context.share(
        "space", lambda: Space.load(context.find_file(VECTORS), limit=context.sizes.words, hide=(), metric="euclidean")
    )


def load_corpora(context: Context) -> dict[str, Corpus]:
    """Return the four parts of IMDB."""
    return context.share("corpora", lambda: read_halves(context, load_space(context), context.sizes.reviews))


def train_model(context: Context, texts: TrainingTexts, corpus: str, *parts: object) -> "FastTextClassifier":
    """Return a classifier trained on one form of the texts of a corpus."""
    sizes: Sizes = context.sizes
    seed = context.derive_seed("train", corpus, *parts)
    return train_classifier(
        load_corpora(context)[corpus], texts.words, texts.offsets, load_space(context),
        seed=seed, dimensions=sizes.dimensions, epochs=sizes.epochs,
    )  # fmt: skip


def learn_attack(context: Context, trial: int) -> Attack:
    """Return the attack that a shadow model trained on TE2 teaches: TE2 is "in", TE1 is "out"."""

    def learn() -> Attack:
        corpora = load_corpora(context)
        net = train_model(context, TrainingTexts(*corpora["TE2"].original()), "TE2", "shadow", trial)
        inside, outside = (net.probabilities_of_words(*corpora[name].original()) for name in ("TE2", "TE1"))
        return fit_shadow_network(inside, outside, context.derive_seed("attack", trial) % 2**32)

    return context.share(f"attack {trial}", learn)


def measure_model(
    context: Context, inside: TrainingTexts, outside: TrainingTexts | None, trial: int, parts: tuple[object, ...]
) -> dict[str, float]:
    """Return how a model trained on some texts does, and what an attacker learns of its training records.

    Args:
        context: of the run.
        inside: what it is trained on.
        outside: other private records, for the attack with private records; None without it.
        trial: its number, which decides the attack.
        parts: of its seed.
    """
    corpora, attack = load_corpora(context), learn_attack(context, trial)
    net = train_model(context, inside, "TR1", *parts)
    members, strangers = (net.probabilities_of_words(*corpora[name].original()) for name in ("TR1", "TR2"))
    trial_rows = {
        "accuracy": measure_accuracy(net, corpora["TE1"]),
        "auc": float(compute_roc(attack(members), attack(strangers), attack="shadow").auc.value),
    }
    if outside is not None:
        own, other = (net.probabilities_of_words(texts.words, texts.offsets) for texts in (inside, outside))
        trial_rows["auc, private records"] = float(compute_roc(attack(own), attack(other), attack="shadow").auc.value)
    return trial_rows


def summarize_trials(curve: str, epsilon: float | None, trials: list[dict[str, float]]) -> list[Row]:
    """Return the means over trials."""
    return [row_of_mean(curve, epsilon, metric, [trial[metric] for trial in trials]) for metric in trials[0]]


def build_cells(epsilons: tuple[float, ...]) -> tuple[tuple[str, float | None], ...]:
    """Return the original text, and each mechanism at each epsilon."""
    return ((ORIGINAL, None), *((name, epsilon) for epsilon in epsilons for name in NAMES))


_BASELINE = Reference(at(ORIGINAL, metric="accuracy"), label="original text", style="-", colour=-1)
_CHANCE = Reference(50)
_ACCURACY = Axis("accuracy on original reviews, %", limits=(45, 92))


def draw_accuracy(title: str, label: str, x: str | None = None) -> Panel:
    """Return accuracy against epsilon, or another metric."""
    lines = tuple(Line(name, "accuracy", style, x=x) for name, style in zip(NAMES, ("-D", "-s", "-o"), strict=True))
    return Panel(title, lines, Axis(label), _ACCURACY, (_BASELINE, _CHANCE))


STUDY = Study(
    name="tem-utility",
    title="TEM against Madlib: utility and membership",
    citation="Ricardo Silva Carvalho, Theodore Vasiloudis and Oluwaseyi Feyisetan (2021), *TEM: High Utility Metric "
    "Differential Privacy on Text*, Figure 1.",
    question="Classifiers of film reviews are trained on privatized text and tested on original text; an attack tries "
    "to tell which reviews they were trained on. Which mechanism keeps more, and what does the attack's failure prove?",
    picture="Above: accuracy and AUC against the claimed epsilon. TEM is far above multivariate Laplace from epsilon 2 "
    "on, and auto above TEM; the AUC with original records stays near one half for small epsilon, with private records "
    "near 0.8. Below: the same accuracy against the proven epsilon and against the attacker's success.",
    full=Grid(build_cells(EPSILONS), Sizes()),
    quick=Grid(build_cells((2.0, 6.0)), Sizes(trials=2, reviews=1_500, outsiders=500, words=5_000)),
    measure=measure,
    curves={
        ORIGINAL: ORIGINAL,
        LAPLACE: "multivariate Laplace (Madlib)",
        "tem": "TEM",
        "auto": "auto (calibrated)",
    },
    metrics={
        **METRICS,
        "auc": Metric("AUC", ".3f"),
        "auc, private records": Metric("AUC, private records", ".3f"),
    },
    statements=(
        Statement(
            "The baseline, trained on original text, is near 88% (Figure 1a).",
            at(ORIGINAL, metric="accuracy"),
            near(0.88, 0.03),
        ),
        Statement("At epsilon 2 Madlib has an average accuracy of 52%.", at(LAPLACE, 2, "accuracy"), near(0.52, 0.03)),
        Statement("At epsilon 2 TEM has an average accuracy of 75%.", at("tem", 2, "accuracy"), near(0.75, 0.03)),
        Statement(
            "At epsilon 2 the attack has an AUC of 0.50 against both.", at((LAPLACE, "tem"), 2, "auc"), near(0.5, 0.01)
        ),
        Statement(
            "At the same epsilon TEM outperforms Madlib significantly (Figure 1a).",
            at("tem", metric="accuracy"),
            above(at(LAPLACE)),
        ),
        Statement(
            "From epsilon 4 on Madlib still has some empirical privacy: its AUC is below TEM's (Figure 1b).",
            at(LAPLACE, (4.0, 6.0, 8.0, 10.0), "auc"),
            below(at("tem")),
        ),
    ),
    panels=(
        draw_accuracy("As in the paper: accuracy", "claimed epsilon"),
        Panel(
            "As in the paper: membership inference",
            tuple(
                Line(name, metric, f"{style}{marker}", label=label)
                for metric, style, label in (("auc", "-", None), ("auc, private records", "--", ""))
                for name, marker in zip(NAMES, "Dso", strict=True)
            ),
            Axis("claimed epsilon"),
            Axis("AUC of the shadow-model attack"),
            (Reference(at(ORIGINAL, metric="auc"), style="-", colour=-1), Reference(0.5)),
        ),
        draw_accuracy(
            "Against the epsilon that is proved",
            "proven epsilon (multivariate Laplace: by its theorem)",
            "epsilon proved",
        ),
        draw_accuracy(
            "Against what the best guesser names", "words named by a context-free attacker, %", "words named"
        ),
    ),
    tables=(
        Table(
            "Every point",
            (
                "epsilon proved",
                "words named",
                "words kept",
                "accuracy",
                "accuracy|low",
                "accuracy|high",
                "auc",
                "auc, private records",
            ),
            x="epsilon",
        ),
    ),
    keys=(Line("", "", "--", label="attacked with private records"),),
    files=(*FILES, VECTORS),
    packages=("torch",),
)
