"""Signatures: every byte of what is signed counts, and no key passes for one of another kind."""

import base64
import json
import os
import pickle
import stat
from pathlib import Path

import pytest

from deniable import InputError
from deniable.core.files import hash_file, open_outputs
from deniable.core.keys import read_key_file
from deniable.core.randomness import generate_key
from deniable.core.signatures import (
    check_signature,
    create_key_file,
    is_signature_file,
    is_signing_key,
    list_signature_paths,
    make_release_seal,
    read_public_key,
    read_signing_key,
    write_signing_key,
)

CERTIFICATE, TABLE = b'{\n  "epsilon": 2.5\n}\n', b"id,text\n1,new words\n"


@pytest.fixture
def keys(tmp_path):
    """Return the paths of a signing key and its public key."""
    return tmp_path / "key", write_signing_key(tmp_path / "key")


@pytest.fixture
def signed(keys, tmp_path):
    """Return a signature, the public key, and the path of the table that was signed."""
    seal = read_signing_key(keys[0]).make_seal(str(tmp_path / "c.json"), ["table"])
    with open_outputs(str(tmp_path / "c.json"), str(tmp_path / "t.csv"), force=False, seal=seal) as streams:
        for stream, content in zip(streams, (CERTIFICATE, TABLE), strict=True):
            stream.write(content)
    return (tmp_path / "c.json.sig").read_bytes(), read_public_key(keys[1]), tmp_path / "t.csv"


def test_what_was_signed_is_valid(signed):
    """Certificate and table pass as they were written; without the table the result says that it was not seen."""
    content, key, table = signed
    check = check_signature(content, CERTIFICATE, key, table)
    assert (check.status, check.note) == (
        "valid",
        "the key signed this certificate and this table; neither was changed",
    )
    alone = check_signature(content, CERTIFICATE, key)
    assert (alone.status, "table was not given" in alone.note) == ("valid", True)


def test_every_changed_byte_of_the_certificate(signed):
    """Any byte that is changed, left out or added ends the signature, white space at the end too."""
    content, key, _ = signed
    for place in range(len(CERTIFICATE) + 1):
        others = [CERTIFICATE[:place] + b" " + CERTIFICATE[place:]]
        if place < len(CERTIFICATE):
            others.append(CERTIFICATE[:place] + bytes([CERTIFICATE[place] ^ 1]) + CERTIFICATE[place + 1 :])
            others.append(CERTIFICATE[:place] + CERTIFICATE[place + 1 :])
        for other in others:
            assert check_signature(content, other, key).status == "invalid"


def test_every_changed_byte_of_the_table(signed):
    """The same holds of the released table."""
    content, key, table = signed
    for place in range(len(TABLE)):
        table.write_bytes(TABLE[:place] + bytes([TABLE[place] ^ 1]) + TABLE[place + 1 :])
        check = check_signature(content, CERTIFICATE, key, table)
        assert (check.status, "another table" in check.note) == ("invalid", True)
    table.write_bytes(TABLE + b"\n")
    assert check_signature(content, CERTIFICATE, key, table).status == "invalid"


def test_every_changed_byte_of_the_signature(signed):
    """A signature file has one spelling: no byte of it can be changed, left out or added, whatever the program."""
    content, key, table = signed
    for place in range(len(content)):
        for bits in (1, 32):  # 32: the other case of a letter
            other = content[:place] + bytes([content[place] ^ bits]) + content[place + 1 :]
            assert check_signature(other, CERTIFICATE, key, table).status == "invalid"
        assert check_signature(content[:place] + content[place + 1 :], CERTIFICATE, key).status == "invalid"
        assert check_signature(content[:place] + b" " + content[place:], CERTIFICATE, key).status == "invalid"


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"1", b"null", b"{", b"[" * 9_000, b" " * 20_000, b'{"files": []}', b"\xff"]
)
def test_what_is_no_signature(signed, content):
    """Any other content is an invalid signature, never a traceback."""
    check = check_signature(content, CERTIFICATE, signed[1])
    assert (check.status, "damaged" in check.note) == ("invalid", True)


