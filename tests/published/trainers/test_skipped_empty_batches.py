"""Steps that are skipped where their batch is empty."""

from deniable.published.trainers import skipped_empty_batches
from tests.published.trainers.contract import TrainerContract


class TestSkippedEmptyBatches(TrainerContract):
    """With no record there is no step."""

    module = skipped_empty_batches
    runs = 400
