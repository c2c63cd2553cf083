"""What an audit is given: inputs and distances that make a game, a claim, a method."""

import math
import sys
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from deniable.auditing import games
from deniable.auditing.games import Claim, Game
from deniable.errors import InputError, bad_parameter, positive

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
        return games.coin((x, x_prime), _number(distance(x, x_prime) if callable(distance) else distance))
    if pairs is not None:
        return _pooled(pairs, distance)
    try:
        inputs = tuple(candidates)  # type: ignore[arg-type]  # not None here
    except TypeError:
        raise bad_parameter("audit", "candidates", "a sequence of at least two inputs", candidates) from None
    if len(inputs) < 2:  # noqa: PLR2004 - a choice
        raise bad_parameter("audit", "candidates", "a sequence of at least two inputs", candidates)
    if callable(distance):
        apart = np.array([[0.0 if a is b else _number(distance(a, b)) for b in inputs] for a in inputs])
    else:
        given = _numbers(distance)
        apart = given if given.ndim else np.where(np.eye(len(inputs), dtype=bool), 0.0, float(given))
    return games.candidates(inputs, apart)


def _pooled(pairs: Sequence[tuple[Any, Any]], distance: Any) -> Game:  # noqa: ANN401 - checked here
    inputs: list[Any] = []
    numbers = []
    pairs = list(pairs) if isinstance(pairs, Iterable) else pairs
    try:
        for one, other in pairs:
            numbers.append((_numbered(inputs, one), _numbered(inputs, other)))
    except (TypeError, ValueError):
        raise bad_parameter("audit", "pairs", "pairs of inputs", pairs) from None
    if not numbers:
        raise bad_parameter("audit", "pairs", "at least one pair of inputs", pairs)
    if callable(distance):
        apart = [_number(distance(one, other)) for one, other in pairs]
    else:
        given = _numbers(distance)
        apart = given.tolist() if given.ndim else [float(given)] * len(numbers)
        if given.ndim > 1 or len(apart) != len(numbers):
            raise InputError(f"audit takes one distance for each pair. Got shape {given.shape} for {len(numbers)}.")
    return games.pooled(tuple(inputs), numbers, apart)


def _numbered(inputs: list[Any], given: Any) -> int:  # noqa: ANN401 - any input
    """Return the number of an input, listed anew unless it is a text met before."""
    if isinstance(given, str) and given in inputs:
        return inputs.index(given)
    inputs.append(given)
    return len(inputs) - 1


def _number(value: Any) -> float:  # noqa: ANN401 - checked here
    """Return the distance of two inputs."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    return positive("audit", "distance", value)


def _numbers(value: Any) -> npt.NDArray[np.float64]:  # noqa: ANN401 - checked here
    """Return distances as an array, or one number."""
    expected = "a float, an array of floats or a function of two inputs"
    try:
        given = np.asarray(value)
    except ValueError:
        raise bad_parameter("audit", "distance", expected, value) from None
    if given.dtype.kind not in "iuf":
        raise bad_parameter("audit", "distance", expected, value)
    return given.astype(np.float64)


def claim_of(claim: object, delta: object, confidence: object) -> Claim:
    """Return what is to be tested, or raise `InputError` for a number outside its domain."""
    for name, value, low, high, expected in (
        ("claim", claim, -math.ulp(0.0), sys.float_info.max, "a float in [0, inf)"),
        ("delta", delta, -math.ulp(0.0), 1.0, "a float in [0, 1)"),
        ("confidence", confidence, 0.0, 1.0, "a float in (0, 1)"),
    ):
        if isinstance(value, bool) or not isinstance(value, Real) or not low < value < high:  # type: ignore[operator]  # numbers compare
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
