"""The benchmark of text classifiers runs."""

from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.models.text.documents import concatenate_texts

ROOT = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch):
    """Return the benchmark, which is a script and no package."""
    monkeypatch.syspath_prepend(ROOT)
    import robust_text

    return robust_text


def test_help(benchmark, capsys):
    """Its options are told."""
    with pytest.raises(SystemExit) as end:
        benchmark.main(["--help"])
    assert end.value.code == 0
    assert "--limit" in capsys.readouterr().out


def test_epochs_are_compared(benchmark, small_space, capsys):
    """A tiny run prints a row for each way to train, and says that it is scaled up."""
    own = np.arange(len(small_space), dtype=np.int32)
    sets = dn.texts.Substitutions("the next word", np.stack([own, np.roll(own, 1)], axis=1))
    held = dn.texts.Documents(concatenate_texts([[1, 2, 3], [4, 5]]), np.array([0, 1]), ("a", "b"))
    benchmark.epochs(small_space, held, sets, 1)
    title, _, *rows = capsys.readouterr().out.strip().splitlines()
    assert "scaled up from 2" in title
    assert [row.split()[1] for row in rows] == ["normal", "ibp"]
    assert rows[0].endswith(" 1.00 |")
