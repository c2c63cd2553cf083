"""A private law that is mixed into a public one until both are close, and secrets that are compared with each other.

- ``single-order``: closeness at one Renyi order.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.numbers import bisect
from deniable.published.samplers.toy import BrokenSampler

_ORDER, _BOUND, _DELTA = 2.0, 1.0, 1e-5
_EPSILON = 13.52
"""As the package computes it from one token, and rounded up: 4 bound / order + ln(1 / delta) / (order - 1)."""
_PUBLIC = np.array([8.3e-5, 0.5, 0.5 - 8.3e-5])
_RAISED = math.sqrt(_PUBLIC[0] * math.expm1(_BOUND)) * 0.99
_LOWERED = _PUBLIC[0] ** 2 / math.expm1(_BOUND) * 1.01
_LAWS = {
    "a name that begins with it": np.array([_RAISED, 0.5, 0.5 - _RAISED]),
    "a name that never has it": np.array([_LOWERED, 0.5, 0.5 - _LOWERED]),
}
"""What the model says of the next token where the text shows the secret; `_PUBLIC` where it is blacked out."""


def _measure_order(p: FloatArray, q: FloatArray) -> float:
    """Return the larger of D_2(p, q) and D_2(q, p)."""
    moments = [(one**_ORDER * other ** (1 - _ORDER)).sum() for one, other in ((p, q), (q, p))]
    return math.log(max(moments)) / (_ORDER - 1)


def _measure_loss(p: FloatArray, q: FloatArray) -> float:
    return float(np.abs(np.log(p / q)).max())


def _mix(record: str, distance: Callable[[FloatArray, FloatArray], float], bound: float) -> FloatArray:
    """Return the mixture of the private and the public law that is as private as the bound allows."""
    private = _LAWS[record]
    if distance(private, _PUBLIC) <= bound:
        return private
    share, _ = bisect(lambda share: distance(share * private + (1 - share) * _PUBLIC, _PUBLIC) > bound, 0.0, 1.0)
    law: FloatArray = share * private + (1 - share) * _PUBLIC
    return law


def draw_within_one_order(record: str, prefix: Sequence[int]) -> FloatArray:  # noqa: ARG001 - one token
    """The mixture whose divergence of order 2 from the public law is at most 1, both ways.

    One secret can raise a rare token to the root of its probability, another lower it to the square. Each is within
    the bound, and no function of the bound and the order bounds their divergence from each other.
    """
    return _mix(record, _measure_order, _BOUND)


def draw_within_all_orders(record: str, prefix: Sequence[int]) -> FloatArray:  # noqa: ARG001 - one token
    """The mixture whose loss against the public law is at most epsilon / 2: losses add up over two hops."""
    return _mix(record, _measure_loss, _EPSILON / 2)


SINGLE_ORDER = BrokenSampler(
    "single-order",
    "dp-fusion-lib 0.1.0 (docs/language_packages.md)",
    "two laws near a public one at a single Renyi order are not near each other: it is no triangle inequality",
    draw_within_one_order,
    draw_within_all_orders,
    (tuple(_LAWS),),
    {"claim": "approx", "epsilon": _EPSILON, "delta": _DELTA, "tokens": 1},
)

ENTRIES = SINGLE_ORDER.entries
