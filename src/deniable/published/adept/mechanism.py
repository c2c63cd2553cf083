"""ADePT's mechanism as published: Laplace noise for the wrong sensitivity (Krishna et al. 2021; Habernal 2021)."""

import functools

from deniable.core.guarantees import Guarantee
from deniable.published.entry import make_vector_entry
from deniable.vectors import Box, L2Ball, Laplace


class ADePT(Laplace):
    """Clips an encoder's vector to an l2 ball and adds Laplace noise for the ball's l2 sensitivity. Refuted.

    As published (Krishna et al. 2021)::

        y = x min(1, C / ||x||_2) + Lap(2 C / epsilon)^n

    which is not epsilon-DP: 2 C is the l2 sensitivity of the clip, and Laplace noise needs the l1
    sensitivity, 2 C sqrt(n) (Habernal 2021, Theorem 5.1). At opposite corners of the cube inscribed in
    the sphere the loss is epsilon sqrt(n). Four remedies are proved:

    - ``Laplace(domain=L1Ball(C))``: an l1 ball, whose l1 sensitivity is 2 C (Habernal 2021, Section 7);
    - ``Laplace(domain=L2Ball(C))``: noise of scale 2 C sqrt(n) / epsilon (the same place);
    - ``KNorm(domain=L2Ball(C))``: noise in the l2 norm for the l2 sensitivity 2 C (Hardt and Talwar 2010);
    - ``Gaussian(domain=L2Ball(C), delta=...)``: noise for the l2 sensitivity 2 C, (epsilon, delta)-DP.

    The noise is the exact grid noise of `Laplace`, so the sensitivity is the only flaw.

    Args:
        epsilon: claimed for one row, > 0.
        radius: C, > 0.
        seed: for tests only, see `VectorMechanism`.

    Raises:
        InputError: a parameter is outside its domain.
    """

    name = "adept"

    def __init__(self, *, epsilon: float, radius: float = 1.0, seed: int | None = None) -> None:
        super().__init__(epsilon=epsilon, domain=L2Ball(radius), seed=seed)

    @property
    def claim(self) -> Guarantee:
        """The epsilon of the paper for rows of any n, refuted: it is true of n = 1 only, as `dn.verify` says there."""
        source = (
            "claimed by Krishna et al. 2021, Theorem 1; refuted by Habernal 2021 (When differential privacy meets "
            "NLP), Theorem 5.1: the true loss in n dimensions is epsilon*sqrt(n)"
        )
        return Guarantee(self.epsilon, source, "refuted")

    def sensitivity(self, n: int) -> float:
        """Return the paper's false sensitivity: 2 C, whatever n (Habernal 2021, Theorem 3.2)."""
        return self.domain.sensitivity(2, n)


class UnclippedADePT(Laplace):
    """Laplace noise for the sensitivity of one coordinate: x + Lap(1/epsilon)^n, as simplified by Habernal 2022."""

    name = "adept-unclipped"

    def sensitivity(self, n: int) -> float:  # noqa: ARG002 - that is the flaw
        """Return the sensitivity of one coordinate, whatever n."""
        return self.domain.sensitivity(1, 1)


ENTRIES = (
    make_vector_entry(
        "adept",
        functools.partial(ADePT, epsilon=1.0),
        source="Krishna et al. 2021, Theorem 1; refuted by Habernal 2021, Theorem 5.1",
        flaw="noise of scale 2C/epsilon for an l1 sensitivity of 2C sqrt(n): the loss is epsilon sqrt(n)",
        samples=12_000,
    ),
    make_vector_entry(
        "adept-unclipped",
        functools.partial(UnclippedADePT, epsilon=1.0, domain=Box(0.0, 1.0)),
        source="the ADePT of Habernal 2022, Section 5",
        flaw="noise for one coordinate, released for n: the loss is epsilon n",
        samples=300,
    ),
)
