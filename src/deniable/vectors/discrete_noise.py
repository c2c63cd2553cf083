"""Exact integer noise: two-sided geometric and discrete Gaussian draws from cipher bits.

The algorithms are those of Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy"
(2020). They need uniform integers and coins that fall with probability exp(-a / b) for integers a and b,
and both are exact here: no rounded number ever decides a draw or becomes one. A coin compares a uniform
real number, known to 64 bits, with a float64 value of exp(-a / b) that is right to 2^-46; where the two
are closer than that, once in 2^45 coins, further bits and decimal arithmetic of growing precision settle
it. What remains to be trusted is the cipher, and that the exp of this machine errs by less than 2^-47
(numpy's is right to about 2^-52; a test compares it).

The grid on which noisy vectors are released.

A float64 that is computed as input plus noise betrays its input by its last bits: which floats can come
out at all depends on the input (Mironov 2012). Here inputs are rounded to multiples of a power of two g,
the noise is an exact draw of integers, and the sum of two integers is what is released, times g. Rounding
moves each coordinate by at most g / 2, so two inputs at distance D are at most D / g + n steps apart in
l1 and D / g + sqrt(n) in l2: that is what the noise is calibrated to.

Grid points and noise are int64. A point lies at most 2^62 steps from 0, so the sum is exact unless noise of
a scale of at most 2^42 reaches 2^62 steps, once in e^(2^20) draws; then it wraps around, which is a function
of the exact sum. What is released is the float64 nearest to the sum, again a function of the sum alone. Up
to 2^53 steps it is the sum itself; beyond them, for inputs more than 8,192 times larger than the noise's scale,
floats lie farther apart than the steps. Both functions are post-processing, so no guarantee rests on where a
domain lies.
"""

import dataclasses
import decimal
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from randomgen import AESCounter

from deniable.core.arrays import BoolArray, FloatArray, IntArray
from deniable.core.errors import InputError, check_count
from deniable.core.randomness import derive_key_from_seed, derive_stream_start, generate_key

MAX_NOISE_STEPS = 1 << 42
"""Largest scale in grid steps: |draw| stays below 2^62 except with probability e^-(2^20)."""
UNDECIDED_GAP = 2.0**-46
"""Distance of a uniform number from exp(-a / b) below which float64 does not decide."""
_BLOCK_DRAWS = 1 << 14
"""Draws made at a time, so that the working arrays stay in cache."""


def make_noise_generator(seed: int | None = None) -> AESCounter:
    """Return AES-128 in counter mode under a fresh key of the operating system, or a public seed's key."""
    key = generate_key() if seed is None else derive_key_from_seed(seed)
    return AESCounter(key=np.frombuffer(derive_stream_start(key, "AES-128"), dtype=np.uint64))


def sample_discrete_laplace(generator: AESCounter, scale: int, size: int | tuple[int, ...]) -> IntArray:
    """Return int64 draws with P(k) proportional to exp(-|k| / scale); Algorithm 2 of the paper with s = 1.

    Args:
        generator: the source of bits.
        scale: t, 1 to 2^42.
        size: number or shape of the draws.

    Raises:
        InputError: the scale is no integer in that range.
    """
    check_count("discrete_laplace", "scale", scale, maximum=MAX_NOISE_STEPS)
    return _sample_in_blocks(lambda count: _try_discrete_laplace(generator, int(scale), count), size)


def sample_discrete_gaussian(generator: AESCounter, sigma: int, size: int | tuple[int, ...]) -> IntArray:
    """Return int64 draws with P(k) proportional to exp(-k^2 / (2 sigma^2)); Algorithm 3 with t = sigma.

    Args:
        generator: the source of bits.
        sigma: 1 to 2^42.
        size: number or shape of the draws.

    Raises:
        InputError: sigma is no integer in that range.
    """
    check_count("discrete_gaussian", "sigma", sigma, maximum=MAX_NOISE_STEPS)
    return _sample_in_blocks(lambda count: _try_discrete_gaussian(generator, int(sigma), count), size)


def _sample_in_blocks(try_draws: Callable[[int], IntArray], size: int | tuple[int, ...]) -> IntArray:
    """Return an array of so many draws, made block by block; ``try_draws(trials)`` returns what succeeded."""
    out = np.empty(size, dtype=np.int64)
    flat = out.reshape(-1)
    at = 0
    while at < len(flat):
        # Twice as many trials as draws missing: which ones are left over does not depend on their values.
        draws = try_draws(min(_BLOCK_DRAWS, 2 * (len(flat) - at) + 16))[: len(flat) - at]
        flat[at : at + len(draws)] = draws
        at += len(draws)
    return out


