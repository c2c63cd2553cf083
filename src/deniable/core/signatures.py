"""Signatures of releases: who wrote a certificate, and for which files, by Ed25519.

A signature stands in a file of its own beside the certificate, ``CERTIFICATE.sig``::

    {"schema": "deniable-signature/1", "files": {"table": SHA-256, ...}, "signature": Ed25519}

and is one of the bytes::

    "deniable release signature 1" 0x00  SHA-256(the certificate's bytes)  {"table": SHA-256, ...}

So every byte of the certificate is signed, white space too, and every byte of the files that were released with it. The
file has one spelling only: any other is refused. Ed25519 comes from the package cryptography.
"""

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from deniable.core.errors import InputError
from deniable.core.extras import import_extra
from deniable.core.files import PIPE, NewFile, NoSeal, Seal, create_files, hash_file
from deniable.core.randomness import KEY_BYTES

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SIGNATURE_SCHEMA = "deniable-signature/1"
SIGNATURE_ENDING = ".sig"
PUBLIC_KEY_ENDING = ".pub"
MAX_SIGNATURE_BYTES = 10_000
_DOMAIN = b"deniable release signature 1\0"
_MAX_KEY_BYTES = 10_000
_DIGEST, _SIGNATURE = re.compile("[0-9a-f]{64}"), re.compile("[0-9a-f]{128}")
_ROLE = re.compile("[a-z][a-z ]{0,29}")
"""What a file is to a release. The signer writes it, and whoever checks reads it."""

SignatureStatus = Literal["valid", "invalid", "unsigned", "not checked"]


@dataclasses.dataclass(frozen=True)
class SignatureCheck:
    """What is known of a certificate's signature.

    Attributes:
        status: ``valid``, ``invalid`` (the certificate, a file or the signature was changed, or another key signed),
            ``unsigned``, or ``not checked`` for want of the public key.
        note: what that means, in one sentence.
    """

    status: SignatureStatus
    note: str


UNSIGNED = SignatureCheck("unsigned", "who wrote it cannot be told")
NOT_CHECKED = SignatureCheck("not checked", "there is a signature: give the owner's public key to check it")


class SigningKey:
    """An Ed25519 key that signs; it shows nowhere and cannot be pickled."""

    __slots__ = ("_key",)

    def __init__(self, key: "Ed25519PrivateKey") -> None:
        self._key = key

    def make_seal(self, certificate_path: str, roles: Sequence[str]) -> Seal:
        """Return the signature file of a certificate and of the files released with it, for `open_outputs`.

        Args:
            certificate_path: the certificate is the first of the outputs.
            roles: what the other outputs are, in their order, such as ``table``; outputs after those are not signed.
        """

        def encode(digests: Sequence[bytes]) -> bytes:
            files = {role: digest.hex() for role, digest in zip(roles, digests[1:], strict=False)}
            signature = self._key.sign(_encode_message(digests[0], files))
            return _encode_signature(files, signature.hex())

        return Seal(certificate_path + SIGNATURE_ENDING, encode)

    def __repr__(self) -> str:
        """Return no part of the key."""
        return "<signing key>"

    def __reduce__(self) -> NoReturn:
        raise InputError("A signing key cannot be pickled: read it from its file in the other process.")


def make_release_seal(key: SigningKey | None, certificate_path: str, roles: Sequence[str]) -> Seal | NoSeal | None:
    """Return the signature file of a release, for `open_outputs`; without a key, that of an earlier release goes.

    Args:
        key: signs; None for no signature.
        certificate_path: see `SigningKey.make_seal`; nothing stands beside one that goes to standard output.
        roles: see `SigningKey.make_seal`.
    """
    if key is not None:
        return key.make_seal(certificate_path, roles)
    return None if certificate_path == PIPE else NoSeal(certificate_path + SIGNATURE_ENDING, is_signature_file)


def list_signature_paths(key: SigningKey | None, certificate_path: str) -> list[str]:
    """Return the path of the signature that a release writes, or of that of an earlier release, which it removes."""
    path = certificate_path + SIGNATURE_ENDING
    return [path] if key is not None or is_signature_file(Path(path)) else []


def is_signature_file(path: Path) -> bool:
    """Return whether a file holds a signature of this package, whoever signed; one that cannot be read holds none."""
    if not path.is_file():  # nor is a pipe opened
        return False
    try:
        with path.open("rb") as file:
            return _parse_signature(file.read(MAX_SIGNATURE_BYTES + 1)) is not None
    except OSError:
        return False


def write_signing_key(path: Path) -> Path:
    """Write a new signing key, readable only by its owner, and its public key beside it; return the path of that.

    Raises:
        InputError: a file exists or cannot be written, or cryptography is missing; neither is written then.
    """
    serialization = _import_cryptography("hazmat.primitives.serialization")
    key = _import_cryptography("hazmat.primitives.asymmetric.ed25519").Ed25519PrivateKey.generate()
    private_pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public_pem = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    public_path = Path(f"{path}{PUBLIC_KEY_ENDING}")
    _create_key_files(NewFile(public_path, public_pem, 0o644), NewFile(path, private_pem))
    return public_path


def create_key_file(path: Path, content: bytes) -> None:
    """Write a key that nobody but its owner can read to a file that does not exist yet, whole or not at all.

    Raises:
        InputError: the file exists, or cannot be created.
        OSError: the disk is full, or fails.
    """
    _create_key_files(NewFile(path, content))


def _create_key_files(*files: NewFile) -> None:
    try:
        create_files(*files)
    except FileExistsError as error:
        raise InputError(
            f"The key file {error.filename!r} exists: keys are never overwritten. Choose another name."
        ) from None
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        raise InputError(f"The key file {str(files[-1].path)!r} cannot be written: {error.strerror}.") from None


