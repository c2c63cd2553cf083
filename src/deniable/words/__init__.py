"""Word mechanisms, by the name under which commands and certificates know them."""

import numpy as np

from deniable.space import Space
from deniable.words.calibrated import CalibratedExponential
from deniable.words.exponential import log_normalisers
from deniable.words.mechanism import WordMechanism
from deniable.words.multivariate_laplace import MultivariateLaplace
from deniable.words.prior import Prior, read_prior
from deniable.words.recovery import recovery
from deniable.words.tem import TEM
from deniable.words.tight import TightExponential
from deniable.words.truncated_gumbel import TruncatedGumbel
from deniable.words.weights import DENSE

MECHANISMS: dict[str, type[WordMechanism]] = {
    cls.name: cls for cls in (CalibratedExponential, TightExponential, TEM, MultivariateLaplace, TruncatedGumbel)
}
"""The registry: a new mechanism is one new file and one more entry here."""


WORTHWHILE = 0.05
"""Mean share of words that calibrated must keep for `auto` to go on to tight."""


def auto(space: Space, epsilon: float) -> WordMechanism:
    """Return what ``--mechanism auto`` stands for: tight or calibrated.

    Tight, where the space has at most 14,000 points, so that its weights take seconds, and calibrated keeps
    at least 5 % of the words: from there on tight was measured to keep more words, and to move them less,
    at the same proven epsilon. Else calibrated: in a larger space the weights take a minute or more, and
    where next to nothing is kept, tight moves words farther and whole texts lose more. Under a metric of
    the user's own neither can be proved, and TEM is left.
    """
    if not space.metric.builtin:
        return TEM(space, epsilon=epsilon)
    calibrated = CalibratedExponential(space, epsilon=epsilon)
    if len(space.points) > DENSE or np.exp(-log_normalisers(space, calibrated.family)).mean() < WORTHWHILE:
        return calibrated
    return TightExponential(space, epsilon=epsilon)


__all__ = [
    "MECHANISMS",
    "TEM",
    "CalibratedExponential",
    "MultivariateLaplace",
    "Prior",
    "TightExponential",
    "TruncatedGumbel",
    "WordMechanism",
    "auto",
    "read_prior",
    "recovery",
]
