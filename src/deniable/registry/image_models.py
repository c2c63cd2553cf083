"""Image models from files with any certificate, also those of published systems, which are registered here."""

from pathlib import Path

from deniable.models.images import model
from deniable.published.dpal.certificate import DPALCertificate
from deniable.published.securesgd.certificate import SecureSGDCertificate

PUBLISHED_CERTIFICATES = (DPALCertificate, SecureSGDCertificate)
"""Each registers itself where it is defined, so that it is known once this module is imported."""


def load_image_model(path: Path) -> model.ImageModel:
    """Read a model that `deniable.models.images.model.save_image_model` wrote, of any kind of certificate.

    Raises:
        InputError: no such file, or it is no model of this version.
    """
    return model.load_image_model(path)
