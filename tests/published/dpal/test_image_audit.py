"""Shared noise: it cancels in differences and in a batch, and independent noise does neither."""

import numpy as np
import pytest
import torch

from deniable.core.errors import InputError
from deniable.published.dpal.image_audit import (
    audit_differences,
    audit_image_recovery,
    flatten_to_signed_pixels,
    recover_images,
)
from deniable.published.dpal.mechanism import DPALBudget
from deniable.published.noise import draw_laplace_noise
from tests.published.dpal.digits import SMALL, digits

BUDGET = DPALBudget(0.2)


def test_differences():
    """The difference of two images is released as it is in all of 10,000 runs, and never where one is another."""
    found = audit_differences(digits()[0], BUDGET, np.random.default_rng(0))
    event = found.event
    assert (event.hits, event.trials, event.false_hits, event.false_trials) == (10_000, 10_000, 0, 10_000)
    assert event.compute_lower_bound() == pytest.approx(7.9, abs=0.01)
    assert event.compute_lower_bound() > found.claim == BUDGET.input_claim


def test_differences_of_independent_noise():
    """Independent noise shows no difference, and its claim of the true epsilon stands."""
    found = audit_differences(digits()[0], BUDGET, np.random.default_rng(0), trials=1_200, independent=True)
    assert (found.event.hits, found.event.false_hits, found.event.trials) == (0, 0, 1_200)
    assert found.event.compute_lower_bound() == 0


def test_recovery():
    """A batch shows all of its images to rounding, to someone who has nothing but it."""
    images, _ = digits()
    found = audit_image_recovery(images, SMALL, np.random.default_rng(0), trials=20)
    assert found.recovered_images == len(found.images) == 200
    assert found.largest_error < 1e-12
    assert found.recovered.numpy() == pytest.approx(images[:200].numpy(), abs=1e-12)
    assert (found.perturbed - found.images).abs().max() > 100
    event = found.event
    assert (event.hits, event.false_hits) == (20, 0)
    assert event.compute_lower_bound() > found.claim


def test_recovery_from_independent_noise():
    """With independent noise no image is recovered, and nothing is refuted."""
    found = audit_image_recovery(digits()[0], SMALL, np.random.default_rng(0), trials=20, independent=True)
    assert found.recovered_images == found.event.hits == found.event.false_hits == 0
    assert found.event.compute_lower_bound() == 0


def test_recovery_needs_nothing_else():
    """The attack has no other input than the perturbed images, and survives float32."""
    rows = flatten_to_signed_pixels(digits()[0][:300])
    noise = draw_laplace_noise(np.random.default_rng(2), BUDGET.input_scale, (64,), torch.float64)
    assert recover_images(rows + noise).numpy() == pytest.approx(rows.numpy(), abs=1e-12)
    assert recover_images((rows + noise).float()).numpy() == pytest.approx(rows.numpy(), abs=1e-3)


def test_too_few_images():
    """How many images are needed is said in one line."""
    images, _ = digits()
    with pytest.raises(InputError, match=r"201 images: a batch of 200 and 1 more\. Got 200"):
        audit_image_recovery(images[:200], SMALL, np.random.default_rng(0))
    with pytest.raises(InputError, match="needs 3 images"):
        audit_differences(images[:2], SMALL, np.random.default_rng(0))
