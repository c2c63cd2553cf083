"""A short batch with a divisor of its own."""

from deniable.published.trainers import short_last_batch
from tests.published.trainers.contract import TrainerContract


class TestShortLastBatch(TrainerContract):
    """The record counts four times."""

    module = short_last_batch
    ratio = 4.0
    runs = 1_000
