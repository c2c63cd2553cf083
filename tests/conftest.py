"""Settings and fixtures shared by all tests."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

import deniable as dn
from deniable.core.parallel import count_cores

pytest.register_assert_rewrite("tests.contracts")

# The same examples in every run, nothing written beside the sources, and no limit of time on a busy machine.
settings.register_profile("deniable", deadline=None, derandomize=True, database=None)
settings.load_profile("deniable")

_FIRST, _SECOND = (
    ("ba", "do", "fe", "ku", "li", "mo", "na", "po", "ri", "su"),
    ("ran", "tel", "vim", "zor", "gus", "pen"),
)
SMALL_WORDS = tuple(first + second for first in _FIRST for second in _SECOND)
"""Sixty words that the grammar finds as one word each."""


MAXIMUM_PROCESSES = 8
"""Each holds about 1 GB."""
FEW_FILES = 10
LONG_TESTS = ("tests/test_container.py", "tests/test_howto.py", "tests/test_docs.py", "tests/test_contributing.py")
"""Where single tests take long: run first, so that no process is left alone with one of them at the end."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Share folders and long lists of tests among all processors; run a few files in this process, for a debugger."""
    paths = [Path(str(argument).partition("::")[0]) for argument in config.args]
    if len(paths) <= FEW_FILES and not any(path.is_dir() for path in paths):
        return 0
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):  # of the processes, and of programs that they start
        os.environ.setdefault(variable, "1")
    return min(count_cores(), MAXIMUM_PROCESSES)


def pytest_collection_modifyitems(items):
    """Begin with the long tests; the others stay in order, for the sake of what is made once per module."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONG_TESTS))


@pytest.fixture
def own_cache_folder(tmp_path, monkeypatch):
    """Return an empty cache folder that no other process of the run writes to."""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("DENIABLE_CACHE", str(folder))
    return folder


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory):
    """Keep every test, and every program that one starts, off the user's cache and the checkout.

    The processes of one run share a fresh folder: a fact that one of them has proved, the others believe.
    """
    run_folder = tmp_path_factory.getbasetemp()
    folder = (run_folder.parent if "PYTEST_XDIST_WORKER" in os.environ else run_folder) / "deniable-cache"
    folder.mkdir(mode=0o700, exist_ok=True)
    set_hypothesis_home_dir(str(tmp_path_factory.mktemp("hypothesis")))
    before = os.environ.get("DENIABLE_CACHE")
    os.environ["DENIABLE_CACHE"] = str(folder)
    yield folder
    if before is None:
        del os.environ["DENIABLE_CACHE"]
    else:
        os.environ["DENIABLE_CACHE"] = before


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Keep torch, where it is loaded, to one thread: for small tensors more of them only wait for each other."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def small_vectors():
    """Return the vectors (60, 4) of `small_space`."""
    return np.random.default_rng(2021).normal(size=(len(SMALL_WORDS), 4))


@pytest.fixture(scope="session")
def small_space(small_vectors):
    """Return 60 words in four dimensions."""
    return dn.Space(SMALL_WORDS, small_vectors)


@pytest.fixture(scope="session")
def twin_space():
    """Return 12 words at 5 points of the plane: 4, 1, 1, 3 and 3 words each, in mixed order."""
    spots = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.5], [2.0, 2.0], [-1.0, 0.5]])
    return dn.Space(SMALL_WORDS[:12], spots[[0, 1, 3, 0, 4, 0, 2, 3, 4, 4, 3, 0]])


@pytest.fixture(scope="session")
def glove():
    """Return the 50,000 words of the default space, none of them hidden."""
    return dn.Space.glove(hide=())


@pytest.fixture(scope="session")
def euclidean_glove():
    """Return the 50,000 words under the distance of their vectors, none of them hidden."""
    return dn.Space.glove(metric="euclidean", hide=())


@pytest.fixture(scope="session")
def alphabetic(glove):
    """Return a function from a number to the space of so many most frequent alphabetic words of GloVe."""
    numbers = [number for number, word in enumerate(glove.words) if word.isalpha()]

    def most_frequent(count):
        chosen = numbers[:count]
        return dn.Space([glove.words[number] for number in chosen], glove.vectors[chosen])

    return most_frequent


@pytest.fixture(scope="session")
def glove_2000(alphabetic):
    """Return the 2,000 most frequent alphabetic words of GloVe."""
    return alphabetic(2000)


@pytest.fixture(scope="session")
def study_data(tmp_path_factory):
    """Return a folder with small data sets for the studies that need some."""
    from tests.studies.data import make

    return make(tmp_path_factory.mktemp("data"))
