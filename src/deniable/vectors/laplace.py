"""The Laplace mechanism on a bounded domain, released on a grid."""

from fractions import Fraction

from randomgen import AESCounter

from deniable.core.arrays import FloatArray
from deniable.core.errors import check_positive
from deniable.core.guarantees import Guarantee, NoiseLaw
from deniable.vectors.discrete_noise import (
    GRID_ARITHMETIC,
    ROUNDING_FACTOR,
    NoiseGrid,
    compute_noise_steps,
    compute_step_exponent,
    round_down_to_float,
    round_up_to_float,
    sample_discrete_laplace,
)
from deniable.vectors.domains import Domain
from deniable.vectors.mechanism import ExactLoss, VectorMechanism, check_domain


class Laplace(VectorMechanism):
    """Clips, rounds to a grid and adds two-sided geometric noise: the Laplace mechanism without its floats.

    With S the l1 sensitivity of the domain, b = S / epsilon and n coordinates::

        g = 2^ceil(log2(b 2^-40))                      step of the grid
        t = ceil((S + n g) / (epsilon g))              scale of the noise in steps
        y = g (rint(clip(x) / g) + Z),                 P(Z_i = k) proportional to exp(-|k| / t)

    Two inputs are at most S / g + n steps apart in l1, so no output is more than exp((S / g + n) / t)
    times as likely from one as from the other, and that is at most e^epsilon: Dwork, McSherry, Nissim,
    Smith (2006), Proposition 1, word for word with sums in place of integrals. The noise is wider than
    b by a factor of 1 + n g / S <= 1 + 2^-39 n / epsilon (and by one step).

    Args:
        epsilon: pure epsilon of one row, > 0.
        domain: where inputs are clipped to.
        seed: for tests only, see `VectorMechanism`.

    Raises:
        InputError: a parameter is outside its domain.
    """

    name = "laplace"
    noise: NoiseLaw = "laplace"
    arithmetic = GRID_ARITHMETIC
    domain: Domain

    def __init__(self, *, epsilon: float, domain: Domain, seed: int | None = None) -> None:
        super().__init__(seed=seed)
        self.epsilon = check_positive(type(self).__name__, "epsilon", epsilon)
        self.domain = check_domain(type(self).__name__, domain)

    @property
    def claim(self) -> Guarantee:
        """Pure epsilon for any two inputs."""
        source = "Dwork, McSherry, Nissim, Smith 2006, Proposition 1, on a grid with exact integer noise"
        return Guarantee(self.epsilon, source)

    def sensitivity(self, n: int) -> float:
        """Return the l1 sensitivity of the domain."""
        return self.domain.sensitivity(1, n)

    def scale(self, n: int) -> float:
        """Return g t.

        Raises:
            InputError: epsilon and domain are too far from usual size for so many coordinates.
        """
        return self.grid(n).scale

    def grid(self, n: int) -> NoiseGrid:
        """Return step and noise for vectors (n,), in rational arithmetic; raises as `scale` does."""
        owner, padded_sensitivity = type(self).__name__, Fraction(self.sensitivity(n)) * ROUNDING_FACTOR
        exponent = compute_step_exponent(owner, self.sensitivity(n) / self.epsilon, self.domain.max_coordinate)
        # No charge for the clip: its result lies in the domain exactly (see `Domain.clip`).
        steps = (padded_sensitivity / Fraction(2) ** exponent + n) / Fraction(self.epsilon)
        return NoiseGrid(exponent, compute_noise_steps(owner, steps))

    def worst_pair(self, n: int) -> tuple[FloatArray, FloatArray]:
        """Return two points of the domain that are farthest apart in l1."""
        return self.domain.worst_pair(1, n)

    def _exact_loss(self, n: int) -> ExactLoss:
        """Bound the loss: any pair by (S / g + n) / t, S that of the domain; this pair by its own steps / t.

        A pair's loss is its l1 distance in steps over t: each coordinate attains its share at outputs
        beyond both grid points, and so at a float64 that stands for several of them.
        """
        grid = self.grid(n)
        sensitivity_steps = Fraction(self.domain.sensitivity(1, n)) * ROUNDING_FACTOR / Fraction(2) ** grid.exponent + n
        pair = self.worst_pair(n)
        low, high = (self.domain.clip(x[None, :])[0] for x in pair)
        return ExactLoss(
            round_up_to_float(sensitivity_steps / grid.noise_steps),
            round_down_to_float(Fraction(grid.l1_distance(low, high), grid.noise_steps)),
            pair,
        )

    def _sample_rows(self, rows: FloatArray, generator: AESCounter) -> FloatArray:
        grid = self.grid(rows.shape[1])
        points = grid.round(self.domain.clip(rows))
        points += sample_discrete_laplace(generator, grid.noise_steps, rows.shape)
        return grid.to_vectors(points)
