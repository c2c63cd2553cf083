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

What an audit tests, and the coins that it tosses.
"""

import dataclasses
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

import numpy as np

from deniable.auditing.outputs import Outputs
from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import (
    InputError,
    check_count,
    check_fraction,
    check_number_within,
    check_positive,
    make_parameter_error,
)
from deniable.core.guarantees import Guarantee

NoiseKind = Literal["any", "gaussian"]
"""What a claim of epsilon and delta rests on: nothing further, or Gaussian noise that was calibrated to them."""
CLAIM_SOURCE = "the claim under audit"
_OWNER = "an audit"
_COIN_SPAWN_KEY = tuple(b"coins of an audit")


@dataclasses.dataclass(frozen=True)
class Claim:
    """What is tested.

    Attributes:
        guarantee: as claimed, its epsilon per unit of distance where it is about distances.
        confidence: of the lower bound, in (0, 1).
        noise: ``any`` tests (epsilon, delta)-DP, whatever it comes from. ``gaussian`` tests the claim that Gaussian
            noise alone was calibrated to epsilon and delta, without sampling: it sees smaller violations, and its lower
            bound is the epsilon of the least Gaussian trade-off curve that is not refuted.

    Raises:
        InputError: a number outside its domain, or Gaussian noise without epsilon and delta.
    """

    guarantee: Guarantee
    confidence: float = 0.95
    noise: NoiseKind = "any"

    def __post_init__(self) -> None:
        check_number_within(_OWNER, "claim", self.epsilon, 0.0, sys.float_info.max)
        check_fraction(_OWNER, "delta", self.delta)
        check_positive(_OWNER, "confidence", self.confidence, upper=1.0)
        if self.noise not in get_args(NoiseKind):
            raise make_parameter_error(_OWNER, "noise", " or ".join(map(repr, get_args(NoiseKind))), self.noise)
        if self.noise == "gaussian" and not (self.delta > 0 and self.epsilon > 0):
            raise InputError(
                f"Gaussian noise gives an epsilon and a delta above 0. Got {self.guarantee}: take noise='any'."
            )

    @property
    def epsilon(self) -> float:
        """The epsilon claimed, per unit of distance."""
        return self.guarantee.epsilon

    @property
    def delta(self) -> float:
        """The delta claimed."""
        return self.guarantee.delta

    @property
    def alpha(self) -> float:
        """The chance of a false refutation."""
        return 1 - self.confidence


def make_coins(owner: str, seed: object) -> np.random.Generator:
    """An audit's own randomness, unlike any stream that a mechanism under audit derives from the same seed.

    Raises:
        InputError: a seed that is neither None, for fresh coins, nor an int of at least 0.
    """
    entropy = None if seed is None else check_count(owner, "seed", seed, 0)
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=_COIN_SPAWN_KEY))


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
        """(S, K): the largest chance that a guess is right, by set and guess."""
        with np.errstate(under="ignore", over="ignore"):
            caps: FloatArray = 1 / np.exp(-epsilon * self.distances).sum(axis=2)
        return caps

    @property
    def unit(self) -> float:
        """The epsilon at which the nearest two inputs lose 1."""
        return 1 / float(self.distances[self.distances > 0].min())

    def posterior(self, scores: FloatArray, sets: IntArray) -> FloatArray:
        """(m, K): the probability of each input of a trial's set, from log-likelihoods (m, M)."""
        set_scores = np.take_along_axis(scores, self.sets[sets], axis=1)
        likelihood = np.exp(set_scores - set_scores.max(axis=1, keepdims=True))
        posterior: FloatArray = likelihood / likelihood.sum(axis=1, keepdims=True)
        return posterior


@dataclasses.dataclass(frozen=True)
class Trials:
    """Trials of a game: outputs, the set of each, and the place of its input in the set."""

    outputs: Outputs
    sets: IntArray
    places: IntArray

    def append(self, later: "Trials") -> "Trials":
        """These trials and later ones."""
        outputs = self.outputs.append(later.outputs)
        return Trials(outputs, np.append(self.sets, later.sets), np.append(self.places, later.places))


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
        """The counts of both."""
        return Score(self.right + other.right, self.guesses + other.guesses, self.trials + other.trials)


