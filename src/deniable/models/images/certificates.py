"""Certificates of robustness as JSON values, by the name of their class.

The kinds of the models room are listed here; a published certificate is added by `register_certificate` where it is
defined. `deniable.registry.models` reads a model of any kind.
"""

import dataclasses
import math
from typing import Any, TypeVar

from deniable.core.errors import InputError
from deniable.models.images.networks import ImageNetwork, ImageShape, NetworkNoise
from deniable.models.images.pixeldp import PixelDP
from deniable.models.images.robustness import RobustnessCertificate
from deniable.models.images.smoothing import GaussianSmoothing, LaplaceSmoothing

Kind = TypeVar("Kind", bound=type)

_MAX_PIXELS = 1 << 13
"""Numbers of an image up to which a first layer's norm is computed for whoever reads a file: that takes their cube."""
CERTIFICATE_KINDS: dict[str, type[Any]] = {}
"""Every class of certificates that can be saved and read, by its name."""


def register_certificate(kind: Kind) -> Kind:
    """Return a dataclass of certificates, after adding it to the kinds that can be saved and read.

    Its class method ``from_network(network, shape, noises, **choices)`` makes the certificate of a network under its
    noise, for images of a shape (channels, height, width), and raises `InputError` for noise that it is not about.
    """
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


def encode_choices(certificate: RobustnessCertificate) -> dict[str, Any]:
    """Return what a model's file holds of a certificate: its kind and its choices, from which no radius follows.

    Raises:
        InputError: a kind that is not among `CERTIFICATE_KINDS`.
    """
    encoded = encode_certificate(certificate)
    return {name: encoded[name] for name in ("kind", *certificate.choices)}


def rebuild_certificate(
    content: dict[str, Any], network: ImageNetwork, shape: ImageShape, noises: tuple[NetworkNoise, ...]
) -> RobustnessCertificate:
    """Return the certificate of a kind and with the choices of `encode_choices`, from a network and its noise.

    Raises:
        InputError: an unknown kind, other choices, other noise, or images too large to compute it for.
    """
    choices = dict(content)
    name = choices.pop("kind", None)
    kind = CERTIFICATE_KINDS.get(str(name))
    if kind is None:
        raise InputError(
            f"The certificate's kind must be one of {', '.join(CERTIFICATE_KINDS)}. Got {name!r}: certificates of "
            "published systems are read by deniable.registry.models."
        )
    if {*choices} != {*kind.choices}:
        raise InputError(f"A stored {name} has other parameters than this version's. Got {', '.join(choices)}.")
    if math.prod(shape) > _MAX_PIXELS:
        raise InputError(f"The certificate of images of more than {_MAX_PIXELS:,} numbers takes too long.")
    certificate: RobustnessCertificate = kind.from_network(network, shape, noises, **choices)
    return certificate
