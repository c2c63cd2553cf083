"""What people read: on a terminal wrapped at its window, under the column where a line's text begins.

Files and pipes get every line whole, so that programs find what they look for.
"""

import re
import shutil
import sys
import textwrap

import typer

_LABEL = re.compile(r"\s*(?:\S+(?: \S+)*\s{2,})?")
"""The label of a line and the space behind it, or the indent of a line without one."""
_WHOLE = re.compile(r"\S\s{2,}\S.*\S\s{2,}\S|^\s*[-=]{9}|(?:^|\s{2,})deniable ")
"""Rows of tables, and commands to be run: they are of no use when broken."""
_MIN_TEXT_WIDTH = 30


def say(text: str = "", *, err: bool = False) -> None:
    """Print lines for people, to standard output or standard error."""
    stream = sys.stderr if err else sys.stdout
    if stream.isatty():
        text = wrap_lines(text, shutil.get_terminal_size().columns)
    typer.echo(text, err=err)


def wrap_lines(text: str, width: int) -> str:
    """Return lines of at most a width; what is continued stands below where the text of its line began."""
    return "\n".join(_wrap_line(line, width) for line in text.split("\n"))


def _wrap_line(line: str, width: int) -> str:
    if len(line) <= width or _WHOLE.search(line):
        return line
    label = _LABEL.match(line)
    start = 0 if label is None else label.end()
    indent = start if start and width - start >= _MIN_TEXT_WIDTH else 2
    return textwrap.fill(line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
