"""What runs commands with faults, once for all tests."""

import pytest

from tests.reliability.commands import make_inputs
from tests.reliability.library import build_library
from tests.reliability.runs import FaultServer


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """Return what runs commands with faults."""
    folder = tmp_path_factory.mktemp("faults")
    (folder / "in").mkdir()
    make_inputs(folder / "in")
    running = FaultServer(build_library(folder), folder, folder / "in")
    yield running
    running.close()
