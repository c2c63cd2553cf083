"""Settings that the tests of representations share."""

import pytest
import torch


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Compute on one thread, which is faster for tiny networks."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
