"""SecureSGD: private by DP-SGD, with noise that is uneven and a certificate without a proof."""

import pytest

from deniable.models.images.training.fitting import fit_image_model
from deniable.published.securesgd.certificate import SecureSGDCertificate, compute_heterogeneous_sigma
from deniable.published.securesgd.trainer import SECURESGD_TRAINER
from tests.models.images.random_images import data


def test_uneven_noise_has_the_variance_of_even_noise():
    """SecureSGD shares out the variance that even noise would have, at least half of it evenly: no false radius."""
    options = SECURESGD_TRAINER.choose_options(
        steps=2, batch_size=30, width=0.25, epsilon=90.0, delta=1e-5, noise_multiplier=2.0
    )
    model = fit_image_model(SECURESGD_TRAINER, data(), options, seed=3)
    scale = model.noises[0].scale
    even = 2 * 0.1 * compute_heterogeneous_sigma(1.0, 0.05)
    assert scale.shape == (4, 14, 14)
    assert scale.square().mean().sqrt() == pytest.approx(even)
    assert 0.7 * even < scale.min() < 0.9 * scale.max()
    assert isinstance(model.certificate, SecureSGDCertificate)
    assert model.certificate.least_share == pytest.approx(float(scale.min() ** 2 / scale.square().mean()))
    assert (model.certificate.status, model.guarantee.status) == ("undecided", "proved for ideal arithmetic")
