"""What the card of a trained model should say: what follows from the accounting that it lists."""

import dataclasses
from typing import Any

from deniable.accounting.planning import build_training_verdict, describe_accounting
from deniable.accounting.training import TrainingPlan, compute_poisson_epsilon
from deniable.checking.document import OWNERS_CHOICE, TOLERANCE, VERSION, Stated, Statements
from deniable.checking.synthesis import expect_linear_card
from deniable.core.errors import import_extra
from deniable.core.guarantees import EMPTY_PLACE, EMPTY_RECORD, PROVED_IDEAL
from deniable.learning.card import CARD_SCHEMA, NO_GUARANTEE

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
        is_seeded = statements.get_text(_PROTECTION, "status").startswith("not private: ")
        status = Stated("no privacy is claimed") if is_seeded else NO_GUARANTEE[1].value
        return {**expected, _PROTECTION: {"guarantee": "none", "status": status}}, "no privacy is claimed"
    # Trainers whose claim is of another kind have noise, and no rate.
    if {"sampling rate", "noise multiplier"} <= {*statements.get_object(_ACCOUNTING)}:
        return {**expected, **_expect_accounting(statements)}, ""
    return expected, "guarantees of this kind of model are not recomputed"


def _expect_accounting(statements: Statements) -> dict[str, Any]:
    """Return the guarantee that rate, steps and noise of a run by DP-SGD compose to."""
    import_extra("dp_accounting", "A model card", "train")
    rate = statements.require_number(_ACCOUNTING, "sampling rate", maximum=1.0)
    multiplier = statements.require_number(_ACCOUNTING, "noise multiplier", maximum=_MAX_MULTIPLIER)
    clip = statements.require_number(_ACCOUNTING, "clipping norm", maximum=1e100)
    delta = statements.require_number(_ACCOUNTING, "delta", maximum=0.5)
    steps = statements.require_number(_ACCOUNTING, "steps", maximum=_MAX_STEPS)
    epsilon = statements.require_number(_ACCOUNTING, "epsilon, one record made empty", maximum=_MAX_EPSILON)
    names = ("sampling rate", "steps", "noise multiplier", "clipping norm", "delta")
    choices = dict.fromkeys(names, Stated(OWNERS_CHOICE))
    # Of one record, whose batches have so many records on average: what is spent follows from the rate alone.
    plan = TrainingPlan("poisson", 1, rate, max(int(steps), 1), multiplier, clip)
    if steps != plan.steps or not _is_spent_within(plan, epsilon, delta):
        choices["epsilon, one record made empty"] = Stated("", "steps and noise spend more than this")
        choices["epsilon, replace one record"] = Stated("not computed, since the other epsilon is wrong")
        return {_ACCOUNTING: choices, _PROTECTION: Stated("", "it does not follow from the accounting")}
    adjacency, adjacency_mark = statements.choose((EMPTY_RECORD, EMPTY_PLACE), EMPTY_RECORD, _PROTECTION, "adjacency")
    verdict = build_training_verdict(plan, delta, adjacency)
    guarantee = verdict.guarantee
    protection: dict[str, Any] = {
        "guarantee": str(guarantee),
        "unit": guarantee.unit,
        "adjacency": adjacency_mark,
        "status": PROVED_IDEAL,
        "source": guarantee.source,
        "verdict": {**verdict.to_dict(), "seconds": Stated("how long the owner's proof took")},
    }
    if _CHOICE in statements.get_object(_PROTECTION):
        protection[_CHOICE] = statements.is_chosen_from_data(_PROTECTION, _CHOICE)[1]
    return {_ACCOUNTING: {**describe_accounting(plan, delta), **choices}, _PROTECTION: protection}


def _is_spent_within(plan: TrainingPlan, epsilon: float, delta: float) -> bool:
    """Whether a run spends no more than an epsilon.

    Losses far above a budget take time and memory without bound: steps grow until they exceed what is stated.
    """
    if plan.noise_multiplier < _MIN_MULTIPLIER:
        return False
    part = dataclasses.replace(plan, steps=1)
    try:
        while compute_poisson_epsilon(part, delta) <= epsilon * (1 + TOLERANCE):
            if part == plan:
                return True
            part = dataclasses.replace(plan, steps=min(4 * part.steps, plan.steps))
    except (ValueError, ArithmeticError):  # rate or delta are too small for floats
        pass
    return False
