"""Distances by the textbook, one row of differences at a time, to hold the package's own against."""

import numpy as np
from scipy.sparse import csgraph

CLASS_STEPS = 8


def near_words(vectors, by="cosine", count=64):
    """Return the numbers of the ``count`` vectors nearest to each, by sorting them all."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    matrix = distances(vectors / np.where(lengths > 0, lengths, 1) if by == "cosine" else vectors)
    numbers = range(len(vectors))
    return [sorted({*numbers} - {i}, key=lambda j, row=row: (row[j], j))[:count] for i, row in enumerate(matrix)]


def regular_graph(lists, degree, places):
    """Return the neighbours of each word, in order, from lists of up to so many near words, edge by edge."""
    count = len(lists)
    if count <= degree + 1:
        return [[v for v in range(count) if v != u] for u in range(count)]
    ranks = [{v: place + 1 for place, v in enumerate(row)} for row in lists]

    def rank(u, v):
        return ranks[u].get(v, 2 * places)

    joined = [[] for _ in lists]
    pairs = {(rank(u, v) * rank(v, u), min(u, v), max(u, v)) for u in range(count) for v in lists[u]}
    for _, u, v in sorted(pairs):
        if max(len(joined[u]), len(joined[v])) < degree:
            joined[u].append(v)
            joined[v].append(u)

    def find_edge(u, v, candidates):
        edges = [
            (place + rank(v, b), place, k, a, b)
            for place, a in enumerate(candidates)
            if a not in {u, v, *joined[u]}
            for k, b in enumerate(joined[a])
            if b not in {u, v, *joined[v]}
        ]
        return min(edges)[3:] if edges else None

    waiting = []
    for u in sorted(range(count), key=lambda u: len(joined[u])):
        while len(joined[u]) < degree:
            if len(joined[u]) == degree - 1 and not waiting:
                waiting.append(u)
                break
            v = waiting.pop() if len(joined[u]) == degree - 1 else u
            onward = [[(u + step) % count] for step in range(count)]
            edge = next(filter(None, (find_edge(u, v, candidates) for candidates in (lists[u], *onward))), None)
            if edge is None:
                half = [*range(1, degree // 2 + 1)]
                return [sorted((u + step) % count for step in (*half, *(-step for step in half))) for u in range(count)]
            a, b = edge
            joined[a][joined[a].index(b)], joined[b][joined[b].index(a)] = u, v
            joined[u].append(a)
            joined[v].append(b)
    return [sorted(row) for row in joined]


def steps(neighbours, class_count=0, reach=5):
    """Return (n, n) steps from each word and hidden class to all others, by breadth-first search."""
    words = len(neighbours)
    matrix = np.full((words + class_count,) * 2, float(CLASS_STEPS))
    joined = np.zeros((words, words))
    for word, others in enumerate(neighbours):
        joined[word, others] = 1
    matrix[:words, :words] = np.minimum(csgraph.shortest_path(joined, unweighted=True), reach)
    np.fill_diagonal(matrix, 0)
    return matrix


def distances(vectors, metric="euclidean"):
    """Return (n, n) distances from the differences themselves, in float64."""
    if metric == "steps":
        return steps(regular_graph(near_words(vectors), 12, min(64, len(vectors) - 1)))
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
