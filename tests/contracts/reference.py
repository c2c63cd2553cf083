"""Distances by the textbook, one row of differences at a time, to hold the package's own against."""

import numpy as np
from scipy.sparse import csgraph

DEFAULT_NEIGHBOURS = 10
UNIT, CONVERSION = 2.0**-7, 0.75
"""A geodesic length is a whole number of units; an edge has 0.75 of its Euclidean length, rounded up."""


def geodesic(vectors, neighbours=DEFAULT_NEIGHBOURS):
    """Return (n, n) lengths of shortest paths, edge by edge and by Floyd and Warshall."""
    count = len(vectors)
    lengths = np.maximum(1, np.ceil(distances(vectors) * CONVERSION / UNIT))
    edges = set()
    for i, row in enumerate(lengths):
        others = sorted({*range(count)} - {i}, key=lambda j: (row[j], j))
        edges |= {(min(i, j), max(i, j)) for j in others[:neighbours]}
    part_of = list(range(count))

    def join(i, j):
        old, new = part_of[i], part_of[j]
        part_of[:] = [new if part == old else part for part in part_of]
        return old != new

    for i, j in edges:
        join(i, j)
    apart = [(i, j) for j in range(count) for i in range(j) if part_of[i] != part_of[j]]
    for edge in sorted(apart, key=lambda edge: (lengths[edge], edge)):
        if join(*edge):
            edges.add(edge)
    matrix = np.full((count, count), np.inf)
    for i, j in edges:
        matrix[i, j] = matrix[j, i] = lengths[i, j]
    return csgraph.floyd_warshall(matrix) * UNIT


def distances(vectors, metric="euclidean"):
    """Return (n, n) distances from the differences themselves, in float64."""
    if metric == "geodesic":
        return geodesic(vectors)
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
