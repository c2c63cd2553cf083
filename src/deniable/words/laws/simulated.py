"""A law that is known only by an algorithm that draws from it, in floating point."""

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from randomgen import AESCounter

from deniable.core.arrays import FloatArray
from deniable.core.classes import WriteOnce
from deniable.core.errors import NotTractable
from deniable.core.parallel import Result, parallel_map
from deniable.core.randomness import CHUNK_TOKENS, Streams
from deniable.space.space import PointNumbers, Space
from deniable.words.laws.law import (
    ExactEpsilon,
    IntegerTable,
    PointIndices,
    RenyiBound,
    WordShares,
    get_part_fingerprint,
)


class Simulation:
    """An algorithm that draws output points. Give `draw_chunk`, or all of `draw`.

    One of this package may have a ``fingerprint``, a text that differs between all laws; it names the noise.
    """

    def prepare(self, points: PointNumbers, workers: int | None) -> None:
        """Compute once for all records what `draw_chunk` needs of these input points (N,)."""
        del points, workers

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
        self.prepare(points, workers)
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


class SimulatedLaw(WriteOnce):
    """A law without known probabilities; see `deniable.words.laws.law.Law` for its methods.

    Args:
        space: the domain.
        simulation: what draws.
    """

    is_tabulated = False
    has_rows = False

    def __init__(self, space: Space, simulation: Simulation) -> None:
        self.space, self._simulation = space, simulation

    @property
    def fingerprint(self) -> str | None:
        """That of the simulation."""
        return get_part_fingerprint(self.space, self._simulation)

    def rows(self, points: PointIndices) -> FloatArray:
        """Raise `NotTractable`: no probabilities are known."""
        del points
        refuse_unknown_law()

    def map_rows(
        self, visit: Callable[[int, FloatArray], Result], points: PointIndices, workers: int | None = None
    ) -> list[Result]:
        """Raise `NotTractable`: no probabilities are known."""
        del visit, points, workers
        refuse_unknown_law()

    def tables(self, points: PointIndices) -> IntegerTable:
        """Raise `NotTractable`: there are no tables."""
        del points
        refuse_tables()

    def sample(self, points: PointNumbers, streams: Streams, workers: int | None = None) -> PointNumbers:
        """Return one output point for each input point (N,)."""
        return self._simulation.draw(points, streams, workers)

    def prepare_draws(self, workers: int | None = None) -> None:
        """Do nothing: draws keep nothing for later ones."""
        del workers

    def exact_epsilon(self, workers: int | None = None) -> ExactEpsilon:
        """Raise `NotTractable`: no probabilities are known."""
        del workers
        refuse_unknown_law()

    def outcomes(self, prior: FloatArray, workers: int | None = None) -> WordShares:
        """Raise `NotTractable`: no probabilities are known."""
        del prior, workers
        refuse_unknown_law()

    def worst_loss(self, workers: int | None = None) -> float | None:
        """Return None: the claim bounds the loss."""
        del workers
        return None

    def input_losses(self, points: PointIndices, workers: int | None = None) -> FloatArray | None:
        """Return None: the claim bounds the losses."""
        del points, workers
        return None

    def renyi(self, order: float, workers: int | None = None) -> RenyiBound | None:
        """Return None: the largest loss bounds the divergence."""
        del order, workers
        return None


def refuse_unknown_law() -> NoReturn:
    """Raise `NotTractable`: no probabilities are known."""
    raise NotTractable(
        "No exact output law of this mechanism is known. Draw samples instead: mechanism.sample([word] * 100_000)."
    )


def refuse_tables() -> NoReturn:
    """Raise `NotTractable`: draws do not come from tables."""
    raise NotTractable(
        "The draws of this mechanism are simulated, so that no integer tables of them exist: take a mechanism with "
        "tables (calibrated, tight, tem)."
    )
