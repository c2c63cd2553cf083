"""What each epsilon of the ladder means: the share of words that an attacker guesses, and the share that stays."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from deniable.serve.offers import Offer, WordOffer


def describe_ladder(mechanism: str, rungs: Mapping[float, Offer | str | None]) -> dict[str, Any]:
    """Return the ladder of a mechanism as JSON.

    Args:
        mechanism: its name.
        rungs: for each epsilon its offer, or why there is none, or None while it is computed.
    """
    return {
        "mechanism": mechanism,
        "is_complete": all(rung is not None for rung in rungs.values()),
        "ladder": [_describe_rung(epsilon, rung) for epsilon, rung in sorted(rungs.items())],
    }


def describe_outcomes(offer: WordOffer) -> dict[str, Any] | None:
    """Return what words become by frequency, and which is exposed most; None where no law is known."""
    if offer.outcomes is None:
        return None
    return {
        **dataclasses.asdict(offer.outcomes),
        "by_frequency": offer.outcomes.describe_bands(),
        "most_exposed": offer.outcomes.describe_exposed(),
    }


def _describe_rung(epsilon: float, rung: Offer | str | None) -> dict[str, Any]:
    """Return one epsilon; its state is ready, computing, or unavailable."""
    if isinstance(rung, WordOffer):
        return {
            "epsilon": epsilon,
            "state": "ready",
            "recovery": None if rung.outcomes is None else rung.outcomes.guessed,
            "kept": rung.kept,
            "outcomes": describe_outcomes(rung),
            "word_loss": rung.word_loss,
            "attacker": rung.attacker,
        }
    if isinstance(rung, Offer):
        return {"epsilon": epsilon, "state": "unavailable", "reason": "texts are rewritten as a whole"}
    if rung is not None:
        return {"epsilon": epsilon, "state": "unavailable", "reason": rung}
    return {"epsilon": epsilon, "state": "computing"}
