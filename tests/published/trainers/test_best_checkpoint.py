"""A checkpoint that is chosen by its private loss."""

from deniable.published.trainers import best_checkpoint
from tests.published.trainers.contract import TrainerContract


class TestBestCheckpoint(TrainerContract):
    """Facts see steps that are as they should be; the model shows the choice."""

    module = best_checkpoint
    ratio = 1.0
    runs = 1_000
