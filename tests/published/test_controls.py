"""Controls of the zoo: what is correct, and what must not be refuted by mistake."""

import numpy as np
import pytest

from deniable.published.controls import CONTROL_ENTRIES

BY_NAME = {entry.name: entry for entry in CONTROL_ENTRIES}
VECTOR_CONTROLS = ["random", "laplace", "gaussian", "adept-l1", "adept-true", "dptext-corrected"]


def test_a_control_has_no_flaw_and_is_never_expected_to_be_refuted():
    """Every control says what it is a control of, expects no refutation, and has a name of its own."""
    assert len(BY_NAME) == len(CONTROL_ENTRIES)
    for entry in CONTROL_ENTRIES:
        assert entry.flaw == ""
        assert entry.source.startswith("control")
        assert "refuted" not in {entry.exact_status, entry.sampled_status}


@pytest.mark.parametrize("name", VECTOR_CONTROLS)
def test_the_law_of_a_vector_control_keeps_its_claim(name):
    """The epsilon verified is the one that the claim names, and at most that is spent."""
    verdict = BY_NAME[name].verify_law()
    assert verdict.status == "proved"
    assert verdict.lower_bound <= verdict.claim == (0.0 if name == "random" else 1.0)
    assert BY_NAME[name].claim.startswith("0-" if name == "random" else ("(1, 1e-5)" if name == "gaussian" else "1-"))


def test_half_of_a_private_sum_is_private():
    """Halving what was released is post-processing: the audit finds no more than the claim, under any seed."""
    entry = BY_NAME["half-sum"]
    assert entry.verify_law is None
    for seed in np.random.default_rng(5).integers(1 << 30, size=2).tolist():
        verdict = entry.audit_samples(seed)
        assert verdict.status == "not refuted"
        assert verdict.lower_bound <= 1.0
