"""Randomized smoothing with Gaussian (Cohen et al. 2019) or Laplace noise (Teng et al. 2019; Yang et al. 2020)."""

import dataclasses
import math
from typing import ClassVar, Literal, Self

from scipy.special import ndtri

from deniable.core.errors import check_number_within, check_positive, make_parameter_error
from deniable.core.guarantees import PROVED_IDEAL, Status
from deniable.models.images.networks import (
    ImageNetwork,
    ImageShape,
    NetworkNoise,
    NetworkNoiseLaw,
    get_only_noise,
)
from deniable.models.images.robustness import ABSTAINED, CertifiedImage, DecisionRule, Norm
from deniable.models.shared.intervals import bound_both_classes, bound_by_complement, select_class
from deniable.models.shared.tally import PredictionTally

RunnerUpBound = Literal["complement", "estimated"]
RUNNER_UP_BOUNDS = {"complement": bound_by_complement, "estimated": bound_both_classes}


_MAX_SCALE = 1e30
"""Noise is drawn in float32: beyond this range it would round to zero or overflow, and certify nothing."""


def _get_pixel_scale(noises: tuple[NetworkNoise, ...], law: NetworkNoiseLaw) -> float:
    """Return the scale of the noise on the pixels, one for all of them."""
    return check_number_within(
        "smoothing", "noise", float(get_only_noise(noises, "input", law).scale), 1 / _MAX_SCALE, _MAX_SCALE
    )


def compute_gaussian_radius(p_a: float, p_b: float, sigma: float) -> float:
    """Return sigma / 2 (Phi^-1(p_A) - Phi^-1(p_B)), Theorem 1 of Cohen et al. 2019; not above 0 where p_A <= p_B.

    With p_B = 1 - p_A this is sigma Phi^-1(p_A). No larger l2 radius holds for every classifier (Theorem 2).
    """
    if p_a <= p_b:
        return 0.0
    if p_b <= 0 or p_a >= 1:
        return math.inf
    return float(sigma / 2 * (ndtri(p_a) - ndtri(p_b)))


@dataclasses.dataclass(frozen=True)
class GaussianSmoothing:
    """The l2 certificate of a model with noise N(0, sigma^2 I) on its input.

    The class is the most probable vote. What follows the noise, such as clipping of pixels, does not matter.

    Attributes:
        sigma: standard deviation in the unit of the pixels; for noise after a linear layer, the effective one of
            `deniable.models.images.layer_noise.compute_equivalent_gaussian_scale`.
        runner_up: ``complement``: p_B = 1 - p_A, one bound at alpha; ``estimated``: p_A and p_B are bounded at
            alpha / 2 each, p_B by a union over the other K - 1 classes.
        norm: l2.
        status: proved for ideal arithmetic: noise and scores are floating-point numbers.
        source: the theorem.
        decision_rule: votes.
        pixels_per_unit: 1: the radius is in pixels of [0, 1].

    Raises:
        InputError: a sigma that is not positive, or an unknown runner_up.
    """

    choices: ClassVar[tuple[str, ...]] = ("runner_up",)
    sigma: float
    runner_up: RunnerUpBound = "complement"
    norm: Norm = dataclasses.field(default="l2", init=False)
    status: Status = dataclasses.field(default=PROVED_IDEAL, init=False)
    source: str = dataclasses.field(default="Cohen et al. 2019, Theorem 1", init=False)
    decision_rule: DecisionRule = dataclasses.field(default="votes", init=False)
    pixels_per_unit: float = dataclasses.field(default=1.0, init=False)

    @classmethod
    def from_network(
        cls,
        network: ImageNetwork,  # noqa: ARG003 - of every certificate
        shape: ImageShape,  # noqa: ARG003 - the same
        noises: tuple[NetworkNoise, ...],
        runner_up: RunnerUpBound = "complement",
    ) -> Self:
        """Return the certificate of Gaussian noise on the pixels."""
        return cls(_get_pixel_scale(noises, "gaussian"), runner_up)

    def __post_init__(self) -> None:
        check_positive("GaussianSmoothing", "sigma", self.sigma)
        if self.runner_up not in RUNNER_UP_BOUNDS:
            raise make_parameter_error(
                "GaussianSmoothing", "runner_up", f"one of {', '.join(RUNNER_UP_BOUNDS)}", self.runner_up
            )

    def certify(self, selection: PredictionTally, estimation: PredictionTally, alpha: float) -> CertifiedImage:
        """Return the class and its radius, as `RobustnessCertificate.certify`."""
        label = select_class(selection, estimation, alpha)
        radius = compute_gaussian_radius(*RUNNER_UP_BOUNDS[self.runner_up](estimation, label, alpha), self.sigma)
        return CertifiedImage(label, radius) if radius > 0 else ABSTAINED


