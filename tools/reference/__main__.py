"""Write the pages of `docs/reference/`, or say which of them are out of date: ``python -m tools.reference [--check]``.

Commands, certificates, routes and public names are described by the program itself; what only a person can say (the
meaning of a certificate's field, the area of a public name) is in the files beside this one, and checked to be whole.
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from .certificate import describe_certificates
from .commands import describe_commands
from .python_names import describe_python
from .routes import describe_routes

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "reference"


def make_pages() -> dict[str, str]:
    """Return the text of every page by its path in `FOLDER`."""
    return {
        "commands.md": describe_commands(),
        "certificate.md": describe_certificates(),
        "http.md": describe_routes(ROOT / "docs" / "openapi.json"),
        **{f"python/{name}": text for name, text in describe_python().items()},
    }


def list_stale_pages(pages: Mapping[str, str], folder: Path = FOLDER) -> list[str]:
    """Return the pages that are missing, differ from what they should be, or should not be there."""
    written = {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in folder.rglob("*.md")}
    return sorted(name for name in pages.keys() | written.keys() if pages.get(name) != written.get(name))


def main() -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail where a page is out of date")
    is_check, pages = parser.parse_args().check, make_pages()
    stale = list_stale_pages(pages)
    for name in stale:
        path = FOLDER / name
        print(f"{path.relative_to(ROOT)}: {'out of date: run python -m tools.reference' if is_check else 'written'}")
        if is_check:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if name in pages:
            path.write_text(pages[name], "utf-8")
        else:
            path.unlink()
    return 1 if is_check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