def test_only_a_signature_is_removed(signed, keys, tmp_path):
    """A release without a key takes away the signature of an earlier one: no other file, folder, pipe or content."""
    path = tmp_path / "c.json.sig"
    seal = make_release_seal(None, str(tmp_path / "c.json"), ["table"])
    assert (seal.path, is_signature_file(path)) == (str(path), True)
    assert list_signature_paths(None, str(tmp_path / "c.json")) == [str(path)]
    path.write_bytes(signed[0] + b"\n")
    assert not is_signature_file(path)
    path.unlink()
    path.mkdir()
    for other in (path, tmp_path / "none", keys[0], tmp_path / "c.json"):
        assert not is_signature_file(other)
    os.mkfifo(tmp_path / "pipe")
    assert not is_signature_file(tmp_path / "pipe")
    assert list_signature_paths(None, str(tmp_path / "c.json")) == []
    assert list_signature_paths(read_signing_key(keys[0]), "c.json") == ["c.json.sig"]
    assert make_release_seal(None, "-", ["table"]) is None


def test_a_link_to_a_signature(signed, tmp_path):
    """Of a link to a signature the link is removed, and the file that it points to stays."""
    path = tmp_path / "c.json.sig"
    path.rename(tmp_path / "elsewhere.sig")
    path.symlink_to("elsewhere.sig")
    seal = make_release_seal(None, str(tmp_path / "c.json"), ["table"])
    with open_outputs(str(tmp_path / "c.json"), force=True, seal=seal) as (stream,):
        stream.write(CERTIFICATE)
    assert not path.is_symlink()
    assert (tmp_path / "elsewhere.sig").read_bytes() == signed[0]


def test_the_signature_of_another(signed, tmp_path):
    """Another key's signature does not pass."""
    other = read_public_key(write_signing_key(tmp_path / "other"))
    assert check_signature(signed[0], CERTIFICATE, other).status == "invalid"


def test_roles_are_signed(signed, keys, tmp_path):
    """Which file is the table is signed too: digests cannot be swapped between files."""
    seal = read_signing_key(keys[0]).make_seal(str(tmp_path / "d.json"), ["table", "classifier"])
    paths = [str(tmp_path / name) for name in ("d.json", "e.csv", "m.pt", "owner.json")]
    with open_outputs(*paths, force=False, seal=seal) as streams:
        for stream, content in zip(streams, (CERTIFICATE, TABLE, b"weights", b"private"), strict=True):
            stream.write(content)
    content = (tmp_path / "d.json.sig").read_bytes()
    files = json.loads(content)["files"]
    assert files == {"table": hash_file(tmp_path / "e.csv").hex(), "classifier": hash_file(tmp_path / "m.pt").hex()}
    assert "this classifier" in check_signature(content, CERTIFICATE, signed[1], tmp_path / "m.pt").note
    assert check_signature(content, CERTIFICATE, signed[1], tmp_path / "owner.json").status == "invalid"
    swapped = content.replace(b'"table"', b'"x"').replace(b'"classifier"', b'"table"').replace(b'"x"', b'"classifier"')
    assert check_signature(swapped, CERTIFICATE, signed[1]).status == "invalid"


@pytest.mark.parametrize("role", ["", "\x1b[31mtable", "table\n\nresult  recomputed", "Table", "t" * 31])
def test_roles_that_no_command_writes(signed, keys, tmp_path, role):
    """Whoever signs cannot write what they like to the terminal of whoever checks."""
    seal = read_signing_key(keys[0]).make_seal("c.json", [role])
    content = seal.encode([hash_file(tmp_path / "c.json"), hash_file(signed[2])])
    check = check_signature(content, CERTIFICATE, signed[1], signed[2])
    assert (check.status, role not in check.note or not role) == ("invalid", True)


def test_keys_are_secret(keys):
    """A signing key is readable by its owner alone, is in no repr and no pickle; the public key is not secret."""
    path, public_path = keys
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert public_path.name == "key.pub"
    assert is_signing_key(path.read_bytes())
    assert not is_signing_key(public_path.read_bytes())
    key = read_signing_key(path)
    assert repr(key) == "<signing key>"
    with pytest.raises(InputError, match="cannot be pickled"):
        pickle.dumps(key)


