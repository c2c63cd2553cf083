"""The mechanism inside ADePT, as published and mended (Krishna et al. 2021; Habernal 2021)."""

from typing import Literal

from randomgen import AESCounter

from deniable.core.arrays import FloatArray
from deniable.core.errors import make_parameter_error
from deniable.core.guarantees import ApproxDP, PureDP
from deniable.vectors.domains import Domain, L1Ball, L2Ball
from deniable.vectors.gaussian import Gaussian
from deniable.vectors.laplace import Laplace
from deniable.vectors.mechanism import ExactLoss, VectorMechanism

AdeptClip = Literal["l2", "l1"]
AdeptSensitivity = Literal["published", "true"]
AdeptNoise = Literal["laplace", "gaussian"]


class ADePT(VectorMechanism):
    """Clips an encoder's vector to a ball and adds noise to every coordinate.

    As published (Krishna et al. 2021)::

        y = x min(1, C / ||x||_2) + Lap(2 C / epsilon)^n

    which is not epsilon-DP: 2 C is the l2 sensitivity of the clip, and Laplace noise needs the l1
    sensitivity, 2 C sqrt(n) (Habernal 2021, Theorem 5.1). At opposite corners of the cube inscribed in
    the sphere the loss is epsilon sqrt(n). Three remedies, each proved:

    - ``clip="l1"``: an l1 ball, whose l1 sensitivity is 2 C (Habernal 2021, Section 7);
    - ``sensitivity="true"``: Laplace noise of scale 2 C sqrt(n) / epsilon (the same place);
    - ``noise="gaussian"``: Gaussian noise for the l2 sensitivity 2 C, which is (epsilon, delta)-DP.

    All of them, the published one too, use the exact grid noise of `Laplace` and `Gaussian`, so the
    only flaw left in the published one is its sensitivity.

    Args:
        epsilon: claimed for one row, > 0.
        radius: C, > 0.
        clip: ``l2`` as published, or ``l1``.
        sensitivity: ``is_published``, 2 C, or ``true``, that of the ball. Gaussian noise needs the l2
            sensitivity, which is 2 C either way.
        noise: ``laplace`` as published, or ``gaussian``.
        delta: of Gaussian noise, in (0, 1).
        seed: for tests only, see `VectorMechanism`.

    Raises:
        InputError: a parameter is outside its domain, or delta does not go with the noise.
    """

    name = "adept"

    def __init__(
        self,
        *,
        epsilon: float,
        radius: float = 1.0,
        clip: AdeptClip = "l2",
        sensitivity: AdeptSensitivity = "published",
        noise: AdeptNoise = "laplace",
        delta: float | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        for parameter, value, allowed in (
            ("clip", clip, ("l2", "l1")),
            ("sensitivity", sensitivity, ("published", "true")),
            ("noise", noise, ("laplace", "gaussian")),
        ):
            if value not in allowed:
                raise make_parameter_error("ADePT", parameter, " or ".join(map(repr, allowed)), value)
        if (delta is None) == (noise == "gaussian"):
            raise make_parameter_error("ADePT", "delta", "given with noise='gaussian', and only then", delta)
        self.clip, self.noise = clip, noise
        self.is_published = noise == "laplace" and clip == "l2" and sensitivity == "published"
        """True where this is the refuted mechanism of the paper."""
        domain: Domain = L1Ball(radius) if clip == "l1" else L2Ball(radius)
        self._inner: Laplace | Gaussian
        if delta is not None:
            self._inner = Gaussian(epsilon=epsilon, delta=delta, domain=domain)
        elif self.is_published:
            self._inner = _UnderstatedLaplace(epsilon=epsilon, domain=domain)
        else:
            self._inner = Laplace(epsilon=epsilon, domain=domain)

    @property
    def epsilon(self) -> float:
        """The epsilon claimed."""
        return self._inner.epsilon

    @property
    def domain(self) -> Domain:
        """The ball to which inputs are clipped."""
        return self._inner.domain

    @property
    def claim(self) -> PureDP | ApproxDP:
        """As published: epsilon, refuted; mended: that of the Laplace or Gaussian mechanism on the ball."""
        if not self.is_published:
            return self._inner.claim
        source = (
            "claimed by Krishna et al. 2021, Theorem 1; refuted by Habernal 2021 (When differential privacy meets "
            "NLP), Theorem 5.1: the true loss in n dimensions is epsilon*sqrt(n)"
        )
        return PureDP(self.epsilon, source, "refuted")

    def sensitivity(self, n: int) -> float:
        """Return 2 C as published, else the sensitivity of the ball in the norm that the noise needs."""
        return self._inner.sensitivity(n)

    def scale(self, n: int) -> float:
        """Return the scale of the grid noise: 2 C / epsilon as published, plus the charge for rounding."""
        return self._inner.scale(n)

    def worst_pair(self, n: int) -> tuple[FloatArray, FloatArray]:
        """Return two points of the ball that lose the most."""
        return self._inner.worst_pair(n)

    def _exact_loss(self, n: int) -> ExactLoss:
        return self._inner.exact_loss(n)

    def _sample_rows(self, rows: FloatArray, generator: AESCounter) -> FloatArray:
        return self._inner._sample_rows(rows, generator)  # noqa: SLF001 - the same contract


class _UnderstatedLaplace(Laplace):
    """The Laplace mechanism on an l2 ball with the ball's l2 sensitivity where its l1 sensitivity belongs."""

    def sensitivity(self, n: int) -> float:
        """Return the false sensitivity of Krishna et al. 2021 (Habernal 2021, Theorem 3.2): 2 C, whatever n."""
        return self.domain.sensitivity(2, n)


_UnderstatedLaplace.__name__ = "ADePT"  # as messages name it
