"""The command line as a whole: help, groups, and keys."""

import stat

import pytest

from tests.catalogue.entries import COMMANDS

GROUPS = ["", *sorted({name.split()[0] for name in COMMANDS if " " in name})]


def test_help(call):
    """Every command and group has help, which fits two screens of 45 lines and 100 columns."""
    assert len(COMMANDS) > 20
    for name in (*GROUPS, *COMMANDS):
        result = call(*name.split(), "--help" if name else "-h")
        assert result.code == 0, name
        assert f"Usage: deniable {name}".strip() in result.prose
        assert len(result.text.rstrip().splitlines()) <= 90, name
        assert all(len(line) <= 100 for line in result.text.splitlines()), name


def test_no_arguments(call):
    """A group without a command shows its help, with one line for each command."""
    for group in GROUPS:
        result = call(*group.split())
        assert result.code == 0
        parts = {name.removeprefix(group).split()[0] for name in COMMANDS if name.startswith(group)}
        assert [part for part in parts if f"│ {part} " not in result.text] == []


class TestKey:
    """``deniable key``: secret, new, and never in the place of another file."""

    def test_a_key(self, call, place):
        """A key is 32 random bytes that only its owner can read."""
        for name in ("a", "b"):
            result = call("key", name)
            assert (result.code, result.out) == (0, b"")
            assert stat.S_IMODE((place / name).stat().st_mode) == 0o600
        first, second = (place / "a").read_bytes(), (place / "b").read_bytes()
        assert len(first) == len(second) == 32
        assert first != second

    def test_a_signing_key(self, call, place):
        """--sign writes a private key that only its owner can read, and a public one beside it; or none of them."""
        pytest.importorskip("cryptography", reason="cryptography is not installed: pip install 'deniable[sign]'")
        assert call("key", "sign.key", "--sign").code == 0
        assert stat.S_IMODE((place / "sign.key").stat().st_mode) == 0o600
        assert b"PUBLIC KEY" in (place / "sign.key.pub").read_bytes()
        (place / "k.pub").write_bytes(b"old")
        assert call("key", "k", "--sign").code == 2
        assert not (place / "k").exists()
