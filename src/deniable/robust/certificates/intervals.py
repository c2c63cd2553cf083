"""One-sided bounds on probabilities and means, and the votes of two classes that certificates compare."""

import math

import numpy as np
import numpy.typing as npt
from scipy import stats

from deniable.errors import InputError, bad_parameter, positive
from deniable.robust.certificates.tally import Tally


def lower(successes: int, draws: int, alpha: float) -> float:
    """Return Clopper and Pearson's lower bound on a probability, above the truth with probability at most alpha.

    Args:
        successes: 0 to draws.
        draws: >= 1, independent.
        alpha: in (0, 1).

    Raises:
        InputError: counts or alpha outside their domains.
    """
    _check(successes, draws, alpha)
    return float(stats.beta.ppf(alpha, successes, draws - successes + 1)) if successes else 0.0


def upper(successes: int, draws: int, alpha: float) -> float:
    """Return Clopper and Pearson's upper bound, below the truth with probability at most alpha; as `lower`."""
    return 1.0 - lower(draws - successes, draws, alpha)


def hoeffding(sums: npt.ArrayLike, draws: int, alpha: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return Hoeffding's lower and upper bounds on means of numbers in [0, 1], each wrong with probability alpha.

    Args:
        sums: (K,) sums over the draws.
        draws: >= 1, independent.
        alpha: of one side of one class, in (0, 1).

    Raises:
        InputError: draws or alpha outside their domains.
    """
    _check(0, draws, alpha)
    half = math.sqrt(math.log(1 / alpha) / (2 * draws))
    means = np.asarray(sums, dtype=np.float64) / draws
    return np.clip(means - half, 0.0, 1.0), np.clip(means + half, 0.0, 1.0)


def chosen(selection: Tally, estimation: Tally, alpha: float) -> int:
    """Return the class with the most votes of the selection, after a check of what a certificate is given.

    Raises:
        InputError: alpha outside (0, 1), or tallies of different classes.
    """
    positive("a certificate", "alpha", alpha, 1.0)
    if len(selection.votes) != len(estimation.votes):
        shapes = f"{len(selection.votes)} and {len(estimation.votes)}"
        raise InputError(f"Selection and estimation must count the same classes. Got {shapes} classes.")
    return int(selection.votes.argmax())


def complement(estimation: Tally, label: int, alpha: float) -> tuple[float, float]:
    """Return a lower bound on p_A and an upper one on p_B = 1 - p_A, from one bound at level alpha."""
    low = lower(int(estimation.votes[label]), estimation.draws, alpha)
    return low, 1.0 - low


def both(estimation: Tally, label: int, alpha: float) -> tuple[float, float]:
    """Return a lower bound on p_A at alpha / 2 and an upper one on p_B at alpha / 2, a union over K - 1 classes.

    No class is likelier than 1 - p_A, which the bound on p_A limits at no cost in level.
    """
    votes, draws = estimation.votes, estimation.draws
    low = lower(int(votes[label]), draws, alpha / 2)
    most = int(np.delete(votes, label).max())
    return low, min(upper(most, draws, alpha / (2 * (len(votes) - 1))), 1.0 - low)


def _check(successes: int, draws: int, alpha: float) -> None:
    positive("a bound", "alpha", alpha, 1.0)
    if draws < 1:
        raise bad_parameter("a bound", "draws", "an integer of at least 1", draws)
    if not 0 <= successes <= draws:
        raise bad_parameter("a bound", "successes", f"an integer from 0 to {draws}", successes)
