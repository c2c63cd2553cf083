"""``deniable key``: secret, new, and never in the place of another file."""

import errno
import os
import stat


def test_key(call, place):
    """A key is 32 random bytes that only its owner can read."""
    for name in ("a", "b"):
        result = call("key", name)
        assert result.code == 0
        assert (result.out, "keep it secret" in result.err) == (b"", True)
        assert stat.S_IMODE((place / name).stat().st_mode) == 0o600
    first, second = (place / "a").read_bytes(), (place / "b").read_bytes()
    assert len(first) == len(second) == 32
    assert first != second


def test_a_key_that_cannot_be_written(call, refused, monkeypatch):
    """Where the disk is full no empty file stays, which the next try would take for a key."""

    def full():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("deniable.core.randomness.generate_key", full)
    refused.given()
    message = "No space left on device: nothing was written. Free some space, and run the same command again."
    assert refused(call("key", "new.key")) == message


def test_keys_are_never_overwritten(call, refused, place):
    """A file that exists, a link that leads nowhere and a folder are no place for a key."""
    refused.given(k=bytes(32))
    assert "keys are never overwritten" in refused(call("key", "k"))
    (place / "link").symlink_to("nowhere")
    refused(call("key", "link"), new=["link"])
    assert "cannot be written: No such file" in refused(call("key", "none/k"), new=["link"])
    refused(call("key", "."), new=["link"])
    refused(call("key"), new=["link"])


def test_a_signing_key(call, place):
    """--sign writes a private key that only its owner can read, and a public one beside it."""
    result = call("key", "sign.key", "--sign")
    assert (result.code, result.out) == (0, b"")
    assert "keep it secret" in result.err
    assert stat.S_IMODE((place / "sign.key").stat().st_mode) == 0o600
    assert b"PUBLIC KEY" in (place / "sign.key.pub").read_bytes()


def test_a_signing_key_that_exists(call, refused):
    """Neither file is overwritten, and where one exists none is written."""
    refused.given(**{"k.pub": b"old"})
    assert "keys are never overwritten" in refused(call("key", "k", "--sign"))
