"""Commitments to training data: they open to these data, and to no others."""

import hashlib

from deniable.learning.card import commit_to_data


def test_a_commitment_opens_to_its_data_alone():
    """The owner's key opens the commitment, to no other data, and two commitments to the same data differ."""
    first, second = commit_to_data("the data"), commit_to_data("the data")
    assert first["commitment"] != second["commitment"]
    assert first["key"] != second["key"]

    def opened(fingerprint, key):
        return hashlib.blake2b(fingerprint.encode(), key=bytes.fromhex(key), digest_size=16).hexdigest()

    assert opened(first["fingerprint"], first["key"]) == first["commitment"]
    assert opened("1" * 32, first["key"]) != first["commitment"]
    assert opened("the data", second["key"]) != first["commitment"]