def _try_discrete_laplace(generator: AESCounter, scale: int, count: int) -> IntArray:
    """Return up to ``count`` draws: those of ``count`` trials of Algorithm 2 that succeed.

    A trial's U is uniform below t and kept with probability exp(-U / t); V is geometric with
    exp(-1); X = U + t V is geometric with exp(-1 / t). A negative zero is no draw, so that 0 counts once.
    """
    signed = sample_uniform_below(generator, 2 * scale, count)  # one uniform integer holds U and the sign
    accepted, value = finish_geometric(generator, signed >> 1, scale)
    negative = (signed[accepted] & 1).astype(bool)
    value[negative] *= -1
    draws: IntArray = value[~(negative & (value == 0))]
    return draws


def finish_geometric(generator: AESCounter, remainders: IntArray, scale: int | IntArray) -> tuple[IntArray, IntArray]:
    """Return the places (k,) of the trials that succeed, and their draws (k,), geometric with exp(-1 / scale).

    Args:
        generator: the source of bits.
        remainders: (m,) uniform integers from 0 to scale - 1, one a trial.
        scale: of all trials, or (m,) of each.
    """
    scales = np.broadcast_to(np.asarray(scale, dtype=np.int64), remainders.shape)
    accepted = np.flatnonzero(
        sample_bernoulli_exp(generator, remainders / scales, lambda i: (int(remainders[i]), int(scales[i])))
    )
    rounds = np.zeros(len(accepted), dtype=np.int64)
    continuing = np.arange(len(accepted))
    while len(continuing):
        continuing = continuing[sample_bernoulli_exp(generator, np.ones(len(continuing)), lambda _: (1, 1))]
        rounds[continuing] += 1
    return accepted, remainders[accepted] + scales[accepted] * rounds


def _try_discrete_gaussian(generator: AESCounter, sigma: int, count: int) -> IntArray:
    """Return up to ``count`` draws: Y from Algorithm 2, kept with probability exp(-(|Y| - s)^2 / (2 s^2))."""
    proposed = _try_discrete_laplace(generator, sigma, count)
    excess = np.abs(proposed) - sigma
    ratio = excess / sigma

    def get_exact_exponent(i: int) -> tuple[int, int]:
        return int(excess[i]) ** 2, 2 * sigma**2

    draws: IntArray = proposed[sample_bernoulli_exp(generator, ratio * ratio / 2, get_exact_exponent)]
    return draws


