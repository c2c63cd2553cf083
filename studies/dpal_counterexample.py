"""Two classifiers of one number whose robustness is known exactly, and what DPAL's certificate says of them.

No sampling: every number is in closed form or the root of one, in the unit of Phan et al. 2020 (an input u in [-1, 1]).
The setting is the paper's with d = beta = ||theta1||_inf = 1 and Delta_R / (m eps1) = 1: noise Lap(1 / psi) on the
input and Lap(2 / psi) on h = u.
"""

import dataclasses
import math

import numpy as np
from scipy import optimize
from scipy.stats import laplace

from deniable.core.arrays import FloatArray
from deniable.published.dpal.certificate import (
    DPALCertificate,
    compute_published_sizes,
    compute_robustness_epsilon,
)

_ROUNDING = 1e-9
PAPER_ATTACK_SIZE = 0.2
"""mu of Delta_r^x = mu d, the attack size of Figures 2 and 3 of Phan et al. 2020."""


@dataclasses.dataclass(frozen=True)
class CertificateComparison:
    """What is claimed of one input, with the certificate's errors corrected one after the other; in the paper's unit.

    Attributes:
        true_distance: the distance to the nearest input of another class.
        eps_r: as Eq. 14 gives it, from exact means.
        published: kappa + phi.
        one_unit: with kappa in the unit of phi.
        composed: also with privacy composed correctly: harmonic for two networks, the larger for one pass.
        sound: also with the noise divided by psi; a theorem, so never above ``true_distance``.
    """

    true_distance: float
    eps_r: float
    published: float
    one_unit: float
    composed: float
    sound: float


def build_unit_certificate(psi: float = 1.0, mu: float = PAPER_ATTACK_SIZE) -> DPALCertificate:
    """Return DPAL's certificate with its other parameters at 1."""
    return DPALCertificate(delta_r=1.0, m=1.0, eps1=1.0, mu=mu, d=1.0, beta=1.0, theta1=1.0, psi=psi)


def compare_two_networks(
    true_distance: float = 0.3, psi: float = 1.0, mu: float = PAPER_ATTACK_SIZE
) -> CertificateComparison:
    """Return what is claimed of f = 1[u + n > 0] at u = ``true_distance``, as the product of two networks (Eq. 13).

    f^x has noise on its input, f^h on its layer. Each gives class 1 with the probability 1 - e^(-u / b) / 2, and the
    scores of the classes are p^x p^h and (1 - p^x) (1 - p^h). At u = 0 both are even, so the class changes at the
    distance ``true_distance`` exactly.

    Args:
        true_distance: u, > 0.
        psi: by which the noise is divided.
        mu: attack size of Delta_r^x.
    """
    certificate = build_unit_certificate(psi, mu)
    scales = (1 / psi, 2 / psi)
    ratio = math.prod(2 * math.exp(true_distance / scale) - 1 for scale in scales)
    eps_r = math.log(ratio) / 2
    kappa, phi = compute_sizes_in_one_unit(certificate, eps_r)
    return CertificateComparison(
        true_distance=true_distance,
        eps_r=eps_r,
        published=sum(compute_published_sizes(certificate, eps_r)),
        one_unit=kappa + phi,
        composed=compute_composed_size((kappa, phi)),
        sound=compute_composed_size(compute_sound_sizes(certificate, eps_r)),
    )


def compare_one_pass(rivals: float = 0.1, psi: float = 1.0, mu: float = PAPER_ATTACK_SIZE) -> CertificateComparison:
    """Return what is claimed of a classifier with three classes and both noises in one pass, as DPAL runs.

    It sees z = u + n1 + n2 and gives the first class above one threshold, the third below another and the second
    between them; the thresholds give the second and the third the probability ``rivals`` each at u = 0. The true
    distance is to the nearest input at which another class is as probable as the first. It takes the third class: with
    one threshold between two classes and both noises in one pass, the true distance of every input examined was at
    least kappa + phi in one unit without psi.

    Args:
        rivals: in (0, 1/3).
        psi: by which the noise is divided.
        mu: attack size of Delta_r^x.
    """
    certificate = build_unit_certificate(psi, mu)
    high, low = (compute_threshold(share, psi) for share in (1 - 2 * rivals, 1 - rivals))

    def compute_lead(distance: float) -> float:
        """Return by how much the first class is ahead after an attack."""
        first, third = compute_tail_probability(high + distance, psi), 1 - compute_tail_probability(low + distance, psi)
        return first - max(third, 1 - first - third)

    eps_r = compute_robustness_epsilon(1 - 2 * rivals, rivals)
    kappa, phi = compute_sizes_in_one_unit(certificate, eps_r)
    return CertificateComparison(
        true_distance=float(optimize.brentq(compute_lead, 0.0, 100.0 / psi, xtol=1e-12)),
        eps_r=eps_r,
        published=sum(compute_published_sizes(certificate, eps_r)),
        one_unit=kappa + phi,
        composed=compute_post_processed_size(kappa, phi),
        sound=compute_post_processed_size(*compute_sound_sizes(certificate, eps_r)),
    )


