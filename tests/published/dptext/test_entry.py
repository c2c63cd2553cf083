"""DPText in the zoo: noise that is never negative moves the support with the input."""

import math

from deniable.published.dptext.entry import ENTRY


def test_the_loss_is_infinite():
    """Some outputs of one input never come from the other, so no epsilon holds."""
    verdict = ENTRY.verify_law()
    assert verdict.status == ENTRY.exact_status == "refuted"
    assert verdict.lower_bound == math.inf


def test_samples_alone_refute_it():
    """A thousand samples show more than the claim, under a seed of one's own too."""
    verdict = ENTRY.audit_samples(11)
    assert verdict.status == ENTRY.sampled_status == "refuted"
    assert verdict.lower_bound > 1.0
