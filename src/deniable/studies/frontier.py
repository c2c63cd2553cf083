"""Utility of all word mechanisms at equal proven epsilon, and at equal attacker's success: a study of this package."""

import dataclasses

from deniable.core.parallel import parallel_map
from deniable.space import Space
from deniable.studies.corpora import Corpus, privatized
from deniable.studies.frontiers.figure import draw
from deniable.studies.frontiers.words import details, findings, table
from deniable.studies.study import Data, Result, Setting, Study, derived
from deniable.studies.utility.bench import BASELINE, LAPLACE, about, accuracy, build, halves, summary, train

Grid = tuple[tuple[str, tuple[float, ...]], ...]


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is trained.

    Attributes:
        grid: mechanisms and their epsilons, as claimed.
        trials: trainings of each model, each on a privatized corpus of its own.
        laplace_copies: privatized corpora of multivariate Laplace that its trials share.
        reviews: trained on, and tested on.
        words: of the default space, most frequent first.
        dimensions: of FastText's embeddings.
        epochs: of FastText.
    """

    grid: Grid = (
        ("calibrated", (1.5, 2.0, 2.5, 3.0, 4.0)),
        ("tight", (1.5, 2.0, 2.5, 3.0)),
        ("tem", (2.0, 3.0, 4.0, 5.0, 6.0)),
        (LAPLACE, (6.0, 10.0, 14.0, 20.0, 30.0)),
        ("truncated-gumbel", (90.0, 200.0, 1e4, 1e8)),
    )
    trials: int = 3
    laplace_copies: int = 1
    reviews: int = 5_000
    words: int = 50_000
    dimensions: int = 16
    epochs: int = 20


def run(sizes: Sizes, setting: Setting) -> Result:
    """Train a classifier on the original text, and on each privatized one."""
    space = Space.glove(sizes.words)
    corpora = halves(setting, space, sizes.reviews)
    cells = [(BASELINE, 0.0), *[(name, epsilon) for name, epsilons in sizes.grid for epsilon in epsilons]]
    # One cell after the other: each uses all cores.
    points = parallel_map(lambda cell: _cell(sizes, setting, space, corpora, *cell), cells, workers=1)
    data = {
        "points": points,
        "vocabulary": len(space),
        "words": {name: len(corpora[name].words) for name in ("TR1", "TE1")},
        "trials": sizes.trials,
    }
    return Result(data, table(data), findings(data), details(data))


def _cell(sizes: Sizes, setting: Setting, space: Space, corpora: dict[str, Corpus], name: str, epsilon: float) -> Data:
    """Return what becomes of one mechanism at one epsilon."""
    remember, learned, tested = setting.ledger.remember, corpora["TR1"], corpora["TE1"]
    found: Data = {"mechanism": name, "epsilon": None}
    forms = [learned.original()]
    if name != BASELINE:
        mechanism = build(name, space, epsilon)
        copies = sizes.laplace_copies if name == LAPLACE else sizes.trials
        drawn = privatized(mechanism, learned, copies, setting.seed, setting.ledger)
        forms = [(copy, learned.offsets) for copy in drawn]
        found |= remember(f"{name} {epsilon}", lambda: about(mechanism, setting.seed))
        found |= {"epsilon": epsilon, "words kept": float((drawn == learned.words).mean())}

    def trial(number: int) -> Data:
        def measure() -> Data:
            seed = derived(setting.seed, "train", name, epsilon, number)
            form = forms[number % len(forms)]
            net = train(learned, *form, space, seed=seed, dimensions=sizes.dimensions, epochs=sizes.epochs)
            return {"accuracy": accuracy(net, tested)}

        result: Data = remember(f"{name} {epsilon} {number}", measure)
        return result

    return {**found, **summary(parallel_map(trial, range(sizes.trials)))}


STUDY = Study(
    name="frontier",
    summary="accuracy after every mechanism, at equal proven epsilon and at equal attacker's success",
    paper="A study of this package; the statements are those of Carvalho et al. 2021 (TEM) and Xu et al. 2021",
    full=Sizes(),
    quick=Sizes(
        grid=(
            ("calibrated", (1.5, 2.0)),
            ("tight", (1.5, 2.0)),
            ("tem", (2.0, 4.0)),
            (LAPLACE, (6.0, 14.0)),
            ("truncated-gumbel", (90.0, 1e4)),
        ),
        trials=2,
        reviews=1_500,
        # Above the 3,000 words up to which truncated Gumbel's exact epsilon is computed, a minute a point.
        words=4_000,
    ),
    run=run,
    draw=draw,
)
