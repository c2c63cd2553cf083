"""Guessing games: inputs, the distances between them, and how sure a guess may be under a claim.

A trial draws one of K inputs uniformly, runs the mechanism once, and shows the output to an attacker, who names the
input or abstains. If P[y|i] <= exp(epsilon d_ij) P[y|j] for every output y and all inputs i and j of the trial, then
for every output the guess i is right with probability at most::

    cap_i(epsilon) = 1 / sum_j exp(-epsilon d_ij)        (for two inputs: sigmoid(epsilon d))

because P[i|y] = P[y|i] / sum_j P[y|j], and P[y|j] >= exp(-epsilon d_ij) P[y|i]. So the number of right guesses is
stochastically at most a sum of independent Bernoulli(cap). Every bound in `deniable.auditing.bounds` follows from that,
whatever the attacker does, as long as each trial's input is drawn afresh and the attacker was fitted on other trials.

Two inputs are the coin-flip game (the precision of Habernal 2022, Section 4, with an exact interval), more are an
identification game, and trials of different pairs pool, each with its own cap.
"""

import dataclasses
import math
import sys
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError, check_positive, make_parameter_error
from deniable.core.guarantees import ApproxDP, Guarantee, MetricDP, PureDP


@dataclasses.dataclass(frozen=True)
class Game:
    """The inputs of a game and how far apart they are.

    Attributes:
        inputs: M inputs.
        sets: (S, K) indices of the inputs among which one trial's input is drawn; a trial draws its set first.
        distances: (S, K, K) d_ij within each set, > 0 off the diagonal.
    """

    inputs: tuple[Any, ...]
    sets: IntArray
    distances: FloatArray

    def caps(self, epsilon: float) -> FloatArray:
        """Return (S, K): the largest chance that a guess is right, by set and guess."""
        with np.errstate(under="ignore", over="ignore"):
            caps: FloatArray = 1 / np.exp(-epsilon * self.distances).sum(axis=2)
        return caps

    @property
    def unit(self) -> float:
        """The epsilon at which the nearest two inputs lose 1."""
        return 1 / float(self.distances[self.distances > 0].min())

    def posterior(self, scores: FloatArray, sets: IntArray) -> FloatArray:
        """Return (m, K): the probability of each input of a trial's set, from log-likelihoods (m, M)."""
        set_scores = np.take_along_axis(scores, self.sets[sets], axis=1)
        likelihood = np.exp(set_scores - set_scores.max(axis=1, keepdims=True))
        posterior: FloatArray = likelihood / likelihood.sum(axis=1, keepdims=True)
        return posterior


@dataclasses.dataclass(frozen=True)
class AuditClaim:
    """What is tested.

    Attributes:
        guarantee: the guarantee claimed, its epsilon per unit of distance.
        alpha: probability of a false refutation, 1 - confidence.
    """

    guarantee: Guarantee
    alpha: float

    @property
    def epsilon(self) -> float:
        """The epsilon claimed, per unit of distance."""
        return self.guarantee.epsilon

    @property
    def delta(self) -> float:
        """The delta claimed; 0 for a guarantee without one."""
        return getattr(self.guarantee, "delta", 0.0)


@dataclasses.dataclass(frozen=True)
class Score:
    """What an attacker guessed: counts by set and by the input named.

    Attributes:
        right: (S, K) right guesses.
        guesses: (S, K) all guesses.
        trials: all trials, those without a guess included.
    """

    right: IntArray
    guesses: IntArray
    trials: int

    def __add__(self, other: "Score") -> "Score":
        """Return the counts of both."""
        return Score(self.right + other.right, self.guesses + other.guesses, self.trials + other.trials)


def make_coins(owner: str, seed: object) -> np.random.Generator:
    """Return an audit's own randomness, unlike any stream that a mechanism under audit derives from the same seed.

    Raises:
        InputError: a seed that is neither None, for fresh coins, nor an int of at least 0.
    """
    if seed is None:
        return np.random.default_rng()
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise make_parameter_error(owner, "seed", "an int of at least 0 or None", seed)
    return np.random.default_rng(np.random.SeedSequence(int(seed), spawn_key=_COIN_SPAWN_KEY))


def make_coin_game(inputs: tuple[Any, Any], distance: float) -> Game:
    """Return the game of two inputs."""
    return make_pooled_game(inputs, [(0, 1)], [distance])


