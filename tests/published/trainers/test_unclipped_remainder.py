"""A mean gradient that stays in the sum."""

from deniable.published.trainers import unclipped_remainder
from tests.published.trainers.contract import TrainerContract


class TestUnclippedRemainder(TrainerContract):
    """A gradient of 100 adds a sixteenth of it to its clipped self."""

    module = unclipped_remainder
    ratio = 100 / 16 + 1
    runs = 400
