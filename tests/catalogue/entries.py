"""The file of the catalogue: command lines, each followed by what it says on standard error."""

import dataclasses
import re
import shlex
from pathlib import Path

from tests.commands import build_command_line

FILE = Path(__file__).with_name("expected.txt")
REFUSED = 2


@dataclasses.dataclass(frozen=True)
class Entry:
    """A command line, the lines that it says, and its exit code; ``…`` in a line stands for anything."""

    line: str
    said: tuple[str, ...]
    code: int = REFUSED

    @property
    def words(self):
        """The words of the line, without the program."""
        return shlex.split(self.line)[1:]

    @property
    def command(self):
        """The command of the line, such as "train text"; "" for a line of none."""
        line = self.line.removeprefix("deniable ") + " "
        return next((name for name in COMMANDS if line.startswith(f"{name} ")), "")

    def keep_if_equal(self, before):
        """Return what was before for this line where that says the same, with anything for its ``…``."""
        pattern = re.escape("\n".join(before.said)).replace("…", ".*")
        is_equal = before.code == self.code and re.fullmatch(pattern, "\n".join(self.said))
        return before if is_equal else self

    def __str__(self):
        lines = [f"$ {self.line}", *self.said, *([] if self.code == REFUSED else [f"[exit code {self.code}]"])]
        return "\n".join(lines) + "\n"


def list_commands(command=None, path=()):
    """Return the names of all commands."""
    command = command or build_command_line()
    parts = getattr(command, "commands", None)
    if parts is None:
        return [" ".join(path)]
    return [name for part, inner in parts.items() for name in list_commands(inner, (*path, part))]


COMMANDS = list_commands()
_ENTRY = re.compile(r"^\$ (?P<line>.*)\n(?P<said>(?:[^$#\[\n].*\n)*)(?:\[exit code (?P<code>\d+)\]\n)?", re.MULTILINE)


def _parse(match):
    return Entry(match["line"], tuple(match["said"].splitlines()), int(match["code"] or REFUSED))


def read_entries():
    """Return the entries of the file."""
    return [_parse(match) for match in _ENTRY.finditer(FILE.read_text("utf-8"))]


def write_entries(found):
    """Write entries in the places of those with the same command line; everything else in the file stays."""
    by_line = {entry.line: entry for entry in found}
    text = _ENTRY.sub(lambda match: str(by_line.get(match["line"], _parse(match))), FILE.read_text("utf-8"))
    FILE.write_text(text, "utf-8")
