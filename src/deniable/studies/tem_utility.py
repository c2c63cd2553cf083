"""Carvalho et al. 2021 (TEM), Figure 1: accuracy and membership inference of models trained on private text."""

import dataclasses
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.auditing import verify
from deniable.measure import attacks, fasttext, recovery
from deniable.measure.estimate import Estimate, mean
from deniable.measure.roc import roc
from deniable.parallel import each
from deniable.space import Space
from deniable.studies.corpora import Corpus, Offsets, Words, privatized, reviews, rows
from deniable.studies.laplace import QuickLaplace
from deniable.studies.study import Data, Result, Setting, Study, derived
from deniable.studies.utility.figure import draw
from deniable.studies.utility.words import findings, table
from deniable.words import TEM, WordMechanism, auto

Array = npt.NDArray[np.float64]
Attack = Callable[[npt.ArrayLike], Array]
VECTORS = "glove.840B.300d.33860.npz"
BASELINE = "original text"
MECHANISMS = ("multivariate-laplace", "tem", "auto")
GUESSES = 20_000
"""Draws behind an attacker's success that is not known exactly."""


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

    def train(self, words: Words, offsets: Offsets, name: str, *parts: object) -> fasttext.FastText:
        """Return a classifier trained on the texts of one of the corpora."""
        net = fasttext.FastText(
            derived(self.setting.seed, "train", name, *parts),
            dimensions=self.sizes.dimensions,
            epochs=self.sizes.epochs,
        )
        return net.fit_words(words, offsets, self.corpora[name].codes, classes=2, size=len(self.space))


def run(sizes: Sizes, setting: Setting) -> Result:
    """Train and attack a model on the original text, and on each privatized one."""
    space = Space.load(setting.file(VECTORS), limit=sizes.words)
    corpora = _split(sizes, setting, space)
    bench = _Bench(sizes, setting, space, corpora, [])
    bench.shadows.extend(each(lambda trial: _shadow(bench, trial), range(sizes.trials)))
    cells = [(BASELINE, 0.0), *[(name, epsilon) for epsilon in sizes.epsilons for name in MECHANISMS]]
    # One cell after the other: each uses all cores.
    points = each(lambda cell: _cell(bench, *cell), cells, workers=1)
    data = {
        "points": points,
        "vocabulary": len(space),
        "words": {name: len(corpus.words) for name, corpus in corpora.items()},
        "unknown": {name: float(corpus.stand_ins.mean()) for name, corpus in corpora.items()},
        "trials": sizes.trials,
    }
    return Result(data, table(data), findings(data))