def test_keys_are_never_overwritten(keys, tmp_path):
    """Where either file exists, neither is written."""
    path, public_path = keys
    before = path.read_bytes(), public_path.read_bytes()
    with pytest.raises(InputError, match="never overwritten"):
        write_signing_key(path)
    public_path.unlink()
    with pytest.raises(InputError, match="never overwritten"):
        write_signing_key(path)
    assert path.read_bytes() == before[0]
    assert not public_path.exists()
    with pytest.raises(InputError, match="cannot be written"):
        write_signing_key(tmp_path / "none" / "key")


@pytest.mark.parametrize("path", [".", "/"])
def test_a_folder_in_place_of_a_key(tmp_path, monkeypatch, path):
    """A path without a name is refused in one line, and nothing is left."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="exists"):
        write_signing_key(Path(path))
    assert not list(tmp_path.iterdir())


def test_keys_of_another_kind(keys, tmp_path):
    """Noise keys neither sign nor check, signing keys neither make noise nor check; no message shows a key."""
    path, public_path = keys
    noise = tmp_path / "noise"
    create_key_file(noise, bytes(generate_key()))
    (tmp_path / "text").write_text("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    for read, other, message in [
        (read_signing_key, noise, "noise key"),
        (read_signing_key, public_path, "but a public one"),
        (read_signing_key, tmp_path / "text", "holds no signing key"),
        (read_signing_key, tmp_path / "none", "cannot be read"),
        (read_signing_key, tmp_path, "cannot be read"),
        (read_public_key, noise, "noise key"),
        (read_public_key, path, "private key, which must never leave its owner"),
        (read_public_key, tmp_path / "none", "cannot be read"),
        (read_key_file, path, "a key for signatures"),
        (read_key_file, public_path, "a key for signatures"),
    ]:
        with pytest.raises(InputError, match=message) as caught:
            read(other)
        assert "\n" not in str(caught.value)
        for secret in (noise, path):
            assert repr(secret.read_bytes())[2:20] not in str(caught.value)


def test_other_kinds_of_pem_keys(tmp_path):
    """A key of another algorithm, or one under a password, is refused in one line."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    curve = ec.generate_private_key(ec.SECP256R1())
    (tmp_path / "ec").write_bytes(curve.private_bytes(pem, pkcs8, serialization.NoEncryption()))
    public = serialization.PublicFormat.SubjectPublicKeyInfo
    (tmp_path / "ec.pub").write_bytes(curve.public_key().public_bytes(pem, public))
    locked = ed25519.Ed25519PrivateKey.generate()
    encryption = serialization.BestAvailableEncryption(b"password")
    (tmp_path / "locked").write_bytes(locked.private_bytes(pem, pkcs8, encryption))
    for read, name in [(read_signing_key, "ec"), (read_signing_key, "locked"), (read_public_key, "ec.pub")]:
        with pytest.raises(InputError, match="holds no"):
            read(tmp_path / name)


def test_a_key_at_which_openssl_fails(tmp_path):
    """A key that names another curve than its length fits, at which OpenSSL has an error of its own, is one line."""
    algorithm = bytes.fromhex("302e020100300506032b656f04220420")  # X448, whose keys have 56 bytes
    pem = b"-----BEGIN PRIVATE KEY-----\n" + base64.b64encode(algorithm + bytes(32)) + b"\n-----END PRIVATE KEY-----\n"
    (tmp_path / "key").write_bytes(pem)
    with pytest.raises(InputError, match="holds no signing key") as caught:
        read_signing_key(tmp_path / "key")
    assert "\n" not in str(caught.value)


def test_a_table_that_cannot_be_read(signed, tmp_path):
    """A table that is not there is a mistake of the caller, not a wrong signature."""
    with pytest.raises(InputError, match=r"released file .* cannot be read"):
        check_signature(signed[0], CERTIFICATE, signed[1], tmp_path / "none.csv")


def test_without_cryptography(tmp_path, monkeypatch):
    """Where the package is missing, one line says what to install, and nothing is written."""
    monkeypatch.setitem(__import__("sys").modules, "cryptography.hazmat.primitives.serialization", None)
    with pytest.raises(InputError, match=r"install deniable\[sign\]"):
        write_signing_key(tmp_path / "key")
    assert list(tmp_path.iterdir()) == []
