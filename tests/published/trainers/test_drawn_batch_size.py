"""A mean over the batch that was drawn."""

from deniable.published.trainers import drawn_batch_size
from tests.published.trainers.contract import TrainerContract


class TestDrawnBatchSize(TrainerContract):
    """Fifteen records that pull one way and one the other: the mean falls from 16 to 14 sixteenths."""

    module = drawn_batch_size
    ratio = 2.0
