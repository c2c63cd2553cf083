"""The pages on installing, questions, terms and trouble name what there is, and nothing else."""

import re
import tomllib
from pathlib import Path

import pytest

from deniable.cli.process import EXIT_COULD_NOT_RUN, EXIT_REFUTED
from tools.reference.commands import list_commands

ROOT = Path(__file__).parents[1]
PAGES = {name: (ROOT / "docs" / f"{name}.md").read_text("utf-8") for name in ("install", "faq", "troubleshooting")}


def test_every_extra_has_its_size():
    """The page on installing lists the extras of the package, those of developers left out."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    rows = re.findall(r"^\| `([a-z]+)` \| .* \| [0-9,]+ \|$", PAGES["install"], flags=re.MULTILINE)
    assert sorted(rows) == sorted(extras.keys() - {"test"})


@pytest.mark.parametrize("name", PAGES)
def test_options_and_commands_exist(name):
    """Whatever the pages call an option or a command of the program is one; pip's and pytest's are not meant."""
    commands = list(list_commands())
    options = {option for command in commands for one in command.options for option in one.names}
    text = re.sub(r"^(pip|python3) .*$", "", PAGES[name], flags=re.MULTILINE)
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) - {"--version", "--extras"}
    assert named <= options
    known = {command.name.partition(" ")[0] for command in commands}
    assert set(re.findall(r"`deniable ([a-z]+)", text)) <= known


def test_exit_codes():
    """The table of exit codes is that of the program."""
    codes = re.findall(r"^\| (\d) \| ", PAGES["troubleshooting"], flags=re.MULTILINE)
    assert codes == ["0", str(EXIT_REFUTED), str(EXIT_COULD_NOT_RUN)]


def test_every_term_is_defined_once():
    """Each term of the glossary has an anchor of its own and a definition."""
    text = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    rows = re.findall(r'^\| <a id="([a-z-]+)"></a>\*\*(.+?)\*\* \| .{15,} \|$', text, flags=re.MULTILINE)
    assert len(rows) == text.count("\n| <a")
    assert len({anchor for anchor, _ in rows}) == len({term for _, term in rows}) == len(rows)