def _split(sizes: Sizes, setting: Setting, space: Space) -> dict[str, Corpus]:
    """Return TR1, TR2 (halves of the training file), TE1 and TE2 (halves of the test file)."""
    out = {}
    for part, file in (("TR", "imdb_train.parquet"), ("TE", "imdb_test.parquet")):
        path = setting.file(file)
        order = np.random.default_rng(derived(setting.seed, "split", part)).permutation(rows(path))
        size = min(sizes.reviews, len(order) // 2)
        for half in (1, 2):
            name = f"{part}{half}"
            out[name] = reviews(path, space, order[(half - 1) * size : half * size].tolist(), name)
    return out


def _shadow(bench: _Bench, trial: int) -> Attack:
    """Return the attack that a shadow model trained on TE2 teaches: TE2 is "in", TE1 is "out"."""
    net = bench.train(*bench.corpora["TE2"].original(), "TE2", "shadow", trial)
    inside, outside = (net.probabilities_of_words(*bench.corpora[name].original()) for name in ("TE2", "TE1"))
    return attacks.learn_shadow(inside, outside, derived(bench.setting.seed, "attack", trial) % 2**32)


def _cell(bench: _Bench, name: str, epsilon: float) -> Data:
    """Return what becomes of one mechanism at one epsilon."""
    remember = bench.setting.ledger.remember
    if name == BASELINE:
        trials = each(
            lambda trial: remember(f"{name} {trial}", lambda: _baseline(bench, trial)), range(bench.sizes.trials)
        )
        return {"mechanism": name, "epsilon": None, **_summary(trials)}
    mechanism = _build(name, bench.space, epsilon)
    about = remember(f"{name} {epsilon}", lambda: _about(mechanism, bench.setting.seed))
    copies = bench.sizes.laplace_copies if name == MECHANISMS[0] else bench.sizes.trials
    seed, ledger = bench.setting.seed, bench.setting.ledger
    inside = privatized(mechanism, bench.corpora["TR1"], copies, seed, ledger)
    outside = privatized(
        mechanism,
        bench.corpora["TR2"].head(min(bench.sizes.outsiders, len(bench.corpora["TR2"].codes))),
        1,
        seed,
        ledger,
    )

    def trial(number: int) -> Data:
        found: Data = remember(
            f"{name} {epsilon} {number}",
            lambda: _private(bench, inside[number % copies], outside[0], (name, epsilon, number)),
        )
        return found

    trials = each(trial, range(bench.sizes.trials))
    kept = float((inside == bench.corpora["TR1"].words).mean())
    return {
        "mechanism": name,
        "called": mechanism.name,
        "epsilon": epsilon,
        **about,
        "words kept": kept,
        **_summary(trials),
    }


def _build(name: str, space: Space, epsilon: float) -> WordMechanism:
    if name == "auto":
        return auto(space, epsilon)
    return (TEM if name == "tem" else QuickLaplace)(space, epsilon=epsilon)


def _about(mechanism: WordMechanism, seed: int) -> Data:
    """Return the proven epsilon of a mechanism, and its attacker's success under a public Zipf prior."""
    verdict = verify(mechanism)
    guessed = recovery.simulated_recovery(mechanism, draws=GUESSES, seed=derived(seed, "guess", mechanism.name))
    return {"proven epsilon": verdict.epsilon, "by": verdict.method, "attacker": dataclasses.asdict(guessed.share)}


def _baseline(bench: _Bench, trial: int) -> Data:
    net = bench.train(*bench.corpora["TR1"].original(), "TR1", BASELINE, trial)
    return {"accuracy": _accuracy(net, bench.corpora["TE1"]), "AUC": _auc(bench, net, trial)}


def _private(bench: _Bench, inside: Words, outside: Words, cell: tuple[str, float, int]) -> Data:
    """Return how a model trained on private text does, and what two attackers learn of its training records."""
    trained, others = bench.corpora["TR1"], bench.corpora["TR2"]
    net = bench.train(inside, trained.offsets, "TR1", *cell)
    members = net.probabilities_of_words(inside, trained.offsets)
    strangers = net.probabilities_of_words(outside, others.offsets[: bench.sizes.outsiders + 1])
    return {
        "accuracy": _accuracy(net, bench.corpora["TE1"]),
        "AUC": _auc(bench, net, cell[-1]),
        "AUC, private records": _area(bench.shadows[cell[-1]], members, strangers),
    }


def _accuracy(net: fasttext.FastText, corpus: Corpus) -> float:
    return float((net.probabilities_of_words(*corpus.original()).argmax(axis=1) == corpus.codes).mean())


def _auc(bench: _Bench, net: fasttext.FastText, trial: int) -> float:
    """Return the AUC of the attack with original records: TR1 is "in", TR2 is "out"."""
    inside, outside = (net.probabilities_of_words(*bench.corpora[name].original()) for name in ("TR1", "TR2"))
    return _area(bench.shadows[trial], inside, outside)


def _area(attack: Attack, inside: Array, outside: Array) -> float:
    return float(roc(attack(inside), attack(outside), attack="shadow").auc.value)


def _summary(trials: list[Data]) -> Data:
    """Return mean and 95 % interval over trials of everything that trials report."""
    return {
        name: _interval(mean([trial[name] for trial in trials])) | {"trials": [t[name] for t in trials]}
        for name in trials[0]
    }


def _interval(estimate: Estimate) -> Data:
    """Return a mean of shares with its interval, of which what lies outside 0 to 1 is cut off."""
    return {"mean": estimate.value, "low": max(estimate.low, 0.0), "high": min(estimate.high, 1.0)}


STUDY = Study(
    name="tem-utility",
    summary="accuracy and membership inference of models trained on private IMDB reviews",
    paper='Carvalho, Vasiloudis, Feyisetan 2021, "TEM: High Utility Metric Differential Privacy on Text", Figure 1',
    full=Sizes(),
    quick=Sizes(epsilons=(2.0, 6.0), trials=2, reviews=1_500, outsiders=500, words=5_000),
    run=run,
    draw=draw,
)
