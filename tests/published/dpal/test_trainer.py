"""DPAL as published: what it needs, and claims that come with their refutation."""

import math

import pytest
import torch

from deniable import InputError
from deniable.core.guarantees import REPLACED_RECORD, PureDP
from deniable.models.images.training.fitting import fit_image_model
from deniable.published.dpal.certificate import DPALCertificate
from deniable.published.dpal.trainer import DPAL_TRAINER
from tests.models.images.random_images import data


def test_dpal_is_refuted():
    """DPAL's claim of privacy and its certificate come with their refutation."""
    options = DPAL_TRAINER.choose_options(
        steps=2, batch_size=30, width=0.25, epsilon=0.2, attack_steps=1, network="paper-mnist"
    )
    model = fit_image_model(DPAL_TRAINER, data(), options, seed=3)
    assert model.guarantee == PureDP(0.2, model.guarantee.source, "refuted", adjacency=REPLACED_RECORD)
    assert model.verdict.status == "refuted"
    assert model.verdict.lower_bound == math.inf
    assert model.verdict.witness is not None
    assert isinstance(model.certificate, DPALCertificate)
    assert model.certificate.status == "refuted"
    assert [noise.place for noise in model.noises] == ["input", "first layer"]
    assert all(noise.offset is not None and noise.scale > 0 for noise in model.noises)


def test_a_small_budget_for_colour_images_is_refused():
    """DPAL's settings for colour images begin at epsilon 2."""
    options = DPAL_TRAINER.choose_options(steps=2, batch_size=30, width=0.25, epsilon=1.0, network="paper-cifar10")
    with pytest.raises(InputError, match="begins at epsilon 2"):
        fit_image_model(DPAL_TRAINER, data(30, (3, 32, 32), 3), options, seed=0)


@pytest.mark.parametrize("size", [6, 7, 8])
def test_batches_that_do_not_divide_by_three(size):
    """DPAL's attacks share a batch of any size from 6 on."""
    options = DPAL_TRAINER.choose_options(steps=1, batch_size=size, width=0.1, epsilon=2.0, attack_steps=1)
    model = fit_image_model(DPAL_TRAINER, data(count=30, shape=(1, 16, 16), classes=3), options, seed=1)
    assert all(torch.isfinite(value).all() for value in model.network.state_dict().values())
