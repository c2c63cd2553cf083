"""Distances by the textbook, one row of differences at a time, to hold the package's own against."""

import numpy as np


def distances(vectors, metric="euclidean"):
    """Return (n, n) distances from the differences themselves, in float64."""
    rows = []
    # All norms in one call: one vector's alone and the same vector's among others may differ in the last bit, and a
    # vector is then not at distance 0 from itself.
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True) if metric == "angular" else vectors
    for vector, unit in zip(vectors, units, strict=True):
        differences = vectors - vector
        if metric == "euclidean":
            rows.append(np.linalg.norm(differences, axis=1))
        elif metric == "manhattan":
            rows.append(np.abs(differences).sum(axis=1))
        elif metric == "chebyshev":
            rows.append(np.abs(differences).max(axis=1))
        else:
            # Kahan's form of the angle, exact for small ones too.
            rows.append(2 * np.arctan2(np.linalg.norm(units - unit, axis=1), np.linalg.norm(units + unit, axis=1)))
    return np.array(rows)


def exceeds(log_law, epsilon, distance):
    """Return by how much the worst pair of inputs and output breaks metric DP, in nats; <= 0 if none does.

    Args:
        log_law: (n, n) logarithms of P(y|w), rows are inputs.
        epsilon: the claim.
        distance: (n, n).
    """
    return max(float((row - log_law - epsilon * distance[w][:, None]).max()) for w, row in enumerate(log_law))
