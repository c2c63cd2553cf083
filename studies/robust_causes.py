"""What accuracy under an attack and a proof depend on: the number of queries, and the loss of certified training."""

import dataclasses
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from deniable.measure.intervals import estimate_share
from studies.reviews import build_mechanism
from studies.robust import ALONE, DATA_SETS, Schedule
from studies.rows import Row, at, row_of, rows_of
from studies.runner import Context
from studies.study import Axis, Grid, Line, Metric, Panel, Statement, Study, Table, above, below, near
from studies.substituted_words import IBP, NORMAL, SETS, SUBSTITUTIONS, Bench, load_bench, read_documents
from studies.vocabularies import VECTORS
from studies.word_density import GUMBEL

if TYPE_CHECKING:
    from deniable.models.text.attack_search import TextAttack, TextAttackResult
    from deniable.models.text.model import TextModel
    from studies.text_models import LazyModel

AUGMENTED, BATCHES, DATA = "augmented", "batches", "data"
PLACES = (4.67, 10.0, 17.0)
"""ln epsilon of truncated Gumbel's draws."""
AUGMENTED_PLACE = 10.0
"""The one whose copies a model is trained on."""
GENERATIONS = (0, 3, 6, 13, 26, 40)
"""Generations of the genetic attack after which accuracy is shown."""
GENETIC, GREEDY, RESAMPLING = "genetic", "greedy", "resampling"
BUDGETS = (61, 121, 241, 481, 961, 1_921)
"""Queries at which accuracy under the other attacks is shown; they ask in rounds of 60."""
TRAININGS = {
    NORMAL: "normal training",
    IBP: "IBP, worst case of each text",
    AUGMENTED: "augmented by truncated Gumbel at log epsilon 10",
    BATCHES: "IBP, worse end of a whole batch",
}
ATTACKS = (
    *((IBP, GENETIC, place) for place in PLACES),
    *((model, GENETIC, AUGMENTED_PLACE) for model in (NORMAL, AUGMENTED)),
    *((model, attack, AUGMENTED_PLACE) for attack in (GREEDY, RESAMPLING) for model in (NORMAL, IBP, AUGMENTED)),
    *((model, GENETIC, None) for model in (NORMAL, IBP)),
)
"""Model, attack and ln epsilon of the draws; None for the substitution sets."""
_NEAR = 0.03
NAME = "imdb"


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is trained and attacked.

    Attributes:
        imdb: as in the study of trained classifiers.
        attacked: test texts that are attacked, drawn at random.
        draws: of the resampling attack, each of a whole text.
    """

    imdb: Schedule
    attacked: int = 200
    draws: int = 480


def name_attack(model: str, attack: str, place: float | None) -> str:
    """Return the curve of one model under one attack."""
    return f"{model}, {attack} by {SETS if place is None else f'log {place:g}'}"


def measure(context: Context, training: str, attack: str | None = None, place: float | None = None) -> list[Row]:
    """Attack one model and count queries; or, without an attack, describe the texts or what is proved of a model."""
    bench = load_bench(context, NAME, DATA_SETS[NAME].tables, DATA_SETS[NAME].network)
    if training == DATA:
        return describe_texts(bench)
    model = share_any_model(bench, training)
    if attack is None:
        return list(measure_proofs(model, training))
    return list(measure_queries(model, training, attack, place))


def describe_texts(bench: Bench) -> list[Row]:
    """Return how much is learned from, and how many words of a test text have no substitute."""
    counts = bench.sets.choice_counts[bench.test.texts.words]
    return rows_of(
        NAME, None, training_texts=len(bench.train), test_texts=len(bench.test), words=len(bench.space),
        test_words_without_substitute=float((counts == 1).mean()),
    )  # fmt: skip


def share_any_model(bench: Bench, training: str) -> "LazyModel":
    """Return a model of one training, trained when it is needed and once in a run."""
    from deniable.models.text.options import TextTrainingOptions
    from studies import text_models
    from studies.batch_bounds import train_by_batches

    if training in ALONE:
        return text_models.share_model(bench, training)
    if training == AUGMENTED:
        mechanism = build_mechanism(GUMBEL, bench.space, math.exp(AUGMENTED_PLACE))
        return bench.context.share("augmented", lambda: text_models.augment_by(bench, mechanism, AUGMENTED))
    options = TextTrainingOptions("ibp", bench.sizes.ibp_epochs, bench.sizes.batch)

    def load() -> "TextModel":
        return bench.context.share(BATCHES, lambda: train_by_batches(bench, bench.train, options, BATCHES))

    return text_models.LazyModel(bench, BATCHES, load)


def measure_proofs(model: "LazyModel", training: str) -> Iterator[Row]:
    """Yield accuracy and what is proved for every choice of the sets, of test reviews and of the development set's."""
    from deniable.models.text.model import certify_by_intervals

    bench = model.bench
    loaded, tables = model.load(), DATA_SETS[NAME].tables
    development, _ = read_documents(
        bench.context, bench.space, tables.train, tables.columns, bench.sizes.test, bench.train.classes, "dev"
    )
    for split, documents in (("", bench.test), (", development", development)):
        right = loaded.predict(documents) == documents.labels
        yield row_of(training, None, f"accuracy{split}", estimate_share(int(right.sum()), len(right)))
        if training in {IBP, BATCHES}:
            proved = certify_by_intervals(loaded, documents, bench.sets)
            yield row_of(training, None, f"proved{split}", estimate_share(int(proved.sum()), len(proved)))


