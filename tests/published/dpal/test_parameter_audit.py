"""The first layer's parameters: they tell neighbouring batches apart, unless noise is independent."""

import numpy as np
import pytest
import torch
from scipy import stats

from deniable.core.errors import InputError
from deniable.published.dpal.mechanism import DPALBudget
from deniable.published.dpal.parameter_audit import audit_parameters
from tests.published.dpal.digits import SMALL, digits

TRIALS = 40


@pytest.fixture(scope="module")
def found():
    """Return audits of shared noise and of independent noise."""
    images, _ = digits()
    return {
        kind: audit_parameters(
            images, SMALL, np.random.default_rng(0), trials=TRIALS, neurons=16, independent=kind == "independent"
        )
        for kind in ("shared", "independent")
    }


def test_the_batch_is_told_from_its_neighbour(found):
    """In every run the batch that was trained on leaves rank two but for rounding, and its neighbour does not."""
    shared = found["shared"]
    for event in (shared.ratio_event, shared.projection_event):
        assert (event.hits, event.false_hits) == (TRIALS, 0)
        assert event.compute_lower_bound(0.999) > shared.claim == SMALL.parameter_claim
    assert len(shared.trained_ratios) == len(shared.neighbour_ratios) == 2 * TRIALS
    assert max(shared.trained_ratios) < 1e-13
    assert min(shared.neighbour_ratios) > 1e-11


def test_float32():
    """In a large batch rounding hides the ratio but not the one direction in which the two batches differ."""
    budget, random = DPALBudget(0.2, m=1_500), np.random.default_rng(0)
    rounded = audit_parameters(digits()[0], budget, random, trials=25, neurons=64, dtype=torch.float32)
    assert stats.binomtest(rounded.projection_event.correct_runs, 50, alternative="greater").pvalue < 1e-6
    assert rounded.projection_event.compute_lower_bound(0.999) > rounded.claim
    assert stats.binomtest(rounded.ratio_event.correct_runs, 50).pvalue > 1e-6
    assert min(rounded.trained_ratios) > 1e-9


def test_independent_noise(found):
    """With independent noise both attackers are at chance and nothing is refuted."""
    control = found["independent"]
    for event in (control.ratio_event, control.projection_event):
        assert stats.binomtest(event.correct_runs, event.total_runs).pvalue > 1e-6
        assert event.compute_lower_bound(0.999) <= control.claim
    assert min(control.trained_ratios) > 0.1


def test_too_few_images():
    """A batch and an image to replace one are needed."""
    with pytest.raises(InputError, match="needs 201 images"):
        audit_parameters(digits()[0][:200], SMALL, np.random.default_rng(0))
