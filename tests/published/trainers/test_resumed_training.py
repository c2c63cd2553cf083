"""An accountant that forgets."""

from deniable.published.trainers import resumed_training
from tests.published.trainers.contract import TrainerContract


class TestResumedTraining(TrainerContract):
    """Four jobs of four steps, of which four were counted."""

    module = resumed_training
    ratio = 1.0
