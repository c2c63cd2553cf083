r"""Exact integer noise in a norm: points z of Z^n whose odds fall with their largest coordinate or their length.

Both samplers draw a level s, and then a lattice point of the body of that level: the cube of half side s, or the ball
of radius s sqrt(n). Where the pair (s, z) has a chance proportional to q^s, q = exp(-1 / t), whatever z of the body it
is, the point has the law of the sum over all levels that hold it::

    P(z) ~ sum over s >= level(z) of q^s = q^level(z) / (1 - q)

So a level must come in proportion to q^s times the number of points of its body, and then a point uniformly.

**Levels.** The sum of n + 1 geometric draws is k with chance (1 - q)^(n + 1) q^k (k + 1) ... (k + n) / n!. Where it is
kept with probability prod_i a / (a + b_i), one uniform integer for each factor, its chance is proportional to q^k times

- cube: (2 k + 1)^n, the number of its points, with a = 2 k + 1 and b_i = 2 i - 1 for i = 1 ... n;
- ball: s^n for s = k + 1, with a = s and b_i = i for i = 1 ... n - 1.

**Cube.** A point is n uniform integers from -s to s.

**Ball.** The number of its points is known to nobody, and need not be. Every coordinate is a discrete Gaussian draw of
deviation s, and the point is kept with probability exp(-(n s^2 - |z|^2) / (2 s^2)) if |z|^2 <= n s^2, never otherwise;
else another *level* is drawn, too. With Z(s) the sum of exp(-k^2 / (2 s^2)) over all integers k, the pair (s, z) has::

    q^s s^n exp(-|z|^2 / (2 s^2)) Z(s)^-n exp(-(n s^2 - |z|^2) / (2 s^2))  ~  q^s (s / Z(s))^n

By Poisson's summation Z(s) = sqrt(2 pi) s theta(s), theta(s) the sum of exp(-2 pi^2 s^2 k^2) over all integers k:
1 + 5.4e-9 at s = 1 already, and *falling* in s, which is all that a proof needs (see `deniable.vectors.k_norm`).

Of the points of a ball's trials one in about sqrt(pi n) is kept: 14 at n = 64.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from randomgen import AESCounter

from deniable.core.arrays import BoolArray, IntArray
from deniable.vectors.discrete_noise import finish_geometric, sample_bernoulli_exp, sample_uniform_below

MAX_NORM_DIMENSION = 1 << 14
"""Coordinates, at most: a ball in more would take over 200 trials, each of all coordinates, for one point."""
_TRIAL_NUMBERS = 1 << 18
"""Coordinates of the trials that are made at a time."""


def sample_cube_noise(generator: AESCounter, scale: int, rows: int, n: int) -> IntArray:
    """Return int64 (rows, n) with P(z) proportional to exp(-max_i |z_i| / scale).

    Args:
        generator: the source of bits.
        scale: t, from 1, and n t at most 2^42.
        rows: number of points.
        n: coordinates of a point, 1 to 2^14.
    """

    def try_points(count: int) -> IntArray:
        levels = _draw_level_candidates(generator, scale, n, count)
        sizes = 2 * levels + 1
        is_kept = _flip_ratios(generator, sizes, 2 * np.arange(1, n + 1, dtype=np.int64) - 1)
        kept, sides = levels[is_kept, None], np.repeat(sizes[is_kept], n)
        return sample_uniform_below_each(generator, sides).reshape(len(kept), n) - kept

    return _collect_rows(try_points, rows, n, trials_per_row=2.0)


def sample_ball_noise(generator: AESCounter, scale: int, rows: int, n: int) -> IntArray:
    """Return int64 (rows, n) with P(z) proportional to the sum of exp(-s / scale) theta(s)^-n over s >= level(z).

    level(z) = max(1, ceil(|z|_2 / sqrt(n))), so that this is exp(-level(z) / scale) but for theta. Arguments are those
    of `sample_cube_noise`.
    """

    def try_points(count: int) -> IntArray:
        levels = 1 + _draw_level_candidates(generator, scale, n, count)
        levels = levels[_flip_ratios(generator, levels, np.arange(1, n, dtype=np.int64))]
        points = sample_discrete_gaussian_each(generator, np.repeat(levels, n)).reshape(len(levels), n)
        return points[_accept_in_balls(generator, points, levels)]

    return _collect_rows(try_points, rows, n, trials_per_row=1.5 * math.sqrt(math.pi * n))


def _collect_rows(try_points: Callable[[int], IntArray], rows: int, n: int, trials_per_row: float) -> IntArray:
    """Return (rows, n) points, made block by block; ``try_points(trials)`` returns those that succeeded."""
    out, at = np.empty((rows, n), dtype=np.int64), 0
    most_trials = max(1, _TRIAL_NUMBERS // n)
    while at < rows:
        # Which trials are left over does not depend on their values.
        points = try_points(min(most_trials, math.ceil((rows - at) * trials_per_row) + 4))[: rows - at]
        out[at : at + len(points)] = points
        at += len(points)
    return out


def _draw_level_candidates(generator: AESCounter, scale: int, n: int, count: int) -> IntArray:
    """Return (count,) sums of n + 1 geometric draws with exp(-1 / scale)."""
    draws, at = np.empty(count * (n + 1), dtype=np.int64), 0
    while at < len(draws):
        remainders = sample_uniform_below(generator, scale, 2 * (len(draws) - at) + 16)
        values = finish_geometric(generator, remainders, scale)[1][: len(draws) - at]
        draws[at : at + len(values)] = values
        at += len(values)
    sums: IntArray = draws.reshape(count, n + 1).sum(axis=1)
    return sums


def _flip_ratios(generator: AESCounter, a: IntArray, b: IntArray) -> BoolArray:
    """Return (m,) flags, the j-th true with probability exactly the product of a_j / (a_j + b_i) over all i."""
    bounds = a[:, None] + b
    draws = sample_uniform_below_each(generator, bounds.ravel()).reshape(bounds.shape)
    flags: BoolArray = np.all(draws < a[:, None], axis=1)
    return flags


def _accept_in_balls(generator: AESCounter, points: IntArray, levels: IntArray) -> BoolArray:
    """Return (m,) flags, true with exp(-(n s^2 - |z|^2) / (2 s^2)) for z (m, n) within s sqrt(n), else false.

    Sums of squares beyond int64 are computed in floats, and in integers where these do not decide.
    """
    n = points.shape[1]
    # Each ratio errs by three roundings, its square by seven, the sum of n by n more, half of n - sum by one more;
    # where the sum exceeds 2 n the point is outside in any case.
    error = n * (n + 16) * 2.0**-53
    exponents = (n - np.square(points / levels[:, None]).sum(axis=1)) / 2

    def get_exact_exponent(i: int) -> tuple[int, int]:
        level = int(levels[i])
        return n * level**2 - sum(value * value for value in points[i].tolist()), 2 * level**2

    is_inside = exponents > error
    for i in np.flatnonzero(np.abs(exponents) <= error):
        is_inside[i] = get_exact_exponent(int(i))[0] >= 0
    inside = np.flatnonzero(is_inside)
    flags: BoolArray = np.zeros(len(points), dtype=bool)
    flags[inside] = sample_bernoulli_exp(
        generator, np.maximum(exponents[inside], 0.0), lambda j: get_exact_exponent(int(inside[j])), error=error
    )
    return flags


def sample_discrete_gaussian_each(generator: AESCounter, sigmas: IntArray) -> IntArray:
    """Return int64 (m,), each a draw of `sample_discrete_gaussian` with a deviation of its own."""
    draws, pending = np.empty(len(sigmas), dtype=np.int64), np.arange(len(sigmas))
    while len(pending):
        scales = sigmas[pending]
        signed = sample_uniform_below_each(generator, 2 * scales)
        tried, sizes = finish_geometric(generator, signed >> 1, scales)
        is_negative = (signed[tried] & 1).astype(bool)
        is_draw = ~(is_negative & (sizes == 0))  # 0 counts once
        tried, values = tried[is_draw], np.where(is_negative, -sizes, sizes)[is_draw]
        excess = np.abs(values) - scales[tried]
        ratios = excess / scales[tried]
        is_kept = _flip_gaussians(generator, ratios * ratios / 2, excess, scales[tried])
        draws[pending[tried[is_kept]]] = values[is_kept]
        is_done = np.zeros(len(pending), dtype=bool)
        is_done[tried[is_kept]] = True
        pending = pending[~is_done]
    return draws


def _flip_gaussians(
    generator: AESCounter, exponents: npt.NDArray[np.float64], excess: IntArray, scales: IntArray
) -> BoolArray:
    """Return (m,) flags, true with probability exp(-excess^2 / (2 scale^2))."""
    return sample_bernoulli_exp(generator, exponents, lambda i: (int(excess[i]) ** 2, 2 * int(scales[i]) ** 2))


def sample_uniform_below_each(generator: AESCounter, bounds: IntArray) -> IntArray:
    """Return (m,) integers, each uniform from 0 to its bound - 1, without bias; bounds are from 1 to 2^62."""
    limits = bounds.astype(np.uint64)
    # The largest multiple of a bound up to 2^64, less 1, in arithmetic modulo 2^64.
    last_words = ((np.uint64(0) - limits) // limits + np.uint64(1)) * limits - np.uint64(1)
    words = generator.random_raw(len(bounds))
    while len(rejected := np.flatnonzero(words > last_words)):
        words[rejected] = generator.random_raw(len(rejected))
    result: IntArray = (words % limits).astype(np.int64)
    return result
