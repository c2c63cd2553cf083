"""What an audit is given: inputs and distances that make a game, a claim, a method."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from deniable.auditing import games
from deniable.auditing.games import Claim, Game
from deniable.errors import InputError, bad_parameter

Method = Literal["auto", "coin", "candidates", "pooled", "anytime", "precision"]
METHODS: tuple[Method, ...] = ("auto", "coin", "candidates", "pooled", "anytime", "precision")


def game_of(
    x: Any,  # noqa: ANN401 - any input
    x_prime: Any,  # noqa: ANN401 - any input
    candidates: Sequence[Any] | None,
    pairs: Sequence[tuple[Any, Any]] | None,
    distance: Any,  # noqa: ANN401 - checked here
) -> Game:
    """Return the game that the inputs describe.

    Raises:
        InputError: not exactly one kind of inputs, too few of them, or distances that do not fit.
    """
    two = x is not None or x_prime is not None
    if two + (candidates is not None) + (pairs is not None) != 1:
        raise InputError("audit takes either two inputs x and x_prime, or pairs, or candidates.")
    if two:
        if x is None or x_prime is None:
            raise InputError("audit takes two inputs: x and x_prime.")
        return games.coin((x, x_prime), distance(x, x_prime) if callable(distance) else _number(distance))
    if pairs is not None:
        return _pooled(pairs, distance)
    inputs = tuple(candidates or ())
    if len(inputs) < 2:  # noqa: PLR2004 - a choice
        raise bad_parameter("audit", "candidates", "at least two inputs", candidates)
    if callable(distance):
        apart = np.array([[0.0 if a is b else float(distance(a, b)) for b in inputs] for a in inputs])
    else:
        given = np.asarray(distance, dtype=float)
        apart = given if given.ndim else np.where(np.eye(len(inputs), dtype=bool), 0.0, float(given))
    return games.candidates(inputs, apart)


def _pooled(pairs: Sequence[tuple[Any, Any]], distance: Any) -> Game:  # noqa: ANN401 - checked here
    inputs: list[Any] = []
    numbers = []
    try:
        for one, other in pairs:
            numbers.append((_numbered(inputs, one), _numbered(inputs, other)))
    except (TypeError, ValueError):
        raise bad_parameter("audit", "pairs", "pairs of inputs", pairs) from None
    if not numbers:
        raise bad_parameter("audit", "pairs", "at least one pair of inputs", pairs)
    if callable(distance):
        apart = [float(distance(one, other)) for one, other in pairs]
    else:
        given = np.asarray(distance, dtype=float)
        apart = given.tolist() if given.ndim else [float(given)] * len(numbers)
    if len(apart) != len(numbers):
        raise InputError(f"audit takes one distance for each pair. Got {len(apart)} for {len(numbers)}.")
    return games.pooled(tuple(inputs), numbers, apart)


def _numbered(inputs: list[Any], given: Any) -> int:  # noqa: ANN401 - any input
    """Return the number of an input, listed anew unless it is a text met before."""
    if isinstance(given, str) and given in inputs:
        return inputs.index(given)
    inputs.append(given)
    return len(inputs) - 1


def _number(value: Any) -> float:  # noqa: ANN401 - checked here
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise bad_parameter("audit", "distance", "a float in (0, inf) for two inputs", value)
    return float(value)


def claim_of(claim: object, delta: object, confidence: object) -> Claim:
    """Return what is to be tested, or raise `InputError` for a number outside its domain."""
    for name, value, low, high, expected in (
        ("claim", claim, -math.ulp(0.0), math.inf, "a float in [0, inf)"),
        ("delta", delta, -math.ulp(0.0), 1.0, "a float in [0, 1)"),
        ("confidence", confidence, 0.0, 1.0, "a float in (0, 1)"),
    ):
        fits = isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and low < value < high
        if not fits:
            raise bad_parameter("audit", name, expected, value)
    return Claim(float(claim), float(delta), 1 - float(confidence))  # type: ignore[arg-type]  # checked above


def check_method(method: str, game: Game, claim: Claim, many: bool, paired: bool) -> None:  # noqa: FBT001 - facts
    """Raise `InputError` for a method that is not known, or does not fit the inputs or the claim."""
    if method not in METHODS:
        raise bad_parameter("audit", "method", f"one of {', '.join(METHODS)}", method)
    needed = "candidates" if many else "pooled" if paired else "coin"
    if method in {"coin", "candidates", "pooled"} and method != needed:
        raise InputError(f"The method {method!r} does not fit the inputs given: they make a game of {needed!r}.")
    if claim.delta > 0 and (method == "anytime" or game.sets.shape[1] > 2):  # noqa: PLR2004 - a coin
        raise InputError("A claim with delta > 0 is audited on two inputs or pairs, with a fixed number of samples.")
