"""SecureSGD's certificate as published: PixelDP's radius from a formula that ignores how the noise is shared out."""

import dataclasses
import functools
import math
from typing import ClassVar, Self

import numpy as np

from deniable.core.errors import check_positive, make_parameter_error
from deniable.core.guarantees import PROVED_IDEAL, Status
from deniable.core.numbers import format_exact, format_lower, format_upper
from deniable.models.images.certificates import (
    CertifiedImage,
    DecisionRule,
    Norm,
    compute_gaussian_radius,
    register_certificate,
)
from deniable.models.images.networks import ImageNetwork, ImageShape, NetworkNoise
from deniable.models.images.pixeldp import (
    certify_by_privacy,
    check_pixel_privacy,
    find_certified_size,
    measure_first_layer_noise,
)
from deniable.models.tally import PredictionTally

_MAX_DELTA = math.sqrt(2 / math.pi)
_CLAIM = "Lecuyer et al. 2019, Proposition 2; Phan et al. 2019"
_CLASS_COUNTS = (2, 3, 5, 10, 30, 100)
"""Numbers of classes of the networks among which a false radius is looked for."""
_ROUNDING = 1e-9
"""Relative difference of two radii that may be rounding."""
_DIGITS = 5


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
    """The certificate of SecureSGD, refuted where the noise is so uneven that a radius it states is false.

    Attributes:
        sigma: root of the mean variance of the noise.
        sensitivity: Delta, the l2 change before the noise per unit of attack; 1 for noise on the pixels and l2.
        least_share: min K r_i of noise N(0, sigma^2 K r_i); it changes nothing but the status, as published. The sound
            way is `GaussianSmoothing` with the scale of `compute_equivalent_gaussian_scale`.
        decision_rule: as of `PixelDP`.
        norm: of the attack for which the sensitivity is given.
        pixels_per_unit: 1: the radius is in pixels of [0, 1].

    Raises:
        InputError: a parameter outside its domain.
    """

    choices: ClassVar[tuple[str, ...]] = ("decision_rule",)
    sigma: float
    sensitivity: float = 1.0
    least_share: float = 1.0
    decision_rule: DecisionRule = "softmax"
    norm: Norm = "l2"
    pixels_per_unit: float = dataclasses.field(default=1.0, init=False)

    def __post_init__(self) -> None:
        check_pixel_privacy(self.sigma, self.sensitivity, self.decision_rule)
        if not 0 < self.least_share <= 1:
            expected = "a float in (0, 1], the least of shares whose mean is 1"
            raise make_parameter_error("SecureSGD", "least_share", expected, self.least_share)

    @classmethod
    def from_network(
        cls,
        network: ImageNetwork,
        shape: ImageShape,
        noises: tuple[NetworkNoise, ...],
        decision_rule: DecisionRule = "softmax",
    ) -> Self:
        """Return the certificate, as published, of Gaussian noise after the first layer of a network, for l2 attacks.

        Raises:
            InputError: noise of another kind.
        """
        return cls(*measure_first_layer_noise(network, shape, noises), decision_rule)

    @property
    def status(self) -> Status:
        """Proved for ideal arithmetic if the noise is even; else refuted where `find_false_radius` finds one.

        Uneven noise without a radius that is known to be false is undecided: the published proof does not cover it.
        """
        if self.least_share == 1:
            return PROVED_IDEAL
        return "undecided" if find_false_radius(self) is None else "refuted"

    @property
    def source(self) -> str:
        """Where it is claimed, and the radius that refutes it, if there is one."""
        false_radius = find_false_radius(self)
        return _CLAIM if false_radius is None else f"{_CLAIM}; refuted: {false_radius}"

    def certify(self, selection: PredictionTally, estimation: PredictionTally, alpha: float) -> CertifiedImage:
        """Return the class and its radius as claimed; arguments as of `DrawnCertificate.certify`."""
        return certify_by_privacy(selection, estimation, alpha, self.decision_rule, self.radius)

    def radius(self, low: float, high: float) -> float:
        """Return the claimed size, see `deniable.models.images.pixeldp.find_certified_size`.

        Args:
            low: E_lb f_k.
            high: max E_ub f_i.
        """
        return find_certified_size(low, high, self.sigma / self.sensitivity, compute_heterogeneous_sigma)


@dataclasses.dataclass(frozen=True)
class FalseRadius:
    """A network of K classes for which a certificate states more than the distance to an image of another class.

    The network looks at one coordinate of the first layer, the one with the least noise, and at an attack that moves
    this coordinate alone. A low value gives the class k, a high one the class i, and those between are shared out
    among the other K - 2 classes, so that each of them has the mean score of i. By the Neyman-Pearson lemma no network
    with these scores changes its class sooner.

    Attributes:
        classes: K.
        low: E f_k, the mean score of the certified class.
        high: E f_i, that of every other class.
        stated: the radius that the certificate states of these scores.
        exact: the size of an attack that makes i at least as likely as k: sqrt(share) sigma / (2 Delta)
            (Phi^-1(low) - Phi^-1(high)).
    """

    classes: int
    low: float
    high: float
    stated: float
    exact: float

    def __str__(self) -> str:
        """Return the two sizes in one line, rounded towards each other."""
        return (
            f"for {self.classes} classes with the mean scores {format_exact(self.low)} and "
            f"{format_exact(self.high)} it "
            f"states the radius {format_lower(self.stated, _DIGITS)}, and an attack of size "
            f"{format_upper(self.exact, _DIGITS)} changes the class"
        )


@functools.lru_cache(maxsize=64)
def find_false_radius(certificate: SecureSGDCertificate) -> FalseRadius | None:
    """Return the falsest radius that a certificate states of networks with as few classes as possible; None for none.

    The radius is that of the published rule, for exact mean scores. Networks of up to 100 classes are tried: with more
    classes there are smaller scores, for which the formula has less slack.
    """
    noise = certificate.sigma / certificate.sensitivity
    if not 0 < noise < math.inf:  # beyond what a float holds, where every radius is 0 or infinite
        return None
    scale = noise * math.sqrt(certificate.least_share)
    for classes in _CLASS_COUNTS:
        lows = [*np.geomspace(1 / classes, 1, 24)[1:-1].tolist(), 0.99, 0.999, 0.9999]
        # Mean scores of a class and of each of the others, which sum to 1.
        scores = [(low, (1 - low) / (classes - 1)) for low in lows]
        found = [
            FalseRadius(classes, low, high, certificate.radius(low, high), compute_gaussian_radius(low, high, scale))
            for low, high in scores
        ]
        false_radii = [one for one in found if one.exact * (1 + _ROUNDING) < one.stated]
        if false_radii:
            return max(false_radii, key=lambda one: one.stated - one.exact)
    return None
