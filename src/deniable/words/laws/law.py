"""What every law of a word mechanism answers: it is sampled, verified, explained and composed by one object.

The kinds are `RingLaw`, `ExponentialLaw`, `TabulatedLaw` and `SimulatedLaw`. A mechanism returns a law of this package
and nothing else, so that what is proved of a law is proved of the draws: `deniable.words.mechanism` takes
no subclass of them. What is a mechanism's own is what a law is made of: a kernel, a function for rows, a simulation.

A law that an algorithm draws from, in floating point: nothing else is known of it.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from randomgen import AESCounter

from deniable.core.arrays import FloatArray
from deniable.core.classes import WriteOnce, is_builtin_class
from deniable.core.errors import NotTractable
from deniable.core.parallel import Result, parallel_map
from deniable.core.randomness import CHUNK_TOKENS, Streams, derive_stream_start
from deniable.space.space import PointNumbers, Space
from deniable.space.vector_distances import BLOCK_ROWS

IntegerTable = npt.NDArray[np.int64]
PointIndices = npt.NDArray[np.integer[Any]]
RowFunction = Callable[[PointIndices, FloatArray], FloatArray]
"""Exact probabilities: input points (k,) and their distances (k, n) to all points -> (k, n); may overwrite them."""


@dataclasses.dataclass(frozen=True)
class ExactEpsilon:
    """What a law spends, found over all pairs of inputs and all outputs, or over some, with a witness.

    Attributes:
        epsilon: upper bound on the largest loss per unit of distance, all rounding in it.
        lower_bound: the loss per unit of distance of the witness, rounding taken off.
        input: the point w of the witness.
        other: its point w'.
        output: its point y.
        distance: d(w, w').
        loss: ln P(y|w) - ln P(y|w') in nats, or a lower bound on it.
        method: how it was found, and over which inputs and outputs.
        is_exhaustive: whether it is about all pairs of inputs and all outputs.
        is_ideal: whether it is about real numbers, of which draws are a simulation in floating point.
    """

    epsilon: float
    lower_bound: float
    input: int
    other: int
    output: int
    distance: float
    loss: float
    method: str = ""
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


class Law(WriteOnce):
    """The probabilities P(y|w) of a mechanism over the n points of a space; here, one of which nothing is known.

    Attributes:
        space: the domain.
        is_tabulated: whether draws come from the integer tables of `rows`, which are what is verified.
        has_rows: whether exact probabilities are known.
    """

    is_tabulated: ClassVar[bool] = False
    has_rows: ClassVar[bool] = False

    def __init__(self, space: Space) -> None:
        self.space = space

    @property
    def fingerprint(self) -> str | None:
        """A short text that differs between laws and spaces; None where nothing can tell two of them apart.

        Noise is keyed and results are cached by it.
        """
        return None

    def rows(self, points: PointIndices) -> FloatArray:
        """The probabilities (k, n) of k input points.

        Raises:
            NotTractable: none are known, or they cannot be computed.
        """
        raise _make_unknown_error()

    def map_rows(
        self, visit: Callable[[int, FloatArray], Result], points: PointIndices, workers: int | None = None
    ) -> list[Result]:
        """``visit(first, rows)`` for blocks of the rows (k, n) of many points (N,), computed in parallel.

        Raises:
            NotTractable: see `rows`.
        """
        points = np.asarray(points)
        starts = range(0, len(points), BLOCK_ROWS)
        return parallel_map(lambda first: visit(first, self.rows(points[first : first + BLOCK_ROWS])), starts, workers)

    def tables(self, points: PointIndices) -> IntegerTable:
        """The entries (k, n) of the integer tables of k input points, which sum to 2^62.

        Raises:
            NotTractable: draws do not come from tables.
        """
        raise NotTractable(
            "The draws of this mechanism are simulated, so that no integer tables of them exist: take a mechanism with "
            "tables (calibrated, tight, tem)."
        )

    def sample(self, points: PointNumbers, streams: Streams, workers: int | None = None) -> PointNumbers:
        """One output point for each input point (N,), the tokens of several records end to end."""
        raise NotImplementedError

    def exact_epsilon(self, workers: int | None = None) -> ExactEpsilon:
        """What the law spends; each kind has its own proof.

        Raises:
            NotTractable: no probabilities are known.
        """
        raise _make_unknown_error()

    def outcomes(self, prior: FloatArray, workers: int | None = None) -> WordShares:
        """What words become when they follow a prior (number of words,).

        From an output y the attacker guesses the word w of the largest prior(w) P(y|w), of equal ones the one whose
        point comes first. So the prior's average of what is guessed is the Bayes success: the sum over y of that
        largest product.

        Raises:
            NotTractable: no probabilities are known, or computing them for every word would take hours.
        """
        raise _make_unknown_error()

    def input_losses(self, points: PointIndices, workers: int | None = None) -> FloatArray | None:
        """A bound (k,) in nats on the loss of each of k input points against any other, as computed.

        None where nothing but the claim bounds it.
        """
        return None

    def worst_loss(self, workers: int | None = None) -> float | None:
        """The largest loss in nats of any pair, as computed; None where nothing but the claim bounds it."""
        losses = self.input_losses(np.arange(self.space.point_count), workers)
        return None if losses is None else float(losses.max())

    def renyi(self, order: float, workers: int | None = None) -> float | None:
        """A bound in nats on D_order of any two inputs; None where nothing but the largest loss bounds it."""
        return None


def _make_unknown_error() -> NotTractable:
    return NotTractable(
        "No exact output law of this mechanism is known. Draw samples instead: mechanism.sample([word] * 100_000)."
    )


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


class Simulation:
    """An algorithm that draws output points. Give `draw_chunk`, or all of `draw`.

    One of this package may have a ``fingerprint``, a text that differs between all laws; it names the noise.
    """

    def draw_chunk(self, points: PointNumbers, generator: AESCounter) -> npt.NDArray[Any]:
        """Return (k, ...) what is drawn for each input point.

        Args:
            points: (k,) consecutive tokens of one record, at most `deniable.core.randomness.CHUNK_TOKENS`.
            generator: the record's stream, read on in order.
        """
        raise NotImplementedError(f"{type(self).__name__} must give draw_chunk or draw.")

    def resolve(self, draws: npt.NDArray[Any], workers: int | None) -> PointNumbers:
        """Return the output points (k,) of what was drawn (k, ...) for the tokens of many records."""
        del workers
        return draws

    def draw(self, points: PointNumbers, streams: Streams, workers: int | None = None) -> PointNumbers:
        """Return one output point for each input point (N,); the result does not depend on the workers."""
        out = np.empty(len(points), dtype=np.int32)
        offsets = np.concatenate([[0], np.cumsum(streams.lengths)])
        batches = list(streams.batches(CHUNK_TOKENS))
        inner_workers = workers if len(batches) == 1 else 1  # one long record alone: its tokens share the cores

        def draw_batch(records: tuple[int, int]) -> None:
            start = end = int(offsets[records[0]])
            draws: list[npt.NDArray[Any]] = []
            for chunk in streams.chunks(*records, start):
                draws.append(self.draw_chunk(points[chunk.tokens], chunk.generator))
                end = chunk.tokens.stop
                if end - start >= CHUNK_TOKENS:
                    out[start:end] = self.resolve(np.concatenate(draws), inner_workers)
                    start, draws = end, []
            if draws:
                out[start:end] = self.resolve(np.concatenate(draws), inner_workers)

        parallel_map(draw_batch, batches, workers)
        return out


class SimulatedLaw(Law):
    """A law without known probabilities; see `deniable.words.laws.law.Law` for its methods.

    Args:
        space: the domain.
        simulation: what draws.
    """

    def __init__(self, space: Space, simulation: Simulation) -> None:
        super().__init__(space)
        self._simulation = simulation

    @property
    def fingerprint(self) -> str | None:
        """That of the simulation."""
        return get_part_fingerprint(self.space, self._simulation)

    def sample(self, points: PointNumbers, streams: Streams, workers: int | None = None) -> PointNumbers:
        """One output point for each input point (N,)."""
        return self._simulation.draw(points, streams, workers)