def make_pooled_game(inputs: tuple[Any, ...], pairs: list[tuple[int, int]], distances: list[float]) -> Game:
    """Return the game that draws a pair first, then one of its two inputs."""
    distance_matrices = np.zeros((len(pairs), 2, 2))
    distance_matrices[:, 0, 1] = distance_matrices[:, 1, 0] = [
        _check_positive_distance(distance) for distance in distances
    ]
    return Game(inputs, np.array(pairs, dtype=np.int64), distance_matrices)


def make_identification_game(inputs: tuple[Any, ...], distances: FloatArray) -> Game:
    """Return the game of identifying one of K inputs, at distances (K, K)."""
    count = len(inputs)
    if distances.shape != (count, count):
        raise InputError(f"The distances must be an array ({count}, {count}) for {count} candidates. Got "
                         f"{distances.shape}.")  # fmt: skip
    for i, j in zip(*np.nonzero(~np.eye(count, dtype=bool)), strict=True):
        _check_positive_distance(float(distances[i, j]))
    distance_matrix = np.where(np.eye(count, dtype=bool), 0.0, distances)
    if (distance_matrix != distance_matrix.T).any():
        raise InputError("The distances of candidates must be symmetric: d(x, x') = d(x', x).")
    return Game(inputs, np.arange(count)[None, :], distance_matrix[None])


def _check_positive_distance(value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"A distance between two inputs must be a float in (0, inf). Got {value!r}.")
    return value


_COIN_SPAWN_KEY = tuple(b"coins of an audit")
_CLAIM_SOURCE = "the claim under audit"
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
        return make_coin_game(
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
    return make_identification_game(inputs, distance_matrix)


def _build_pooled_game(pairs: Sequence[tuple[Any, Any]], distance: Any) -> Game:  # noqa: ANN401 - checked here
    inputs: list[Any] = []
    index_pairs = []
    pairs = list(pairs) if isinstance(pairs, Iterable) else pairs
    try:
        for first, second in pairs:
            index_pairs.append((_index_input(inputs, first), _index_input(inputs, second)))
    except (TypeError, ValueError):
        raise make_parameter_error("audit", "pairs", "pairs of inputs", pairs) from None
    if not index_pairs:
        raise make_parameter_error("audit", "pairs", "at least one pair of inputs", pairs)
    if callable(distance):
        distances = [_check_pair_distance(distance(first, second)) for first, second in pairs]
    else:
        distance_array = _parse_distances(distance)
        distances = distance_array.tolist() if distance_array.ndim else [float(distance_array)] * len(index_pairs)
        if distance_array.ndim > 1 or len(distances) != len(index_pairs):
            raise InputError(
                f"audit takes one distance for each pair. Got shape {distance_array.shape} for {len(index_pairs)}."
            )
    return make_pooled_game(tuple(inputs), index_pairs, distances)


def _index_input(inputs: list[Any], value: Any) -> int:  # noqa: ANN401 - any input
    """Return the index of an input; it is appended unless it is a text that is listed already."""
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


def build_claim(claim: object, delta: object, confidence: object, game: Game) -> AuditClaim:
    """Return what is to be tested on the inputs of a game, or raise `InputError` for a number outside its domain."""
    for name, value, low, high, expected in (
        ("claim", claim, -math.ulp(0.0), sys.float_info.max, "a float in [0, inf)"),
        ("delta", delta, -math.ulp(0.0), 1.0, "a float in [0, 1)"),
        ("confidence", confidence, 0.0, 1.0, "a float in (0, 1)"),
    ):
        if isinstance(value, bool) or not isinstance(value, Real) or not low < value < high:  # type: ignore[operator]  # numbers compare
            raise make_parameter_error("audit", name, expected, value)
    return AuditClaim(_state_guarantee(float(claim), float(delta), game), 1 - float(confidence))  # type: ignore[arg-type]  # checked above


def _state_guarantee(epsilon: float, delta: float, game: Game) -> Guarantee:
    """Return the guarantee that a claim about the inputs of a game makes: metric where distances are not all 1."""
    is_metric = bool((game.distances[game.distances > 0] != 1).any())
    adjacency = "the inputs of the audit"
    if delta > 0:
        adjacency += ", epsilon per unit of their distance" if is_metric else ""
        return ApproxDP(epsilon, delta, _CLAIM_SOURCE, "claimed", adjacency=adjacency)
    if is_metric:
        return MetricDP(epsilon, "distance of the audit", _CLAIM_SOURCE, "claimed", unit="record", adjacency=adjacency)
    return PureDP(epsilon, _CLAIM_SOURCE, "claimed", adjacency=adjacency)


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