def measure_queries(model: "LazyModel", training: str, attack: str, place: float | None) -> Iterator[Row]:
    """Yield the share of texts that an attack has not flipped after so many queries each."""
    from deniable.models.text.attacks import GeneticAttack, GreedyAttack, ResamplingAttack
    from studies.text_models import draw_documents

    bench, sizes = model.bench, model.bench.context.sizes
    documents = draw_documents(bench.test, sizes.attacked, bench.context.derive_seed("attacked"))
    source = bench.sets if place is None else build_mechanism(GUMBEL, bench.space, math.exp(place))
    genetic = GeneticAttack(sizes.imdb.population, sizes.imdb.generations)
    attacks: dict[str, TextAttack] = {
        GENETIC: genetic, GREEDY: GreedyAttack(), RESAMPLING: ResamplingAttack(sizes.draws)
    }  # fmt: skip
    key = bench.derive_key("attack", attack, place)
    found = attacks[attack](model.load().network.make_scorer(documents), documents, source, key)
    budgets = {
        GENETIC: tuple(1 + genetic.population + number * (genetic.population - 1) for number in GENERATIONS if
                       number <= genetic.generations),
        GREEDY: BUDGETS,
        RESAMPLING: tuple(budget for budget in BUDGETS if budget <= 1 + sizes.draws),
    }[attack]  # fmt: skip
    yield from count_standing(found, name_attack(training, attack, place), (1, *budgets))


def count_standing(found: "TextAttackResult", curve: str, budgets: tuple[int, ...]) -> Iterator[Row]:
    """Yield accuracy after each number of queries: a text falls at the end of the round that flipped it."""
    for budget in budgets:
        is_standing = found.correct_before & ~(found.flipped & (found.queries <= budget))
        yield row_of(curve, float(budget), "left", estimate_share(int(is_standing.sum()), len(found)))
    yield Row(curve, None, "most queries of a text", float(found.queries.max()))


CELLS = ((DATA,), *((training,) for training in TRAININGS), *ATTACKS)
ATTACK_CURVES = {
    name_attack(model, attack, place): f"{TRAININGS[model]}, {attack} by "
    f"{'the sets' if place is None else f'truncated Gumbel at log epsilon {place:g}'}"
    for model, attack, place in ATTACKS
}
_FULL = Schedule(train=4_000, test=1_000, normal_epochs=10, ibp_epochs=20, augmented_epochs=4)
_LAST = 61 + 59 * GENERATIONS[-1]


def state_table() -> Iterator[Statement]:
    """Yield where the paper's accuracies under attack lie on the curves."""
    table = DATA_SETS[NAME].published[GUMBEL]
    for model, percents in ((IBP, table.ibp), (AUGMENTED, table.augmented)):
        for place in PLACES if model == IBP else (AUGMENTED_PLACE,):
            share = percents[table.places.index(place)] / 100
            title = "IBP" if model == IBP else "augmented training"
            yield Statement(
                f"Table 2: {100 * share:.1f}% of {title} at log epsilon {place:g} is more than is left after "
                f"{_LAST:,} queries and less than after 61.",
                at(name_attack(model, GENETIC, place), float(_LAST), "left"),
                below(share),
                ((at(name_attack(model, GENETIC, place), 61.0, "left"), above(share)),),
            )


