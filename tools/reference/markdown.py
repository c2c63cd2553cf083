"""Markdown that all pages share."""

import html
import re
from collections.abc import Iterable, Sequence

_CODE = re.compile("`[^`]*`")
_SPECIAL = re.compile(r"([*_<>\[\]])")


def escape(text: str) -> str:
    """Return a text that Markdown shows as it is, on one line of a table; what is between backticks stays code."""
    text = re.sub(r"``+", "`", " ".join(text.split())).replace("|", "\\|").replace("&#", "&amp;#")
    parts, place = [], 0
    for match in _CODE.finditer(text):
        parts += [_SPECIAL.sub(r"\\\1", text[place : match.start()]), match[0]]
        place = match.end()
    return "".join([*parts, _SPECIAL.sub(r"\\\1", text[place:])])


def code(text: str) -> str:
    """Return a text as code, on one line of a table, where a bar between backticks would be shown escaped."""
    return f"`{text}`" if "|" not in text else f"<code>{html.escape(text).replace('|', '&#124;')}</code>"


def make_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose cells are Markdown already."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
