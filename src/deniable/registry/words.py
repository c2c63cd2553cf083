"""Every word mechanism by its name, also the published ones whose claims are not proved."""

import numpy as np

from deniable.core.errors import InputError
from deniable.published.truncated_gumbel.mechanism import TruncatedGumbel
from deniable.space import Space
from deniable.words import TEM, CalibratedExponential, MultivariateLaplace, TightExponential, WordMechanism
from deniable.words.laws.kernel import compute_log_normalisers
from deniable.words.tight_exponential import MAX_DENSE_POINTS

WORD_MECHANISMS: dict[str, type[WordMechanism]] = {
    cls.name: cls for cls in (CalibratedExponential, TightExponential, TEM, MultivariateLaplace, TruncatedGumbel)
}
"""The registry: a new mechanism is one new file and one more entry here."""
AUTO = "auto"
"""Name of the choice that `choose_word_mechanism` makes."""
MIN_KEPT_SHARE = 0.05
"""Mean share of words that calibrated must keep for `auto` to go on to tight."""


def mechanism(name: str, space: Space, *, epsilon: float) -> WordMechanism:
    """Return the word mechanism of a name.

    Args:
        name: a name from `WORD_MECHANISMS`, or ``auto``; see `choose_word_mechanism`.
        space: the words, with vectors and a metric.
        epsilon: privacy parameter per unit of distance, > 0.

    Raises:
        InputError: an unknown name, or an epsilon or a space that does not suit the mechanism.
    """
    if name == AUTO:
        return choose_word_mechanism(space, epsilon)
    if name not in WORD_MECHANISMS:
        raise InputError(f"Unknown mechanism {name!r}. Known: {', '.join([AUTO, *WORD_MECHANISMS])}.")
    return WORD_MECHANISMS[name](space, epsilon=epsilon)


def choose_word_mechanism(space: Space, epsilon: float) -> WordMechanism:
    """Return what the name ``auto`` stands for: tight, calibrated or TEM.

    Tight, where the space has at most 14,000 points, so that its weights take seconds, and calibrated keeps
    at least 5 % of the words: from there on tight was measured to keep more words, and to move them less,
    at the same proven epsilon. Else calibrated: in a larger space the weights take a minute or more, and
    where next to nothing is kept, tight moves words farther and whole texts lose more. Under a metric of
    the user's own neither can be proved, and TEM is left.
    """
    if not space.metric.is_builtin:
        return TEM(space, epsilon=epsilon)
    calibrated = CalibratedExponential(space, epsilon=epsilon)
    if len(space.points) > MAX_DENSE_POINTS:
        return calibrated
    kept_shares = np.exp(-compute_log_normalisers(space, calibrated.kernel))
    return calibrated if kept_shares.mean() < MIN_KEPT_SHARE else TightExponential(space, epsilon=epsilon)