def compute_laplace_radius(p_a: float, p_b: float, scale: float) -> float:
    """Return b max(1/2 ln(p_A / p_B), -ln(1 - p_A + p_B)); 0 where p_A <= p_B.

    An attack of l1 size R changes the probability of every event by a factor of at most e^(R/b). So p_A falls to no
    less than p_A e^(-R/b) and 1 - (1 - p_A) e^(R/b), and p_B rises to no more than p_B e^(R/b): each of the two lower
    bounds meets the upper one at one of the two terms. The other upper bound, 1 - (1 - p_B) e^(-R/b), adds nothing
    while p_A + p_B <= 1. With p_B = 1 - p_A the second term, -b ln(2 (1 - p_A)), is exact in one dimension.
    """
    if p_a <= p_b:
        return 0.0
    if p_b <= 0:
        return math.inf
    return scale * max(math.log(p_a / p_b) / 2, -math.log1p(p_b - p_a))


@dataclasses.dataclass(frozen=True)
class LaplaceSmoothing:
    """The l1 certificate of a model with independent Laplace noise on every pixel.

    Attributes:
        scale: b, in the unit of the pixels; the noise has variance 2 b^2. For noise after a linear layer, the effective
            one of `deniable.models.images.layer_noise.compute_equivalent_laplace_scale`.
        runner_up: as of `GaussianSmoothing`.
        norm: l1.
        status: proved for ideal arithmetic: noise and scores are floating-point numbers.
        source: the theorems.
        decision_rule: votes.
        pixels_per_unit: 1: the radius is in pixels of [0, 1].

    Raises:
        InputError: a scale that is not positive, or an unknown runner_up.
    """

    choices: ClassVar[tuple[str, ...]] = ("runner_up",)
    scale: float
    runner_up: RunnerUpBound = "complement"
    norm: Norm = dataclasses.field(default="l1", init=False)
    status: Status = dataclasses.field(default=PROVED_IDEAL, init=False)
    source: str = dataclasses.field(default="Teng et al. 2019; Yang et al. 2020", init=False)
    decision_rule: DecisionRule = dataclasses.field(default="votes", init=False)
    pixels_per_unit: float = dataclasses.field(default=1.0, init=False)

    @classmethod
    def from_network(
        cls,
        network: ImageNetwork,  # noqa: ARG003 - of every certificate
        shape: ImageShape,  # noqa: ARG003 - the same
        noises: tuple[NetworkNoise, ...],
        runner_up: RunnerUpBound = "complement",
    ) -> Self:
        """Return the certificate of Laplace noise on the pixels."""
        return cls(_get_pixel_scale(noises, "laplace"), runner_up)

    def __post_init__(self) -> None:
        check_positive("LaplaceSmoothing", "scale", self.scale)
        if self.runner_up not in RUNNER_UP_BOUNDS:
            raise make_parameter_error(
                "LaplaceSmoothing", "runner_up", f"one of {', '.join(RUNNER_UP_BOUNDS)}", self.runner_up
            )

    def certify(self, selection: PredictionTally, estimation: PredictionTally, alpha: float) -> CertifiedImage:
        """Return the class and its radius, as `RobustnessCertificate.certify`."""
        label = select_class(selection, estimation, alpha)
        radius = compute_laplace_radius(*RUNNER_UP_BOUNDS[self.runner_up](estimation, label, alpha), self.scale)
        return CertifiedImage(label, radius) if radius > 0 else ABSTAINED
