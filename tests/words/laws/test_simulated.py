"""A law known only by draws: nothing is claimed of it, and workers do not show."""

import numpy as np
import pytest

from deniable.core.errors import NotTractable
from deniable.core.randomness import CHUNK_TOKENS, Streams, derive_key_from_seed, derive_stream_start
from deniable.words.laws import Simulation
from deniable.words.laws.simulated import SimulatedLaw


class Shift(Simulation):
    """Draws the input moved by a random number of places, in two steps."""

    def __init__(self):
        self.prepared, self.chunks = [], []

    def prepare(self, points, workers):
        self.prepared.append((len(points), workers))

    def draw_chunk(self, points, generator):
        self.chunks.append(len(points))
        return np.stack([points, generator.random_raw(len(points)) % 60], axis=1)

    def resolve(self, draws, workers):
        del workers
        return (draws.sum(axis=1) % 60).astype(np.int32)


def make_streams(lengths):
    """Return streams of records of such lengths."""
    key = derive_key_from_seed(4)
    return Streams(key, [derive_stream_start(key, str(place)) for place in range(len(lengths))], list(lengths))


def test_draws_depend_on_neither_workers_nor_other_records(small_space):
    """Records of any length, empty ones among them, get what each gets alone, by any number of workers."""
    lengths = [3, 0, CHUNK_TOKENS + 5, 1]
    points = np.random.default_rng(0).integers(60, size=sum(lengths)).astype(np.int32)
    law = SimulatedLaw(small_space, Shift())
    together = law.sample(points, make_streams(lengths), workers=1)
    np.testing.assert_array_equal(law.sample(points, make_streams(lengths), workers=3), together)
    streams = make_streams(lengths)
    alone = Streams(streams.key, streams.starts[2:3], lengths[2:3])
    np.testing.assert_array_equal(law.sample(points[3:-1], alone), together[3:-1])
    assert len(np.unique((together - points) % 60)) == 60


def test_chunks_are_bounded_and_prepared_for_once(small_space):
    """A long record is drawn in chunks, after one preparation for all of its tokens."""
    simulation = Shift()
    count = 2 * CHUNK_TOKENS + 1
    SimulatedLaw(small_space, simulation).sample(np.zeros(count, dtype=np.int32), make_streams([count]), workers=2)
    assert simulation.prepared == [(count, 2)]
    assert max(simulation.chunks) <= CHUNK_TOKENS
    assert sum(simulation.chunks) == count


def test_no_probabilities_are_claimed(small_space):
    """What needs rows or tables is refused with the way out; losses are left to the claim."""
    law, points = SimulatedLaw(small_space, Shift()), np.arange(2)
    for ask in (
        lambda: law.rows(points),
        lambda: law.map_rows(lambda *_: None, points),
        law.exact_epsilon,
        lambda: law.outcomes(np.full(60, 1 / 60)),
    ):
        with pytest.raises(NotTractable, match="Draw samples instead"):
            ask()
    with pytest.raises(NotTractable, match="no integer tables of them exist"):
        law.tables(points)
    assert law.worst_loss() is law.input_losses(points) is law.renyi(2.0) is None
    assert law.has_rows is law.is_tabulated is False
    assert law.fingerprint is None


def test_a_simulation_must_draw():
    """One without draw_chunk says what it lacks."""
    with pytest.raises(NotImplementedError, match="Simulation must give draw_chunk or draw"):
        Simulation().draw_chunk(np.zeros(1, dtype=np.int32), None)
