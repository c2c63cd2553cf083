"""What Lemma 2, Theorem 2, Lemma 5 and Appendix N of DPAL bound, against independent computations."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from deniable.published.dpal.mechanism import DPALBudget, compute_class_objective, compute_mended_class_objective
from studies.dpal_counterexample import check_product
from studies.dpal_expansions import (
    CLASS_BOUND,
    RECONSTRUCTION_BOUND,
    audit_adversarial_differences,
    compute_expansion_errors,
    measure_coefficient_sensitivity,
)


def test_expansion_errors():
    """The errors are those at z = 1 and -1, by hand; the bounds are the numbers of Appendix N."""
    errors = compute_expansion_errors()
    assert round(RECONSTRUCTION_BOUND, 3) == 0.786
    assert round(CLASS_BOUND, 4) == 0.3147
    assert errors.reconstruction == pytest.approx(math.log1p(math.e) - math.log(2) - 0.5)
    assert errors.printed == pytest.approx(math.log1p(math.exp(-1)) - math.log(2) + 1.5 - 0.125)
    assert errors.mended == pytest.approx(math.log(2) + 0.625 - math.log1p(math.e))
    assert errors.mended < CLASS_BOUND < errors.printed


def test_the_mended_objective_is_cross_entropy_to_the_second_order():
    """Up to log 2 and a fourth order the loss of each class is log(1 + e^z) - y z; noise enters as before."""
    hidden = 0.05 * torch.randn(5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    weights, labels = torch.eye(3, dtype=torch.float64), torch.eye(3, dtype=torch.float64)[[0, 2, 1, 1, 0]]
    exact = (torch.log1p(hidden.exp()) - labels * hidden - math.log(2)).sum(1)
    quiet, noise = torch.zeros(3, dtype=torch.float64), torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    assert compute_mended_class_objective(hidden, weights, labels, quiet) == pytest.approx(exact, abs=1e-5)
    changes = [
        compute(hidden, weights, labels, noise) - compute(hidden, weights, labels, quiet)
        for compute in (compute_class_objective, compute_mended_class_objective)
    ]
    assert changes[0] == pytest.approx(changes[1])


def test_the_printed_loss_of_a_true_class_falls_away_from_it():
    """As printed a true class with a negative score is pushed to -2, mended to +2."""
    scores = torch.linspace(-3, -0.5, 26, dtype=torch.float64)[:, None]
    one, quiet = torch.ones(1, 1, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
    printed = compute_class_objective(scores, one, torch.ones_like(scores), quiet)
    mended = compute_mended_class_objective(scores, one, torch.ones_like(scores), quiet)
    assert float(scores[printed.argmin()]) == pytest.approx(-2)
    assert int(mended.argmin()) == len(scores) - 1


def test_the_sensitivity_of_the_coefficients():
    """The change in l1 is that of loops over units and pixels, and beyond Lemma 2's d (beta + 2)."""
    side, kernel, stride = 8, 5, 2
    expected, units = 0.0, range(0, side, stride)
    for row in units:
        for column in units:
            for i in range(row - 2, row + 3):
                for j in range(column - 2, column + 3):
                    if 0 <= i < side and 0 <= j < side:
                        white = 1 if i % stride == j % stride == 0 else -1
                        expected += abs((0.5 - white) * 1 - (0.5 + 1) * -1)
    assert measure_coefficient_sensitivity(side, kernel, stride) == pytest.approx(expected)
    assert measure_coefficient_sensitivity() > 2 * (14**2 + 2) * 25


def test_adversarial_examples_tell_data_sets_apart():
    """With shared noise the event occurs on D alone, with independent noise never."""
    images = torch.rand(3, 1, 12, 12, generator=torch.Generator().manual_seed(1))
    budget = dataclasses.replace(DPALBudget(0.2), m=40)
    shared, independent = (
        audit_adversarial_differences(images, budget, np.random.default_rng(0), trials=20, independent=is_independent)
        for is_independent in (False, True)
    )
    assert (shared.hits, shared.false_hits) == (20, 0)
    assert (independent.hits, independent.false_hits) == (0, 0)
    assert shared.compute_lower_bound() > budget.input_claim


def test_a_product_of_two_networks():
    """Lemma 5 is met with equality in the tails, and no certified input changes its class."""
    found = check_product(places=401)
    assert found.largest_loss == pytest.approx(found.epsilon)
    assert found.certified > 0
    assert (found.beyond, found.changed) == (0, 0)
