"""What all tests of image models share."""

import pytest
import torch


@pytest.fixture(scope="package", autouse=True)
def one_thread():
    """Keep torch to one thread: for these small tensors more of them only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
