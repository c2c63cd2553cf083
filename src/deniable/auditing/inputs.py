"""What an audit is given: inputs and distances that make a game, a claim, a method."""

import math
import sys
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from deniable.auditing import games
from deniable.auditing.games import AuditClaim, Game
from deniable.errors import InputError, check_positive, make_parameter_error

AuditMethod = Literal["auto", "coin", "candidates", "pooled", "anytime", "precision"]
AUDIT_METHODS: tuple[AuditMethod, ...] = ("auto", "coin", "candidates", "pooled", "anytime", "precision")


def build_game(
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
    has_two_inputs = x is not None or x_prime is not None
    if has_two_inputs + (candidates is not None) + (pairs is not None) != 1:
        raise InputError("audit takes either two inputs x and x_prime, or pairs, or candidates.")
    if has_two_inputs:
        if x is None or x_prime is None:
            raise InputError("audit takes two inputs: x and x_prime.")
        return games.make_coin_game(
            (x, x_prime), _check_pair_distance(distance(x, x_prime) if callable(distance) else distance)
        )
    if pairs is not None:
        return _build_pooled_game(pairs, distance)
    try:
        inputs = tuple(candidates)  # type: ignore[arg-type]  # not None here
    except TypeError:
        raise make_parameter_error("audit", "candidates", "a sequence of at least two inputs", candidates) from None
    if len(inputs) < 2:  # noqa: PLR2004 - a choice
        raise make_parameter_error("audit", "candidates", "a sequence of at least two inputs", candidates)
    if callable(distance):
        distance_matrix = np.array(
            [[0.0 if a is b else _check_pair_distance(distance(a, b)) for b in inputs] for a in inputs]
        )
    else:
        distances = _parse_distances(distance)
        distance_matrix = (
            distances if distances.ndim else np.where(np.eye(len(inputs), dtype=bool), 0.0, float(distances))
        )
    return games.make_identification_game(inputs, distance_matrix)


def _build_pooled_game(pairs: Sequence[tuple[Any, Any]], distance: Any) -> Game:  # noqa: ANN401 - checked here
    inputs: list[Any] = []
    index_pairs = []
    pairs = list(pairs) if isinstance(pairs, Iterable) else pairs
    try:
        for one, other in pairs:
            index_pairs.append((_index_input(inputs, one), _index_input(inputs, other)))
    except (TypeError, ValueError):
        raise make_parameter_error("audit", "pairs", "pairs of inputs", pairs) from None
    if not index_pairs:
        raise make_parameter_error("audit", "pairs", "at least one pair of inputs", pairs)
    if callable(distance):
        distances = [_check_pair_distance(distance(one, other)) for one, other in pairs]
    else:
        distance_array = _parse_distances(distance)
        distances = distance_array.tolist() if distance_array.ndim else [float(distance_array)] * len(index_pairs)
        if distance_array.ndim > 1 or len(distances) != len(index_pairs):
            raise InputError(
                f"audit takes one distance for each pair. Got shape {distance_array.shape} for {len(index_pairs)}."
            )
    return games.make_pooled_game(tuple(inputs), index_pairs, distances)


def _index_input(inputs: list[Any], value: Any) -> int:  # noqa: ANN401 - any input
    """Return the number of an input, listed anew unless it is a text met before."""
    if isinstance(value, str) and value in inputs:
        return inputs.index(value)
    inputs.append(value)
    return len(inputs) - 1


def _check_pair_distance(value: Any) -> float:  # noqa: ANN401 - checked here
    """Return the distance of two inputs."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    return check_positive("audit", "distance", value)


def _parse_distances(value: Any) -> npt.NDArray[np.float64]:  # noqa: ANN401 - checked here
    """Return distances as an array, or one number."""
    expected = "a float, an array of floats or a function of two inputs"
    try:
        distances = np.asarray(value)
    except ValueError:
        raise make_parameter_error("audit", "distance", expected, value) from None
    if distances.dtype.kind not in "iuf":
        raise make_parameter_error("audit", "distance", expected, value)
    return distances.astype(np.float64)


def build_claim(claim: object, delta: object, confidence: object) -> AuditClaim:
    """Return what is to be tested, or raise `InputError` for a number outside its domain."""
    for name, value, low, high, expected in (
        ("claim", claim, -math.ulp(0.0), sys.float_info.max, "a float in [0, inf)"),
        ("delta", delta, -math.ulp(0.0), 1.0, "a float in [0, 1)"),
        ("confidence", confidence, 0.0, 1.0, "a float in (0, 1)"),
    ):
        if isinstance(value, bool) or not isinstance(value, Real) or not low < value < high:  # type: ignore[operator]  # numbers compare
            raise make_parameter_error("audit", name, expected, value)
    return AuditClaim(float(claim), float(delta), 1 - float(confidence))  # type: ignore[arg-type]  # checked above


def check_method(method: str, game: Game, claim: AuditClaim, has_candidates: bool, has_pairs: bool) -> None:  # noqa: FBT001 - facts
    """Raise `InputError` for a method that is not known, or does not fit the inputs or the claim."""
    if method not in AUDIT_METHODS:
        raise make_parameter_error("audit", "method", f"one of {', '.join(AUDIT_METHODS)}", method)
    fitting_method = "candidates" if has_candidates else "pooled" if has_pairs else "coin"
    if method in {"coin", "candidates", "pooled"} and method != fitting_method:
        raise InputError(
            f"The method {method!r} does not fit the inputs given: they make a game of {fitting_method!r}."
        )
    if claim.delta > 0 and (method == "anytime" or game.sets.shape[1] > 2):  # noqa: PLR2004 - a coin
        raise InputError("A claim with delta > 0 is audited on two inputs or pairs, with a fixed number of samples.")
