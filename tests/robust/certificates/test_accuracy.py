"""Accuracies: counted as in paper 004, with their intervals."""

import pytest

from deniable import InputError
from deniable.measure.estimate import share
from deniable.robust.certificates import certified_accuracy, conventional_accuracy


def test_conventional_accuracy():
    """An image without a prediction is wrong."""
    assert conventional_accuracy([1, 2, 0, 3], [1, 2, None, 0]) == share(2, 4)
    assert conventional_accuracy([0], [0], 0.9) == share(1, 1, 0.9)


def test_certified_accuracy_needs_both():
    """Images count that are right and whose radius is larger than the attack, not equal to it."""
    found = certified_accuracy([1, 1, 1, 1], [1, 1, 2, None], [0.5, 0.2, 0.9, 0.0], [0.0, 0.2, 0.5])
    assert found == [share(2, 4), share(1, 4), share(0, 4)]


def test_arguments_are_checked():
    """No images, lists of different lengths, and sizes below 0 are refused."""
    with pytest.raises(InputError, match="at least 1"):
        conventional_accuracy([], [])
    with pytest.raises(InputError, match="each of the 2 labels"):
        conventional_accuracy([1, 2], [1])
    with pytest.raises(InputError, match="each of the 1 labels"):
        certified_accuracy([1], [1], [0.1, 0.2], [0.0])
    with pytest.raises(InputError, match="'at'"):
        certified_accuracy([1], [1], [0.1], [-0.1])
