"""What the readers of models share: one line for whatever is wrong with a part of a file."""

from pathlib import Path

import pytest
import torch
from torch import nn

from deniable.core.errors import InputError
from deniable.learning.artifact import check_finite_weights, reraise_corrupt_file


@pytest.mark.parametrize(
    "error",
    [KeyError("words"), TypeError("a\nb"), ValueError("x" * 500), AttributeError("x"), RuntimeError("x"),
     OverflowError("x"), InputError("a size below 1")],
)  # fmt: skip
def test_one_line(error):
    """Every error of a part is told in one short line, with the file's name."""
    with pytest.raises(InputError) as told, reraise_corrupt_file(Path("m.pt")):
        raise error
    assert str(told.value).startswith("'m.pt' is a damaged model (")
    assert str(told.value).endswith("): train it again.")
    assert len(str(told.value).splitlines()) == 1
    assert len(str(told.value)) < 160


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_others_pass(error):
    """What is no fault of the file is left as it is."""
    with pytest.raises(error), reraise_corrupt_file(Path("m.pt")):
        raise error


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers(wrong):
    """One such weight is enough; none is fine."""
    network = nn.Linear(2, 2)
    check_finite_weights(network)
    with torch.no_grad():
        network.bias[1] = wrong
    with pytest.raises(InputError, match="weights that are not finite"):
        check_finite_weights(network)
