"""Certificates of robustness as JSON values, by the name of their class.

The kinds of the models room are listed here; a published certificate is added by `register_certificate` where it is
defined. `deniable.registry.models` reads a model of any kind.
"""

import dataclasses
from typing import Any, TypeVar

from deniable.core.errors import InputError
from deniable.models.images.pixeldp import PixelDP
from deniable.models.images.robustness import RobustnessCertificate
from deniable.models.images.smoothing import GaussianSmoothing, LaplaceSmoothing

Kind = TypeVar("Kind", bound=type)

CERTIFICATE_KINDS: dict[str, type[Any]] = {}
"""Every class of certificates that can be saved and read, by its name."""


def register_certificate(kind: Kind) -> Kind:
    """Return a dataclass of certificates, after adding it to the kinds that can be saved and read."""
    CERTIFICATE_KINDS[kind.__name__] = kind
    return kind


for _kind in (GaussianSmoothing, LaplaceSmoothing, PixelDP):
    register_certificate(_kind)


def encode_certificate(certificate: RobustnessCertificate) -> dict[str, Any]:
    """Return the kind and the parameters of a certificate.

    Raises:
        InputError: a kind that is not among `CERTIFICATE_KINDS`.
    """
    name = type(certificate).__name__
    if CERTIFICATE_KINDS.get(name) is not type(certificate) or not dataclasses.is_dataclass(certificate):
        raise InputError(f"The certificate {name} cannot be saved: give one of {', '.join(CERTIFICATE_KINDS)}.")
    names = [field.name for field in dataclasses.fields(certificate) if field.init]
    return {"kind": name, **{name: getattr(certificate, name) for name in names}}


def decode_certificate(content: dict[str, Any]) -> RobustnessCertificate:
    """Return the certificate that `encode_certificate` wrote.

    Raises:
        InputError: an unknown kind, or parameters that are not of that kind.
    """
    name, parameters = content.get("kind"), {key: value for key, value in content.items() if key != "kind"}
    kind = CERTIFICATE_KINDS.get(str(name))
    if kind is None:
        raise InputError(
            f"The certificate's kind must be one of {', '.join(CERTIFICATE_KINDS)}. Got {name!r}: certificates of "
            "published systems are read by deniable.registry.models."
        )
    try:
        certificate: RobustnessCertificate = kind(**parameters)
    except TypeError:
        given_names = ", ".join(map(str, parameters))
        raise InputError(f"A saved {name} has other parameters than this version's. Got {given_names}.") from None
    return certificate
