"""Guessing games: what a claim allows an attacker to get right, and what their successes refute.

A trial draws one of K inputs by fair chance, runs the mechanism once, and shows the output to an
attacker, who names the input or abstains. If P[o|i] <= exp(epsilon d_ij) P[o|j] for all of them,
then whatever the output is, the guess i is right with probability at most

    cap_i(epsilon) = 1 / sum_j exp(-epsilon d_ij)        (for two inputs: sigmoid(epsilon d))

so the number of right guesses lies stochastically below a sum of independent Bernoulli(cap). Every
bound here follows from that, whatever the attacker does, as long as each trial's input is drawn
afresh and the attacker was fitted on other trials. Two inputs are the coin-flip game (the precision
of Habernal 2022, Section 4, with an exact interval), more are an identification game, and trials of
different pairs pool, each with its own cap.
"""

import dataclasses
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class Game:
    """The inputs of a game and how far apart they are.

    Attributes:
        inputs: M inputs.
        sets: (S, K) numbers of the inputs among which one trial's input is drawn; a trial draws its set first.
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
        epsilon: per unit of distance.
        delta: of an (epsilon, delta) claim, else 0.
        alpha: probability of a false refutation, 1 - confidence.
    """

    epsilon: float
    delta: float
    alpha: float


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
