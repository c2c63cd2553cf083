"""A scale that is taken from the data."""

from deniable.published.trainers import private_normalizer
from tests.published.trainers.contract import TrainerContract


class TestPrivateNormalizer(TrainerContract):
    """Fifteen gradients of 1 become a thousandth, and one is -1."""

    module = private_normalizer
    ratio = 15 - 0.015 + 1
    runs = 400