_QUERIES = Axis("queries of a text", log=10)
_LEFT = Axis("accuracy, %", limits=(0, 100))
_LOOKS = {NORMAL: ("^", 1), IBP: ("s", 0), AUGMENTED: ("o", 2)}
_SOURCES = {
    4.67: "IBP, log epsilon 4.67",
    10.0: "IBP, log epsilon 10",
    17.0: "IBP, log epsilon 17",
    None: "IBP, the sets",
}


def draw_sources() -> Panel:
    """Return accuracy of IBP by queries of the genetic attack, by each source of words."""
    lines = tuple(
        Line(name_attack(IBP, GENETIC, place), "left", "-s", 3 + number, label)
        for number, (place, label) in enumerate(_SOURCES.items())
    )
    return Panel("IBP under the genetic attack", lines, _QUERIES, _LEFT)


def draw_attack(title: str, attack: str) -> Panel:
    """Return accuracy by queries of one attack by truncated Gumbel at log epsilon 10."""
    lines = tuple(
        Line(name_attack(model, attack, AUGMENTED_PLACE), "left", f"-{mark}", colour, "")
        for model, (mark, colour) in _LOOKS.items()
    )
    return Panel(f"{title} by truncated Gumbel at log epsilon 10", lines, _QUERIES, _LEFT)


STUDY = Study(
    name="robust-causes",
    title="What accuracy under attack and proofs depend on",
    citation="Nan Xu, Oluwaseyi Feyisetan, Abhinav Aggarwal, Zekun Xu and Nathanael Teissier (2021), *Differentially "
    "Private Adversarial Robustness Through Randomized Perturbations*, Table 2; Robin Jia, Aditi Raghunathan, Kerem "
    "Göksel and Percy Liang (2019), *Certified Robustness to Adversarial Word Substitutions*.",
    question="How does accuracy under an attack depend on the number of queries, which the paper does not give? And "
    "what does the share of reviews that certified training proves depend on?",
    picture="Accuracy by the number of queries of a text, which falls without a plateau under the genetic attack by "
    "truncated Gumbel's draws and hardly at all under the sets for certified training; and the same of other attacks.",
    full=Grid(CELLS, Sizes(_FULL)),
    quick=Grid(
        ((DATA,), (IBP,), (IBP, GENETIC, 10.0)),
        Sizes(
            dataclasses.replace(
                _FULL, words=4_000, train=600, test=100, ibp_epochs=6, population=20, generations=6
            ),
            attacked=40,
        ),
    ),
    measure=measure,
    curves={NAME: "IMDB", **TRAININGS, **ATTACK_CURVES},
    metrics={
        "left": Metric("accuracy", ".1%"),
        "most queries of a text": Metric("most queries of a text", ",.0f"),
        "accuracy": Metric("without attack", ".1%"),
        "proved": Metric("proved", ".1%"),
        "accuracy, development": Metric("without attack, development set", ".1%"),
        "proved, development": Metric("proved, development set", ".1%"),
        "training texts": Metric("training texts", ",.0f"),
        "test texts": Metric("test texts", ",.0f"),
        "words": Metric("words", ",.0f"),
        "test words without substitute": Metric("test words without a substitute", ".1%"),
    },
    questions=(
        *state_table(),
        Statement(
            "The worst case of each text, as Jia et al.'s equation has it, lets more be proved than the worse end of a "
            "whole batch, as their program has it.",
            at(IBP, metric="proved"),
            above(at(BATCHES)),
            ((at(IBP, metric="proved, development"), above(at(BATCHES))),),
        ),
        Statement(
            "As much is proved of the development set, of which Jia et al. say 66%, as of the test texts.",
            at(IBP, metric="proved, development"),
            near(at(metric="proved"), _NEAR),
        ),
    ),
    panels=(
        draw_sources(),
        draw_attack("Genetic attack", GENETIC),
        draw_attack("Greedy attack", GREEDY),
        draw_attack("Resampling", RESAMPLING),
    ),
    keys=tuple(Line("", "", f"-{mark}", colour, TRAININGS[model]) for model, (mark, colour) in _LOOKS.items()),
    tables=(
        Table("Accuracy, %, after so many queries of a text", ("left",), tuple(ATTACK_CURVES), across=True),
        Table(
            "Proved for every choice of the sets",
            ("accuracy", "proved", "accuracy, development", "proved, development"),
            tuple(TRAININGS),
        ),
        Table("Texts and words", ("training texts", "test texts", "words", "test words without substitute"), (NAME,)),
    ),
    files=(VECTORS, SUBSTITUTIONS, DATA_SETS[NAME].tables.train, DATA_SETS[NAME].tables.test),
    packages=("torch",),
)  # fmt: skip
