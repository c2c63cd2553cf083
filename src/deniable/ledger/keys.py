"""The keys of a ledger, which live outside its database: without them it shows numbers alone.

One secret of 32 bytes, as `deniable key` writes it. From it come a key for the fingerprints of cells, one for persons,
and one for noise, so that neither can be computed from what another gives.
"""

import hashlib
from collections.abc import Iterable, Sequence

from deniable.core.errors import InputError
from deniable.core.identity import make_identity
from deniable.core.randomness import KEY_BYTES, derive_stream_starts

HASH_BYTES = 16
"""Bytes of a fingerprint and of a person's hash: among 2^40 of them two are equal with a chance of 2^-49."""
_NOISE_LAYOUT = "deniable ledger noise 1"
"""Raised whenever the way from a fingerprint to an output changes."""


class LedgerKeys:
    """What is computed with the keys of one ledger.

    Args:
        secret: 32 bytes.

    Attributes:
        noise: 32 bytes, the key that noise is drawn with.
        check: 16 bytes by which a ledger knows its own key, from which nothing can be computed.
    """

    def __init__(self, secret: bytes) -> None:
        self._fingerprints, self._persons, self.noise, check = (
            hashlib.blake2b(key=secret, person=purpose, digest_size=KEY_BYTES).digest()
            for purpose in (b"fingerprints", b"persons", b"noise", b"check")
        )
        self.check = check[:HASH_BYTES]

    def __repr__(self) -> str:
        """Return no part of a key."""
        return "<keys of a ledger>"

    def fingerprint_cells(self, release: str, names: Iterable[Sequence[str | bytes]]) -> list[bytes]:
        """Return the fingerprint of each cell, 16 bytes.

        Args:
            release: names everything that an output is a function of beside text, person and id.
            names: of cells: person, id, column, ordinal, and the points that noise is drawn for.
        """
        return derive_stream_starts(self._fingerprints, [release], names)

    def hash_person(self, name: str) -> bytes:
        """Return the hash of a person's identity, 16 bytes, however a table writes the name.

        Raises:
            InputError: it names nobody, see `deniable.core.identity`.
        """
        identity = make_identity(name)
        if identity is None:
            raise InputError("A ledger counts what persons spend. Got a blank name: give one, or leave it out.")
        data = identity.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, key=self._persons, digest_size=HASH_BYTES).digest()

    def hash_persons(self, names: Sequence[str]) -> list[bytes]:
        """Return the hash of each person, many of whom may be the same."""
        hashes = {name: self.hash_person(name) for name in dict.fromkeys(names)}
        return [hashes[name] for name in names]

    def find_stream_starts(self, fingerprints: Iterable[bytes]) -> list[bytes]:
        """Return where the noise of each cell starts under `noise`: it is a function of the fingerprint alone."""
        return derive_stream_starts(self.noise, [_NOISE_LAYOUT], ((fingerprint,) for fingerprint in fingerprints))
