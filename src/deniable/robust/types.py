"""What attacks and certificates need to know of a model: its scores."""

from collections.abc import Callable

from torch import Tensor

ImageScorer = Callable[[Tensor], Tensor]
"""From images (b, channels, height, width), pixels in [0, 1], to logits (b, K).

A randomized model draws fresh, independent noise for every image of every call.
"""
