"""Signatures of releases: who wrote a certificate, and for which files, by Ed25519.

A signature stands in a file of its own beside the certificate, ``CERTIFICATE.sig``::

    {"schema": "deniable-signature/1", "files": {"table": SHA-256, ...}, "signature": Ed25519}

and is one of the bytes::

    "deniable release signature 1" 0x00  SHA-256(the certificate's bytes)  {"table": SHA-256, ...}

So every byte of the certificate is signed, white space too, and every byte of the files that were released with it. The
file has one spelling only: any other is refused. Ed25519 comes from the package cryptography.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from deniable.core.errors import InputError, import_extra
from deniable.core.files import PIPE, hash_file, open_outputs
from deniable.core.randomness import KEY_BYTES

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SIGNATURE_SCHEMA = "deniable-signature/1"
SIGNATURE_ENDING = ".sig"
PUBLIC_KEY_ENDING = ".pub"
MAX_SIGNATURE_BYTES = 10_000
_DOMAIN = b"deniable release signature 1\0"
_MAX_KEY_BYTES = 10_000
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


UNSIGNED = SignatureCheck("unsigned", "the author cannot be verified")
NOT_CHECKED = SignatureCheck("not checked", "there is a signature: give the owner's public key to check it")


@contextlib.contextmanager
def open_release(
    key: "Ed25519PrivateKey | None",
    certificate: str,
    released: Mapping[str, str],
    others: Sequence[str] = (),
    *,
    force: bool,
) -> Iterator[Sequence[BinaryIO]]:
    """Open a certificate and the files released with it, which are signed when they are complete; see `open_outputs`.

    The certificate appears first: nothing that is released is there without one. Without a key, the signature of an
    earlier release goes before.

    Args:
        key: signs; None for no signature.
        certificate: path of the certificate.
        released: what each file is to the release, such as ``table`` -> its path.
        others: paths of files for the owner only, which are not signed.
        force: overwrite files that exist.

    Yields:
        The streams of the certificate, the released files and the others.
    """
    signatures = list_signature_paths(key, certificate)
    new, stale = (signatures, []) if key is not None else ([], signatures)
    paths = [*new, certificate, *released.values(), *others]
    with open_outputs(*paths, force=force, owner_only=others, remove=stale[0] if stale else None) as outputs:
        yield outputs[len(new) :]
        if key is not None:
            files = {role: outputs.hash(index).hex() for index, role in enumerate(released, 2)}
            outputs[0].write(_encode_signature(files, key.sign(_encode_message(outputs.hash(1), files))))


def list_signature_paths(key: "Ed25519PrivateKey | None", certificate: str) -> list[str]:
    """Path of the signature that a release writes, or of that of an earlier release, which it removes.

    Nothing is beside a certificate that goes to standard output.
    """
    path = certificate + SIGNATURE_ENDING
    return [path] if key is not None or (certificate != PIPE and _is_signature_file(Path(path))) else []


def _is_signature_file(path: Path) -> bool:
    """Whether a file holds a signature of this package, whoever signed; one that cannot be read holds none."""
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
    serialization, ed25519 = _import_cryptography()
    key = ed25519.Ed25519PrivateKey.generate()
    private_pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public_pem = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    create_key_file(path, private_pem, public_pem)
    return Path(f"{path}{PUBLIC_KEY_ENDING}")


def create_key_file(path: Path, content: bytes, public_content: bytes | None = None) -> None:
    """Write a key that nobody but its owner can read, and its public key beside it, to files that do not exist yet.

    Raises:
        InputError: a file exists, or cannot be created; neither is written then.
        OSError: the disk is full, or fails.
    """
    contents = {} if public_content is None else {f"{path}{PUBLIC_KEY_ENDING}": public_content}
    contents[str(path)] = content
    for name in contents:
        if os.path.lexists(name):
            raise InputError(f"The key file {name!r} exists: keys are never overwritten. Choose another name.")
    with open_outputs(*contents, force=False, owner_only=[str(path)], compress=False) as streams:
        for stream, data in zip(streams, contents.values(), strict=True):
            stream.write(data)


def read_signing_key(path: Path) -> "Ed25519PrivateKey":
    """The signing key in a file.

    Raises:
        InputError: the file cannot be read, or holds another kind of key. The message shows nothing of it.
    """
    content = _read_key_bytes(path, "signing key", f"deniable key --sign {path}")
    key: Ed25519PrivateKey = _parse_key(content, repr(str(path)), "signing", "make one with deniable key --sign FILE")
    return key


def read_public_key(path: Path) -> "Ed25519PublicKey":
    """The public key in a file.

    Raises:
        InputError: the file cannot be read, or holds another kind of key. The message shows nothing of it.
    """
    content = _read_key_bytes(path, "public key", "the .pub file that deniable key --sign wrote")
    return parse_public_key(content, repr(str(path)))


def parse_public_key(content: bytes, name: str) -> "Ed25519PublicKey":
    """The public key in a file's content.

    Args:
        content: of the file.
        name: which file it is, for the message.

    Raises:
        InputError: it holds another kind of key. The message shows nothing of it.
    """
    key: Ed25519PublicKey = _parse_key(content, name, "public", "give the .pub file that deniable key --sign wrote")
    return key


def _parse_key(content: bytes, name: str, kind: Literal["signing", "public"], remedy: str) -> Any:  # noqa: ANN401 - either
    """The key of a kind in a file's content, or `InputError`."""
    serialization, ed25519 = _import_cryptography()
    try:
        if kind == "signing":
            key = serialization.load_pem_private_key(content, password=None)
        else:
            key = serialization.load_pem_public_key(content)
    except Exception:  # noqa: BLE001 - whatever bytes there are; OpenSSL has errors of its own, too
        key = None
    if isinstance(key, ed25519.Ed25519PrivateKey if kind == "signing" else ed25519.Ed25519PublicKey):
        return key
    other = ""
    if len(content) == KEY_BYTES:
        other = ", but a noise key, which must never be published or sign anything"
    elif content.startswith(b"-----BEGIN PRIVATE KEY-----"):
        other = ", but a private key, which must never leave its owner"
    elif content.startswith(b"-----BEGIN PUBLIC KEY-----"):
        other = ", but a public one"
    raise InputError(f"The file {name} holds no {kind} key{other}: {remedy}.")


