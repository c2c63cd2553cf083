"""A model card's word for its training data, which tells nothing of them to whoever lacks the owner's key."""

import hashlib
import secrets


def commit_to_data(data_fingerprint: str) -> dict[str, str]:
    """Return a fresh commitment to a data set, and what opens it.

    A plain hash would let somebody who knows all records but one test guesses at the last. The commitment is keyed
    BLAKE2b of the data's fingerprint, and says nothing to whoever lacks the key.

    Returns:
        ``commitment`` for the card; ``data_fingerprint`` and ``key`` (hexadecimal) for the owner.
    """
    key = secrets.token_bytes(32)
    digest = hashlib.blake2b(data_fingerprint.encode(), key=key, digest_size=16).hexdigest()
    return {"commitment": digest, "fingerprint": data_fingerprint, "key": key.hex()}
