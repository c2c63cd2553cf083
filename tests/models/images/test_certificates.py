"""Certificates in files: only their choices are kept, and all else follows from network and noise."""

import dataclasses
import subprocess
import sys

import pytest
import torch

from deniable import InputError
from deniable.models.images.certificates import (
    CERTIFICATE_KINDS,
    encode_certificate,
    encode_choices,
    rebuild_certificate,
)
from deniable.models.images.networks import ImageArchitecture, NetworkNoise
from deniable.models.images.pixeldp import PixelDP
from deniable.models.images.smoothing import GaussianSmoothing, LaplaceSmoothing
from deniable.published.dpal.certificate import DPALCertificate
from deniable.published.securesgd.certificate import SecureSGDCertificate

SHAPE = (1, 16, 16)
NETWORK = ImageArchitecture("small", SHAPE, 3, 0.1).build(0).eval()
PIXEL_NOISE = {law: (NetworkNoise("input", law, torch.tensor(0.25)),) for law in ("gaussian", "laplace")}
LAYER_NOISE = (NetworkNoise("first layer", "gaussian", torch.tensor(0.5)),)
DPAL_NOISE = (
    NetworkNoise("input", "laplace", torch.tensor(0.25)),
    NetworkNoise("first layer", "laplace", torch.tensor(1.0)),
)
HELD = [
    (GaussianSmoothing(0.25, "estimated"), PIXEL_NOISE["gaussian"]),
    (LaplaceSmoothing(0.25), PIXEL_NOISE["laplace"]),
    (PixelDP.from_network(NETWORK, SHAPE, LAYER_NOISE, "gaussian", "votes"), LAYER_NOISE),
    (SecureSGDCertificate.from_network(NETWORK, SHAPE, LAYER_NOISE, "votes"), LAYER_NOISE),
    (DPALCertificate.from_network(NETWORK, SHAPE, DPAL_NOISE, m=20.0), DPAL_NOISE),
]
IDS = [type(certificate).__name__ for certificate, _ in HELD]


@pytest.mark.parametrize(("certificate", "noises"), HELD, ids=IDS)
def test_round_trip(certificate, noises):
    """A certificate is rebuilt from its choices as it was, and has a source and a status."""
    found = rebuild_certificate(encode_choices(certificate), NETWORK, SHAPE, noises)
    assert type(found) is type(certificate)
    for name, value in vars(certificate).items():  # norms of layers differ in their last bits with the threads
        assert vars(found)[name] == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value)
    assert found.source
    assert found.status in {"proved for ideal arithmetic", "undecided", "refuted"}
    assert found.norm in {"l1", "l2", "linf"}


@pytest.mark.parametrize(("certificate", "noises"), HELD, ids=IDS)
def test_no_conclusion_is_believed(certificate, noises):
    """Whatever parameter of the certificate a file states beside the choices, it is refused by name."""
    others = {field.name for field in dataclasses.fields(certificate)} - {*certificate.choices}
    for name in sorted(others):
        with pytest.raises(InputError, match=rf"has other parameters than this version's. Got .*{name}"):
            rebuild_certificate({**encode_choices(certificate), name: 25.0}, NETWORK, SHAPE, noises)


@pytest.mark.parametrize(("certificate", "noises"), HELD, ids=IDS)
def test_no_choice_makes_noise(certificate, noises):
    """No choice moves the scale that radii are measured in, and a choice of another kind is refused."""
    for name in certificate.choices:
        with pytest.raises((InputError, TypeError)):
            rebuild_certificate({**encode_choices(certificate), name: "25"}, NETWORK, SHAPE, noises)
    if isinstance(certificate, DPALCertificate):
        moved = rebuild_certificate({"kind": "DPALCertificate", "m": 500.0}, NETWORK, SHAPE, noises)
        assert moved.m * moved.eps1 == pytest.approx(certificate.m * certificate.eps1)


@pytest.mark.parametrize(
    "noises",
    [
        (),
        (NetworkNoise("first layer", "laplace", torch.tensor(25.0)),),
        (*PIXEL_NOISE["gaussian"], *PIXEL_NOISE["gaussian"]),
        (NetworkNoise("first layer", "gaussian", torch.tensor(25.0)), *LAYER_NOISE),
        (NetworkNoise("input", "gaussian", torch.tensor(0.0)),),
        (NetworkNoise("input", "gaussian", torch.tensor(float("inf"))),),
        (NetworkNoise("input", "gaussian", torch.full(SHAPE, 25.0)),),
    ],
)
def test_other_noise(noises):
    """A certificate of noise that the model does not have, has twice or not alone is refused."""
    for certificate, _ in HELD:
        with pytest.raises((InputError, RuntimeError, ValueError)):
            rebuild_certificate(encode_choices(certificate), NETWORK, SHAPE, noises)


def test_large_images_are_refused_at_once():
    """The norm of a first layer is not computed for images that would take minutes."""
    with pytest.raises(InputError, match="takes too long"):
        rebuild_certificate(encode_choices(HELD[2][0]), NETWORK, (1, 1_000, 1_000), LAYER_NOISE)


def test_unknown_certificates_are_refused():
    """A kind that does not exist, and one that is not a certificate, are refused."""
    with pytest.raises(InputError, match="kind must be one of"):
        rebuild_certificate({"kind": "None"}, NETWORK, SHAPE, ())
    with pytest.raises(InputError, match="cannot be saved"):
        encode_certificate(object())


def test_a_model_without_published_kinds_refuses_theirs(monkeypatch):
    """A kind that nothing has registered is refused in one line that says where published ones are read."""
    content = encode_choices(HELD[-1][0])
    monkeypatch.delitem(CERTIFICATE_KINDS, "DPALCertificate")
    with pytest.raises(InputError, match=r"Got 'DPALCertificate': .* read by deniable.registry.models") as raised:
        rebuild_certificate(content, NETWORK, SHAPE, DPAL_NOISE)
    assert "\n" not in str(raised.value)
    with pytest.raises(InputError, match="cannot be saved"):
        encode_choices(HELD[-1][0])


def test_published_certificates_are_known_to_the_registry():
    """Importing the registry is enough to read every published certificate."""
    code = (
        "from deniable.registry import models; from deniable.models.images.certificates import CERTIFICATE_KINDS;"
        "assert all(CERTIFICATE_KINDS[kind.__name__] is kind for kind in models.PUBLISHED_CERTIFICATES)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
