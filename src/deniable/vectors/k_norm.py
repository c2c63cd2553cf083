"""The K-norm mechanism: noise in the norm whose ball the domain is, released on a grid."""

import math
from fractions import Fraction

from randomgen import AESCounter

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import check_count, check_positive, make_parameter_error
from deniable.core.guarantees import Guarantee, NoiseLaw
from deniable.vectors.discrete_noise import (
    GRID_ARITHMETIC,
    NoiseGrid,
    compute_noise_steps,
    compute_step_exponent,
    round_down_to_float,
    round_up_to_float,
    sample_discrete_laplace,
)
from deniable.vectors.domains import MAX_DIMENSION, Box, Domain, L1Ball, L2Ball, check_dimension
from deniable.vectors.mechanism import ExactLoss, VectorMechanism
from deniable.vectors.norm_noise import MAX_NORM_DIMENSION, sample_ball_noise, sample_cube_noise


class KNorm(VectorMechanism):
    r"""Clips, rounds to a grid and adds noise whose odds fall with its norm: that of which the domain is a ball.

    Hardt and Talwar (2010) add noise of density ~ exp(-epsilon ||z||_K / Delta), Delta the largest distance of two
    inputs in the norm K. With the shape of the domain as K nothing is paid for distances that no two inputs have: of
    the same pure epsilon, the expected length of the noise at n = 64 is 1.40 times smaller than that of `Laplace` on
    an l2 ball, and 2.39 times smaller on a box. On an l1 ball it *is* the Laplace mechanism.

    With C the radius, or u and l the bounds, and n coordinates, g is a power of two between 2^-40 and 2^-39 of the
    scale of a coordinate, and::

        y = g (rint(clip(x) / g) + Z),    t = ceil(D / epsilon)
        P(Z = z) ~ sum over integers s >= level(z) of exp(-s / t) w(s)

        domain   level(z)                              D, in steps                    w(s)
        l1       |z_1| + ... + |z_n|                   2 C / g + n                    1
        box      max |z_i|                             floor((u - l) / g + 1)         1
        l2       max(1, ceil(||z||_2 / sqrt(n)))       ceil(2 C / (g sqrt(n))) + 1    theta(s)^-n, see `norm_noise`

    **Theorem.** No output is more than e^epsilon times as likely from one input as from another.

    **Proof.** Rounding moves a coordinate by at most 1/2 of a step, so two grid points differ by a z' of norm at most
    2 C / g + n in l1, (u - l) / g + 1 in the maximum norm, where it is an integer, and 2 C / g + sqrt(n) in l2. By the
    triangle inequality, and because ceil(a + b) <= ceil(a) + ceil(b), level(z + z') <= level(z) + D for all z. The
    weights w do not fall: theta does, for each of its terms exp(-2 pi^2 s^2 k^2) does. Hence::

        sum over s >= level(z) + D of exp(-s / t) w(s)  =  sum over s >= level(z) of exp(-(s + D) / t) w(s + D)
                                                       >=  exp(-D / t) sum over s >= level(z) of exp(-s / t) w(s)

    and the left side is at most that from level(z + z'). The normalization is that of Z, the same for both inputs, and
    D / t <= epsilon. In l1 D need not be an integer: the sum is exp(-level(z) / t), up to a constant.

    Args:
        epsilon: pure epsilon of one row, > 0.
        domain: a `Box`, `L1Ball` or `L2Ball`, where inputs are clipped to.
        seed: for tests only, see `VectorMechanism`.

    Raises:
        InputError: a parameter is outside its domain.
    """

    name = "k-norm"
    arithmetic = GRID_ARITHMETIC
    domain: Domain

    def __init__(self, *, epsilon: float, domain: Domain, seed: int | None = None) -> None:
        super().__init__(seed=seed)
        owner = type(self).__name__
        self.epsilon = check_positive(owner, "epsilon", epsilon)
        if not isinstance(domain, (Box, L1Ball, L2Ball)):
            raise make_parameter_error(owner, "domain", "a Box, L1Ball or L2Ball", domain)
        self.domain = domain

    @property
    def noise(self) -> NoiseLaw:
        """Law of the noise: independent coordinates on an l1 ball only."""
        return _name_noise(self.domain)

    @property
    def claim(self) -> Guarantee:
        """Pure epsilon for any two inputs."""
        source = "Hardt and Talwar 2010, the K-norm mechanism, on a grid with exact integer noise"
        return Guarantee(self.epsilon, source)

    def sensitivity(self, n: int) -> float:
        """Return the largest distance of two inputs in the domain's own norm: 2 C, or u - l."""
        if isinstance(self.domain, Box):
            check_dimension(n)
            return self.domain.sensitivity(1, 1)
        return self.domain.sensitivity(1 if isinstance(self.domain, L1Ball) else 2, n)

    def scale(self, n: int) -> float:
        """Return b of the density ~ exp(-||z|| / b) of the noise, in the domain's own norm.

        Raises:
            InputError: epsilon and domain are too far from usual size for so many coordinates.
        """
        return self.grid(n).scale * (math.sqrt(n) if isinstance(self.domain, L2Ball) else 1.0)

    def grid(self, n: int) -> NoiseGrid:
        """Return step, and noise in levels, for vectors (n,), in rational arithmetic; raises as `scale` does."""
        owner = type(self).__name__
        most_coordinates = MAX_DIMENSION if isinstance(self.domain, L1Ball) else MAX_NORM_DIMENSION
        check_count(owner, "coordinates", n, maximum=most_coordinates)
        # Of a coordinate: b in l1, about n b in the maximum norm and sqrt(n) b in l2.
        spread = {"laplace": 1.0, "max-norm": float(n), "l2-norm": math.sqrt(n)}[_name_noise(self.domain)]
        exponent = compute_step_exponent(
            owner, spread * (self.sensitivity(n) / self.epsilon), self.domain.max_coordinate
        )
        steps = _bound_levels(self.domain, n, exponent) / Fraction(self.epsilon)
        # A level is one of up to about n t, which have to fit.
        compute_noise_steps(owner, steps if isinstance(self.domain, L1Ball) else n * steps)
        return NoiseGrid(exponent, math.ceil(steps))

    def worst_pair(self, n: int) -> tuple[FloatArray, FloatArray]:
        """Return two points of the domain that are farthest apart in its own norm."""
        return self.domain.worst_pair(2 if isinstance(self.domain, L2Ball) else 1, n)

    def _exact_loss(self, n: int) -> ExactLoss:
        """Bound the loss: any pair by D / t; this pair by the levels that its grid points lie apart, over t.

        An output beyond both points on the line through them has levels that far apart. In an l2 ball the pair differs
        in one coordinate, by d steps. With the nearer point j = floor(m sqrt(n)) steps away, level(j) <= m and
        level(j + d) >= m + (d - 1) / sqrt(n). There the loss is that difference over t, less n ln theta(m) at most,
        which falls to 0 for large m: for it the last digit of the float is given up.
        """
        grid, pair = self.grid(n), self.worst_pair(n)
        gaps = [
            abs(int(one) - int(other))
            for one, other in zip(*(grid.round(self.domain.clip(x[None, :])[0]) for x in pair), strict=True)
        ]
        if isinstance(self.domain, L2Ball):
            levels = math.isqrt(max(max(gaps) - 1, 0) ** 2 // n)
        else:
            levels = sum(gaps) if isinstance(self.domain, L1Ball) else max(gaps)
        upper = round_up_to_float(_bound_levels(self.domain, n, grid.exponent) / grid.noise_steps)
        lower = round_down_to_float(Fraction(levels, grid.noise_steps))
        return ExactLoss(upper, math.nextafter(lower, 0.0) if isinstance(self.domain, L2Ball) else lower, pair)

    def _sample_rows(self, rows: FloatArray, generator: AESCounter) -> FloatArray:
        grid = self.grid(rows.shape[1])
        points = grid.round(self.domain.clip(rows))
        points += _sample_noise(self.domain, generator, grid.noise_steps, *rows.shape)
        return grid.to_vectors(points)


# Functions of the domain, not methods: the loss that is computed is that of the draws, whatever a subclass changes.


def _name_noise(domain: Domain) -> NoiseLaw:
    """Return the law of noise in the domain's own norm: independent coordinates on an l1 ball only."""
    if isinstance(domain, L1Ball):
        return "laplace"
    return "l2-norm" if isinstance(domain, L2Ball) else "max-norm"


def _bound_levels(domain: Domain, n: int, exponent: int) -> Fraction:
    """Return D for a step of 2^exponent. No charge for the clip: see `Domain.clip`."""
    step = Fraction(2) ** exponent
    if isinstance(domain, Box):
        return Fraction(math.floor((Fraction(domain.upper) - Fraction(domain.lower)) / step + 1))
    diameter = Fraction(domain.max_coordinate) * 2 / step
    return diameter + n if isinstance(domain, L1Ball) else Fraction(_ceil_root(diameter**2 / n) + 1)


def _sample_noise(domain: Domain, generator: AESCounter, scale: int, rows: int, n: int) -> IntArray:
    """Return (rows, n) lattice points, whose odds fall with their level."""
    if isinstance(domain, L1Ball):
        return sample_discrete_laplace(generator, scale, (rows, n))
    return (sample_ball_noise if isinstance(domain, L2Ball) else sample_cube_noise)(generator, scale, rows, n)


def _ceil_root(value: Fraction) -> int:
    """Return the least integer whose square is at least ``value`` > 0."""
    return math.isqrt(math.ceil(value) - 1) + 1
