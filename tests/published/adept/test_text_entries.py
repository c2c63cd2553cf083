"""ADePT behind an encoder of texts: every verdict as expected, under two seeds."""

import pytest

from deniable.published.adept.text_entries import ADEPT_TEXT_ENTRIES
from deniable.published.entry import examine_entry

BY_NAME = {entry.name: entry for entry in ADEPT_TEXT_ENTRIES}


def test_what_lives_in_the_zoo():
    """One refuted method and two controls, with names of their own, each with its source and claim."""
    assert len(BY_NAME) == len(ADEPT_TEXT_ENTRIES) == 3
    assert [entry.name for entry in ADEPT_TEXT_ENTRIES if entry.flaw] == ["adept-texts"]
    assert all(entry.source and entry.claim for entry in ADEPT_TEXT_ENTRIES)


@pytest.mark.parametrize("seed", [0, 20_211_107])
@pytest.mark.parametrize("name", BY_NAME)
def test_verdicts_are_as_expected(name, seed):
    """The published claim is refuted from text to vector, those of the controls are not; no bound exceeds the truth."""
    found = examine_entry(BY_NAME[name], seed)
    assert found.is_as_expected, str(found.exact_verdict) + str(found.sampled_verdict)
    assert found.sampled_verdict.lower_bound <= found.exact_verdict.epsilon
    assert found.sampled_verdict.samples == 20_000
    assert found.sampled_verdict.delta == (1e-5 if name == "adept-gaussian-texts" else 0)


def test_the_exact_loss():
    """Sixty-four coordinates make it 8 times the claim, whatever the encoder; noise enough makes it the claim."""
    assert BY_NAME["adept-texts"].verify_law().lower_bound == pytest.approx(24, rel=1e-9)
    assert BY_NAME["adept-true-texts"].verify_law().epsilon == pytest.approx(3, rel=1e-9)
