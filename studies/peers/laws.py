"""The law of the truncated Gumbel mechanism as `mldp-text` simulates it, by quadrature. Numpy only."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

Matrix = np.ndarray[Any, np.dtype[np.float64]]
FEW, MANY = 3, 200  # nodes in a short interval, in one of the whole range
RAREST = 1e-300


@dataclass(frozen=True)
class TruncatedGumbel:
    """k candidates, k ~ Poisson(mean) given k <= most; the least of score + Gumbel(0, scale) noise is drawn.

    Attributes:
        mean: of the Poisson law.
        most: its largest value kept.
        scale: of the Gumbel law.
        bound: noise is drawn anew until its absolute value is at most this.
    """

    mean: float
    most: int
    scale: float
    bound: float

    @property
    def counts(self) -> Matrix:
        """P(k = 0), P(k = 1), ... until they are below `RAREST`."""
        k = np.arange(int(self.most) + 1)
        logs = k * math.log(self.mean) - self.mean - np.array([math.lgamma(i + 1) for i in k])
        shares: Matrix = np.exp(logs[(logs > math.log(RAREST)) | (k < self.mean)])
        law: Matrix = shares / shares.sum()
        return law

    @property
    def none(self) -> float:
        """The probability of no candidate."""
        return float(self.counts[0])

    def outputs(self, scores: Matrix) -> Matrix:
        """Return P(output = i-th candidate) (c,) of the scores, nearest first; with `none` they sum to 1.

        P(i) = integral over t of f(t - s_i) sum_{k >= i} P(k) prod_{j <= k, j != i} S(t - s_j).
        """
        counts = self.counts
        most = min(len(counts) - 1, len(scores))
        late = np.append(counts[1:most], counts[most:].sum())  # more than all candidates are all of them
        scores = scores[:most]
        t, weights = self._nodes(scores)
        density, survival = self._noise(t[:, None] - scores[None, :])
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = late * np.exp(np.cumsum(np.log(survival), axis=1))
            # for each i the sum over k >= i, from the last k backwards
            parts = np.cumsum(parts[:, ::-1], axis=1)[:, ::-1]
            parts = np.where(survival > 0, density / survival * parts, 0.0)
        law: Matrix = weights @ parts
        return law

    def _nodes(self, scores: Matrix) -> tuple[Matrix, Matrix]:
        """Return nodes and weights: Gauss-Legendre between the points at which the integrand is not smooth.

        The least noisy score lies between the least score - bound and the least score + bound; within
        these, a candidate's density begins at its score - bound.
        """
        last = float(scores[0]) + self.bound
        edges = np.unique([*(edge for edge in (scores - self.bound).tolist() if edge < last), last])
        nodes, weights = [], []
        for low, high in itertools.pairwise(edges):
            x, w = np.polynomial.legendre.leggauss(FEW + int(MANY * (high - low) / (2 * self.bound)))
            nodes.append((low + high) / 2 + (high - low) / 2 * x)
            weights.append((high - low) / 2 * w)
        return np.concatenate(nodes), np.concatenate(weights)

    def _noise(self, x: Matrix) -> tuple[Matrix, Matrix]:
        """Return density and survival of the noise at x."""
        low, high = (math.exp(-math.exp(-edge / self.scale)) for edge in (-self.bound, self.bound))
        inside = np.abs(x) <= self.bound
        z = np.clip(x, -self.bound, self.bound) / self.scale
        density = np.where(inside, np.exp(-z - np.exp(-z)) / self.scale / (high - low), 0.0)
        upper = -np.expm1(-np.exp(-z)) - (1 - high)
        survival = np.clip(upper / (high - low), 0.0, 1.0)
        return density, survival
