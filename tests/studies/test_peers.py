"""The audit of published packages: its laws and checks, without the packages."""

import sys
import types
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2] / "studies" / "peers"


@pytest.fixture
def audit(monkeypatch):
    """Return the modules of the audit, which are scripts and no package."""
    monkeypatch.syspath_prepend(ROOT)
    import audit_packages
    import checks
    import laws

    yield types.SimpleNamespace(checks=checks, laws=laws, main=audit_packages)
    for name in ("checks", "claims", "client", "laws", "compare_speed", "audit_packages", "tables"):
        sys.modules.pop(name, None)


def sampler(matrix, names, seed):
    """Return a stand-in for a worker that draws from the rows of a matrix."""
    rng = np.random.default_rng(seed)
    rows = dict(zip(names, matrix, strict=True))
    return types.SimpleNamespace(draw=lambda words: [names[rng.choice(len(names), p=rows[word])] for word in words])


@pytest.mark.deep
def test_truncated_gumbel_law_is_that_of_its_simulation(audit):
    """The quadrature sums to 1 and agrees with a simulation of the same algorithm."""
    rng = np.random.default_rng(1)
    scores = np.array([0.0, 0.7, 1.1, 2.5, 3.0, 6.0])
    family = audit.laws.TruncatedGumbel(mean=2.0, most=6, scale=0.9, bound=4.0)
    law = family.outputs(scores)
    assert law.sum() + family.none == pytest.approx(1.0, abs=1e-8)
    count, runs = rng.poisson(2.0, 300_000), 300_000
    noise = rng.gumbel(0, 0.9, (runs, 6))
    kept = (np.abs(noise) <= 4.0).all(axis=1) & (count <= 6) & (count > 0)
    noisy = np.where(np.arange(6) < count[kept, None], scores + noise[kept], np.inf)
    # rejecting whole rows is rejecting each number
    share = np.bincount(noisy.argmin(axis=1), minlength=6) / kept.sum()
    assert np.abs(share - law / law.sum()).max() < 5e-3


def test_chi_square_accepts_the_law_and_rejects_one_30_percent_off(audit):
    """Draws agree with their own law and not with another."""
    names = list("abcdef")
    matrix = np.random.default_rng(2).dirichlet(np.ones(6), size=6)
    other = matrix.copy()
    other[:, 0] *= 1.3
    other /= other.sum(axis=1, keepdims=True)
    accepted = audit.checks.chi_square(sampler(matrix, names, 3), matrix, names, names, 5_000)
    rejected = audit.checks.chi_square(sampler(other, names, 3), matrix, names, names, 5_000)
    assert accepted["p"] > 1e-3
    assert rejected["p"] < 1e-6


def test_an_output_of_probability_zero_is_no_chance(audit):
    """A drawn output that the law excludes makes p zero."""
    names, matrix = ["a", "b"], np.array([[0.9, 0.1], [0.5, 0.5]])
    claimed = np.array([[1.0, 0.0], [0.5, 0.5]])
    assert audit.checks.chi_square(sampler(matrix, names, 4), claimed, names, ["a"], 1_000)["p"] == 0.0


def test_words_of_one_output_set_are_compared_with_each_other_only(audit):
    """Two words share a set of outputs; the third has another."""
    matrix = np.array([[0.8, 0.2, 0.0], [0.4, 0.6, 0.0], [0.0, 0.5, 0.5]])
    found = audit.checks.same_sets(matrix)
    assert found["pairs"] == 2
    assert found["loss"] == pytest.approx(np.log(3))


def test_unknown_mechanism_is_one_line(audit, capsys):
    """A mechanism that is not there ends with exit code 2 and one line."""
    with pytest.raises(SystemExit) as end:
        audit.main.main(["--package", "pypantera", "--mechanism", "syntf"])
    assert end.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
