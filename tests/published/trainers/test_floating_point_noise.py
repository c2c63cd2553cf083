"""Noise that is added in floating point."""

from deniable.published.trainers import floating_point_noise
from tests.published.trainers.contract import TrainerContract


class TestFloatingPointNoise(TrainerContract):
    """Facts see the right sum and noise; the last bits of what is released tell."""

    module = floating_point_noise
    ratio = 1.0
    runs = 2_000
