"""When flips refute a certificate: counted against a binomial law, one line for the reader."""

import dataclasses

import pytest
from scipy import stats

from deniable.models.shared.refutation import conclude_refutation


@dataclasses.dataclass
class Attempt:
    """An attempt with a p-value."""

    p_value: float

    def __str__(self):
        return f"attempt at {self.p_value:g}"


def test_nothing_certified_is_not_refuted():
    """Without attempts nothing is refuted, and the line says why."""
    conclusion = conclude_refutation([], 0.01, 0.001)
    assert (conclusion.is_refuted, conclusion.p_value, conclusion.witness) == (False, 1.0, None)
    assert str(conclusion) == "not refuted: nothing is certified"


@pytest.mark.parametrize(("flips", "certified_at", "is_refuted"), [(1, 0.0, True), (1, 0.01, False), (9, 0.01, True)])
def test_flips_are_counted_against_the_binomial_law(flips, certified_at, is_refuted):
    """One flip refutes an exact certificate; a certificate that may be wrong at 1 % takes more flips among 100."""
    attempts = [Attempt(1e-9)] * flips + [Attempt(0.5)] * (100 - flips)
    conclusion = conclude_refutation(attempts, 0.01, certified_at)
    assert conclusion.is_refuted == is_refuted
    assert (conclusion.flips, conclusion.tested, conclusion.witness) == (flips, 100, Attempt(1e-9))
    assert conclusion.p_value == pytest.approx(stats.binom.sf(flips - 1, 100, certified_at + 0.01 / 200))
    assert "attempt at 1e-09" in str(conclusion)


def test_a_flip_needs_its_own_test():
    """A p-value above alpha / (2 n) is no flip."""
    assert conclude_refutation([Attempt(0.004), Attempt(0.9)], 0.01, 0.0).flips == 0
    assert conclude_refutation([Attempt(0.002), Attempt(0.9)], 0.01, 0.0).flips == 1
