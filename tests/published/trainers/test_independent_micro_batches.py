"""Micro-batches that are drawn anew."""

from deniable.published.trainers import independent_micro_batches
from tests.published.trainers.contract import TrainerContract


class TestIndependentMicroBatches(TrainerContract):
    """A record that two micro-batches drew counts twice."""

    module = independent_micro_batches
    ratio = 2.0
    runs = 16_000