def make_pooled_game(inputs: tuple[Any, ...], pairs: list[tuple[int, int]], distances: FloatArray) -> Game:
    """The game that draws a pair first, then one of its two inputs; of one pair, the coin-flip game."""
    matrices = np.zeros((len(pairs), 2, 2))
    matrices[:, 0, 1] = matrices[:, 1, 0] = distances
    return Game(inputs, np.array(pairs, dtype=np.int64), matrices)


def make_identification_game(inputs: tuple[Any, ...], distances: FloatArray) -> Game:
    """The game of identifying one of K inputs, at distances (K, K)."""
    matrix = np.where(np.eye(len(inputs), dtype=bool), 0.0, distances)
    if (matrix != matrix.T).any():
        raise InputError("The distances of candidates must be symmetric: d(x, x') = d(x', x).")
    return Game(inputs, np.arange(len(inputs))[None, :], matrix[None])


def build_game(
    pair: tuple[Any, Any],
    candidates: Sequence[Any] | None,
    pairs: Sequence[tuple[Any, Any]] | None,
    distance: Any,  # noqa: ANN401 - checked here
) -> Game:
    """The game that the inputs describe, ``pair`` being None twice where there are others.

    Raises:
        InputError: not exactly one kind of inputs, too few of them, or distances that do not fit.
    """
    has_pair = any(value is not None for value in pair)
    if has_pair + (candidates is not None) + (pairs is not None) != 1:
        raise InputError("audit takes either two inputs x and x_prime, or pairs, or candidates.")
    if candidates is not None:
        inputs = tuple(candidates) if isinstance(candidates, Iterable) else ()
        if len(inputs) < 2:  # noqa: PLR2004 - a choice
            raise make_parameter_error("audit", "candidates", "a sequence of at least two inputs", candidates)
        if callable(distance):
            distance = [
                [distance(one, other) if i != j else 0 for j, other in enumerate(inputs)]
                for i, one in enumerate(inputs)
            ]
        return make_identification_game(inputs, _read_distances(distance, (len(inputs), len(inputs))))
    if has_pair and any(value is None for value in pair):
        raise InputError("audit takes two inputs: x and x_prime.")
    try:
        given = [pair] if pairs is None else [(first, second) for first, second in pairs]
    except (TypeError, ValueError):
        given = []
    if not given:
        raise make_parameter_error("audit", "pairs", "at least one pair, a list of pairs of inputs", pairs)
    pooled: list[Any] = []
    numbers = [(_index_input(pooled, first), _index_input(pooled, second)) for first, second in given]
    if callable(distance):
        distance = [distance(first, second) for first, second in given]
    return make_pooled_game(tuple(pooled), numbers, _read_distances(distance, (len(given),)))


def _index_input(inputs: list[Any], value: Any) -> int:  # noqa: ANN401 - any input
    """The index of an input; it is appended unless it is a text that is listed already."""
    if isinstance(value, str) and value in inputs:
        return inputs.index(value)
    inputs.append(value)
    return len(inputs) - 1


def _read_distances(distance: Any, shape: tuple[int, ...]) -> FloatArray:  # noqa: ANN401 - checked here
    """Distances of the shape (P,) of pairs, or (K, K) of candidates, from a number or an array.

    Raises:
        InputError: they have another shape, or one between two inputs is no float in (0, inf).
    """
    try:
        values = np.asarray(distance)
    except ValueError:  # lists of several lengths
        values = np.empty(0)
    is_numeric = values.dtype.kind in "iuf" and values.shape in {(), shape}
    is_own = np.eye(shape[0], dtype=bool) if len(shape) > 1 else np.zeros(shape, dtype=bool)
    if not is_numeric or not (np.isfinite(values) & (values > 0) | is_own).all():
        expected = f"a float in (0, inf), an array {shape} of them, or a function of two inputs that returns one"
        raise make_parameter_error("audit", "distance", expected, distance)
    return np.broadcast_to(values.astype(np.float64), shape)


def state_guarantee(epsilon: float, delta: float, game: Game) -> Guarantee:
    """The guarantee that a claim about the inputs of a game makes: metric where distances are not all 1."""
    is_metric = bool((game.distances[game.distances > 0] != 1).any())
    metric = "distance of the audit" if is_metric else None
    return Guarantee(epsilon, CLAIM_SOURCE, "claimed", delta=delta, metric=metric, adjacency="the inputs of the audit")
