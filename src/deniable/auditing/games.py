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

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class Game:
    """The inputs of a game and how far apart they are.

    Attributes:
        inputs: M inputs.
        sets: (S, K) numbers of the inputs among which one trial's input is drawn; a trial draws its set first.
        distances: (S, K, K) d_ij within each set, > 0 off the diagonal.
    """

    inputs: tuple[Any, ...]
    sets: Numbers
    distances: Array

    def caps(self, epsilon: float) -> Array:
        """Return (S, K): the largest chance that a guess is right, by set and guess."""
        with np.errstate(under="ignore", over="ignore"):
            caps: Array = 1 / np.exp(-epsilon * self.distances).sum(axis=2)
        return caps

    @property
    def unit(self) -> float:
        """The epsilon at which the nearest two inputs lose 1."""
        return 1 / float(self.distances[self.distances > 0].min())

    def posterior(self, scores: Array, sets: Numbers) -> Array:
        """Return (m, K): the probability of each input of a trial's set, from log-likelihoods (m, M)."""
        own = np.take_along_axis(scores, self.sets[sets], axis=1)
        likelihood = np.exp(own - own.max(axis=1, keepdims=True))
        posterior: Array = likelihood / likelihood.sum(axis=1, keepdims=True)
        return posterior


@dataclasses.dataclass(frozen=True)
class Claim:
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

    right: Numbers
    guesses: Numbers
    trials: int

    def __add__(self, other: "Score") -> "Score":
        """Return the counts of both."""
        return Score(self.right + other.right, self.guesses + other.guesses, self.trials + other.trials)


def coin(inputs: tuple[Any, Any], distance: float) -> Game:
    """Return the game of two inputs."""
    return pooled(inputs, [(0, 1)], [distance])


def pooled(inputs: tuple[Any, ...], pairs: list[tuple[int, int]], distances: list[float]) -> Game:
    """Return the game that draws a pair first, then one of its two inputs."""
    apart = np.zeros((len(pairs), 2, 2))
    apart[:, 0, 1] = apart[:, 1, 0] = [_distance(given) for given in distances]
    return Game(inputs, np.array(pairs, dtype=np.int64), apart)


def candidates(inputs: tuple[Any, ...], distances: Array) -> Game:
    """Return the game of identifying one of K inputs, at distances (K, K)."""
    count = len(inputs)
    if distances.shape != (count, count):
        raise InputError(f"The distances must be an array ({count}, {count}) for {count} candidates. Got "
                         f"{distances.shape}.")  # fmt: skip
    for i, j in zip(*np.nonzero(~np.eye(count, dtype=bool)), strict=True):
        _distance(float(distances[i, j]))
    apart = np.where(np.eye(count, dtype=bool), 0.0, distances)
    if (apart != apart.T).any():
        raise InputError("The distances of candidates must be symmetric: d(x, x') = d(x', x).")
    return Game(inputs, np.arange(count)[None, :], apart[None])


def _distance(value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"A distance between two inputs must be a float in (0, inf). Got {value!r}.")
    return value
