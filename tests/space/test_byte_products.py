"""Products of bytes: the compiled kernel in each of its forms, against products of integers."""

import functools

import numpy as np
import pytest
from numba import njit, types
from numba.extending import intrinsic

from deniable.space.byte_products import (
    BLOCK_POINTS,
    COPIES,
    OFFSET,
    POINT_LIMIT,
    ROWS,
    SUM_LIMIT,
    VECTOR_LIMIT,
    fill_tile,
    write_tile,
)


def compile_form(*, is_wide, adds_pairs):
    """Return the kernel in one of its forms, whatever this processor has."""

    def write(context, builder, _signature, arguments):
        write_tile(builder, arguments, is_wide=is_wide, adds_pairs=adds_pairs)
        return context.get_dummy_value()

    # numba passes the types of the arguments by name
    def declare(_context, scores, score_stride, maxima, maximum_stride, vectors, points, parts, pairs, shift):
        del scores, score_stride, maxima, maximum_stride, vectors, points, parts, pairs, shift
        return types.void(*[types.intp] * 9), write

    return intrinsic(declare)


@functools.cache
def compile_call(tile):
    """Return a compiled function that calls a kernel on arrays."""

    @njit
    def call(scores, maxima, vectors, points, shift):
        parts, steps = points.shape[:2]
        tile(
            scores.ctypes.data,
            scores.shape[1],
            maxima.ctypes.data,
            maxima.shape[1],
            vectors.ctypes.data,
            points.ctypes.data,
            parts,
            steps - 1,
            shift,
        )

    return call


FORMS = {
    "host": fill_tile,
    **{
        f"wide {is_wide}, pairs {adds_pairs}": compile_form(is_wide=is_wide, adds_pairs=adds_pairs)
        for is_wide in (False, True)
        for adds_pairs in (False, True)
    },
}


CASES = ["host", *(pytest.param(form, marks=pytest.mark.deep) for form in FORMS if form != "host")]


def multiply(tile, vectors, points, shift):
    """Return scores and maxima of bytes (ROWS, parts, width) and (BLOCK_POINTS, parts, width) by a kernel."""
    parts, width = vectors.shape[1:]
    pairs = (vectors + OFFSET).astype(np.uint8).reshape(ROWS, parts, width // 2, 1, 2)
    copies = np.broadcast_to(pairs, (ROWS, parts, width // 2, COPIES // 2, 2)).transpose(1, 2, 0, 3, 4).copy()
    packed = np.zeros((parts, 1 + width // 2, BLOCK_POINTS, 2), dtype=np.int8)
    packed[:, 0] = (
        (-OFFSET * points.sum(axis=2)).astype(np.int16).T.copy().view(np.int8).reshape(parts, BLOCK_POINTS, 2)
    )
    packed[:, 1:] = points.reshape(BLOCK_POINTS, parts, width // 2, 2).transpose(1, 2, 0, 3)
    scores = np.full((ROWS, BLOCK_POINTS + 5), -7, dtype=np.int16)
    maxima = np.full((ROWS, 3), -7, dtype=np.int16)
    compile_call(tile)(scores, maxima, copies, packed, shift)
    assert (scores[:, BLOCK_POINTS:] == -7).all()
    assert (maxima[:, 1:] == -7).all()
    return scores[:, :BLOCK_POINTS], maxima[:, 0]


@pytest.mark.parametrize("form", CASES)
@pytest.mark.parametrize(("parts", "width", "shift"), [(1, 2, 0), (1, 50, 0), (3, 8, 2), (7, 52, 3)])
def test_sums_are_those_of_integers(form, parts, width, shift):
    """Scores are the sums of products of each part, halved and added, and the maxima are theirs."""
    generator = np.random.default_rng(width)
    limit = int(np.sqrt(SUM_LIMIT / width / VECTOR_LIMIT) * np.sqrt(VECTOR_LIMIT))
    limits = min(limit, VECTOR_LIMIT), min(limit, POINT_LIMIT)
    vectors = generator.integers(-limits[0], limits[0] + 1, (ROWS, parts, width))
    points = generator.integers(-limits[1], limits[1] + 1, (BLOCK_POINTS, parts, width))
    scores, maxima = multiply(FORMS[form], vectors, points, shift)
    expected = (np.einsum("rpw,npw->rnp", vectors, points) >> shift).sum(axis=2)
    np.testing.assert_array_equal(scores, expected)
    np.testing.assert_array_equal(maxima, expected.max(axis=1))


@pytest.mark.parametrize("form", CASES)
def test_extreme_bytes(form):
    """Bytes at their limits overflow nowhere, and partial sums may pass 16 bits where the sum does not."""
    signs = np.array([1, 1, 1, 1, -1, -1, -1, -1, 1, -1])
    vectors = np.broadcast_to(VECTOR_LIMIT * np.ones(10, dtype=np.int64), (ROWS, 1, 10)).copy()
    vectors[1::2] *= -1
    points = np.broadcast_to(POINT_LIMIT * signs, (BLOCK_POINTS, 1, 10)).copy()
    points[::3, 0, 4:] = 0
    scores, maxima = multiply(FORMS[form], vectors, points, 0)
    expected = np.einsum("rpw,npw->rn", vectors, points)
    assert np.abs(expected).max() == 4 * VECTOR_LIMIT * POINT_LIMIT
    np.testing.assert_array_equal(scores, expected)
    np.testing.assert_array_equal(maxima, expected.max(axis=1))
