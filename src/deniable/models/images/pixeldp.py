"""PixelDP (Lecuyer et al. 2019): a certificate from the differential privacy of an image's pixels.

Let noise make what follows it (epsilon, delta)-DP for two images at distance L. For scores f_k in [0, 1], then
E f_k(x) <= e^epsilon E f_k(x') + delta, both ways (Lemma 1). So the class k keeps the largest mean score within L if

    E_lb f_k(x) > e^(2 epsilon) max_i E_ub f_i(x) + (1 + e^epsilon) delta

(Proposition 2; Eq. 4 of paper 004). The noise has deviation sigma after a step of l2 sensitivity Delta per unit of
attack. Every (epsilon, delta) that the noise gives for some L is a certificate of that L; the largest is returned.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy import optimize

from deniable.core.errors import InputError, check_positive, make_parameter_error
from deniable.core.guarantees import PROVED_IDEAL, Status
from deniable.models.images.layer_noise import ImageShape, PixelFirstLayer, compute_equivalent_gaussian_scale
from deniable.models.images.networks import ImageNetwork, NetworkNoise
from deniable.models.images.robustness import ABSTAINED, CertifiedImage, DecisionRule, Norm
from deniable.models.shared.intervals import (
    compute_clopper_pearson_lower,
    compute_clopper_pearson_upper,
    compute_hoeffding_bounds,
    select_class,
)
from deniable.models.shared.tally import PredictionTally
from deniable.vectors.gaussian import bound_log_delta, compute_noise_ratio

NoiseCalibration = Literal["gaussian", "analytic", "heterogeneous"]
_GRID_SIZE = 24
_TOLERANCE = 1e-9
"""Relative difference of a share from 1 that is rounding."""


def _compute_classical_ratio(epsilon: float, delta: float) -> float:
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def _compute_heterogeneous_ratio(epsilon: float, delta: float) -> float:
    s = math.log(math.sqrt(2 / math.pi) / delta)
    return math.sqrt(2) / (2 * epsilon) * (math.sqrt(s) + math.sqrt(s + epsilon))


_RATIO_FORMULAS: dict[str, Callable[[float, float], float]] = {
    "gaussian": _compute_classical_ratio,
    "analytic": compute_noise_ratio,
    "heterogeneous": _compute_heterogeneous_ratio,
}


def compute_pixeldp_sigma(mechanism: NoiseCalibration, epsilon: float, delta: float) -> float:
    """Return the deviation sigma / Delta with which a mechanism's formula claims (epsilon, delta)-DP.

    ``gaussian``: sqrt(2 ln(1.25 / delta)) / epsilon, Dwork and Roth 2014, Theorem A.1, proved for epsilon < 1 only.
    ``analytic``: the least there is, Balle and Wang 2018, Theorem 8.
    ``heterogeneous``: sqrt(2) / (2 epsilon) (sqrt(s) + sqrt(s + epsilon)) with s = ln(sqrt(2 / pi) / delta), Phan et
    al. 2019. For even noise it holds for every epsilon: it solves epsilon sigma - 1 / (2 sigma) = sqrt(2 s), and the
    privacy loss exceeds epsilon with the probability Phi(-sqrt(2 s)) <= e^-s / 2 < delta.

    Args:
        mechanism: whose formula.
        epsilon: > 0.
        delta: in (0, 1); below sqrt(2 / pi) for ``heterogeneous``.

    Raises:
        InputError: a parameter outside its domain.
    """
    if mechanism not in _RATIO_FORMULAS:
        raise make_parameter_error("PixelDP", "mechanism", f"one of {', '.join(_RATIO_FORMULAS)}", mechanism)
    check_positive("PixelDP", "epsilon", epsilon)
    check_positive("PixelDP", "delta", delta, math.sqrt(2 / math.pi) if mechanism == "heterogeneous" else 1.0)
    return _RATIO_FORMULAS[mechanism](epsilon, delta)


def compute_true_delta(mechanism: NoiseCalibration, epsilon: float, delta: float, least_share: float = 1.0) -> float:
    """Return the delta that noise made for (epsilon, delta) has in truth; the claim is false where it is larger.

    The profile of Gaussian noise is known exactly (Balle and Wang 2018, Theorem 8). Noise N(0, sigma^2 K r_i) on
    coordinate i, with sum r = 1, is worst for a change of that coordinate alone with the least K r_i: that change
    meets noise of deviation sigma sqrt(K r_i), whatever the other coordinates carry. As implemented from the formula of
    Phan et al. 2019, sigma does not depend on r, so the claim fails wherever K r_i is far enough below 1.

    Args:
        mechanism: whose formula for sigma is used.
        epsilon: > 0.
        delta: claimed.
        least_share: min K r_i, in (0, 1]; 1 for even noise.

    Raises:
        InputError: a parameter outside its domain.
    """
    _check_share(least_share)
    return math.exp(bound_log_delta(epsilon, compute_pixeldp_sigma(mechanism, epsilon, delta) * math.sqrt(least_share)))


@dataclasses.dataclass(frozen=True)
class PixelDP:
    """The certificate of PixelDP.

    Attributes:
        sigma: standard deviation of the noise; the root of the mean variance where it is uneven.
        sensitivity: Delta, the l2 change before the noise per unit of attack; 1 for noise on the pixels and l2.
        mechanism: whose formula gives (epsilon, delta) for sigma and L. ``gaussian`` is used up to epsilon 1.
        estimated: ``softmax``: means of softmax scores with Hoeffding's bounds, as Lecuyer et al. do; ``votes``: shares
            of votes with Clopper and Pearson's bounds, sound as well since a vote is a score in {0, 1}, and about the
            class with most votes. alpha is split among the K classes.
        least_share: min K r_i of uneven noise N(0, sigma^2 K r_i); it changes nothing but the status, as published.
            The sound way is `GaussianSmoothing` or PixelDP with the scale of `compute_equivalent_gaussian_scale`.
        norm: of the attack for which the sensitivity is given.

    Raises:
        InputError: a parameter outside its domain.
    """

    sigma: float
    sensitivity: float = 1.0
    mechanism: NoiseCalibration = "analytic"
    estimated: DecisionRule = "softmax"
    least_share: float = 1.0
    norm: Norm = "l2"

    def __post_init__(self) -> None:
        check_positive("PixelDP", "sigma", self.sigma)
        check_positive("PixelDP", "sensitivity", self.sensitivity)
        _check_share(self.least_share)
        if self.mechanism not in _RATIO_FORMULAS:
            raise make_parameter_error("PixelDP", "mechanism", f"one of {', '.join(_RATIO_FORMULAS)}", self.mechanism)
        if self.estimated not in {"softmax", "votes"}:
            raise make_parameter_error("PixelDP", "estimated", "one of softmax, votes", self.estimated)

    @classmethod
    def from_network(
        cls, network: ImageNetwork, shape: ImageShape, noise: NetworkNoise, mechanism: NoiseCalibration
    ) -> "PixelDP":
        """Return the certificate, as published, of Gaussian noise after the first layer of a network, for l2 attacks.

        The sensitivity is the layer's exact operator norm on pixels in [0, 1].

        Raises:
            InputError: noise of another kind.
        """
        if (noise.place, noise.law) != ("first layer", "gaussian"):
            description = f"{noise.law} noise on the {noise.place}"
            raise InputError(f"PixelDP needs Gaussian noise after the first layer. Got {description}.")
        variances = noise.scale.double() ** 2
        mean_variance = float(variances.mean())
        least_share = float(variances.min()) / mean_variance
        sensitivity = 1 / compute_equivalent_gaussian_scale(PixelFirstLayer(network), shape)
        return cls(
            math.sqrt(mean_variance),
            sensitivity,
            mechanism,
            least_share=1.0 if least_share > 1 - _TOLERANCE else least_share,
        )

    @property
    def status(self) -> Status:
        """Proved for even noise and ideal arithmetic; refuted for uneven noise, see `compute_true_delta`."""
        return "refuted" if self.least_share < 1 else PROVED_IDEAL

    @property
    def decision_rule(self) -> DecisionRule:
        """What the scores are estimated from."""
        return self.estimated

    @property
    def source(self) -> str:
        """The theorems."""
        calibration = {
            "gaussian": "Dwork and Roth 2014, Theorem A.1, epsilon <= 1",
            "analytic": "Balle and Wang 2018, Theorem 8",
            "heterogeneous": "Phan et al. 2019",
        }
        return f"Lecuyer et al. 2019, Proposition 2; {calibration[self.mechanism]}"

    def certify(self, selection: PredictionTally, estimation: PredictionTally, alpha: float) -> CertifiedImage:
        """Return the class and its radius, wrong with probability at most alpha; see `RobustnessCertificate.certify`."""
        label = select_class(selection, estimation, alpha)
        class_alpha = alpha / len(estimation.votes)
        if self.estimated == "votes":
            votes, draws = estimation.votes, estimation.draws
            low = compute_clopper_pearson_lower(int(votes[label]), draws, class_alpha)
            high = compute_clopper_pearson_upper(int(np.delete(votes, label).max()), draws, class_alpha)
        else:
            label = int(selection.sums.argmax())
            lows, highs = compute_hoeffding_bounds(estimation.sums, estimation.draws, class_alpha)
            low, high = float(lows[label]), float(np.delete(highs, label).max())
        radius = self.radius(low, high)
        return CertifiedImage(label, radius) if radius > 0 else ABSTAINED

    def radius(self, low: float, high: float) -> float:
        """Return the largest L found with low > e^(2 epsilon) high + (1 + e^epsilon) delta; 0 for none.

        Each epsilon leaves a largest delta, and these two a least sigma / (Delta L). The search over epsilon may end
        beside the best one, at a smaller L.

        Args:
            low: E_lb f_k.
            high: max E_ub f_i.
        """
        if low <= high:
            return 0.0
        max_epsilon = math.log(low / high) / 2 if high > 0 else math.inf
        max_epsilon = min(max_epsilon, 1.0 if self.mechanism == "gaussian" else 50.0)

        def compute_size(epsilon: float) -> float:
            delta = (low - math.exp(2 * epsilon) * high) / (1 + math.exp(epsilon)) * (1 - _TOLERANCE)
            if delta <= 0:
                return 0.0
            return self.sigma / (self.sensitivity * compute_pixeldp_sigma(self.mechanism, epsilon, delta))

        grid = np.linspace(0, max_epsilon, _GRID_SIZE + 1)[1:]
        best = int(np.argmax([compute_size(epsilon) for epsilon in grid]))
        bracket = (
            grid[best] - max_epsilon / _GRID_SIZE * (1 - _TOLERANCE),
            min(grid[best] + max_epsilon / _GRID_SIZE, max_epsilon),
        )
        refinement = optimize.minimize_scalar(lambda epsilon: -compute_size(epsilon), bounds=bracket, method="bounded")
        return max(compute_size(float(grid[best])), -float(refinement.fun))


def _check_share(share: float) -> None:
    if not 0 < share <= 1:
        raise make_parameter_error(
            "PixelDP", "least_share", "a float in (0, 1], the least of shares whose mean is 1", share
        )
