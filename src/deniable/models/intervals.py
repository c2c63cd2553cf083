"""One-sided bounds on probabilities and means, the votes of two classes, and certified accuracy."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import stats

from deniable.core.errors import InputError, check_positive, make_parameter_error
from deniable.measure.intervals import DEFAULT_CONFIDENCE, Estimate, estimate_share
from deniable.models.tally import PredictionTally


def compute_clopper_pearson_lower(successes: int, draws: int, alpha: float) -> float:
    """Return Clopper and Pearson's lower bound on a probability, above the truth with probability at most alpha.

    Args:
        successes: 0 to draws.
        draws: >= 1, independent.
        alpha: in (0, 1).

    Raises:
        InputError: counts or alpha outside their domains.
    """
    _check_counts(successes, draws, alpha)
    return float(stats.beta.ppf(alpha, successes, draws - successes + 1)) if successes else 0.0


def compute_clopper_pearson_upper(successes: int, draws: int, alpha: float) -> float:
    """Return Clopper and Pearson's upper bound; arguments and errors as of `compute_clopper_pearson_lower`."""
    return 1.0 - compute_clopper_pearson_lower(draws - successes, draws, alpha)


def compute_hoeffding_bounds(
    sums: npt.ArrayLike, draws: int, alpha: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return Hoeffding's lower and upper bounds on means of numbers in [0, 1], each wrong with probability alpha.

    Args:
        sums: (K,) sums over the draws.
        draws: >= 1, independent.
        alpha: of one side of one class, in (0, 1).

    Raises:
        InputError: draws or alpha outside their domains.
    """
    _check_counts(0, draws, alpha)
    half_width = math.sqrt(math.log(1 / alpha) / (2 * draws))
    means = np.asarray(sums, dtype=np.float64) / draws
    return np.clip(means - half_width, 0.0, 1.0), np.clip(means + half_width, 0.0, 1.0)


def select_class(selection: PredictionTally, estimation: PredictionTally, alpha: float) -> int:
    """Return the class with the most votes of the selection, after a check of what a certificate is given.

    Raises:
        InputError: alpha outside (0, 1), or tallies of different classes.
    """
    check_positive("a certificate", "alpha", alpha, 1.0)
    if len(selection.votes) != len(estimation.votes):
        shapes = f"{len(selection.votes)} and {len(estimation.votes)}"
        raise InputError(f"Selection and estimation must count the same classes. Got {shapes} classes.")
    return int(selection.votes.argmax())


def bound_by_complement(estimation: PredictionTally, label: int, alpha: float) -> tuple[float, float]:
    """Return a lower bound on p_A and an upper one on p_B = 1 - p_A, from one bound at level alpha."""
    low = compute_clopper_pearson_lower(int(estimation.votes[label]), estimation.draws, alpha)
    return low, 1.0 - low


def bound_both_classes(estimation: PredictionTally, label: int, alpha: float) -> tuple[float, float]:
    """Return a lower bound on p_A at alpha / 2 and an upper one on p_B at alpha / 2, a union over K - 1 classes.

    No class is likelier than 1 - p_A, which the bound on p_A limits at no cost in level.
    """
    votes, draws = estimation.votes, estimation.draws
    low = compute_clopper_pearson_lower(int(votes[label]), draws, alpha / 2)
    runner_up_votes = int(np.delete(votes, label).max())
    return low, min(compute_clopper_pearson_upper(runner_up_votes, draws, alpha / (2 * (len(votes) - 1))), 1.0 - low)


def measure_certified_accuracy(
    labels: Sequence[int],
    certified: Sequence[int | None],
    radii: Sequence[float],
    sizes: Sequence[float],
    confidence: float = DEFAULT_CONFIDENCE,
) -> list[Estimate]:
    """Return the share of inputs that are right and robust, for each attack size (Phan et al. 2020, section 4).

    An input is robust if its radius is larger than the attack size. The estimates come from the same inputs, and each
    interval holds separately.

    Args:
        labels: (n,) true classes.
        certified: (n,) certified classes; None where the certificate abstains.
        radii: (n,) certified radii.
        sizes: attack sizes, >= 0, in the norm and unit of the radii.
        confidence: of each interval.

    Raises:
        InputError: no inputs, certificates of other inputs, or a size below 0.
    """
    for others in (certified, radii):
        if len(labels) != len(others):
            raise InputError(f"Give one prediction for each of the {len(labels)} labels. Got {len(others)}.")
    for size in sizes:
        if not size >= 0:
            raise make_parameter_error("certified accuracy", "sizes", "sizes of at least 0", size)
    right_radii = [
        radius
        for label, guess, radius in zip(labels, certified, radii, strict=True)
        if guess is not None and int(label) == int(guess)
    ]
    return [estimate_share(sum(radius > size for radius in right_radii), len(labels), confidence) for size in sizes]


def _check_counts(successes: int, draws: int, alpha: float) -> None:
    check_positive("a bound", "alpha", alpha, 1.0)
    if draws < 1:
        raise make_parameter_error("a bound", "draws", "an integer of at least 1", draws)
    if not 0 <= successes <= draws:
        raise make_parameter_error("a bound", "successes", f"an integer from 0 to {draws}", successes)
