"""What a ledger charges for: the guarantee that a verdict supports, and never a parameter."""

import dataclasses
import sys

from deniable.core.errors import InputError, check_fraction, check_number_within
from deniable.core.evidence import Verdict, limit_status
from deniable.core.guarantees import ApproxDP, Guarantee, Unit, is_proved


def get_charged_guarantee(name: str, verdict: Verdict, unit: Unit) -> Guarantee:
    """Return the guarantee that a verdict is about, where it is proved for the unit that a ledger counts.

    Its epsilon is at least the one that was verified; a mechanism may promise less than that would allow.

    Args:
        name: of the mechanism, for messages.
        verdict: on the mechanism itself.
        unit: that pays once for each guarantee.

    Raises:
        InputError: it is not proved, about another unit, or has no finite epsilon: nobody knows what a unit costs then.
    """
    guarantee = limit_status(verdict.guarantee, verdict)
    if not is_proved(guarantee.status) or not verdict.epsilon <= guarantee.epsilon:
        raise InputError(
            f"A ledger counts what is proved, and the guarantee of {name}, {guarantee}, is "
            f"{guarantee.status if not is_proved(guarantee.status) else 'below what was verified'}: choose another "
            "mechanism, method or epsilon."
        )
    if guarantee.unit != unit:
        raise InputError(
            f"A ledger charges here for each {unit}, and the guarantee of {name} is about one {guarantee.unit}: state "
            f"it for a {unit}."
        )
    epsilon = check_number_within(name, "guarantee.epsilon", guarantee.epsilon, 0.0, sys.float_info.max)
    if isinstance(guarantee, ApproxDP):
        check_fraction(name, "guarantee.delta", guarantee.delta)
    return dataclasses.replace(guarantee, epsilon=epsilon)
