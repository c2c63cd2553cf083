"""The Laplace mechanism on a bounded domain, released on a grid."""

from fractions import Fraction

from randomgen import AESCounter

from deniable.errors import positive
from deniable.guarantees import PureDP
from deniable.vectors.domains import Array, Domain
from deniable.vectors.grid import UP, Grid, downward, exponent_of, noise_of, upward
from deniable.vectors.mechanism import ExactLoss, VectorMechanism, check_domain
from deniable.vectors.noise import discrete_laplace


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

    def __init__(self, *, epsilon: float, domain: Domain, seed: int | None = None) -> None:
        super().__init__(seed=seed)
        self.epsilon = positive(type(self).__name__, "epsilon", epsilon)
        self.domain = check_domain(type(self).__name__, domain)

    @property
    def claim(self) -> PureDP:
        """Pure epsilon for any two inputs."""
        source = "Dwork, McSherry, Nissim, Smith 2006, Proposition 1, on a grid with exact integer noise"
        return PureDP(self.epsilon, source)

    def sensitivity(self, n: int) -> float:
        """Return the l1 sensitivity of the domain."""
        return self.domain.sensitivity(1, n)

    def scale(self, n: int) -> float:
        """Return g t.

        Raises:
            InputError: epsilon and domain are too far from usual size for so many coordinates.
        """
        return self.grid(n).scale

    def grid(self, n: int) -> Grid:
        """Return step and noise for vectors (n,), in rational arithmetic; raises as `scale` does."""
        owner, charged = type(self).__name__, Fraction(self.sensitivity(n)) * UP
        exponent = exponent_of(owner, self.sensitivity(n) / self.epsilon, self.domain.reach)
        # No charge for the clip: its result lies in the domain exactly (see `Domain.clip`).
        steps = (charged / Fraction(2) ** exponent + n) / Fraction(self.epsilon)
        return Grid(exponent, noise_of(owner, steps))

    def worst_pair(self, n: int) -> tuple[Array, Array]:
        """Return two points of the domain that are farthest apart in l1."""
        return self.domain.worst_pair(1, n)

    def _exact(self, n: int) -> ExactLoss:
        """Bound the loss: any pair by (S / g + n) / t, S that of the domain; this pair by its own steps / t.

        A pair's loss is its l1 distance in steps over t: each coordinate attains its share at outputs
        beyond both grid points.
        """
        grid = self.grid(n)
        true = Fraction(self.domain.sensitivity(1, n)) * UP / Fraction(2) ** grid.exponent + n
        pair = self.worst_pair(n)
        low, high = (self.domain.clip(x[None, :])[0] for x in pair)
        return ExactLoss(upward(true / grid.noise), downward(Fraction(grid.apart(low, high), grid.noise)), pair)

    def _release(self, rows: Array, generator: AESCounter) -> Array:
        grid = self.grid(rows.shape[1])
        points = grid.round(self.domain.clip(rows))
        points += discrete_laplace(generator, grid.noise, rows.shape)
        return grid.place(points)
