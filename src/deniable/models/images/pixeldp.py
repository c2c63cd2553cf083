"""PixelDP (Lecuyer et al. 2019): a certificate from the differential privacy of an image's pixels.

Let noise make what follows it (epsilon, delta)-DP for two images at distance L. For scores f_k in [0, 1], then
E f_k(x) <= e^epsilon E f_k(x') + delta, both ways (Lemma 1). So the class k keeps the largest mean score within L if

    E_lb f_k(x) > e^(2 epsilon) max_i E_ub f_i(x) + (1 + e^epsilon) delta

(Proposition 2; Eq. 4 of Phan et al. 2020). The noise has deviation sigma after a step of l2 sensitivity Delta per unit
of attack. Every (epsilon, delta) that the noise gives for some L is a certificate of that L; the largest is returned.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import ClassVar, Literal, Self

import numpy as np
from scipy import optimize

from deniable.accounting.gaussian import compute_noise_ratio
from deniable.core.errors import InputError, check_positive, make_parameter_error
from deniable.core.guarantees import PROVED_IDEAL, Status
from deniable.models.images.layer_noise import PixelFirstLayer, compute_equivalent_gaussian_scale
from deniable.models.images.networks import ImageNetwork, ImageShape, NetworkNoise, get_only_noise
from deniable.models.images.robustness import ABSTAINED, CertifiedImage, DecisionRule, Norm
from deniable.models.shared.intervals import (
    compute_clopper_pearson_lower,
    compute_clopper_pearson_upper,
    compute_hoeffding_bounds,
    select_class,
)
from deniable.models.shared.tally import PredictionTally

NoiseCalibration = Literal["gaussian", "analytic"]
RatioFormula = Callable[[float, float], float]
"""From epsilon and delta to sigma / Delta, the noise that is claimed to be (epsilon, delta)-DP."""
_GRID_SIZE = 24
_TOLERANCE = 1e-9
"""Relative difference of a share from 1 that is rounding."""
_MAX_EPSILON = 50.0


def _compute_classical_ratio(epsilon: float, delta: float) -> float:
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


_RATIO_FORMULAS: dict[str, RatioFormula] = {"gaussian": _compute_classical_ratio, "analytic": compute_noise_ratio}
_MAX_EPSILONS = {"gaussian": 1.0, "analytic": _MAX_EPSILON}
"""Up to which each formula is used: the classical one is proved up to 1."""


def compute_pixeldp_sigma(calibration: NoiseCalibration, epsilon: float, delta: float) -> float:
    """Return the deviation sigma / Delta that a formula gives for (epsilon, delta)-DP.

    ``gaussian``: sqrt(2 ln(1.25 / delta)) / epsilon, Dwork and Roth 2014, Theorem A.1, proved for epsilon < 1 only.
    ``analytic``: the least there is, Balle and Wang 2018, Theorem 8.

    Args:
        calibration: which formula.
        epsilon: > 0.
        delta: in (0, 1).

    Raises:
        InputError: a parameter outside its domain.
    """
    if calibration not in _RATIO_FORMULAS:
        raise make_parameter_error("PixelDP", "calibration", f"one of {', '.join(_RATIO_FORMULAS)}", calibration)
    check_positive("PixelDP", "epsilon", epsilon)
    check_positive("PixelDP", "delta", delta, 1.0)
    return _RATIO_FORMULAS[calibration](epsilon, delta)


@dataclasses.dataclass(frozen=True)
class PixelDP:
    """The certificate of PixelDP.

    Attributes:
        sigma: standard deviation of the noise.
        sensitivity: Delta, the l2 change before the noise per unit of attack; 1 for noise on the pixels and l2.
        calibration: the formula that gives (epsilon, delta) for sigma and L. ``gaussian`` is used up to epsilon 1.
        decision_rule: ``softmax``: means of softmax scores with Hoeffding's bounds, as in Lecuyer et al.; ``votes``:
            shares of votes with Clopper and Pearson's bounds, sound as well since a vote is a score in {0, 1}, and
            about the class with most votes. alpha is split among the K classes.
        norm: of the attack for which the sensitivity is given.
        pixels_per_unit: 1: the radius is in pixels of [0, 1].

    Raises:
        InputError: a parameter outside its domain.
    """

    choices: ClassVar[tuple[str, ...]] = ("calibration", "decision_rule")
    sigma: float
    sensitivity: float = 1.0
    calibration: NoiseCalibration = "analytic"
    decision_rule: DecisionRule = "softmax"
    norm: Norm = "l2"
    pixels_per_unit: float = dataclasses.field(default=1.0, init=False)

    def __post_init__(self) -> None:
        check_pixel_privacy(self.sigma, self.sensitivity, self.decision_rule)
        if self.calibration not in _RATIO_FORMULAS:
            expected = f"one of {', '.join(_RATIO_FORMULAS)}"
            raise make_parameter_error("PixelDP", "calibration", expected, self.calibration)

    @classmethod
    def from_network(
        cls,
        network: ImageNetwork,
        shape: ImageShape,
        noises: tuple[NetworkNoise, ...],
        calibration: NoiseCalibration,
        decision_rule: DecisionRule = "softmax",
    ) -> Self:
        """Return the certificate of even Gaussian noise after the first layer of a network, for l2 attacks.

        The sensitivity is the layer's exact operator norm on pixels in [0, 1].

        Raises:
            InputError: noise of another kind, or noise that differs among the coordinates.
        """
        sigma, sensitivity, least_share = measure_first_layer_noise(network, shape, noises)
        if least_share < 1:
            raise InputError(
                f"PixelDP needs noise of one deviation. Got a least variance of {least_share:g} of the mean: certify "
                "GaussianSmoothing with compute_equivalent_gaussian_scale."
            )
        return cls(sigma, sensitivity, calibration, decision_rule)

    @property
    def status(self) -> Status:
        """Proved for ideal arithmetic: noise and scores are floating-point numbers."""
        return PROVED_IDEAL

    @property
    def source(self) -> str:
        """The theorems."""
        theorems = {
            "gaussian": "Dwork and Roth 2014, Theorem A.1, epsilon <= 1",
            "analytic": "Balle and Wang 2018, Theorem 8",
        }
        return f"Lecuyer et al. 2019, Proposition 2; {theorems[self.calibration]}"

    def certify(self, selection: PredictionTally, estimation: PredictionTally, alpha: float) -> CertifiedImage:
        """Return the class and its radius, as `RobustnessCertificate.certify`."""
        return certify_by_privacy(selection, estimation, alpha, self.decision_rule, self.radius)

    def radius(self, low: float, high: float) -> float:
        """Return the certified size, see `find_certified_size`.

        Args:
            low: E_lb f_k.
            high: max E_ub f_i.
        """
        formula = _RATIO_FORMULAS[self.calibration]
        return find_certified_size(low, high, self.sigma / self.sensitivity, formula, _MAX_EPSILONS[self.calibration])


def check_pixel_privacy(sigma: float, sensitivity: float, decision_rule: str) -> None:
    """Raise `InputError` for a number that is not positive or an unknown decision rule."""
    check_positive("PixelDP", "sigma", sigma)
    check_positive("PixelDP", "sensitivity", sensitivity)
    if decision_rule not in {"softmax", "votes"}:
        raise make_parameter_error("PixelDP", "decision_rule", "one of softmax, votes", decision_rule)


def measure_first_layer_noise(
    network: ImageNetwork, shape: ImageShape, noises: tuple[NetworkNoise, ...]
) -> tuple[float, float, float]:
    """Return the root of the noise's mean variance, the layer's exact operator norm, and the least share of variance.

    Args:
        network: with noise after its first layer.
        shape: of an image, (channels, height, width).
        noises: Gaussian after the first layer, of any scale that fits the layer's output, and no other.

    Returns:
        sigma; Delta, the norm from l2 on pixels in [0, 1]; and min r_i for variances sigma^2 r_i, 1 for even noise.

    Raises:
        InputError: noise of another kind.
    """
    variances = get_only_noise(noises, "first layer", "gaussian").scale.double() ** 2
    mean_variance = float(variances.mean())
    least_share = float(variances.min()) / mean_variance
    sensitivity = 1 / compute_equivalent_gaussian_scale(PixelFirstLayer(network), shape)
    return math.sqrt(mean_variance), sensitivity, 1.0 if least_share > 1 - _TOLERANCE else least_share


def certify_by_privacy(
    selection: PredictionTally,
    estimation: PredictionTally,
    alpha: float,
    decision_rule: DecisionRule,
    compute_radius: Callable[[float, float], float],
) -> CertifiedImage:
    """Return the class and the radius that bounds on the scores of all K classes give, each at alpha / K.

    Args:
        selection: draws that choose the class.
        estimation: independent draws that bound the scores.
        alpha: in (0, 1).
        decision_rule: what is bounded, mean softmax scores or shares of votes.
        compute_radius: from E_lb f_k and max E_ub f_i to a radius, 0 for none.

    Raises:
        InputError: alpha outside (0, 1), or tallies of different classes.
    """
    label = select_class(selection, estimation, alpha)
    class_alpha = alpha / len(estimation.votes)
    if decision_rule == "votes":
        votes, draws = estimation.votes, estimation.draws
        low = compute_clopper_pearson_lower(int(votes[label]), draws, class_alpha)
        high = compute_clopper_pearson_upper(int(np.delete(votes, label).max()), draws, class_alpha)
    else:
        label = int(selection.sums.argmax())
        lows, highs = compute_hoeffding_bounds(estimation.sums, estimation.draws, class_alpha)
        low, high = float(lows[label]), float(np.delete(highs, label).max())
    radius = compute_radius(low, high)
    return CertifiedImage(label, radius) if radius > 0 else ABSTAINED


def find_certified_size(
    low: float, high: float, noise: float, compute_ratio: RatioFormula, max_epsilon: float = _MAX_EPSILON
) -> float:
    """Return the largest L found with low > e^(2 epsilon) high + (1 + e^epsilon) delta; 0 for none.

    Each epsilon leaves a largest delta, and these two a least sigma / (Delta L). The search over epsilon may end
    beside the best one, at a smaller L.

    Args:
        low: E_lb f_k.
        high: max E_ub f_i.
        noise: sigma / Delta.
        compute_ratio: the noise per unit of L that (epsilon, delta) takes.
        max_epsilon: up to which ``compute_ratio`` is used.
    """
    if low <= high:
        return 0.0
    max_epsilon = min(math.log(low / high) / 2 if high > 0 else math.inf, max_epsilon)

    def compute_size(epsilon: float) -> float:
        delta = (low - math.exp(2 * epsilon) * high) / (1 + math.exp(epsilon)) * (1 - _TOLERANCE)
        return noise / compute_ratio(epsilon, delta) if delta > 0 else 0.0

    grid = np.linspace(0, max_epsilon, _GRID_SIZE + 1)[1:]
    best = int(np.argmax([compute_size(epsilon) for epsilon in grid]))
    bracket = (
        grid[best] - max_epsilon / _GRID_SIZE * (1 - _TOLERANCE),
        min(grid[best] + max_epsilon / _GRID_SIZE, max_epsilon),
    )
    refinement = optimize.minimize_scalar(lambda epsilon: -compute_size(epsilon), bounds=bracket, method="bounded")
    return max(compute_size(float(grid[best])), -float(refinement.fun))
