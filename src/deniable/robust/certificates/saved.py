"""Certificates as JSON holds them."""

import dataclasses
from typing import Any

from deniable.errors import InputError
from deniable.robust.certificates.certificate import Certificate
from deniable.robust.certificates.dpal import DPALCertificate
from deniable.robust.certificates.gaussian import GaussianSmoothing
from deniable.robust.certificates.laplace import LaplaceSmoothing
from deniable.robust.certificates.pixeldp import PixelDP

CERTIFICATES: dict[str, type[GaussianSmoothing | LaplaceSmoothing | PixelDP | DPALCertificate]] = {
    kind.__name__: kind for kind in (GaussianSmoothing, LaplaceSmoothing, PixelDP, DPALCertificate)
}
"""A new certificate is one more entry."""


def certificate_to(certificate: Certificate) -> dict[str, Any]:
    """Return the kind and the parameters of a certificate.

    Raises:
        InputError: a kind that is not among `CERTIFICATES`.
    """
    kind = type(certificate)
    known = CERTIFICATES.get(kind.__name__)
    if known is None:
        raise InputError(f"The certificate {kind.__name__} cannot be saved: give one of {', '.join(CERTIFICATES)}.")
    names = [field.name for field in dataclasses.fields(known) if field.init]
    return {"kind": kind.__name__, **{name: getattr(certificate, name) for name in names}}


def certificate_from(held: dict[str, Any]) -> Certificate:
    """Return the certificate that `certificate_to` wrote.

    Raises:
        InputError: an unknown kind, or parameters that are not of that kind.
    """
    kind, parameters = held.get("kind"), {name: value for name, value in held.items() if name != "kind"}
    known = CERTIFICATES.get(str(kind))
    if known is None:
        raise InputError(f"The certificate's kind must be one of {', '.join(CERTIFICATES)}. Got {kind!r}.")
    try:
        return known(**parameters)
    except TypeError:
        given = ", ".join(map(str, parameters))
        raise InputError(f"A saved {kind} has other parameters than this version's. Got {given}.") from None
