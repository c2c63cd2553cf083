"""Carvalho et al. 2021 (TEM), Figure 1: accuracy and membership inference of models trained on private text."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy.typing as npt

from deniable.core.parallel import parallel_map
from deniable.measure.attackers.membership_scores import fit_shadow_network
from deniable.measure.roc import compute_roc
from deniable.space import Space
from deniable.studies.corpora import Corpus, Offsets, Words, privatized
from deniable.studies.study import Data, Result, Setting, Study, derived
from deniable.studies.utility.bench import BASELINE, LAPLACE, about, accuracy, build, halves, summary, train
from deniable.studies.utility.figure import draw
from deniable.studies.utility.words import details, findings, table

if TYPE_CHECKING:
    from deniable.measure.fasttext import FastTextClassifier

Attack = Callable[[npt.ArrayLike], npt.ArrayLike]
VECTORS = "glove.840B.300d.33860.npz"
MECHANISMS = (LAPLACE, "tem", "auto")


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is trained.

    Attributes:
        epsilons: claimed.
        trials: trainings of each model.
        reviews: in each of TR1, TR2, TE1 and TE2.
        outsiders: reviews of TR2 that are privatized too, for the attack with private records.
        laplace_copies: privatized corpora of multivariate Laplace that its trials share.
        words: of the vocabulary, most frequent first; None for all.
        dimensions: of FastText's embeddings.
        epochs: of FastText.
    """

    epsilons: tuple[float, ...] = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
    trials: int = 5
    reviews: int = 12_500
    outsiders: int = 2_500
    laplace_copies: int = 1
    words: int | None = None
    dimensions: int = 16
    epochs: int = 20


@dataclasses.dataclass(frozen=True)
class _Bench:
    """What all cells share."""

    sizes: Sizes
    setting: Setting
    space: Space
    corpora: dict[str, Corpus]
    shadows: list[Attack]

    def train(self, words: Words, offsets: Offsets, name: str, *parts: object) -> "FastTextClassifier":
        """Return a classifier trained on the texts of one of the corpora."""
        seed = derived(self.setting.seed, "train", name, *parts)
        sizes = self.sizes
        return train(
            self.corpora[name], words, offsets, self.space,
            seed=seed, dimensions=sizes.dimensions, epochs=sizes.epochs,
        )  # fmt: skip


def run(sizes: Sizes, setting: Setting) -> Result:
    """Train and attack a model on the original text, and on each privatized one."""
    space = Space.load(setting.file(VECTORS), limit=sizes.words)
    corpora = halves(setting, space, sizes.reviews)
    bench = _Bench(sizes, setting, space, corpora, [])
    bench.shadows.extend(parallel_map(lambda trial: _shadow(bench, trial), range(sizes.trials)))
    cells = [(BASELINE, 0.0), *[(name, epsilon) for epsilon in sizes.epsilons for name in MECHANISMS]]
    # One cell after the other: each uses all cores.
    points = parallel_map(lambda cell: _cell(bench, *cell), cells, workers=1)
    data = {
        "points": points,
        "vocabulary": len(space),
        "words": {name: len(corpus.words) for name, corpus in corpora.items()},
        "unknown": {name: float(corpus.stand_ins.mean()) for name, corpus in corpora.items()},
        "trials": sizes.trials,
    }
    return Result(data, table(data), findings(data), details(data))


def _shadow(bench: _Bench, trial: int) -> Attack:
    """Return the attack that a shadow model trained on TE2 teaches: TE2 is "in", TE1 is "out"."""
    net = bench.train(*bench.corpora["TE2"].original(), "TE2", "shadow", trial)
    inside, outside = (net.probabilities_of_words(*bench.corpora[name].original()) for name in ("TE2", "TE1"))
    return fit_shadow_network(inside, outside, derived(bench.setting.seed, "attack", trial) % 2**32)


def _cell(bench: _Bench, name: str, epsilon: float) -> Data:
    """Return what becomes of one mechanism at one epsilon."""
    remember = bench.setting.ledger.remember
    if name == BASELINE:
        trials = parallel_map(
            lambda trial: remember(f"{name} {trial}", lambda: _baseline(bench, trial)), range(bench.sizes.trials)
        )
        return {"mechanism": name, "epsilon": None, **summary(trials)}
    mechanism = build(name, bench.space, epsilon)
    facts = remember(f"{name} {epsilon}", lambda: about(mechanism, bench.setting.seed))
    copies = bench.sizes.laplace_copies if name == LAPLACE else bench.sizes.trials
    seed, ledger = bench.setting.seed, bench.setting.ledger
    inside = privatized(mechanism, bench.corpora["TR1"], copies, seed, ledger)
    others = bench.corpora["TR2"]
    outside = privatized(mechanism, others.head(min(bench.sizes.outsiders, len(others.codes))), 1, seed, ledger)

    def trial(number: int) -> Data:
        found: Data = remember(
            f"{name} {epsilon} {number}",
            lambda: _private(bench, inside[number % copies], outside[0], (name, epsilon, number)),
        )
        return found

    trials = parallel_map(trial, range(bench.sizes.trials))
    kept = float((inside == bench.corpora["TR1"].words).mean())
    return {
        "mechanism": name,
        "called": mechanism.name,
        "epsilon": epsilon,
        **facts,
        "words kept": kept,
        **summary(trials),
    }


def _baseline(bench: _Bench, trial: int) -> Data:
    net = bench.train(*bench.corpora["TR1"].original(), "TR1", BASELINE, trial)
    return {"accuracy": accuracy(net, bench.corpora["TE1"]), "AUC": _auc(bench, net, trial)}


def _private(bench: _Bench, inside: Words, outside: Words, cell: tuple[str, float, int]) -> Data:
    """Return how a model trained on private text does, and what two attackers learn of its training records."""
    trained, others = bench.corpora["TR1"], bench.corpora["TR2"]
    net = bench.train(inside, trained.offsets, "TR1", *cell)
    members = net.probabilities_of_words(inside, trained.offsets)
    strangers = net.probabilities_of_words(outside, others.offsets[: bench.sizes.outsiders + 1])
    return {
        "accuracy": accuracy(net, bench.corpora["TE1"]),
        "AUC": _auc(bench, net, cell[-1]),
        "AUC, private records": _area(bench.shadows[cell[-1]], members, strangers),
    }


def _auc(bench: _Bench, net: "FastTextClassifier", trial: int) -> float:
    """Return the AUC of the attack with original records: TR1 is "in", TR2 is "out"."""
    inside, outside = (net.probabilities_of_words(*bench.corpora[name].original()) for name in ("TR1", "TR2"))
    return _area(bench.shadows[trial], inside, outside)


def _area(attack: Attack, inside: npt.ArrayLike, outside: npt.ArrayLike) -> float:
    return float(compute_roc(attack(inside), attack(outside), attack="shadow").auc.value)


STUDY = Study(
    name="tem-utility",
    summary="accuracy and membership inference of models trained on private IMDB reviews",
    paper='Carvalho, Vasiloudis, Feyisetan 2021, "TEM: High Utility Metric Differential Privacy on Text", Figure 1',
    full=Sizes(),
    quick=Sizes(epsilons=(2.0, 6.0), trials=2, reviews=1_500, outsiders=500, words=5_000),
    run=run,
    draw=draw,
)
