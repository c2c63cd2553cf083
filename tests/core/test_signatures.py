"""Signatures: every byte of what is signed counts, and no key passes for one of another kind."""

import base64
import hashlib
import io
import json
import os
import pickle
import stat
import sys
from pathlib import Path

import pytest

import deniable as dn
from deniable.core.files import hash_file
from deniable.core.keys import read_key_file
from deniable.core.randomness import generate_key
from deniable.core.signatures import (
    check_signature,
    create_key_file,
    list_signature_paths,
    open_release,
    read_public_key,
    read_signing_key,
    write_signing_key,
)
from tests.refusals import refuses

CERTIFICATE, TABLE = b'{\n  "epsilon": 2.5\n}\n', b"id,text\n1,new words\n"


@pytest.fixture
def keys(tmp_path):
    """Return the paths of a signing key and its public key."""
    return tmp_path / "key", write_signing_key(tmp_path / "key")


def release(certificate, released, *others, key=None, force=False):
    """Write a certificate and what was released with it."""
    paths = {role: str(path) for role, path in released.items()}
    with open_release(key, str(certificate), paths, [*map(str, others)], force=force) as streams:
        for stream, content in zip(streams, (CERTIFICATE, TABLE, b"weights", b"private"), strict=False):
            stream.write(content)


@pytest.fixture
def signed(keys, tmp_path):
    """Return a signature, the public key, and the path of the table that was signed."""
    release(tmp_path / "c.json", {"table": tmp_path / "t.csv"}, key=read_signing_key(keys[0]))
    return (tmp_path / "c.json.sig").read_bytes(), read_public_key(keys[1]), tmp_path / "t.csv"


def check(content, certificate, key, table=None):
    """Return what is found of a signature."""
    return check_signature(content, certificate, key, table).status


def test_what_was_signed_is_valid(signed, tmp_path):
    """Certificate and table pass as they were written, under that key alone; that a table was not seen is said."""
    content, key, table = signed
    assert check(content, CERTIFICATE, key, table) == "valid"
    alone = check_signature(content, CERTIFICATE, key)
    assert (alone.status, "table was not given" in alone.note) == ("valid", True)
    other = read_public_key(write_signing_key(tmp_path / "other"))
    assert check(content, CERTIFICATE, other, table) == "invalid"
    with refuses(tmp_path / "none.csv"):
        check(content, CERTIFICATE, key, tmp_path / "none.csv")


def list_changes(content):
    """Return a content with each byte changed, left out and added."""
    for place in range(len(content) + 1):
        yield content[:place] + b" " + content[place:]
        if place < len(content):
            for bits in (1, 32):  # 32: the other case of a letter
                yield content[:place] + bytes([content[place] ^ bits]) + content[place + 1 :]
            yield content[:place] + content[place + 1 :]


def test_every_byte_counts(signed):
    """Any byte of certificate, table or signature that is changed, left out or added ends the signature.

    White space at the end too; a signature file has one spelling, whatever the program.
    """
    content, key, table = signed
    assert {check(content, other, key) for other in list_changes(CERTIFICATE)} == {"invalid"}
    assert {check(other, CERTIFICATE, key, table) for other in list_changes(content)} == {"invalid"}
    for other in list_changes(TABLE):
        table.write_bytes(other)
        assert check(content, CERTIFICATE, key, table) == "invalid"


def test_what_is_no_signature(signed):
    """Any other content is an invalid signature, never a traceback."""
    for content in (b"", b"[]", b"1", b"null", b"{", b"[" * 9_000, b" " * 20_000, b'{"files": []}', b"\xff"):
        found = check_signature(content, CERTIFICATE, signed[1])
        assert (found.status, "damaged" in found.note) == ("invalid", True)


def test_only_a_signature_is_removed(signed, keys, tmp_path):
    """A release without a key takes away the signature of an earlier one: no other file, folder, pipe or content."""
    path, certificate = tmp_path / "c.json.sig", tmp_path / "c.json"
    assert list_signature_paths(None, str(certificate)) == [str(path)]
    certificate.unlink()
    with refuses(path):
        release(certificate, {})
    release(certificate, {}, force=True)
    assert not path.exists()
    for make in (lambda: path.write_bytes(signed[0] + b"\n"), path.mkdir, lambda: os.mkfifo(path), lambda: None):
        make()
        assert list_signature_paths(None, str(certificate)) == []
        release(certificate, {}, force=True)
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)
    assert list_signature_paths(read_signing_key(keys[0]), "c.json") == ["c.json.sig"]
    assert list_signature_paths(None, "-") == []


def test_a_link_to_a_signature(signed, tmp_path):
    """Of a link to a signature the link is removed, and the file that it points to stays."""
    path = tmp_path / "c.json.sig"
    path.rename(tmp_path / "elsewhere.sig")
    path.symlink_to("elsewhere.sig")
    release(tmp_path / "c.json", {}, force=True)
    assert not path.is_symlink()
    assert (tmp_path / "elsewhere.sig").read_bytes() == signed[0]


