"""DPAL in the zoo: every verdict as expected, under two seeds, and fast."""

import pytest

from deniable.published.dpal.zoo import DPAL_ENTRIES
from deniable.published.entry import examine_entry
from deniable.registry.zoo import ZOO_ENTRIES as OTHERS

BY_NAME = {entry.name: entry for entry in DPAL_ENTRIES}
CONTROLS = {"dpal-independent", "dpal-labels-fresh"}


def test_what_lives_in_the_zoo():
    """Five audits of DPAL and two controls, with names of their own, each with its source and claim."""
    assert len(BY_NAME) == len(DPAL_ENTRIES) == 7
    assert not set(BY_NAME) & {entry.name for entry in OTHERS}
    assert {entry.name for entry in DPAL_ENTRIES if not entry.flaw} == CONTROLS
    assert all(entry.source and entry.claim for entry in DPAL_ENTRIES)


@pytest.mark.parametrize("seed", [0, 20_200_426])
@pytest.mark.parametrize("name", BY_NAME)
def test_verdicts_are_as_expected(name, seed):
    """DPAL's claims are refuted, those of the controls are not, and no bound exceeds the truth where it is known."""
    found = examine_entry(BY_NAME[name], seed)
    assert found.is_as_expected, str(found.exact_verdict) + str(found.sampled_verdict)
    assert (found.sampled_verdict.status == "refuted") == (name not in CONTROLS)
    assert found.sampled_verdict.witness is not None
    assert found.sampled_verdict.detectable_epsilon > found.sampled_verdict.claim
    if found.exact_verdict is not None:
        assert found.sampled_verdict.lower_bound <= found.exact_verdict.epsilon


def test_the_law_of_the_controls():
    """The exact epsilon of independent noise is 2 d / scale: 45.05 for 784 pixels, 0.919 for 16."""
    assert BY_NAME["dpal-sensitivity"].verify_law().lower_bound == pytest.approx(45.05, abs=0.01)
    assert BY_NAME["dpal-independent"].verify_law().epsilon == pytest.approx(0.919, abs=1e-3)
