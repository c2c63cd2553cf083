"""What the card of a trained model should say: what follows from the accounting that it lists."""

from typing import Any

from deniable.checking.fields import TOLERANCE, Stated
from deniable.checking.statements import OWNERS_CHOICE, VERSION, Statements
from deniable.checking.synthesis import expect_linear_card
from deniable.core.extras import import_extra
from deniable.core.guarantees import EMPTY_PLACE, EMPTY_RECORD, PROVED_IDEAL
from deniable.learning.accounting import (
    SamplingSchedule,
    build_dp_sgd_guarantee,
    build_dp_sgd_verdict,
    compute_epsilon_spent,
    describe_accounting,
)
from deniable.learning.card import CARD_SCHEMA, NO_GUARANTEE
from deniable.text.release_certificate import CHOSEN_BY_OWNER, CHOSEN_FROM_DATA

_PROTECTION, _ACCOUNTING, _CHOICE = "training records", "accounting", "epsilon chosen"
_FOREIGN_NAMES = ("private", "mechanism", "guarantee", "verification", "meaning", "not_protected")
"""Promises of certificates, which no card makes: nobody shall read one that nothing was compared with."""
_MODEL_NOTE = "the model and its data are not at hand"
_MIN_MULTIPLIER, _MAX_MULTIPLIER, _MAX_STEPS, _MAX_EPSILON = 0.3, 1e4, 10_000_000, 100.0


def expect_card(statements: Statements) -> tuple[dict[str, Any], str]:
    """Return what every field of a model card should be, and why its guarantee cannot be recomputed, if so.

    Of a private linear classifier that is all of its budget, of a model trained by DP-SGD its accounting. Where no
    privacy is claimed, or a theorem of another kind, everything else is only stated.

    Raises:
        InputError: what the accounting follows from is missing or out of bounds.
    """
    if statements.get("model") == "dp-linear":
        return expect_linear_card(statements), ""
    names = [name for name in statements.document if name not in _FOREIGN_NAMES]
    expected: dict[str, Any] = dict.fromkeys(names, Stated(_MODEL_NOTE))
    expected |= {"schema": CARD_SCHEMA, "deniable": VERSION}
    if statements.get(_PROTECTION, "guarantee") == "none":
        return {**expected, _PROTECTION: _expect_no_guarantee(statements)}, "no privacy is claimed"
    # Trainers whose claim is of another kind have noise, and no rate.
    if {"sampling rate", "noise multiplier"} <= {*statements.get_object(_ACCOUNTING)}:
        return {**expected, **_expect_accounting(statements)}, ""
    return expected, "guarantees of this kind of model are not recomputed"


def _expect_no_guarantee(statements: Statements) -> dict[str, Any]:
    """Return what a card without a guarantee says of the training records: nothing else is promised."""
    status = statements.get(_PROTECTION, "status")
    no_status = NO_GUARANTEE[1].value
    is_seeded = isinstance(status, str) and status.startswith("not private: ")
    return {"guarantee": "none", "status": Stated("no privacy is claimed") if is_seeded else no_status}


def _expect_accounting(statements: Statements) -> dict[str, Any]:
    """Return the guarantee that rate, steps and noise of a run by DP-SGD compose to."""
    import_extra("dp_accounting", "A model card", "train")
    rate = statements.require_number(_ACCOUNTING, "sampling rate", maximum=1.0)
    multiplier = statements.require_number(_ACCOUNTING, "noise multiplier", maximum=_MAX_MULTIPLIER)
    clip = statements.require_number(_ACCOUNTING, "clipping norm", maximum=1e100)
    delta = statements.require_number(_ACCOUNTING, "delta", maximum=0.5)
    steps = statements.require_number(_ACCOUNTING, "steps", maximum=_MAX_STEPS)
    epsilon = statements.require_number(_ACCOUNTING, "epsilon, one record made empty", maximum=_MAX_EPSILON)
    choices = dict.fromkeys(("sampling rate", "steps", "noise multiplier", "clipping norm"), Stated(OWNERS_CHOICE))
    choices["delta"] = Stated(OWNERS_CHOICE)
    if not _is_spent_within(rate, multiplier, epsilon, delta, steps):
        problem = Stated("", "steps and noise spend more than this")
        return {
            _ACCOUNTING: {
                **choices,
                "epsilon, one record made empty": problem,
                "epsilon, replace one record": Stated("not computed, since the other epsilon is wrong"),
            },
            _PROTECTION: Stated("", "it does not follow from the accounting"),
        }
    schedule = SamplingSchedule(rate, int(steps))
    adjacency, adjacency_mark = statements.choose((EMPTY_RECORD, EMPTY_PLACE), EMPTY_RECORD, _PROTECTION, "adjacency")
    guarantee = build_dp_sgd_guarantee(schedule, multiplier, delta, adjacency)
    verdict = build_dp_sgd_verdict(guarantee).to_dict()
    protection: dict[str, Any] = {
        "guarantee": str(guarantee),
        "unit": guarantee.unit,
        "adjacency": adjacency_mark,
        "status": PROVED_IDEAL,
        "source": guarantee.source,
        "verdict": {**verdict, "seconds": Stated("how long the owner's proof took")},
    }
    if _CHOICE in statements.get_object(_PROTECTION):
        choices_of_epsilon = (CHOSEN_BY_OWNER, CHOSEN_FROM_DATA)
        protection[_CHOICE] = statements.choose(choices_of_epsilon, CHOSEN_BY_OWNER, _PROTECTION, _CHOICE)[1]
    return {
        _ACCOUNTING: {**describe_accounting(schedule, multiplier, clip, delta), **choices},
        _PROTECTION: protection,
    }


def _is_spent_within(rate: float, multiplier: float, epsilon: float, delta: float, steps: float) -> bool:
    """Return whether a run spends no more than an epsilon.

    Losses far above a budget take time and memory without bound: steps grow until they exceed what is stated.
    """
    if multiplier < _MIN_MULTIPLIER or steps != int(steps):
        return False
    some_steps = 1
    try:
        while compute_epsilon_spent(SamplingSchedule(rate, some_steps), multiplier, delta) <= epsilon * (1 + TOLERANCE):
            if some_steps == steps:
                return True
            some_steps = min(4 * some_steps, int(steps))
    except (ValueError, ArithmeticError):  # rate or delta are too small for floats
        pass
    return False
