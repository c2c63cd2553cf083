"""PixelDP (Lecuyer et al. 2019): a certificate from the differential privacy of an image's pixels.

Let noise make what follows it (epsilon, delta)-DP for two images at distance L. For scores f_k in [0, 1], then
E f_k(x) <= e^epsilon E f_k(x') + delta, both ways (Lemma 1). So the class k keeps the largest mean score within L if

    E_lb f_k(x) > e^(2 epsilon) max_i E_ub f_i(x) + (1 + e^epsilon) delta

(Proposition 2; Eq. 4 of Phan et al. 2020). The noise has deviation sigma after a step of l2 sensitivity Delta per unit
of attack. Every (epsilon, delta) that the noise gives for some L is a certificate of that L; the largest is returned.

**Noise after a linear layer** h = W x + c. An attack v on the pixels moves h by W v. With independent noise of
deviation s_j on h_j, all that is computed from h is a function of (h + noise) / s, and there the attack has the size
||diag(1/s) W v||. The layer's noise therefore certifies in l2 what Gaussian noise on the pixels of deviation
1 / ||diag(1/s) W|| would, with the operator norm, also where it differs among the coordinates.
"""

import copy
import dataclasses
import math
from collections.abc import Callable
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
import torch
from scipy import optimize
from torch import Tensor, nn
from torch.nn import functional, grad

from deniable.accounting.gaussian import compute_noise_ratio
from deniable.core.errors import InputError, check_positive, make_parameter_error
from deniable.core.guarantees import PROVED_IDEAL, Status
from deniable.models.images.certificates import ABSTAINED, CertifiedImage, DecisionRule, Norm, register_certificate
from deniable.models.images.networks import ImageNetwork, ImageShape, NetworkNoise, get_only_noise
from deniable.models.intervals import (
    compute_clopper_pearson_lower,
    compute_clopper_pearson_upper,
    compute_hoeffding_bounds,
    select_class,
)
from deniable.models.tally import PredictionTally, make_noise_generator

NoiseCalibration = Literal["gaussian", "analytic"]
RatioFormula = Callable[[float, float], float]
"""From epsilon and delta to sigma / Delta, the noise that is claimed to be (epsilon, delta)-DP."""
_GRID_SIZE = 24
_TOLERANCE = 1e-9
"""Relative difference of a share from 1 that is rounding."""
_MAX_EPSILON = 50.0
_BASIS_BATCH = 128
"""Number of basis images in one call of a layer."""
_NORM_ROUNDING = 2.0**-34
"""Relative error granted to a norm: 2^-52 for each of at most 2^18 sums of float64. The scale is smaller by it."""
_POWER_ITERATIONS = 8


class _Formula(NamedTuple):
    """A formula of noise, up to which epsilon it is used, and its theorem."""

    compute_ratio: RatioFormula
    max_epsilon: float
    theorem: str


_FORMULAS = {
    "gaussian": _Formula(
        lambda epsilon, delta: math.sqrt(2 * math.log(1.25 / delta)) / epsilon,
        1.0,  # up to which it is proved
        "Dwork and Roth 2014, Theorem A.1, epsilon <= 1",
    ),
    "analytic": _Formula(compute_noise_ratio, _MAX_EPSILON, "Balle and Wang 2018, Theorem 8"),
}


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
    _check_calibration(calibration)
    check_positive("PixelDP", "epsilon", epsilon)
    check_positive("PixelDP", "delta", delta, 1.0)
    return _FORMULAS[calibration].compute_ratio(epsilon, delta)


def _check_calibration(calibration: str) -> None:
    if calibration not in _FORMULAS:
        raise make_parameter_error("PixelDP", "calibration", f"one of {', '.join(_FORMULAS)}", calibration)


