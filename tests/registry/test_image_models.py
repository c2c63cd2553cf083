"""Model files with published certificates: read through the registry."""

import pytest
import torch

from deniable.learning.artifact import save_model
from deniable.models.images.model import ImageModel
from deniable.models.images.networks import ImageArchitecture, NetworkNoise
from deniable.published.dpal.certificate import DPALCertificate
from deniable.published.securesgd.certificate import SecureSGDCertificate
from deniable.registry.models import PUBLISHED_CERTIFICATES, load_image_model

CERTIFICATES = (
    DPALCertificate(delta_r=4.0, m=10.0, eps1=0.1, mu=0.2, d=784, beta=6_272, theta1=1.0, psi=2.0),
    SecureSGDCertificate(0.5, 2.0, 0.6),
)


def test_every_published_certificate_is_tested():
    """The certificates of this test are those of the registry."""
    assert {type(certificate) for certificate in CERTIFICATES} == {*PUBLISHED_CERTIFICATES}


@pytest.mark.parametrize("certificate", CERTIFICATES, ids=lambda certificate: type(certificate).__name__)
def test_published_certificates_come_back(certificate, tmp_path):
    """A model with a published certificate is read as it was written."""
    architecture = ImageArchitecture("small", (1, 28, 28), 10, 0.25)
    model = ImageModel(
        trainer="dpal",
        architecture=architecture,
        network=architecture.build(5).eval(),
        noises=(NetworkNoise("first layer", "gaussian", torch.tensor(0.5)),),
        guarantee=None,
        verdict=None,
        certificate=certificate,
        facts={},
    )
    save_model(model, tmp_path / "model.pt")
    assert load_image_model(tmp_path / "model.pt").certificate == certificate
