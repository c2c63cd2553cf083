"""A folder with the words of the tests, and the command line called in it."""

import numpy as np
import pytest

from tests.commands import run
from tests.text.helpers import KEY, SPACE


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return the working folder: space.npz, a key, and nothing else."""
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "space.npz", words=np.array(SPACE.words), vectors=SPACE.vectors)
    (tmp_path / "key").write_bytes(KEY)
    return tmp_path


@pytest.fixture
def privatize(place):  # noqa: ARG001 - commands run in the folder
    """Return a function that privatizes one table of the folder to another."""

    def privatizing(source, output, *options, epsilon=1):
        basic = ["--space", "space.npz", "--hide", "none", "--mechanism", "tem", "--epsilon", epsilon, "-o", output]
        return run("privatize", source, *basic, *options)

    return privatizing
