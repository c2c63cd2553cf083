"""One key for two parameters."""

from deniable.published.trainers import shared_noise
from tests.published.trainers.contract import TrainerContract


class TestSharedNoise(TrainerContract):
    """Facts see the right sum and noise; the difference of both parameters has none."""

    module = shared_noise
    ratio = 1.0
    runs = 400
