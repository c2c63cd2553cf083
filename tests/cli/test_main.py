"""The command line as a whole: help, groups, and keys."""

import shlex
import stat

import pytest

from tests.catalogue.entries import COMMANDS
from tests.commands import build_command_line

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


def test_examples_parse():
    """Every command's help ends with examples, and each has the options that the command takes."""
    for name in COMMANDS:
        command = build_command_line()
        for part in name.split():
            command = command.commands[part]
        title, *examples = command.epilog.splitlines()
        assert title == "Examples:", name
        for example in examples:
            assert example.startswith(f"$ deniable {name}"), example
            words = shlex.split(example)[2 + len(name.split()) :]
            assert command.make_context(name, words).params, example


def test_main_options_come_first(call):
    """Required options and the text column are in the first panel, what few need is in the last one."""
    panels = call("privatize", "--help").text.split("╭─ ")
    titles = [panel.partition(" ")[0] for panel in panels[1:]]
    assert titles[:2] == ["Arguments", "Options"]
    assert titles[-1] == "Advanced"
    assert all(f" {option} " in panels[2] for option in ("--epsilon", "--column", "--output"))
    assert all(f" {option} " in panels[-1] for option in ("--delimiter", "--config"))


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
