"""Two classifiers of one number whose robustness is known exactly, and what DPAL's certificate says of them.

No sampling: every number is in closed form or the root of one, in the unit of Phan et al. 2020 (an input u in [-1, 1]).
The setting is the paper's with d = beta = ||theta1||_inf = 1 and Delta_R / (m eps1) = 1: noise Lap(1 / psi) on the
input and Lap(2 / psi) on h = u.
"""

import dataclasses
import math

from scipy import optimize

from deniable.core.errors import check_positive, make_parameter_error
from deniable.published.dpal import certificate as dpal

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


def build_unit_certificate(psi: float = 1.0, mu: float = PAPER_ATTACK_SIZE) -> dpal.DPALCertificate:
    """Return DPAL's certificate with its other parameters at 1."""
    return dpal.DPALCertificate(delta_r=1.0, m=1.0, eps1=1.0, mu=mu, d=1.0, beta=1.0, theta1=1.0, psi=psi)


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

    Raises:
        InputError: a number that is not positive.
    """
    certificate = build_unit_certificate(psi, mu)
    check_positive("two_networks", "true_distance", true_distance)
    scales = (1 / psi, 2 / psi)
    ratio = math.prod(2 * math.exp(true_distance / scale) - 1 for scale in scales)
    eps_r = math.log(ratio) / 2
    kappa, phi = dpal.compute_sizes_in_one_unit(certificate, eps_r)
    return CertificateComparison(
        true_distance=true_distance,
        eps_r=eps_r,
        published=sum(dpal.compute_published_sizes(certificate, eps_r)),
        one_unit=kappa + phi,
        composed=dpal.compute_composed_size((kappa, phi)),
        sound=dpal.compute_composed_size(dpal.compute_sound_sizes(certificate, eps_r)),
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

    Raises:
        InputError: a number outside its domain.
    """
    certificate = build_unit_certificate(psi, mu)
    check_positive("one_pass", "rivals", rivals, 1 / 3)
    high, low = (compute_threshold(share, psi) for share in (1 - 2 * rivals, 1 - rivals))

    def compute_lead(distance: float) -> float:
        """Return by how much the first class is ahead after an attack."""
        first, third = compute_tail_probability(high + distance, psi), 1 - compute_tail_probability(low + distance, psi)
        return first - max(third, 1 - first - third)

    eps_r = dpal.compute_robustness_epsilon(1 - 2 * rivals, rivals)
    kappa, phi = dpal.compute_sizes_in_one_unit(certificate, eps_r)
    return CertificateComparison(
        true_distance=float(optimize.brentq(compute_lead, 0.0, 100.0 / psi, xtol=1e-12)),
        eps_r=eps_r,
        published=sum(dpal.compute_published_sizes(certificate, eps_r)),
        one_unit=kappa + phi,
        composed=dpal.compute_post_processed_size(kappa, phi),
        sound=dpal.compute_post_processed_size(*dpal.compute_sound_sizes(certificate, eps_r)),
    )


def compute_tail_probability(value: float, psi: float = 1.0) -> float:
    """Return P(n1 + n2 > value) for n1 from Lap(1 / psi) and n2 from Lap(2 / psi), independent."""
    tail = (4 * math.exp(-abs(value) * psi / 2) - math.exp(-abs(value) * psi)) / 6
    return tail if value >= 0 else 1 - tail


def compute_threshold(share: float, psi: float = 1.0) -> float:
    """Return the value above which n1 + n2 lies with a probability in (0, 1)."""
    if not 0 < share < 1:
        raise make_parameter_error("threshold", "share", "a float in (0, 1)", share)
    # With y = e^(-|value| psi / 2), the smaller tail is (4 y - y^2) / 6.
    value = -2 / psi * math.log(2 - math.sqrt(4 - 6 * min(share, 1 - share)))
    return value if share < 1 / 2 else -value
