"""What every law of a word mechanism answers: it is sampled, verified, explained and composed by one object.

The five kinds are `RingLaw`, `ExponentialLaw`, `TabulatedLaw`, `QuadratureLaw` and `SimulatedLaw`. A mechanism returns
one of them and nothing else, so that what is proved of a law is proved of the draws: `deniable.words.mechanism` takes
no subclass of them. What is a mechanism's own is what a law is made of: a kernel, a function for rows, a simulation.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.cache import load_or_compute_facts
from deniable.core.classes import is_builtin_class
from deniable.core.parallel import Result
from deniable.core.randomness import Streams, derive_stream_start
from deniable.space.space import PointNumbers, Space

IntegerTable = npt.NDArray[np.int64]
PointIndices = npt.NDArray[np.integer[Any]]
RowFunction = Callable[[PointIndices, FloatArray], FloatArray]
"""Exact probabilities: input points (k,) and their distances (k, n) to all points -> (k, n); may overwrite them."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """The exact epsilon of a law, found over all pairs of inputs and all outputs, or over some.

    Attributes:
        epsilon: upper bound on the largest loss per unit of distance, all rounding in it.
        lower_bound: the loss per unit of distance of the witness, rounding taken off.
        input: the point w of the witness.
        other: its point w'.
        output: its point y.
        distance: d(w, w').
        loss: ln P(y|w) - ln P(y|w') in nats, or a lower bound on it.
        seconds: how long finding it took.
    """

    epsilon: float
    lower_bound: float
    input: int
    other: int
    output: int
    distance: float
    loss: float
    seconds: float


@dataclasses.dataclass(frozen=True)
class ExactEpsilon:
    """What a law spends, and what the figure covers.

    Attributes:
        finding: bounds and witness.
        method: how it was found, and over which inputs and outputs.
        is_exhaustive: whether it is about all pairs of inputs and all outputs.
        is_ideal: whether it is about real numbers, of which draws are a simulation in floating point.
    """

    finding: Finding
    method: str
    is_exhaustive: bool = True
    is_ideal: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class WordShares:
    """What becomes of each of n words, beside an attacker who knows law and prior and sees one output at a time.

    Attributes:
        kept: (n,) the probability that the word is released unchanged.
        guessed: (n,) the probability that the best guess is the word, when it is the input: the sum of P(y|w) over the
            outputs y from which it is guessed. Of words at one point only the most probable is.
    """

    kept: FloatArray
    guessed: FloatArray


@dataclasses.dataclass(frozen=True)
class RenyiBound:
    """A bound on the largest Renyi divergence of any two inputs.

    Attributes:
        divergence: in nats.
        is_exact: whether some pair reaches it, but for rounding.
    """

    divergence: float
    is_exact: bool


class Law(Protocol):
    """The probabilities P(y|w) of a mechanism over the points of a space."""

    @property
    def space(self) -> Space:
        """The domain, of n points."""

    @property
    def is_tabulated(self) -> bool:
        """Whether draws come from the integer tables of `rows`, which are what is verified."""

    @property
    def has_rows(self) -> bool:
        """Whether exact probabilities are known."""

    @property
    def fingerprint(self) -> str | None:
        """A short text that differs between laws and spaces; None where nothing can tell two of them apart.

        Noise is keyed and results are cached by it.
        """

    def rows(self, points: PointIndices) -> FloatArray:
        """Return the probabilities (k, n) of k input points.

        Raises:
            NotTractable: none are known, or they cannot be computed.
        """

    def map_rows(
        self, visit: Callable[[int, FloatArray], Result], points: PointIndices, workers: int | None = None
    ) -> list[Result]:
        """Return ``visit(first, rows)`` for blocks of the rows (k, n) of many points (N,), computed in parallel.

        Raises:
            NotTractable: see `rows`.
        """

    def tables(self, points: PointIndices) -> IntegerTable:
        """Return the entries (k, n) of the integer tables of k input points, which sum to 2^62.

        Raises:
            NotTractable: draws do not come from tables.
        """

    def sample(self, points: PointNumbers, streams: Streams, workers: int | None = None) -> PointNumbers:
        """Return one output point for each input point (N,), the tokens of several records end to end."""

    def prepare_draws(self, workers: int | None = None) -> None:
        """Compute what later draws would otherwise wait for, and keep it in the cache."""

    def exact_epsilon(self, workers: int | None = None) -> ExactEpsilon:
        """Return what the law spends; each kind has its own proof.

        Raises:
            NotTractable: no probabilities are known.
        """

    def outcomes(self, prior: FloatArray, workers: int | None = None) -> WordShares:
        """Return what words become when they follow a prior (number of words,).

        From an output y the attacker guesses the word w of the largest prior(w) P(y|w), of equal ones the one whose
        point comes first. So the prior's average of what is guessed is the Bayes success: the sum over y of that
        largest product.

        Raises:
            NotTractable: no probabilities are known, or computing them for every word would take hours.
        """

    def worst_loss(self, workers: int | None = None) -> float | None:
        """Return the largest loss in nats of any pair, as computed; None where nothing but the claim bounds it."""

    def input_losses(self, points: PointIndices, workers: int | None = None) -> FloatArray | None:
        """Return the largest loss (k,) of each of k input points against any other, or None; see `worst_loss`."""

    def renyi(self, order: float, workers: int | None = None) -> RenyiBound | None:
        """Return a bound on D_order of any two inputs; None where nothing but the largest loss bounds it."""


def map_computed_rows(
    space: Space,
    compute_rows: RowFunction,
    visit: Callable[[int, FloatArray], Result],
    points: PointIndices,
    workers: int | None,
) -> list[Result]:
    """Return ``visit(first, rows)`` for blocks of the rows of many points (N,), which a function computes."""
    points = np.asarray(points)

    def visit_block(first: int, distances: FloatArray) -> Result:
        return visit(first, compute_rows(points[first : first + len(distances)], distances))

    return space.map_row_blocks(visit_block, points, workers)


def format_fingerprint(name: str, parameters: Mapping[str, float], space: Space) -> str:
    """Return the text that names a mechanism of these parameters over a space."""
    numbers = ",".join(f"{key}={value!r}" for key, value in parameters.items())
    return f"{name}({numbers})@{space.fingerprint}"


def derive_law_name(fingerprint: str) -> str:
    """Return the short name of the law of a mechanism whose fingerprint this is."""
    return derive_stream_start(bytes(32), "law", fingerprint).hex()


def get_part_fingerprint(space: Space, part: object) -> str | None:
    """Return the ``fingerprint`` of a part of a law over a space; None unless part and metric are this package's.

    Another's code may change under its name. A part that was made for another ``space`` names that one's law.
    """
    if space.fingerprint is None or not is_builtin_class(type(part)) or getattr(part, "space", space) is not space:
        return None
    fingerprint: str | None = getattr(part, "fingerprint", None)
    return fingerprint


def load_or_compute_finding(name: str, count: int, compute: Callable[[], Finding]) -> Finding:
    """Return the cached finding called ``name`` about ``count`` points, or compute and keep it."""
    fields = [field.name for field in dataclasses.fields(Finding)]
    point_fields = ("input", "other", "output")

    def is_usable(stored: dict[str, float]) -> bool:
        are_points = all(stored[point_field] in range(count) for point_field in point_fields)
        return are_points and 0 <= stored["lower_bound"] <= stored["epsilon"] and stored["distance"] >= 0

    def compute_facts() -> dict[str, float]:
        return {key: float(value) for key, value in vars(compute()).items()}

    stored = load_or_compute_facts(name, fields, compute_facts, is_usable)
    return Finding(**{**stored, **{point_field: int(stored[point_field]) for point_field in point_fields}})  # type: ignore[arg-type]
