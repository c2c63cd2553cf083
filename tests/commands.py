"""The command line, called in this process: much quicker than a new one."""

import contextlib
import dataclasses
import functools
import io
import re
import types
from typing import Any
from unittest import mock

import typer

from deniable.cli.main import app, main


@dataclasses.dataclass(frozen=True)
class Result:
    """What a command did."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def prose(self) -> str:
        """The text of a help page without its boxes and line breaks."""
        return " ".join(re.sub(r"[│╭╮╰╯─]", " ", self.text).split()).replace("- ", "-")


@functools.cache
def build_command_line() -> Any:
    """Return the command line as typer builds it, which takes longer than most commands on small tables."""
    return typer.main.get_command(app)


def run(*arguments: object, stdin: bytes = b"") -> Result:
    """Run ``deniable`` with those arguments, and return its exit code and what it wrote."""
    out, err = io.BytesIO(), io.StringIO()
    command_line = build_command_line()
    patches: dict[str, Any] = {
        "typer.main.get_command": lambda _: command_line,
        "typer.rich_utils.MAX_WIDTH": 100,
        "deniable.cli.progress.read_clock": lambda: 0.0,  # no line is due, however slow the machine
        "sys.stdout": io.TextIOWrapper(out, encoding="utf-8", write_through=True),
        "sys.stderr": err,
        "sys.stdin": types.SimpleNamespace(buffer=io.BytesIO(stdin)),
    }
    with contextlib.ExitStack() as stack:
        for name, value in patches.items():
            stack.enter_context(mock.patch(name, value))
        code = main([str(argument) for argument in arguments])
        return Result(code, out.getvalue(), err.getvalue())
