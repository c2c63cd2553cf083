"""How high a guarantee stands once its mechanism is verified."""

import dataclasses
from typing import TypeVar

from deniable.guarantees import ApproxDP, MetricDP, PureDP
from deniable.status import find_weakest_status
from deniable.verdict import Verdict

GuaranteeT = TypeVar("GuaranteeT", PureDP, ApproxDP, MetricDP, PureDP | ApproxDP)


def limit_status(guarantee: GuaranteeT, verdict: Verdict) -> GuaranteeT:
    """Return a guarantee as it may be shown: its status is never higher than what `verify` says of its mechanism.

    Args:
        guarantee: of a mechanism.
        verdict: of `deniable.verify` on the same mechanism. It judges the arithmetic of the draws: where they come
            from integer tables, those tables.
    """
    return dataclasses.replace(guarantee, status=find_weakest_status(guarantee.status, verdict.status))