def check_signature(
    content: bytes, certificate: bytes, public_key: "Ed25519PublicKey", table: Path | str | None = None
) -> SignatureCheck:
    """Whether a signature is that of a certificate, of a released file, and of a key.

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
        public_key.verify(signature, _encode_message(hashlib.sha256(certificate).digest(), files))
    except import_extra("cryptography.exceptions", "A signature", "sign").InvalidSignature:
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
            "invalid",
            "the key signed this certificate with a different table: this one was changed, or is of another release",
        )
    return SignatureCheck("valid", f"the key signed this certificate and this {role}; neither was changed")


def _encode_message(certificate_digest: bytes, files: Mapping[str, str]) -> bytes:
    return _DOMAIN + certificate_digest + json.dumps(dict(files)).encode()


def _encode_signature(files: Mapping[str, str], signature: bytes) -> bytes:
    document = {"schema": SIGNATURE_SCHEMA, "files": dict(files), "signature": signature.hex()}
    return (json.dumps(document, indent=2) + "\n").encode()


def _parse_signature(content: bytes) -> tuple[dict[str, str], bytes] | None:
    """The digests of files by role and the signature; None for anything that this module would not write."""
    if len(content) > MAX_SIGNATURE_BYTES:
        return None
    try:
        document = json.loads(content)
        files, signature = document["files"], bytes.fromhex(document["signature"])
        is_ours = content == _encode_signature(files, signature)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return (files, signature) if is_ours and all(map(_ROLE.fullmatch, files)) else None


def _read_key_bytes(path: Path, kind: str, source: str) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_KEY_BYTES)
    except OSError as error:
        raise InputError(f"The {kind} {str(path)!r} cannot be read: {error.strerror}. Expected: {source}.") from None


def _import_cryptography() -> tuple[Any, Any]:
    """The modules that read and write keys, and that hold those of Ed25519."""
    serialization = import_extra("cryptography.hazmat.primitives.serialization", "A signature", "sign")
    return serialization, import_extra("cryptography.hazmat.primitives.asymmetric.ed25519", "A signature", "sign")
