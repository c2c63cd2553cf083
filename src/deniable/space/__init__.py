"""The domain of every word mechanism: words, their vectors and a metric."""

from deniable.space.metrics import Metric
from deniable.space.space import Space

__all__ = ["Metric", "Space"]
