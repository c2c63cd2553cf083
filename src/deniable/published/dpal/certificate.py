"""DPAL's certificate (Phan et al. 2020, section 3.3 and 3.4) as published.

DPAL adds Laplace noise of scale a = Delta_R / (m eps1) to its input, u in [-1, 1]^d, and 2a to h = theta1^T u, each
divided by psi at inference (appendix L), on top of fixed offsets, which no certificate depends on. From mean softmax
scores over the noise it takes the largest eps_r with

    E_lb f_k > e^(2 eps_r) max_i E_ub f_i                                        (Eq. 14)

and claims that no attack up to the size kappa + phi in l_inf changes the class, with (Eq. 15)

    kappa = Delta_R eps_r / (m eps1 Delta_r^x),  phi = 2 Delta_R eps_r / (m eps1 Delta_r^h),
    Delta_r^x = mu d,  Delta_r^h = beta ||theta1||_inf.

Four things are wrong with it; ``studies/dpal_counterexample.py`` shows each at work, without sampling:

- Unit. Delta_r^x is the l1 size of an attack of l_inf size mu, so kappa counts attacks of size mu; Delta_r^h is that of
  an attack of size 1, so phi counts units. Their sum has no unit; compared with an attack size it makes kappa 1 / mu
  times too large.
- psi. The noise at inference is divided by psi; kappa and phi are not.
- Group privacy. Noise Lap(kappa Delta_r^x / eps_r) is eps_r-DP for an attack of size kappa, so it is eps_r / kappa
  for size 1. The paper has it (kappa eps_r) (Eq. 11), by which more noise would mean less privacy.
- Sum. So an attack of size t costs t eps_r / kappa by the one noise, and t eps_r / phi by the other. Nothing gives
  kappa + phi: for the product of two networks (Eq. 13) 1 / (1/kappa + 1/phi) holds, and for one pass with both noises
  the larger of the two.
"""

import dataclasses
import math
from typing import ClassVar, Self

import numpy as np
import torch

from deniable.core.errors import InputError, check_positive
from deniable.core.guarantees import Status
from deniable.core.numbers import format_lower
from deniable.models.images.certificates import ABSTAINED, CertifiedImage, DecisionRule, Norm, register_certificate
from deniable.models.images.networks import ImageNetwork, ImageShape, NetworkNoise, get_first_layer_shape
from deniable.models.intervals import compute_hoeffding_bounds, select_class
from deniable.models.tally import PredictionTally

_CLAIM = "claimed by Phan et al. 2020 (DPAL), Proposition 1 and Eq. 15"
_ROUNDING = 1e-9
"""Relative difference from 1 that may be rounding."""
CERTIFICATE_ATTACK_SIZE = 0.2
"""mu in Delta_r^x = mu d: the attack size of Figures 2 and 3, in pixels of [-1, 1]."""
KERNEL_NORM = 1.0
"""||theta1||_{1,1}, the 1-norm to which every kernel of the first layer is limited."""


def choose_psi(channels: int) -> float:
    """Return by what the noise is divided at inference (Appendix M): 10 for images in colour, 2 for grey ones."""
    return 10.0 if channels > 1 else 2.0


def compute_reconstruction_sensitivity(channels: int, neurons: int, kernel_size: int) -> int:
    """Return Delta_R = d (beta + 2) of Lemma 2, for patches of d numbers and a feature map of beta neurons."""
    return channels * (neurons + 2) * kernel_size**2


