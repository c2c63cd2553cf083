"""Certificates as JSON holds them."""

import dataclasses
from typing import Any

from deniable.core.errors import InputError
from deniable.models.images.pixeldp import PixelDP
from deniable.models.images.robustness import RobustnessCertificate
from deniable.models.images.smoothing import GaussianSmoothing, LaplaceSmoothing
from deniable.published.dpal.certificate import DPALCertificate

CERTIFICATE_KINDS: dict[str, type[GaussianSmoothing | LaplaceSmoothing | PixelDP | DPALCertificate]] = {
    kind.__name__: kind for kind in (GaussianSmoothing, LaplaceSmoothing, PixelDP, DPALCertificate)
}
"""A new certificate is one more entry."""


def encode_certificate(certificate: RobustnessCertificate) -> dict[str, Any]:
    """Return the kind and the parameters of a certificate.

    Raises:
        InputError: a kind that is not among `CERTIFICATE_KINDS`.
    """
    kind = type(certificate)
    known_kind = CERTIFICATE_KINDS.get(kind.__name__)
    if known_kind is None:
        raise InputError(
            f"The certificate {kind.__name__} cannot be saved: give one of {', '.join(CERTIFICATE_KINDS)}."
        )
    names = [field.name for field in dataclasses.fields(known_kind) if field.init]
    return {"kind": kind.__name__, **{name: getattr(certificate, name) for name in names}}


def decode_certificate(content: dict[str, Any]) -> RobustnessCertificate:
    """Return the certificate that `encode_certificate` wrote.

    Raises:
        InputError: an unknown kind, or parameters that are not of that kind.
    """
    kind, parameters = content.get("kind"), {name: value for name, value in content.items() if name != "kind"}
    known_kind = CERTIFICATE_KINDS.get(str(kind))
    if known_kind is None:
        raise InputError(f"The certificate's kind must be one of {', '.join(CERTIFICATE_KINDS)}. Got {kind!r}.")
    try:
        return known_kind(**parameters)
    except TypeError:
        given_names = ", ".join(map(str, parameters))
        raise InputError(f"A saved {kind} has other parameters than this version's. Got {given_names}.") from None