@dataclasses.dataclass(frozen=True)
class ProductCheck:
    """What attacks of size 1 do to a product of two networks with scales 1 and 2, which are 1-DP and 1/2-DP.

    Attributes:
        epsilon: the sum of both, which Lemma 5 says no expectation changes by more than, in its logarithm.
        largest_loss: by which one does.
        beyond: attacks by which one changes by more, rounding aside.
        certified: inputs of which Eq. 14 holds.
        changed: of these, inputs whose class some attack of size 1 changes, which Theorem 5 says is none.
    """

    epsilon: float
    largest_loss: float
    beyond: int
    certified: int
    changed: int


def check_product(reach: float = 12.0, places: int = 2_401) -> ProductCheck:
    """Return how Lemma 5 and Theorem 5 fare on a grid of inputs from -reach to reach, and attacks from -1 to 1.

    The scores are the products of `compare_two_networks`, exact expectations without sampling.
    """
    scales, attacks = (1.0, 2.0), np.linspace(-1, 1, 41)
    epsilon = sum(1 / scale for scale in scales)
    points = np.linspace(-reach, reach, places)

    def compute_log_scores(values: FloatArray) -> FloatArray:
        """Return the logarithms of p^x p^h and (1 - p^x) (1 - p^h), (2, ...)."""
        return np.stack([sum(laplace.logsf(sign * values, scale=scale) for scale in scales) for sign in (-1, 1)])

    log_scores = compute_log_scores(points)
    moved = compute_log_scores(points[:, None] + attacks)
    lead = np.abs(log_scores[0] - log_scores[1])
    is_certified = lead > 2 * epsilon
    has_other_class = (np.sign(moved[0] - moved[1]) != np.sign(log_scores[0] - log_scores[1])[:, None]).any(1)
    losses = np.abs(moved - log_scores[:, :, None])
    return ProductCheck(
        epsilon,
        float(losses.max()),
        int((losses > epsilon + _ROUNDING).sum()),
        int(is_certified.sum()),
        int((is_certified & has_other_class).sum()),
    )


def compute_tail_probability(value: float, psi: float = 1.0) -> float:
    """Return P(n1 + n2 > value) for n1 from Lap(1 / psi) and n2 from Lap(2 / psi), independent."""
    tail = (4 * math.exp(-abs(value) * psi / 2) - math.exp(-abs(value) * psi)) / 6
    return tail if value >= 0 else 1 - tail


def compute_threshold(share: float, psi: float = 1.0) -> float:
    """Return the value above which n1 + n2 lies with a probability in (0, 1)."""
    # With y = e^(-|value| psi / 2), the smaller tail is (4 y - y^2) / 6.
    value = -2 / psi * math.log(2 - math.sqrt(4 - 6 * min(share, 1 - share)))
    return value if share < 1 / 2 else -value


def compute_sizes_in_one_unit(certificate: DPALCertificate, eps_r: float) -> tuple[float, float]:
    """Return kappa and phi with kappa in units of the pixels too: Delta_r^x = d, the l1 size of an l_inf attack of 1.

    Both still take the noise without psi.
    """
    kappa, phi = compute_published_sizes(certificate, eps_r)
    return certificate.mu * kappa, phi


def compute_sound_sizes(certificate: DPALCertificate, eps_r: float) -> tuple[float, float]:
    """Return the l_inf sizes for which the noise used is eps_r-DP, that of the input alone and of the layer alone.

    An l_inf attack of size t moves the input by at most t d in l1, and h by at most t beta ||theta1||_inf. Laplace
    noise of scale b is (l1 change / b)-DP; the scales at inference are a / psi and 2a / psi. In the paper's unit.
    """
    kappa, phi = compute_sizes_in_one_unit(certificate, eps_r)
    return kappa / certificate.psi, phi / certificate.psi


def compute_group_epsilon(eps_r: float, size: float, attack: float = 1.0) -> float:
    """Return the epsilon for an attack of another size: eps_r attack / size, group privacy the right way round.

    The l1 change, and with it the epsilon of Laplace noise, is proportional to the attack. Noise that is eps_r-DP up to
    the size kappa is (eps_r / kappa)-DP for the size 1, not (kappa eps_r)-DP as in Eq. 11.
    """
    return eps_r * attack / size


def compute_post_processed_size(kappa: float, phi: float) -> float:
    """Return max(kappa, phi), the size proved for one pass with both noises.

    The scores are g(theta1^T (u + n1) + n2). For every value of n2 they are computed from u + n1, so the noise n1 alone
    makes them eps_r-DP up to the size kappa; likewise n2 for every value of n1, up to phi. The larger one holds. Eq. 3
    and Eq. 4 then give robustness up to it.
    """
    return max(kappa, phi)


def compute_composed_size(sizes: tuple[float, ...]) -> float:
    """Return 1 / (1/kappa + 1/phi), the size proved for the product of separately noised networks (Eq. 13).

    E of a product of independent scores is the product of their E. An attack of size t changes the factors by at most
    e^(t eps_r / kappa) and e^(t eps_r / phi), which multiply: the product changes by at most e^(eps_r) while
    t (1/kappa + 1/phi) <= 1. More networks leave less.
    """
    return 1 / sum(1 / size for size in sizes)
