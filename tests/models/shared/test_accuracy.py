"""Accuracies: counted as in paper 004, with their intervals."""

import pytest

from deniable import InputError
from deniable.core.intervals import estimate_share
from deniable.models.shared.accuracy import measure_certified_accuracy, measure_conventional_accuracy


def test_conventional_accuracy():
    """An image without a prediction is wrong."""
    assert measure_conventional_accuracy([1, 2, 0, 3], [1, 2, None, 0]) == estimate_share(2, 4)
    assert measure_conventional_accuracy([0], [0], 0.9) == estimate_share(1, 1, 0.9)


def test_certified_accuracy_needs_both():
    """Images count that are right and whose radius is larger than the attack, not equal to it."""
    found = measure_certified_accuracy([1, 1, 1, 1], [1, 1, 2, None], [0.5, 0.2, 0.9, 0.0], [0.0, 0.2, 0.5])
    assert found == [estimate_share(2, 4), estimate_share(1, 4), estimate_share(0, 4)]


def test_arguments_are_checked():
    """No images, lists of different lengths, and sizes below 0 are refused."""
    with pytest.raises(InputError, match="at least 1"):
        measure_conventional_accuracy([], [])
    with pytest.raises(InputError, match="each of the 2 labels"):
        measure_conventional_accuracy([1, 2], [1])
    with pytest.raises(InputError, match="each of the 1 labels"):
        measure_certified_accuracy([1], [1], [0.1, 0.2], [0.0])
    with pytest.raises(InputError, match="'sizes'"):
        measure_certified_accuracy([1], [1], [0.1], [-0.1])
