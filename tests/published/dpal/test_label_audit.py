"""Labels: recovered where noise cancels, at chance where it is drawn for each step and class."""

import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch.nn import functional

from deniable.core.errors import InputError
from deniable.published.dpal.label_audit import LabelAudit, audit_labels, solve_for_labels
from tests.published.dpal.digits import SMALL, digits

STEPS = {"neurons": 64, "steps": 12}


def audit(*, drawn=False, seed=0, **more):
    images, given = digits()
    return audit_labels(
        images, SMALL, np.random.default_rng(seed), given_labels=None if drawn else given, **STEPS, **more
    )


@pytest.mark.parametrize(
    ("noise", "axis"), [("published", "steps"), ("published", "classes"), ("each step", "classes")]
)
def test_labels_are_recovered(noise, axis):
    """Noise that is the same in all steps, or for all classes, hides no label."""
    found = audit(noise=noise, difference_axis=axis)
    assert found.total_labels == 200
    assert found.recovered_labels >= 198


@pytest.mark.parametrize("axis", ["steps", "classes"])
def test_the_control(axis):
    """Noise drawn for every step and class leaves the attacker at chance, and refutes nothing."""
    found = audit(noise="each step and class", difference_axis=axis, drawn=True)
    assert stats.binomtest(found.recovered_labels, found.total_labels, 0.1).pvalue > 1e-6
    assert found.compute_lower_bound(0.999) <= 12 * found.claim


def test_the_claim_is_refuted():
    """Labels drawn at random are recovered too, and their bound exceeds the claim by far."""
    found = audit(drawn=True)
    assert found.is_uniform
    assert found.recovered_labels >= 190
    assert found.compute_lower_bound(0.999) > 3 > found.claim == 0.1


def test_the_bound():
    """The bound is Clopper and Pearson's on the chance of a guess, solved for e^epsilon / (e^epsilon + K - 1)."""
    low = stats.beta.ppf(0.05, 180, 21)
    assert LabelAudit(0.1, 180, 200, 10, is_uniform=True).compute_lower_bound() == pytest.approx(
        math.log(9 * low / (1 - low)), rel=1e-6
    )
    assert LabelAudit(0.1, 180, 200, 10, is_uniform=False).compute_lower_bound() == 0
    assert LabelAudit(0.1, 20, 200, 10, is_uniform=True).compute_lower_bound() == 0


def test_randomized_response_is_not_refuted():
    """Of labels that pass randomized response at epsilon 2, a bound above 2 comes in at most 5 % of audits."""
    random, chance = np.random.default_rng(0), math.exp(2) / (math.exp(2) + 9)
    bounds = [
        LabelAudit(2.0, int(right), 300, 10, is_uniform=True).compute_lower_bound()
        for right in random.binomial(300, chance, 400)
    ]
    assert stats.binomtest(sum(bound > 2 for bound in bounds), 400, 0.05, alternative="greater").pvalue > 1e-6
    assert 1.5 < np.mean(bounds) < 2


def test_detectable():
    """What would have been seen lies above the claim and is within reach of this many labels."""
    found = LabelAudit(0.1, 20, 200, 10, is_uniform=True)
    assert 0.1 < found.compute_detectable_epsilon(0.1) < 2


def test_the_attack_needs_no_noise_to_be_known():
    """The labels are found whatever was added to the sums of all steps, or to those of all classes."""
    random = torch.Generator().manual_seed(0)
    truth = torch.randint(4, (50,), generator=random)
    features = [torch.randn(50, 30, generator=random, dtype=torch.float64) for _ in range(4)]
    targets = functional.one_hot(truth, 4).double()
    constant = 1e4 * torch.randn(30, 4, generator=random, dtype=torch.float64)
    assert torch.equal(solve_for_labels(features, [h.T @ targets + constant for h in features], "steps"), truth)
    for_all = [h.T @ targets + 1e4 * torch.randn(30, 1, generator=random, dtype=torch.float64) for h in features]
    assert torch.equal(solve_for_labels(features, for_all, "classes"), truth)


def test_too_few_equations():
    """Fewer equations than labels are refused in one line."""
    with pytest.raises(InputError, match="64 neurons over 3 steps give 128 equations for 200 labels"):
        audit_labels(digits()[0], SMALL, np.random.default_rng(0), neurons=64, steps=3)
