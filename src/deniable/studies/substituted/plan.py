"""What the studies run: models, mechanisms and epsilons, how much of everything, and what the paper says of it."""

import dataclasses
import math
from typing import Literal

Measure = Literal["clean", "certified", "genetic", "greedy"]
"""Accuracy without attack; proved by interval bounds; under the two attacks."""

GUMBEL, LAPLACE, CALIBRATED, TIGHT = "truncated-gumbel", "multivariate-laplace", "calibrated", "tight"
TITLES = {
    GUMBEL: "truncated Gumbel",
    LAPLACE: "multivariate Laplace",
    CALIBRATED: "calibrated (ours)",
    TIGHT: "tight (ours)",
}
SETS = "sets"
"""In place of a mechanism: the substitution sets."""
NORMAL, IBP = "normal", "ibp"
VECTORS, SUBSTITUTIONS = "glove.840B.300d.33860.npz", "counterfitted_neighbors.json.xz"


@dataclasses.dataclass(frozen=True)
class Point:
    """A mechanism at one epsilon.

    Attributes:
        mechanism: one of `TITLES`.
        at: its place on the axis: ln epsilon for truncated Gumbel, as in the paper, else epsilon.
    """

    mechanism: str
    at: float

    @property
    def epsilon(self) -> float:
        """Epsilon per unit of distance."""
        return math.exp(self.at) if self.mechanism == GUMBEL else self.at

    @property
    def title(self) -> str:
        """In words."""
        return f"{TITLES[self.mechanism]} at {axis(self.mechanism)} {self.at:g}"


def axis(mechanism: str) -> str:
    """Return what `Point.at` is."""
    return "log epsilon" if mechanism == GUMBEL else "epsilon"


@dataclasses.dataclass(frozen=True)
class Cell:
    """One model to train.

    Attributes:
        method: `NORMAL`, `IBP`, or "augmented".
        source: what its copies are drawn from, `SETS` or a point; None without copies.
    """

    method: str
    source: Point | str | None = None

    @property
    def name(self) -> str:
        """Of the model in results."""
        return self.method if self.source is None else augmented(self.source)


def augmented(source: Point | str) -> str:
    """Return the name of the model that is trained on copies from some source besides."""
    drawn = f"{source.mechanism} {source.at:g}" if isinstance(source, Point) else source
    return f"augmented by {drawn}"


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is trained, attacked and drawn.

    Attributes:
        gumbel_logs: natural logarithms of epsilons of truncated Gumbel.
        laplace: epsilons of multivariate Laplace.
        calibrated: epsilons of the calibrated mechanism.
        tight: epsilons of the tight one, whose weights take minutes in a large space.
        words: of the space, the most frequent ones; None for all.
        train: texts to learn from, drawn once for all models; None for all.
        test: texts that are tested and attacked; drawn once for all models.
        normal_epochs: passes of normal training.
        ibp_epochs: passes of certified training.
        augmented_epochs: passes over the texts and their copies.
        batch: texts of a step.
        copies: of each text.
        population: of the genetic attack.
        generations: of the genetic attack.
        pool: draws kept of a word, at most, where a mechanism is simulated.
        smoothed: texts certified by smoothing.
        selection: draws that choose the class of each.
        estimation: draws that bound its chance.
        every: steps from one checkpoint to the next.
    """

    gumbel_logs: tuple[float, ...] = (4.67, 10.0, 17.0, 38.0, 86.0)
    laplace: tuple[float, ...] = (20.0, 60.0, 100.0, 200.0)
    calibrated: tuple[float, ...] = (1.25, 1.5)
    tight: tuple[float, ...] = (1.5,)
    words: int | None = None
    train: int | None = None
    test: int = 1_000
    normal_epochs: int = 10
    ibp_epochs: int = 60
    augmented_epochs: int = 4
    batch: int = 32
    copies: int = 4
    population: int = 60
    generations: int = 40
    pool: int = 32
    smoothed: int = 100
    selection: int = 100
    estimation: int = 2_000
    every: int = 500

    @property
    def points(self) -> tuple[Point, ...]:
        """All mechanisms at all epsilons."""
        grid = {GUMBEL: self.gumbel_logs, LAPLACE: self.laplace, CALIBRATED: self.calibrated, TIGHT: self.tight}
        return tuple(Point(mechanism, at) for mechanism, places in grid.items() for at in places)


@dataclasses.dataclass(frozen=True)
class Published:
    """One of the paper's tables, percentages by epsilon.

    Attributes:
        title: of the table.
        mechanism: that draws copies and attacks.
        at: places on the axis.
        clean: accuracy of augmented training.
        certified_training: accuracy of the IBP model under attack.
        augmented: accuracy of augmented training under attack.
    """

    title: str
    mechanism: str
    at: tuple[float, ...]
    clean: tuple[float, ...]
    certified_training: tuple[float, ...]
    augmented: tuple[float, ...]

    def of(self, model: str, measure: Measure) -> dict[float, float]:
        """Return the accuracies of one row, by place; of `IBP` those under attack alone."""
        row = self.certified_training if model == IBP else self.clean if measure == "clean" else self.augmented
        return dict(zip(self.at, row, strict=True))


@dataclasses.dataclass(frozen=True)
class Claim:
    """The statement that augmented training is ahead of IBP.

    Attributes:
        mechanism: that draws copies and attacks.
        measure: without attack, or under the genetic one.
        above: the place on the axis above which it is ahead.
        only: whether it is said not to be so below.
        quote: the paper's words.
    """

    mechanism: str
    measure: Measure
    above: float
    only: bool
    quote: str


@dataclasses.dataclass(frozen=True)
class Plan:
    """One data set and the paper's statements about it.

    Attributes:
        name: of the data set, in titles and in every finding.
        network: in `deniable.models.text.networks.TEXT_NETWORKS`.
        train: file to learn from.
        test: file to test on.
        text: column that is attacked.
        premise: column beside it; None for single texts.
        normal: accuracy of normal training in percent (Table 3).
        certified_training: accuracy of the IBP model without attack in percent.
        tested: texts behind the paper's percentages.
        words: n of the paper's vocabulary (Appendix A).
        separation: its Delta0.
        tables: the paper's.
        claims: its statements about them.
        note: of how the data differ from the paper's.
    """

    name: str
    network: str
    train: str
    test: str
    text: str
    premise: str | None
    normal: float
    certified_training: float
    tested: int
    words: int
    separation: float
    tables: tuple[Published, ...]
    claims: tuple[Claim, ...]
    note: str = ""
