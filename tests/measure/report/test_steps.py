"""The steps of a survey."""

import numpy as np

from deniable.measure.report.steps import select_unattacked_texts


def test_the_attacker_is_not_trained_on_attacked_texts():
    """Texts equal to an attacked one are not learned from; where the others are few, there are none."""
    cut = [np.array(words, dtype=np.int32) for words in ([1, 2], [3], [1, 2], [], [4], [5, 6])]
    found = select_unattacked_texts(cut, np.array([0, 1]))
    assert [words.tolist() for words in found] == [[4], [5, 6]]
    assert select_unattacked_texts(cut, np.array([0, 1, 4])) is None
