"""Word mechanisms, by the name under which commands and certificates know them."""

import numpy as np

from deniable.space import Space
from deniable.words.calibrated import CalibratedExponential
from deniable.words.exponential import compute_log_normalisers
from deniable.words.mechanism import WordMechanism
from deniable.words.multivariate_laplace import MultivariateLaplace
from deniable.words.prior import Prior, read_prior
from deniable.words.recovery import recovery
from deniable.words.tem import TEM
from deniable.words.tight import TightExponential
from deniable.words.truncated_gumbel import TruncatedGumbel
from deniable.words.weights import MAX_DENSE_POINTS

WORD_MECHANISMS: dict[str, type[WordMechanism]] = {
    cls.name: cls for cls in (CalibratedExponential, TightExponential, TEM, MultivariateLaplace, TruncatedGumbel)
}
"""The registry: a new mechanism is one new file and one more entry here."""


MIN_KEPT_SHARE = 0.05
"""Mean share of words that calibrated must keep for `choose_word_mechanism` to go on to tight."""


def choose_word_mechanism(space: Space, epsilon: float) -> WordMechanism:
    """Return what ``--mechanism choose_word_mechanism`` stands for: tight or calibrated.

    Tight, where the space has at most 14,000 points, so that its weights take seconds, and calibrated keeps
    at least 5 % of the words: from there on tight was measured to keep more words, and to move them less,
    at the same proven epsilon. Else calibrated: in a larger space the weights take a minute or more, and
    where next to nothing is kept, tight moves words farther and whole texts lose more. Under a metric of
    the user's own neither can be proved, and TEM is left.
    """
    if not space.metric.is_builtin:
        return TEM(space, epsilon=epsilon)
    mechanism = CalibratedExponential(space, epsilon=epsilon)
    if (
        len(space.points) > MAX_DENSE_POINTS
        or np.exp(-compute_log_normalisers(space, mechanism.exponential_law)).mean() < MIN_KEPT_SHARE
    ):
        return mechanism
    return TightExponential(space, epsilon=epsilon)


__all__ = [
    "TEM",
    "WORD_MECHANISMS",
    "CalibratedExponential",
    "MultivariateLaplace",
    "Prior",
    "TightExponential",
    "TruncatedGumbel",
    "WordMechanism",
    "choose_word_mechanism",
    "read_prior",
    "recovery",
]
