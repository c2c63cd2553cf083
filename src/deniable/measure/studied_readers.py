"""What a reader with a language model was measured to guess in the default space, for those who have no model at hand.

The shares are those of the study language-model-attacker on film reviews, steps, a reader who knows the words before;
a test compares them with its rows.
"""

import dataclasses
import math

from deniable.words.calibrated_exponential import CalibratedExponential
from deniable.words.mechanism import WordMechanism

_SPACE = ("GloVe 6B, 50000 most frequent words", "steps, with names, places and numbers hidden")
"""Source and metric of the space that was studied."""


@dataclasses.dataclass(frozen=True)
class StudiedReader:
    """What a reader who knows the words before was measured to guess.

    Attributes:
        epsilon: at which.
        blind: percentage of running words guessed without any output.
        guessed: the same with the output.
    """

    epsilon: float
    blind: int
    guessed: int


STUDIED = (StudiedReader(2.656, 27, 45), StudiedReader(2.879, 27, 57))


def find_studied_reader(mechanism: WordMechanism) -> StudiedReader | None:
    """Return what was measured at the nearest epsilon; None for other mechanisms and spaces."""
    space = mechanism.space
    if mechanism.name != CalibratedExponential.name or (space.source, space.metric_name) != _SPACE:
        return None
    return min(STUDIED, key=lambda one: abs(math.log(one.epsilon / mechanism.epsilon)))
