"""Saved certificates: they come back as they were, through JSON."""

import json

import pytest

from deniable import InputError
from deniable.models.images.certificates import decode_certificate, encode_certificate
from deniable.models.images.pixeldp import PixelDP
from deniable.models.images.smoothing import GaussianSmoothing, LaplaceSmoothing
from deniable.published.dpal.certificate import DPALCertificate

HELD = [
    GaussianSmoothing(0.25, "estimated"),
    LaplaceSmoothing(0.1),
    PixelDP(0.5, 2.0, "heterogeneous", "votes", 0.5),
    DPALCertificate(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0),
]


@pytest.mark.parametrize("certificate", HELD, ids=lambda held: type(held).__name__)
def test_round_trip(certificate):
    """A certificate written as JSON is read as the same certificate, and has a source and a status."""
    found = decode_certificate(json.loads(json.dumps(encode_certificate(certificate))))
    assert found == certificate
    assert found.source
    assert found.status in {"proved for ideal arithmetic", "refuted"}
    assert found.norm in {"l1", "l2", "linf"}


def test_unknown_certificates_are_refused():
    """A kind that does not exist, and parameters of another version, are refused."""
    with pytest.raises(InputError, match="kind must be one of"):
        decode_certificate({"kind": "None"})
    with pytest.raises(InputError, match="other parameters"):
        decode_certificate({"kind": "GaussianSmoothing", "b": 1.0})
    with pytest.raises(InputError, match="cannot be saved"):
        encode_certificate(object())
