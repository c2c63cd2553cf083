"""What SecureSGD's uneven noise really gives: its formula claims a delta that coordinates with little noise exceed."""

import math

from deniable.accounting.gaussian import bound_log_delta
from deniable.published.securesgd.certificate import check_least_share, compute_heterogeneous_sigma


def compute_true_delta(epsilon: float, delta: float, least_share: float = 1.0) -> float:
    """Return the true delta of noise calibrated for (epsilon, delta); the claim is false if it is larger.

    The profile of Gaussian noise is known exactly (Balle and Wang 2018, Theorem 8). Noise N(0, sigma^2 K r_i) on
    coordinate i, with sum r = 1, is worst for a change of that coordinate alone with the least K r_i: that change
    meets noise of deviation sigma sqrt(K r_i), whatever the other coordinates carry. As implemented from the formula of
    Phan et al. 2019, sigma does not depend on r, so the claim fails wherever K r_i is far enough below 1.

    Args:
        epsilon: > 0.
        delta: claimed, in (0, sqrt(2 / pi)).
        least_share: min K r_i, in (0, 1]; 1 for even noise.

    Raises:
        InputError: a parameter outside its domain.
    """
    check_least_share(least_share)
    return math.exp(bound_log_delta(epsilon, compute_heterogeneous_sigma(epsilon, delta) * math.sqrt(least_share)))
