"""The space of a certificate is found only in the package, or where the checker says."""

import numpy as np
import pytest

from deniable import InputError, Space
from deniable.checking.spaces import MAX_REBUILT_WORDS, find_space
from deniable.checking.statements import Statements
from tests.text.helpers import SPACE, WORDS


def find(source, metric="euclidean", given=None, hide=()):
    """Return the space that is found for a source and a metric."""
    return find_space(Statements({"space": {"source": source, "metric": metric}}), given, hide)


def test_glove():
    """The words that come with the package are read in the number, metric and classes that are stated."""
    space, reason = find("GloVe 6B 50d, 300 most frequent words", "manhattan, with names, numbers hidden")
    twin = Space.glove(300, metric="manhattan", hide=["names", "numbers"])
    assert (space.fingerprint, space.metric_name, reason) == (twin.fingerprint, twin.metric_name, "")


@pytest.mark.parametrize(
    ("source", "metric", "reason"),
    [
        ("words.txt", "euclidean", "the space is not at hand"),
        ("/etc/passwd", "euclidean", "the space is not at hand"),
        ("GloVe 6B 50d, 1 most frequent words", "euclidean", "the space is not at hand"),
        (f"GloVe 6B 50d, {MAX_REBUILT_WORDS + 1} most frequent words", "euclidean", "nor one of up to 50,000 words"),
        ("GloVe 6B 50d, 99999999999 most frequent words", "euclidean", "the space is not at hand"),
        ("GloVe 6B 50d, 300 most frequent words", "user function f", "the metric is not at hand"),
        ("GloVe 6B 50d, 300 most frequent words", "", "the metric is not at hand"),
        ("GloVe 6B 50d, 300 most frequent words", "cosine", "the metric is not at hand"),
        ("GloVe 6B 50d, 300 most frequent words", "euclidean, with streets hidden", "hidden class 'streets'"),
        (3, ["euclidean"], "the metric is not at hand"),
        ("GloVe 6B 50d, 300 most frequent words", "euclidean" + ", with " * 500, "the metric is not at hand"),
    ],
)
def test_what_is_not_at_hand(source, metric, reason):
    """No path is opened and no large space built: the reason is told instead."""
    space, told = find(source, metric)
    assert space is None
    assert reason in told


def test_the_checkers_own(tmp_path):
    """A space that is given is taken; a file is read under the stated metric, with the checker's lists of classes."""
    assert find("anything", given=SPACE) == (SPACE, "")
    np.savez(tmp_path / "words.npz", words=np.array(WORDS), vectors=SPACE.vectors)
    (tmp_path / "colours.txt").write_text("red\nblue\n")
    space, _ = find(
        "words.npz", "chebyshev, with colours hidden", given=tmp_path / "words.npz", hide=[tmp_path / "colours.txt"]
    )
    assert space.metric_name == "chebyshev, with colours hidden"
    with pytest.raises(InputError, match="No vector file"):
        find("words.npz", given=tmp_path / "none.npz")
