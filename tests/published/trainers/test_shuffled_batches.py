"""Shuffled batches that are accounted for as Poisson samples."""

from deniable.published.trainers import shuffled_batches
from tests.published.trainers.contract import TrainerContract


class TestShuffledBatches(TrainerContract):
    """The sum moves as it should; the order is not what was accounted for."""

    module = shuffled_batches
    ratio = 1.0
    runs = 5_000
