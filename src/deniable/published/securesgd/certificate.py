"""SecureSGD's certificate as published: PixelDP's radius from a formula that ignores how the noise is shared out."""

import dataclasses
import math
from typing import Self

from deniable.core.errors import check_positive, make_parameter_error
from deniable.core.guarantees import PROVED_IDEAL, Status
from deniable.models.images.certificates import register_certificate
from deniable.models.images.layer_noise import ImageShape
from deniable.models.images.networks import ImageNetwork, NetworkNoise
from deniable.models.images.pixeldp import (
    certify_by_privacy,
    check_pixel_privacy,
    find_certified_size,
    measure_first_layer_noise,
)
from deniable.models.images.robustness import CertifiedImage, DecisionRule, Norm
from deniable.models.shared.tally import PredictionTally

_MAX_DELTA = math.sqrt(2 / math.pi)


def compute_heterogeneous_sigma(epsilon: float, delta: float) -> float:
    """Return sigma / Delta by SecureSGD's formula: sqrt(2) / (2 epsilon) (sqrt(s) + sqrt(s + epsilon)).

    s = ln(sqrt(2 / pi) / delta) (Phan et al. 2019). For even noise it holds for every epsilon: it solves
    epsilon sigma - 1 / (2 sigma) = sqrt(2 s), and the privacy loss exceeds epsilon with the probability
    Phi(-sqrt(2 s)) <= e^-s / 2 < delta.

    Args:
        epsilon: > 0.
        delta: in (0, sqrt(2 / pi)).

    Raises:
        InputError: a parameter outside its domain.
    """
    check_positive("SecureSGD", "epsilon", epsilon)
    check_positive("SecureSGD", "delta", delta, _MAX_DELTA)
    s = math.log(_MAX_DELTA / delta)
    return math.sqrt(2) / (2 * epsilon) * (math.sqrt(s) + math.sqrt(s + epsilon))


@register_certificate
@dataclasses.dataclass(frozen=True)
class SecureSGDCertificate:
    """The certificate of SecureSGD, refuted where the noise is uneven.

    Attributes:
        sigma: root of the mean variance of the noise.
        sensitivity: Delta, the l2 change before the noise per unit of attack; 1 for noise on the pixels and l2.
        least_share: min K r_i of noise N(0, sigma^2 K r_i); it changes nothing but the status, as published. The sound
            way is `GaussianSmoothing` with the scale of `compute_equivalent_gaussian_scale`.
        decision_rule: as of `PixelDP`.
        norm: of the attack for which the sensitivity is given.
        pixels_per_unit: 1: the radius is in pixels of [0, 1].
        source: where it is claimed.

    Raises:
        InputError: a parameter outside its domain.
    """

    sigma: float
    sensitivity: float = 1.0
    least_share: float = 1.0
    decision_rule: DecisionRule = "softmax"
    norm: Norm = "l2"
    pixels_per_unit: float = dataclasses.field(default=1.0, init=False)
    source: str = dataclasses.field(default="Lecuyer et al. 2019, Proposition 2; Phan et al. 2019", init=False)

    def __post_init__(self) -> None:
        check_pixel_privacy(self.sigma, self.sensitivity, self.decision_rule)
        check_least_share(self.least_share)

    @classmethod
    def from_network(cls, network: ImageNetwork, shape: ImageShape, noise: NetworkNoise) -> Self:
        """Return the certificate, as published, of Gaussian noise after the first layer of a network, for l2 attacks.

        Raises:
            InputError: noise of another kind.
        """
        return cls(*measure_first_layer_noise(network, shape, noise))

    @property
    def status(self) -> Status:
        """Refuted for uneven noise, see `deniable.published.securesgd.flaw`; else proved for ideal arithmetic."""
        return "refuted" if self.least_share < 1 else PROVED_IDEAL

    def certify(self, selection: PredictionTally, estimation: PredictionTally, alpha: float) -> CertifiedImage:
        """Return the class and its radius as claimed; arguments as of `RobustnessCertificate.certify`."""
        return certify_by_privacy(selection, estimation, alpha, self.decision_rule, self.radius)

    def radius(self, low: float, high: float) -> float:
        """Return the claimed size, see `deniable.models.images.pixeldp.find_certified_size`.

        Args:
            low: E_lb f_k.
            high: max E_ub f_i.
        """
        return find_certified_size(low, high, self.sigma / self.sensitivity, compute_heterogeneous_sigma)


def check_least_share(share: float) -> None:
    """Raise `InputError` for a least share of variance that no shares of mean 1 can have."""
    if not 0 < share <= 1:
        expected = "a float in (0, 1], the least of shares whose mean is 1"
        raise make_parameter_error("SecureSGD", "least_share", expected, share)