@register_certificate
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
        status: proved for ideal arithmetic: noise and scores are floating-point numbers.
        pixels_per_unit: 1: the radius is in pixels of [0, 1].

    Raises:
        InputError: a parameter outside its domain.
    """

    choices: ClassVar[tuple[str, ...]] = ("calibration", "decision_rule")
    status: ClassVar[Status] = PROVED_IDEAL
    sigma: float
    sensitivity: float = 1.0
    calibration: NoiseCalibration = "analytic"
    decision_rule: DecisionRule = "softmax"
    norm: Norm = "l2"
    pixels_per_unit: float = dataclasses.field(default=1.0, init=False)

    def __post_init__(self) -> None:
        check_pixel_privacy(self.sigma, self.sensitivity, self.decision_rule)
        _check_calibration(self.calibration)

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
    def source(self) -> str:
        """The theorems."""
        return f"Lecuyer et al. 2019, Proposition 2; {_FORMULAS[self.calibration].theorem}"

    def certify(self, selection: PredictionTally, estimation: PredictionTally, alpha: float) -> CertifiedImage:
        """Return the class and its radius, as `DrawnCertificate.certify`."""
        return certify_by_privacy(selection, estimation, alpha, self.decision_rule, self.radius)

    def radius(self, low: float, high: float) -> float:
        """Return the certified size, see `find_certified_size`.

        Args:
            low: E_lb f_k.
            high: max E_ub f_i.
        """
        formula, noise = _FORMULAS[self.calibration], self.sigma / self.sensitivity
        return find_certified_size(low, high, noise, formula.compute_ratio, formula.max_epsilon)


class PixelFirstLayer(nn.Module):
    """The first layer of a network as a map of pixels in [0, 1]."""

    def __init__(self, network: ImageNetwork) -> None:
        super().__init__()
        self.first = network.first

    def forward(self, images: Tensor) -> Tensor:
        """Return (b, maps, height', width') of images (b, channels, height, width)."""
        hidden: Tensor = self.first(2 * images - 1)
        return hidden


def compute_equivalent_gaussian_scale(layer: nn.Module, shape: ImageShape, deviations: float | Tensor = 1.0) -> float:
    """Return the standard deviation of pixel noise equivalent to Gaussian noise after a linear layer, for l2 attacks.

    It is 1 / ||diag(1/s) W||_2, by the largest eigenvalue of the Gram matrix W^T diag(1/s^2) W (d, d) in float64. For
    noise of deviation 1, one over it is the layer's operator norm, from above. A layer that computes in float32 differs
    from its matrix by roundings of about 1e-7, relative, which the certificates do not count.

    Args:
        layer: linear or affine, from (b, *shape) to (b, ...); evaluated as a copy in float64.
        shape: of an image, (channels, height, width).
        deviations: s, > 0, of a shape that fits the layer's output for one image.

    Raises:
        InputError: a layer that is not affine or always 0, or deviations that are not positive or do not fit.
    """
    layer64, scales = copy.deepcopy(layer).cpu().double().eval(), torch.as_tensor(deviations, dtype=torch.float64).cpu()
    if not (scales.isfinite() & (scales > 0)).all():
        raise make_parameter_error("noise after a layer", "deviations", "finite numbers above 0", deviations)
    offset = _compute_offset(layer64, shape)
    try:
        scales = scales.expand(offset.shape[1:])
    except RuntimeError:
        expected = f"of a shape that fits {tuple(offset.shape[1:])}"
        raise make_parameter_error("noise after a layer", "deviations", expected, tuple(scales.shape)) from None
    rows, size = [], math.prod(shape)
    for first in range(0, size, _BASIS_BATCH):
        basis = torch.zeros(min(_BASIS_BATCH, size - first), size, dtype=torch.float64)
        basis[:, first:].fill_diagonal_(1.0)
        images = basis.view(-1, *shape).requires_grad_()  # the unit images e_i
        output = layer64(images) - offset  # W e_i
        (row,) = torch.autograd.grad(output, images, output.detach() / scales**2)
        rows.append(row.flatten(1))
    norm = math.sqrt(max(np.linalg.eigvalsh(torch.cat(rows).numpy())[-1], 0.0))
    if norm <= 0:
        raise InputError("The layer gives the same output for every image: noise after it hides the image entirely.")
    return (1 - _NORM_ROUNDING) / norm


def _compute_offset(layer: nn.Module, shape: ImageShape) -> Tensor:
    """Return the output c of a layer in float64 at 0, and raise `InputError` unless the layer is affine."""
    first, second = torch.randn(2, 4, *shape, generator=make_noise_generator(), dtype=torch.float64)
    with torch.no_grad():
        offset: Tensor = layer(torch.zeros(1, *shape, dtype=torch.float64))
        output_of_sum, sum_of_outputs = layer(first + second) - offset, layer(first) + layer(second) - 2 * offset
    if not torch.allclose(output_of_sum, sum_of_outputs, rtol=1e-8, atol=1e-8 * float(1 + sum_of_outputs.abs().max())):
        raise InputError("The layer is not affine: give only the part before the noise, without activation.")
    return offset


def limit_first_layer_norm(network: ImageNetwork, shape: ImageShape) -> None:
    """Scale the first layer down to an l2 operator norm of about 1, if it is larger (Lecuyer et al. 2019, 3.3).

    The norm is estimated by power iteration from a fixed start, which is good enough to limit the layer during
    training; a certificate uses the exact norm.
    """
    first = network.first
    with torch.no_grad():
        vector = torch.ones(1, *shape, device=first.weight.device)
        for _ in range(_POWER_ITERATIONS):
            image = functional.conv2d(vector, first.weight, stride=first.stride, padding=first.padding)
            vector = grad.conv2d_input(  # type: ignore[no-untyped-call]
                vector.shape, first.weight, image, stride=first.stride, padding=first.padding
            )
            squared_norm = vector.norm()
            vector = vector / squared_norm.clamp(min=1e-12)
        norm = float(squared_norm.sqrt())
        if norm > 1:
            first.weight /= norm


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