def read_signing_key(path: Path) -> SigningKey:
    """Return the signing key in a file.

    Raises:
        InputError: the file cannot be read, or holds another kind of key. The message shows nothing of it.
    """
    content = _read_key_bytes(path, "signing key", f"deniable key --sign {path}")
    serialization = _import_cryptography("hazmat.primitives.serialization")
    key_type = _import_cryptography("hazmat.primitives.asymmetric.ed25519").Ed25519PrivateKey
    try:
        key = serialization.load_pem_private_key(content, password=None)
    except Exception:  # noqa: BLE001 - whatever bytes there are; OpenSSL has errors of its own, too
        key = None
    if not isinstance(key, key_type):
        raise InputError(
            f"The file {str(path)!r} holds no signing key{_describe_other_key(content)}: make one with deniable key "
            "--sign FILE."
        )
    return SigningKey(key)


def read_public_key(path: Path) -> "Ed25519PublicKey":
    """Return the public key in a file.

    Raises:
        InputError: the file cannot be read, or holds another kind of key. The message shows nothing of it.
    """
    content = _read_key_bytes(path, "public key", "the .pub file that deniable key --sign wrote")
    return parse_public_key(content, repr(str(path)))


def parse_public_key(content: bytes, name: str) -> "Ed25519PublicKey":
    """Return the public key in a file's content.

    Args:
        content: of the file.
        name: which file it is, for the message.

    Raises:
        InputError: it holds another kind of key. The message shows nothing of it.
    """
    serialization = _import_cryptography("hazmat.primitives.serialization")
    key_type = _import_cryptography("hazmat.primitives.asymmetric.ed25519").Ed25519PublicKey
    try:
        key = serialization.load_pem_public_key(content)
    except Exception:  # noqa: BLE001 - whatever bytes there are; OpenSSL has errors of its own, too
        key = None
    if not isinstance(key, key_type):
        raise InputError(
            f"The file {name} holds no public key{_describe_other_key(content)}: give the .pub file that "
            "deniable key --sign wrote."
        )
    return key  # type: ignore[no-any-return]


def is_signing_key(content: bytes) -> bool:
    """Return whether bytes are the beginning of a signing key's file."""
    return content.startswith(b"-----BEGIN PRIVATE KEY-----")


def check_signature(
    content: bytes, certificate: bytes, public_key: "Ed25519PublicKey", table: Path | str | None = None
) -> SignatureCheck:
    """Return whether a signature is that of a certificate, of a released file, and of a key.

    Args:
        content: of the signature file.
        certificate: the bytes of the certificate's file.
        public_key: of who is said to have signed.
        table: a file that was released with the certificate, or its SHA-256 in hexadecimal digits; None where it is
            not at hand.

    Raises:
        InputError: the released file cannot be read.
    """
    parsed = _parse_signature(content)
    if parsed is None:
        return SignatureCheck("invalid", "the signature file is damaged, or none of deniable's")
    files, signature = parsed
    try:
        public_key.verify(bytes.fromhex(signature), _encode_message(hashlib.sha256(certificate).digest(), files))
    except _import_cryptography("exceptions").InvalidSignature:
        return SignatureCheck("invalid", "certificate or signature was changed, or another key signed it")
    if table is None:
        return SignatureCheck("valid", "the key signed this certificate; the released table was not given")
    try:
        digest = table if isinstance(table, str) else hash_file(table).hex()
    except OSError as error:
        raise InputError(f"The released file {str(table)!r} cannot be read: {error.strerror}.") from None
    role = next((role for role, known in files.items() if known == digest), None)
    if role is None:
        return SignatureCheck(
            "invalid", "the key signed this certificate, but for another table than the one given, or it was changed"
        )
    return SignatureCheck("valid", f"the key signed this certificate and this {role}; neither was changed")


def _encode_message(certificate_digest: bytes, files: Mapping[str, str]) -> bytes:
    return _DOMAIN + certificate_digest + json.dumps(dict(files)).encode()


def _encode_signature(files: Mapping[str, str], signature: str) -> bytes:
    document = {"schema": SIGNATURE_SCHEMA, "files": dict(files), "signature": signature}
    return (json.dumps(document, indent=2) + "\n").encode()


def _parse_signature(content: bytes) -> tuple[dict[str, str], str] | None:
    """Return the digests of files by role and the signature; None for anything that this module would not write."""
    if len(content) > MAX_SIGNATURE_BYTES:
        return None
    try:
        document: Any = json.loads(content)
    except (ValueError, RecursionError):
        return None
    files = document.get("files") if isinstance(document, dict) else None
    signature = document.get("signature") if isinstance(document, dict) else None
    if not isinstance(files, dict) or not isinstance(signature, str) or not _SIGNATURE.fullmatch(signature):
        return None
    if not all(isinstance(digest, str) and _DIGEST.fullmatch(digest) for digest in files.values()):
        return None
    if not all(map(_ROLE.fullmatch, files)):
        return None
    return (files, signature) if content == _encode_signature(files, signature) else None


def _read_key_bytes(path: Path, kind: str, source: str) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_KEY_BYTES)
    except OSError as error:
        raise InputError(f"The {kind} {str(path)!r} cannot be read: {error.strerror}. Expected: {source}.") from None


def _describe_other_key(content: bytes) -> str:
    """Return what kind of key a file holds instead of the one that was asked for."""
    if len(content) == KEY_BYTES:
        return ", but a noise key, which must never be published or sign anything"
    if is_signing_key(content):
        return ", but a private key, which must never leave its owner"
    return ", but a public one" if content.startswith(b"-----BEGIN PUBLIC KEY-----") else ""


def _import_cryptography(module: str) -> Any:  # noqa: ANN401 - a module
    return import_extra(f"cryptography.{module}", "A signature", "sign")
