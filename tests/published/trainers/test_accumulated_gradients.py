"""Gradients that are added before they are clipped."""

from deniable.published.trainers import accumulated_gradients
from tests.published.trainers.contract import TrainerContract


class TestAccumulatedGradients(TrainerContract):
    """One record turns the clipped sum around."""

    module = accumulated_gradients
    ratio = 2.0
