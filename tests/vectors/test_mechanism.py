"""The contract of a vector mechanism, held by one that is new: what it gets without writing it."""

import contextlib
import io
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.vectors.mechanism import has_builtin_sampler, is_builtin_mechanism
from tests.refusals import refuses

PAGE = Path(__file__).parents[2] / "docs" / "vectors" / "index.md"
BOX = dn.Box(0.0, 1.0)


class Coins(dn.VectorMechanism):
    """Adds a fair coin to every coordinate."""

    name = "coins"
    claim = dn.Guarantee(1.0, "a test")

    def sensitivity(self, n):
        return float(n)

    def scale(self, n):
        return float(n)

    def worst_pair(self, n):
        return np.zeros(n), np.ones(n)

    def _sample_rows(self, rows, generator):
        return rows + np.random.Generator(generator).integers(2, size=rows.shape)


class Lying(dn.Laplace):
    """A subclass from elsewhere with another claim."""

    claim = dn.Guarantee(1e-9, "a lie")


class Copying(dn.Laplace):
    """A subclass from elsewhere with other draws."""

    def _sample_rows(self, rows, generator):
        del generator
        return rows


class Moving(dn.Box):
    """A domain from elsewhere."""


def test_a_new_mechanism_needs_no_more_than_its_steps():
    """Shapes are kept, the rows that it gets are float64, and a seed repeats its draws; fewer steps are refused."""
    one, other = Coins(seed=1), Coins(seed=1)
    for x in ([1, 2, 3], np.zeros((4, 2), dtype=np.int8)):
        drawn = one.sample(x)
        assert drawn.shape == np.shape(x)
        assert drawn.dtype == np.float64
        assert (drawn == other(x)).all()
        assert set(np.ravel(drawn - x)) <= {0.0, 1.0}
    with refuses("abstract", TypeError):
        dn.VectorMechanism()


def test_no_pure_loss_is_made_up():
    """Without an exact loss the mechanism says so; under a public seed the loss is infinite at its worst pair."""
    with refuses("Coins", dn.NotTractable):
        Coins().exact_loss(2)
    loss = Coins(seed=0).exact_loss(2)
    assert loss.lower == loss.upper == math.inf
    assert loss.pair[1].tolist() == [1.0, 1.0]
    assert Coins(seed=0).guarantee.status == "refuted"
    assert Coins().guarantee == Coins.claim


def test_code_from_elsewhere_is_told_from_this_package_s():
    """Another claim leaves the draws ours; other draws and a domain from elsewhere do not."""
    assert is_builtin_mechanism(dn.Laplace(epsilon=1.0, domain=BOX))
    assert has_builtin_sampler(Lying(epsilon=1.0, domain=BOX))
    assert not is_builtin_mechanism(Lying(epsilon=1.0, domain=BOX))
    assert not has_builtin_sampler(Copying(epsilon=1.0, domain=BOX))
    assert not has_builtin_sampler(Coins())
    assert not has_builtin_sampler(dn.Laplace(epsilon=1.0, domain=Moving(0.0, 1.0)))


FORK = """
import os
import deniable as dn
mechanism = dn.Laplace(epsilon=1.0, domain=dn.Box(0.0, 1.0))
mechanism.sample([0.5])
if os.fork():
    os.wait()  # so that lines are not mixed
print(mechanism.sample([0.5])[0], flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_forks_share_no_noise():
    """A process that drew before it forked and its child draw apart: two releases of one vector do not cancel."""
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True)
    assert len({*done.stdout.split()}) == 2


def test_the_place_of_a_number_that_is_not_finite_is_named():
    """The error gives the index, so that the owner finds the vector."""
    x = np.zeros((3, 2))
    x[2, 1] = math.nan
    with refuses("(2, 1)"):
        Coins().sample(x)


def test_code_on_the_page_runs_and_prints_what_it_says():
    """Every Python block of the page runs, one after the other; a comment behind print says what comes out."""
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, str(PAGE), "exec"), {})
    said = re.findall(r"print\(.*\)  # (.*)$", block, flags=re.MULTILINE)
    assert printed.getvalue().splitlines() == said
