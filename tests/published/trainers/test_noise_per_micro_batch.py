"""Noise that is shared out among micro-batches."""

from deniable.published.trainers import noise_per_micro_batch
from tests.published.trainers.contract import TrainerContract


class TestNoisePerMicroBatch(TrainerContract):
    """The sum moves as it should, and has half of the noise."""

    module = noise_per_micro_batch
    ratio = 1.0
