"""Keys by reference: where a secret key is kept travels with a release, the key itself does not.

==============  ===============================================================================
``env:NAME``    64 hexadecimal digits in the environment variable NAME
``file:PATH``   32 bytes in a file, as ``deniable key PATH`` writes them
``seed:N``      the public seed N, for tests: whoever knows it can undo the noise
32 bytes        the key itself: for one process, it cannot be pickled
==============  ===============================================================================
"""

import dataclasses
import os
from pathlib import Path
from typing import Literal

from deniable.core.errors import InputError
from deniable.core.randomness import (
    KEY_BYTES,
    SecretBytes,
    check_key,
    derive_key_from_seed,
    derive_stream_start,
    generate_key,
)

NoiseSource = Literal["random", "keyed", "ledger", "public seed"]
"""Where noise comes from: the operating system anew for every batch, the owner's key, that of a ledger, or a public
seed."""

_NAME_LAYOUT = "deniable name 1"
"""Keeps names apart from all noise: no stream starts with it."""
_MAX_SEED_LENGTH = 40
"""Longest seed, sign included."""


@dataclasses.dataclass(frozen=True)
class KeyReference:
    """Where a key is kept.

    Attributes:
        scheme: ``env``, ``file`` or ``seed``.
        name: of the variable, path of the file, or the seed.
    """

    scheme: Literal["env", "file", "seed"]
    name: str

    def read(self) -> bytes:
        """The key, 32 bytes.

        Raises:
            InputError: it is not there, or is no key. The message never shows what was found.
        """
        if self.scheme == "seed":
            return derive_key_from_seed(int(self.name))
        return _read_key_variable(self.name) if self.scheme == "env" else read_key_file(Path(self.name))

    def __str__(self) -> str:
        """The reference as it was given."""
        return f"{self.scheme}:{self.name}"


Key = KeyReference | SecretBytes


def parse_key(owner: str, value: object) -> Key | None:
    """What a ``key`` parameter stands for; None for fresh noise.

    Args:
        owner: whose parameter it is, for messages.
        value: None, a reference, 32 bytes, or what this function returned before.

    Raises:
        InputError: it is none of these. The message never shows the value: it may be a key by mistake.
    """
    if value is None or isinstance(value, KeyReference):
        return value
    if isinstance(value, bytes | bytearray):
        return value if isinstance(value, SecretBytes) and len(value) == KEY_BYTES else check_key(bytes(value))
    if isinstance(value, str):
        scheme, _, name = value.partition(":")
        schemes: dict[str, Literal["env", "file"]] = {"env": "env", "file": "file"}
        if name and "\0" not in name and scheme in schemes:
            return KeyReference(schemes[scheme], name)
        if scheme == "seed" and name.isascii() and name.removeprefix("-").isdecimal() and len(name) <= _MAX_SEED_LENGTH:
            return KeyReference("seed", name)
    raise InputError(
        f"The 'key' parameter of {owner} must be None, 'env:NAME', 'file:PATH', 'seed:N' or {KEY_BYTES} bytes. "
        f"Got {'a str of another form' if isinstance(value, str) else type(value).__name__}."
    )


def get_noise_source(key: Key | None) -> NoiseSource:
    """Where the noise under a key comes from."""
    if key is None:
        return "random"
    return "public seed" if isinstance(key, KeyReference) and key.scheme == "seed" else "keyed"


def read_key(key: Key | None) -> bytes:
    """The 32 bytes of a key, fresh ones from the operating system for None.

    Raises:
        InputError: the key cannot be read.
    """
    if key is None:
        return generate_key()
    return key.read() if isinstance(key, KeyReference) else key


def derive_name(key: bytes, *parts: str) -> str:
    """32 hexadecimal digits that name some parts under a key: a keyed hash, which tells nothing of the key.

    Without the key nobody can make the name, confirm a guess of the parts, or tell which key it is under.
    """
    return derive_stream_start(key, _NAME_LAYOUT, *parts).hex()


def read_key_file(path: Path) -> bytes:
    """The key in a file.

    Raises:
        InputError: the file cannot be read or does not hold a key.
    """
    try:
        with path.open("rb") as file:
            key = SecretBytes(file.read(KEY_BYTES + 1))
    except OSError as error:
        fault = f"cannot be read: {error.strerror}"
    else:
        if len(key) == KEY_BYTES:
            return key
        size = f"{len(key)}" if len(key) < KEY_BYTES else "more"
        fault = f"must hold {KEY_BYTES} bytes. Got {size}"
        if bytes(key).startswith(b"-----BEGIN"):
            fault = "holds a key for signatures, not one for noise"
    raise InputError(f"The key file {str(path)!r} {fault}. Make one with: deniable key FILE") from None


def _read_key_variable(name: str) -> bytes:
    if name not in os.environ:
        raise InputError(
            f"The environment variable {name!r}, which should hold the key, is not set: set it to {2 * KEY_BYTES} "
            "hexadecimal digits."
        )
    digits = SecretBytes(os.environ[name].strip().encode("utf-8", "surrogateescape"))
    if len(digits) != 2 * KEY_BYTES or not all(digit in b"0123456789abcdefABCDEF" for digit in digits):
        raise InputError(
            f"The environment variable {name!r} holds no key: it must be {2 * KEY_BYTES} hexadecimal digits. "
            f"Got {len(digits)} characters."
        )
    return SecretBytes(bytes.fromhex(bytes(digits).decode("ascii")))
