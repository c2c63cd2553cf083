"""A short batch with a divisor of its own."""

from deniable.published.trainers import short_last_batch
from tests.published.trainers.contract import TrainerContract


class TestShortLastBatch(TrainerContract):
    """The record counts four times, of which two are allowed where one is replaced."""

    module = short_last_batch
    ratio = 2.0
    mended_ratio = 0.5
    runs = 1_000