def sample_uniform_below(generator: AESCounter, bound: int, count: int) -> IntArray:
    """Return (count,) uniform integers from 0 to bound - 1, ``bound`` at most 2^62, without bias.

    64-bit words beyond the largest multiple of the bound are drawn again.
    """
    words = generator.random_raw(count)
    limit = (1 << 64) // bound * bound
    if limit < 1 << 64:
        while len(rejected := np.flatnonzero(words >= np.uint64(limit))):
            words[rejected] = generator.random_raw(len(rejected))
    result: IntArray = (words - words // np.uint64(bound) * np.uint64(bound)).astype(np.int64)
    return result


def sample_bernoulli_exp(
    generator: AESCounter,
    exponents: npt.NDArray[np.float64],
    get_exact_exponent: Callable[[int], tuple[int, int]],
    *,
    error: float = 0.0,
) -> BoolArray:
    """Return (m,) independent flags, the i-th true with probability exactly exp(-a_i / b_i).

    Args:
        generator: the source of bits, one word per flag and more where it is close.
        exponents: (m,) a_i / b_i >= 0, right to four roundings of float64 and ``error``.
        get_exact_exponent: gives the integers (a_i, b_i) of the flag with number i.
        error: of an exponent, absolute, on top of the roundings; it changes exp(-a / b) by no more than itself.
    """
    words = generator.random_raw(len(exponents))
    # Errors: 2^-54 for the word as a float; at most x exp(-x) 2^-51 < 2^-52 through the exponent x; that
    # of exp itself, granted 2^-47; 2^-53 for the difference. Their sum is below UNDECIDED_GAP.
    gap = words * 2.0**-64 - np.exp(-exponents)
    flags: BoolArray = gap < 0
    for i in np.flatnonzero(np.abs(gap) <= UNDECIDED_GAP + error):
        flags[i] = _is_below(int(words[i]), *get_exact_exponent(int(i)), lambda: int(generator.random_raw(1)[0]))
    return flags


def _is_below(word: int, a: int, b: int, draw_word: Callable[[], int]) -> bool:
    """Say whether a uniform real number in [0, 1) with these first 64 bits lies below exp(-a / b).

    exp(-a / b) is irrational for a > 0, so that enough bits of the number always decide.

    Args:
        word: the first 64 bits.
        a: >= 0.
        b: > 0.
        draw_word: gives the next 64 bits.
    """
    if a == 0:
        return True
    bits, digits = 64, 30
    while True:
        # With all digits of the integer part on top, two roundings up to the quotient and one of exp stay
        # below 10^(1 - digits); a context of its own, because the caller's may round or trap otherwise.
        with decimal.localcontext(decimal.Context(prec=digits + len(str(math.ceil(a / b))))):
            value = Fraction((-decimal.Decimal(a) / decimal.Decimal(b)).exp())
        error = Fraction(1, 10 ** (digits - 1))
        if Fraction(word + 1, 1 << bits) <= value - error:
            return True
        if Fraction(word, 1 << bits) >= value + error:
            return False
        word, bits, digits = word << 64 | draw_word(), bits + 64, digits + 20


FINENESS_BITS = 40
"""The step is between 2^-40 and 2^-39 of the noise's scale."""
_MAX_EXPONENT = 900
"""Steps beyond 2^+-900 are refused: inputs would leave the range where float64 keeps all its digits."""
GRID_ARITHMETIC = "exact integer noise on a grid, from AES-128-CTR, so that the guarantee is computational in that step"
"""How draws on the grid are made, in words."""
MAX_INPUT_STEPS = 1 << 62
"""Distance of an input from 0 in steps, at most: int64 holds it with noise as large again."""
ROUNDING_FACTOR = 1 + Fraction(1, 1 << 50)
"""More than three roundings of float64 can take away from a sensitivity."""


@dataclasses.dataclass(frozen=True)
class NoiseGrid:
    """Step and noise of one release.

    Attributes:
        exponent: the step is g = 2^exponent.
        noise_steps: scale of the integer noise in steps, from 1 to 2^42.
    """

    exponent: int
    noise_steps: int

    @property
    def step(self) -> float:
        """The step g."""
        return math.ldexp(1.0, self.exponent)

    @property
    def scale(self) -> float:
        """Scale of the noise in units of the input."""
        return self.noise_steps * self.step

    def round(self, x: FloatArray) -> IntArray:
        """Return the nearest grid points of ``x`` in steps, int64.

        A product with a power of two is exact, and so is rint: a float64 of 2^52 or more is an integer already.
        """
        points: IntArray = np.rint(x * math.ldexp(1.0, -self.exponent)).astype(np.int64)
        return points

    def to_vectors(self, points: IntArray) -> FloatArray:
        """Return the float64 nearest to each grid point: the point itself up to 2^53 steps.

        Privacy does not depend on that: whatever is done to the integers afterwards is post-processing.
        """
        vectors: FloatArray = points.astype(np.float64)
        vectors *= self.step
        return vectors

    def l1_distance(self, x: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> int:
        """Return the l1 distance in steps of the grid points of two vectors (n,), exactly."""
        return sum(abs(int(a) - int(b)) for a, b in zip(self.round(x), self.round(other), strict=True))


def compute_step_exponent(owner: str, scale: float, max_coordinate: float) -> int:
    """Return ceil(log2(scale * 2^-40)), exactly.

    Args:
        owner: name of the mechanism, for the error.
        scale: of the noise before the charge for rounding.
        max_coordinate: largest absolute value of an input's coordinate.

    Raises:
        InputError: the scale is no number that float64 can serve, or inputs lie more than 2^62 steps from 0.
    """
    mantissa, exponent = math.frexp(scale)
    exponent -= FINENESS_BITS + (mantissa == 0.5)  # noqa: PLR2004 - frexp's mantissa of a power of two
    if not math.isfinite(scale) or scale <= 0 or abs(exponent) > _MAX_EXPONENT:
        raise InputError(f"{owner} cannot draw noise of scale {scale:g}: choose an epsilon and a domain of usual size.")
    # In rational arithmetic, since a float may overflow.
    if Fraction(max_coordinate) > MAX_INPUT_STEPS * Fraction(2) ** exponent:
        raise InputError(
            f"{owner} cannot serve inputs up to {max_coordinate:g} with noise of scale {scale:g}, more than "
            "4,194,304 times smaller; choose a smaller epsilon or a domain nearer to 0 (subtract a public number)."
        )
    return exponent


def compute_noise_steps(owner: str, steps: Fraction) -> int:
    """Return the integer noise scale: ``steps`` rounded up.

    Raises:
        InputError: that is beyond 2^42: the rounding of so many coordinates outweighs so small an epsilon.
    """
    noise = math.ceil(steps)
    if noise > MAX_NOISE_STEPS:
        raise InputError(
            f"{owner} cannot charge the rounding of so many coordinates to so small an epsilon; choose a larger one."
        )
    return noise


def round_up_to_float(value: Fraction) -> float:
    """Return the least float64 that is not below a rational number."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def round_down_to_float(value: Fraction) -> float:
    """Return the largest float64 that is not above a rational number."""
    return -round_up_to_float(-value)