@register_certificate
@dataclasses.dataclass(frozen=True)
class DPALCertificate:
    """DPAL's certificate; names as in the paper.

    The radius is in the unit of the paper, on pixels in [-1, 1], as it compares it with attack sizes.

    Attributes:
        delta_r: Delta_R, the sensitivity of the reconstruction objective.
        m: batch size.
        eps1: budget of the noise on input and first layer.
        mu: attack size in Delta_r^x = mu d.
        d: inputs.
        beta: hidden units of the first layer.
        theta1: ||theta1||_inf: the largest sum of absolute weights from all inputs to one hidden unit, with which
            beta ||theta1||_inf bounds the l1 change of h; the paper's "rows" are those of theta1^T.
        psi: by which the noise is divided at inference.
        norm: l_inf.
        decision_rule: softmax.
        pixels_per_unit: 0.5: a size on pixels in [-1, 1] is half as large on pixels in [0, 1].

    Raises:
        InputError: a number that is not positive.
    """

    choices: ClassVar[tuple[str, ...]] = ("m",)
    delta_r: float
    m: float
    eps1: float
    mu: float
    d: float
    beta: float
    theta1: float
    psi: float = 1.0
    norm: Norm = dataclasses.field(default="linf", init=False)
    decision_rule: DecisionRule = dataclasses.field(default="softmax", init=False)
    pixels_per_unit: float = dataclasses.field(default=0.5, init=False)

    @classmethod
    def from_network(
        cls, network: ImageNetwork, shape: ImageShape, noises: tuple[NetworkNoise, ...], m: float = 1.0
    ) -> Self:
        """Return the certificate of a network trained by DPAL.

        Delta_R / (m eps1) is psi times the noise on the input, so that m moves eps1 and no radius.
        """
        if [(noise.place, noise.law) for noise in noises] != [("input", "laplace"), ("first layer", "laplace")]:
            raise InputError("DPAL's certificate is about Laplace noise on the input and on the first layer.")
        height, width = get_first_layer_shape(network, torch.zeros(1, *shape))[2:]
        delta_r = compute_reconstruction_sensitivity(shape[0], height * width, network.first.kernel_size[0])
        psi, input_scale = choose_psi(shape[0]), 2 * float(noises[0].scale)  # on pixels of [-1, 1]
        return cls(
            delta_r=delta_r,
            m=m,
            eps1=delta_r / (check_positive("DPALCertificate", "m", m) * psi * input_scale),
            mu=CERTIFICATE_ATTACK_SIZE,
            d=math.prod(shape),
            beta=height * width,  # of one feature map, as in Appendix M
            theta1=KERNEL_NORM,
            psi=psi,
        )

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if field.init:
                check_positive("DPALCertificate", field.name, getattr(self, field.name))

    @property
    def status(self) -> Status:
        """Refuted where noise that is said to be eps_r-DP up to kappa + phi is not; else claimed.

        Both sizes are proportional to eps_r, so that one eps_r decides for all.
        """
        size = sum(compute_published_sizes(self, 1.0))
        return "refuted" if compute_attack_epsilon(self, size) > 1 + _ROUNDING else "claimed"

    @property
    def source(self) -> str:
        """Where it is claimed, and the epsilon that refutes it, if there is one."""
        epsilon = compute_attack_epsilon(self, sum(compute_published_sizes(self, 1.0)))
        if self.status != "refuted":
            return _CLAIM
        return (
            f"{_CLAIM}; refuted: noise that it says to be 1-DP for attacks up to its size has a loss of "
            f"{format_lower(epsilon)} for one first layer of this norm"
        )

    def certify(self, selection: PredictionTally, estimation: PredictionTally, alpha: float) -> CertifiedImage:
        """Return the class and the claimed size, as `DrawnCertificate.certify` (Algorithm 1, lines 13 to 18).

        Both of Hoeffding's bounds hold for all K classes at once, as the paper needs, with alpha / (2 K) for each.
        """
        select_class(selection, estimation, alpha)
        label = int(selection.sums.argmax())
        lows, highs = compute_hoeffding_bounds(estimation.sums, estimation.draws, alpha / (2 * len(estimation.sums)))
        eps_r = compute_robustness_epsilon(float(lows[label]), float(np.delete(highs, label).max()))
        return CertifiedImage(label, sum(compute_published_sizes(self, eps_r))) if eps_r > 0 else ABSTAINED


def compute_robustness_epsilon(low: float, high: float) -> float:
    """Return the largest eps_r with E_lb >= e^(2 eps_r) max E_ub, 1/2 ln of their ratio; 0 where there is none.

    Args:
        low: E_lb f_k.
        high: max E_ub f_i.
    """
    if low <= high:
        return 0.0
    return math.log(low / high) / 2 if high > 0 else math.inf


def compute_published_sizes(certificate: DPALCertificate, eps_r: float) -> tuple[float, float]:
    """Return kappa and phi of Eq. 15."""
    noise = certificate.delta_r / (certificate.m * certificate.eps1)
    return noise * eps_r / (certificate.mu * certificate.d), 2 * noise * eps_r / (certificate.beta * certificate.theta1)


def compute_attack_epsilon(certificate: DPALCertificate, size: float) -> float:
    """Return the privacy loss of an attack on a first layer with the most of it that is known, in the paper's unit.

    With weights of ||theta1||_inf on the diagonal, each of beta units sees one of d inputs, or as many as there are
    for it, with equal weights. An attack t on every input moves a unit by t ||theta1||_inf. The odds of a large output
    of the unit change by e^(t k / a') where the input's noise has the longer tail, k inputs of scale a' = a / psi, and
    by e^(t ||theta1||_inf r / 2a') where that of the r units has, each with its own noise of scale 2a'. Units with
    different inputs are independent, and their losses add up.

    Args:
        certificate: norms and noise.
        size: t, of an attack in l_inf.
    """
    scale = certificate.delta_r / (certificate.m * certificate.eps1 * certificate.psi)
    inputs, units = max(int(certificate.d), 1), max(int(certificate.beta), 1)
    groups = min(inputs, units)
    by_input = inputs // groups / scale
    by_layer = units // groups * certificate.theta1 / (2 * scale)
    return size * groups * min(by_input, by_layer)
