"""Which mechanism suits a space: what the name ``auto`` stands for."""

from typing import Literal

import numpy as np

from deniable.space import Space
from deniable.words.calibrated_exponential import CalibratedExponential
from deniable.words.laws import ExponentialLaw
from deniable.words.mechanism import WordMechanism
from deniable.words.tem import TEM
from deniable.words.tight_exponential import MAX_DENSE_POINTS, TightExponential

AUTO: Literal["auto"] = "auto"
"""Name of the choice that `choose_word_mechanism` makes."""
MIN_KEPT_SHARE = 0.05
"""Mean share of words that calibrated must keep for `auto` to go on to tight."""


def choose_word_mechanism(space: Space, epsilon: float) -> WordMechanism:
    """Return what the name ``auto`` stands for: tight, calibrated or TEM.

    Under steps calibrated: weights would lower the proven epsilon at equal success of an attacker by an eighth to a
    fifth, but protect words less alike, which is what steps are for. Elsewhere tight, where the space has at most
    14,000 points, so that its weights take seconds, and calibrated keeps at least 5% of the words:
    from there on tight was measured to keep more words, and to move them less, at the same proven epsilon. Else
    calibrated: in a larger space the weights take a minute or more, and where next to nothing is kept, tight moves
    words farther and whole texts lose more. Under a metric of the user's own neither can be proved, and TEM is left.
    """
    if not space.metric.is_builtin:
        return TEM(space, epsilon=epsilon)
    calibrated = CalibratedExponential(space, epsilon=epsilon)
    if space.graph is not None or space.point_count > MAX_DENSE_POINTS:
        return calibrated
    kept_share = float(np.exp(-ExponentialLaw(space, calibrated.kernel).log_normalisers).mean())
    return calibrated if kept_share < MIN_KEPT_SHARE else TightExponential(space, epsilon=epsilon)
