"""A mean that is clipped."""

from deniable.published.trainers import clipped_mean
from tests.published.trainers.contract import TrainerContract


class TestClippedMean(TrainerContract):
    """A mean of 15 sixteenths becomes -1: by 31 times the sixteenth that is allowed."""

    module = clipped_mean
    ratio = 31.0
    runs = 400
