"""A search for losses in large spaces: every pair of inputs at the output y = w, some pairs at all outputs."""

import heapq
import itertools
import math
import time
from typing import NamedTuple

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.space.space import Space
from deniable.words.laws.law import Finding, RowFunction
from deniable.words.laws.matrix import get_distance_error
from deniable.words.laws.tables import LOGARITHM_ERROR, compute_table_entries, find_worst_output

_WITNESS_COUNT = 8
"""Worst pairs, and as many nearest ones, that are compared at all outputs where others are at one alone."""


class _InputPair(NamedTuple):
    """Two inputs, and what they spend at the output y = w by the tables."""

    epsilon: float
    distance: float
    input: int
    other: int


def search_own_outputs(space: Space, rows: RowFunction, workers: int | None = None) -> Finding:
    """Return the largest loss found in the integer tables of a law; its upper bound is infinite.

    All pairs are compared at the output y = w, where most laws lose most, and the worst of them at all outputs. Where
    rounding is most of a loss, near pairs lose most, and not at y = w: the nearest are compared at all outputs too.
    """
    start = time.perf_counter()
    pairs = _compare_own_outputs(space, rows, workers)
    worst_pairs = heapq.nlargest(_WITNESS_COUNT, pairs, key=lambda pair: pair.epsilon)
    nearest_pairs = heapq.nsmallest(_WITNESS_COUNT, pairs, key=lambda pair: pair.distance)

    def compare_outputs(pair: _InputPair) -> Finding:
        loss = find_worst_output(space, rows, pair.input, pair.other)
        return Finding(
            epsilon=math.inf,
            lower_bound=max(loss.nats - LOGARITHM_ERROR, 0.0) / (pair.distance + get_distance_error(space)),
            input=loss.input,
            other=loss.other,
            output=loss.output,
            distance=pair.distance,
            loss=loss.nats,
            seconds=time.perf_counter() - start,
        )

    return max(map(compare_outputs, worst_pairs + nearest_pairs), key=lambda finding: finding.lower_bound)


def _compare_own_outputs(space: Space, rows: RowFunction, workers: int | None) -> list[_InputPair]:
    """Return for every input the other that loses most at its own output y = w, and the nearest other."""
    points = range(space.point_count)

    def compute_tables(first: int, distances: FloatArray) -> FloatArray:
        block = np.arange(first, first + len(distances))
        return compute_table_entries(rows(block, distances)).astype(float)

    def compute_own_entries(first: int, distances: FloatArray) -> FloatArray:
        own_entries: FloatArray = np.diagonal(compute_tables(first, distances), offset=first).copy()
        return own_entries

    log_own_entries = np.log(np.concatenate(space.map_row_blocks(compute_own_entries, points, workers)))

    def compare_block(first: int, distances: FloatArray) -> list[_InputPair]:
        separations = distances.copy()
        separations[np.arange(len(separations)), first + np.arange(len(separations))] = np.inf
        losses = log_own_entries - np.log(compute_tables(first, distances)) - LOGARITHM_ERROR
        ratios = losses / (separations + get_distance_error(space))
        pairs = []
        for i, candidates in enumerate(
            zip(ratios.argmax(axis=1).tolist(), separations.argmin(axis=1).tolist(), strict=True)
        ):
            pairs += [_InputPair(float(ratios[i, w]), float(separations[i, w]), w, first + i) for w in candidates]
        return pairs

    return list(itertools.chain.from_iterable(space.map_row_blocks(compare_block, points, workers)))