def test_roles_are_signed(signed, keys, tmp_path):
    """Which file is the table is signed too: digests cannot be swapped between files."""
    released = {"table": tmp_path / "e.csv", "classifier": tmp_path / "m.pt"}
    release(tmp_path / "d.json", released, tmp_path / "owner.json", key=read_signing_key(keys[0]))
    content = (tmp_path / "d.json.sig").read_bytes()
    assert json.loads(content)["files"] == {role: hash_file(path).hex() for role, path in released.items()}
    assert "this classifier" in check_signature(content, CERTIFICATE, signed[1], tmp_path / "m.pt").note
    assert check(content, CERTIFICATE, signed[1], tmp_path / "owner.json") == "invalid"
    assert stat.S_IMODE((tmp_path / "owner.json").stat().st_mode) == 0o600
    swapped = content.replace(b'"table"', b'"x"').replace(b'"classifier"', b'"table"').replace(b'"x"', b'"classifier"')
    assert check(swapped, CERTIFICATE, signed[1]) == "invalid"


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_files_are_signed_as_they_are_on_disk(signed, keys, tmp_path, monkeypatch, suffix):
    """A compressed table is signed as its file is, and one that goes to standard output as it comes out there."""
    sink = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(sink))
    released = {"table": tmp_path / f"e.csv{suffix}", "counts": "-"}
    release(tmp_path / f"d.json{suffix}", released, key=read_signing_key(keys[0]))
    content = (tmp_path / f"d.json{suffix}.sig").read_bytes()
    certificate = (tmp_path / f"d.json{suffix}").read_bytes()
    assert sink.getvalue() == b"weights"
    for table in (released["table"], hashlib.sha256(sink.getvalue()).hexdigest()):
        assert check(content, certificate, signed[1], table) == "valid"


@pytest.mark.parametrize("role", ["", "\x1b[31mtable", "table\n\nresult  recomputed", "Table", "t" * 31])
def test_roles_that_no_command_writes(signed, keys, tmp_path, role):
    """Whoever signs cannot write what they like to the terminal of whoever checks."""
    release(tmp_path / "d.json", {role: tmp_path / "e.csv"}, key=read_signing_key(keys[0]))
    found = check_signature((tmp_path / "d.json.sig").read_bytes(), CERTIFICATE, signed[1], tmp_path / "e.csv")
    assert (found.status, role not in found.note or not role) == ("invalid", True)


def test_keys_are_secret(keys):
    """A signing key is readable by its owner alone, is in no repr and no pickle; the public key is not secret."""
    path, public_path = keys
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert public_path.name == "key.pub"
    key = read_signing_key(path)
    assert base64.b64decode(path.read_text().splitlines()[1]).hex() not in repr(key)
    with refuses("pickle", TypeError):
        pickle.dumps(key)


def test_keys_are_never_overwritten(keys, tmp_path, monkeypatch):
    """Where either file exists, or the path is a folder or in none, neither is written."""
    path, public_path = keys
    before = path.read_bytes()
    with refuses(path):
        write_signing_key(path)
    public_path.unlink()
    for taken in (path, tmp_path / "none" / "key"):
        with refuses(taken):
            write_signing_key(taken)
    assert path.read_bytes() == before
    assert not public_path.exists()
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    for folder in (".", "/"):
        with refuses(folder):
            write_signing_key(Path(folder))
    assert not list((tmp_path / "empty").iterdir())


def test_keys_of_another_kind(keys, tmp_path):
    """Noise keys neither sign nor check, signing keys neither make noise nor check, others nothing; none is shown.

    Others are of another algorithm, under a password, no key at all, or such that OpenSSL has an error of its own.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    (path, public_path), noise = keys, tmp_path / "noise"
    create_key_file(noise, bytes(generate_key()))
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    curve, locked = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()
    public = serialization.PublicFormat.SubjectPublicKeyInfo
    x448 = bytes.fromhex("302e020100300506032b656f04220420") + bytes(32)  # whose keys have 56 bytes
    for name, content in {
        "text": b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        "ec": curve.private_bytes(pem, pkcs8, serialization.NoEncryption()),
        "ec.pub": curve.public_key().public_bytes(pem, public),
        "locked": locked.private_bytes(pem, pkcs8, serialization.BestAvailableEncryption(b"password")),
        "x448": b"-----BEGIN PRIVATE KEY-----\n" + base64.b64encode(x448) + b"\n-----END PRIVATE KEY-----\n",
    }.items():
        (tmp_path / name).write_bytes(content)
    others = [tmp_path / name for name in ("text", "none", "", "ec", "locked", "x448")]
    table = [(read_signing_key, other) for other in (noise, public_path, *others)]
    table += [(read_public_key, other) for other in (noise, path, tmp_path / "none", tmp_path / "ec.pub")]
    table += [(read_key_file, path), (read_key_file, public_path)]
    for read, other in table:
        with pytest.raises(dn.InputError) as caught:
            read(other)
        (line,) = caught.value.args
        assert str(other) in line
        assert "\n" not in line
        for secret in (noise, path):
            assert repr(secret.read_bytes())[2:20] not in line


def test_without_cryptography(tmp_path, monkeypatch):
    """Where the package is missing, one line says what to install, and nothing is written."""
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.serialization", None)
    with refuses("deniable[sign]"):
        write_signing_key(tmp_path / "key")
    assert list(tmp_path.iterdir()) == []
