"""The table of word mechanisms in the docs, made of what each page says of its mechanism in its first lines."""

from pathlib import Path
from typing import Any

import yaml

COLUMNS = ("metric", "law", "guarantee", "draws")
PAGES = Path(__file__).parents[1] / "docs" / "mechanisms"


def list_mechanism_pages() -> dict[str, dict[str, str]]:
    """Return what each page of a mechanism says of it, with its title, by file name.

    Raises:
        ValueError: a page lacks one of `COLUMNS`.
    """
    pages = {}
    for path in sorted(PAGES.glob("*.md")):
        if path.name == "index.md":
            continue
        text = path.read_text(encoding="utf-8")
        _, facts, body = text.split("---\n", 2) if text.startswith("---\n") else ("", "", text)
        row = yaml.safe_load(facts) or {}
        missing = [column for column in COLUMNS if column not in row]
        if missing:
            raise ValueError(f"{path}: the lines between --- and --- at its top must say: {', '.join(missing)}.")
        title = next(line.removeprefix("# ") for line in body.splitlines() if line.startswith("# "))
        pages[path.name] = {**row, "title": title}
    return pages


def define_env(env: Any) -> None:
    """Give the docs the macro that makes the table."""

    @env.macro
    def mechanism_table() -> str:
        header = f"| mechanism | {' | '.join(COLUMNS)} |\n|{'---|' * (1 + len(COLUMNS))}\n"
        rows = [
            f"| [{page['title']}]({name}) | {' | '.join(str(page[column]) for column in COLUMNS)} |\n"
            for name, page in list_mechanism_pages().items()
        ]
        return header + "".join(rows)
