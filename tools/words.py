"""Finds phrases that a reader must read twice: ``python tools/words.py [FILE ...]`` prints each, with what to write.

It looks at the prose of pages, at the messages of commands in the catalogue of the tests, and at what the
page in a browser shows, not at code. A phrase inside backticks, or in the quotes of a message, is a name, and stays.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PATTERNS = {
    r"\battackers?(?: \w+){0,3} names?\b|\bnames? (?:about )?[\d.]+ ?%": "guesses",
    r"\b(?:stands?|stood)\b(?![ -](?:for|in|ins|out|still|up)\b)": "is, appears, is listed",
    r"\balone\b": "only ..., by itself",
    r"\bbeside\b": "next to, along with, besides",
    r"\b(?:is|are|was|were) told\b|\btells? (?:\w+ )?(?:from|apart)\b": "is reported, distinguishes, reveals",
    r"\bcom(?:e|es|ing) out\b|\bcame out\b": "survives, is replaced by, is the result",
    r"(?:^|[a-z`][.:;] )Who [a-z]": "If you ..., anyone who ...",
    r"(?<![Tt]here )\b(?:is|are|was) no (?!better\b|longer\b|more\b)[a-z]": "is not a ...",
    r"\bbut for\b|, but that\b": "except",
    r"\b(?:one|word|text|count|record|output) a line\b": "per line",
    r"\bpersons\b": "people",
    r"\b(?:has|have|had) [\d.]+ ?%": "reaches, scores",
    r"\d %": "33.7%, without a space",
    r"\bis another\b|\banother one\b": "a different ...",
    r"\bas it stands\b|\bas due\b|\bon the whole\b": "delete it",
    r"(?:^|[.] )Of (?:a|an|the) [a-z ]+ only\b": "subject, verb, object",
    r"\b(?:recognis|normalis|memoris|standardis|summaris)\w*": "-ize",
    r"\b(?:neighbor|behavior|colors?\b|center|favor|(?:un)?label(?:ed|ing))\w*": "British spelling",
}
"""Pattern -> what to write. See *Plain English* in CONTRIBUTING.md."""
RESEARCH = (
    "studies/",
    "papers.md",
    "zoo.md",
    "peers.md",
    "trainers.md",
    "language_packages.md",
    "benchmarks.md",
    "reliability.md",
    "decisions.md",
)
"""Pages of docs/ that are a laboratory's, and are not held to this."""
CATALOGUE = ROOT / "tests" / "catalogue" / "expected.txt"
"""Commands, each followed by its messages."""

BROWSER_PAGE = ROOT / "src" / "deniable" / "serve" / "static"


def list_pages() -> list[Path]:
    """Return README and the pages of the site that users read."""
    docs = ROOT / "docs"
    pages = [page for page in sorted(docs.rglob("*.md")) if not page.relative_to(docs).as_posix().startswith(RESEARCH)]
    return [ROOT / "README.md", *pages]


def list_files() -> list[Path]:
    """Return all that is held to this: those pages, what the page in a browser shows, and the catalogue."""
    return [*list_pages(), *sorted(BROWSER_PAGE.glob("*.js")), *BROWSER_PAGE.glob("*.html"), CATALOGUE]


def read_prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbers and the prose of a page's lines: no code, no names in backticks, no addresses of links."""
    is_code = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if re.match(r" *```", line):
            is_code = not is_code
        elif not is_code and not line.startswith(":::"):
            yield number, re.sub(r"`[^`]*`|\]\([^)]*\)|<[^>]+>", "`", line)


def read_messages(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbers and the prose of the messages in a catalogue, without the names in quotes or backticks."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith(("deniable: ", "warning")):
            message = line.partition(": ")[2]
            # An apostrophe inside a word opens no quote.
            yield number, re.sub(r"`[^`]*`|(?<!\w)'[^']*'|\"[^\"]*\"", "`", message)


def read_strings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbers and the strings of several words of a script, without what is computed in them."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for double, template in re.findall(r'"([^"]* [^"]*)"|`([^`]* [^`]*)`', re.sub(r"^ *(?:/?\*|//).*", "", line)):
            yield number, re.sub(r"\$\{[^}]*\}", "`", double or template)


def read_any(path: Path) -> Iterator[tuple[int, str]]:
    """Yield what people read in a page, a script or the catalogue, by the name of the file."""
    return {".txt": read_messages, ".js": read_strings}.get(path.suffix, read_prose)(path)


def find_phrases(line: str) -> Iterator[tuple[str, str]]:
    """Yield the phrases of a line that are read twice, with what to write."""
    for pattern, advice in PATTERNS.items():
        for found in re.finditer(pattern, line):
            yield found.group().strip(), advice


def main() -> int:
    """Print each phrase of the files that are named, or of all; return 1 where there is one."""
    pages = [Path(name).resolve() for name in sys.argv[1:]] or list_files()
    count = 0
    for page in pages:
        for number, line in read_any(page):
            for phrase, advice in find_phrases(line):
                print(f"{page.relative_to(ROOT)}:{number}: {phrase!r}: {advice}")
                count += 1
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
