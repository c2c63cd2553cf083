"""Model files with published certificates: read through the registry."""

import pytest
import torch

from deniable.learning.artifact import save_model
from deniable.models.images.model import ImageModel
from deniable.models.images.networks import ImageArchitecture, NetworkNoise
from deniable.published.dpal.certificate import DPALCertificate
from deniable.published.securesgd.certificate import SecureSGDCertificate
from deniable.registry.models import PUBLISHED_CERTIFICATES, load_image_model

ARCHITECTURE = ImageArchitecture("small", (1, 28, 28), 10, 0.25)
NOISES = {
    DPALCertificate: (
        NetworkNoise("input", "laplace", torch.tensor(0.5)),
        NetworkNoise("first layer", "laplace", torch.tensor(2.0)),
    ),
    SecureSGDCertificate: (NetworkNoise("first layer", "gaussian", torch.linspace(0.5, 1, 14)),),
}


def test_every_published_certificate_is_tested():
    """The certificates of this test are those of the registry."""
    assert {*NOISES} == {*PUBLISHED_CERTIFICATES}


@pytest.mark.parametrize("kind", NOISES)
def test_published_certificates_come_back(kind, tmp_path):
    """A model with a published certificate is read as it was written."""
    network = ARCHITECTURE.build(5).eval()
    certificate = kind.from_network(network, ARCHITECTURE.shape, NOISES[kind])
    model = ImageModel("dpal", ARCHITECTURE, network, NOISES[kind], None, None, certificate, {})
    save_model(model, tmp_path / "model.pt")
    assert load_image_model(tmp_path / "model.pt").certificate == certificate
