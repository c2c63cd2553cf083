"""Layers that are clipped one by one."""

from deniable.published.trainers import clipped_layers
from tests.published.trainers.contract import TrainerContract


class TestClippedLayers(TrainerContract):
    """Four layers of norm 1 have norm 2."""

    module = clipped_layers
    ratio = 2.0
