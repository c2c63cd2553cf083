"""Saved certificates: they come back as they were, through JSON."""

import json
import subprocess
import sys

import pytest

from deniable import InputError
from deniable.models.images.certificates import CERTIFICATE_KINDS, decode_certificate, encode_certificate
from deniable.models.images.pixeldp import PixelDP
from deniable.models.images.smoothing import GaussianSmoothing, LaplaceSmoothing
from deniable.published.dpal.certificate import DPALCertificate
from deniable.published.securesgd.certificate import SecureSGDCertificate

HELD = [
    GaussianSmoothing(0.25, "estimated"),
    LaplaceSmoothing(0.1),
    PixelDP(0.5, 2.0, "gaussian", "votes"),
    SecureSGDCertificate(0.5, 2.0, 0.5, "votes"),
    DPALCertificate(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0),
]


@pytest.mark.parametrize("certificate", HELD, ids=lambda held: type(held).__name__)
def test_round_trip(certificate):
    """A certificate written as JSON is read as the same certificate, and has a source and a status."""
    found = decode_certificate(json.loads(json.dumps(encode_certificate(certificate))))
    assert found == certificate
    assert found.source
    assert found.status in {"proved for ideal arithmetic", "undecided", "refuted"}
    assert found.norm in {"l1", "l2", "linf"}


def test_unknown_certificates_are_refused():
    """A kind that does not exist, and parameters of another version, are refused."""
    with pytest.raises(InputError, match="kind must be one of"):
        decode_certificate({"kind": "None"})
    with pytest.raises(InputError, match=r"PixelDP has other parameters than this version's. Got sigma, least_share"):
        decode_certificate({"kind": "PixelDP", "sigma": 1.0, "least_share": 0.5})  # as version 0.1 wrote it
    with pytest.raises(InputError, match="other parameters"):
        decode_certificate({"kind": "GaussianSmoothing", "b": 1.0})
    with pytest.raises(InputError, match="cannot be saved"):
        encode_certificate(object())


def test_a_model_without_published_kinds_refuses_theirs(monkeypatch):
    """A kind that nothing has registered is refused in one line that says where published ones are read."""
    content = encode_certificate(HELD[-1])
    monkeypatch.delitem(CERTIFICATE_KINDS, "DPALCertificate")
    with pytest.raises(InputError, match=r"Got 'DPALCertificate': .* read by deniable.registry.models") as raised:
        decode_certificate(content)
    assert "\n" not in str(raised.value)
    with pytest.raises(InputError, match="cannot be saved"):
        encode_certificate(HELD[-1])


def test_published_certificates_are_known_to_the_registry():
    """Importing the registry is enough to read every published certificate."""
    code = (
        "from deniable.registry import models; from deniable.models.images.certificates import CERTIFICATE_KINDS;"
        "assert all(CERTIFICATE_KINDS[kind.__name__] is kind for kind in models.PUBLISHED_CERTIFICATES)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
