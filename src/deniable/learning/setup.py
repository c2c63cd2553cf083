"""Before the first step: weights drawn from a public seed, and the device."""

from collections.abc import Callable
from typing import TypeVar

import torch

Built = TypeVar("Built")


def build_with_seed(seed: int, build: Callable[[], Built]) -> Built:
    """Return a network whose first weights are drawn from a public seed; torch's own generator stays as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build()


def choose_device() -> torch.device:
    """Return a GPU where there is one, else the processor."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
