"""``python -m studies``: list the studies, run one, write or check its page."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from deniable.core.errors import DeniableError, InputError
from studies import STUDIES, papers
from studies.page import DOCS, RESULTS, check_page, write_page
from studies.runner import find_unfinished, run_study
from studies.study import Study


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Leave with exit code 2."""
        self.exit(2, f"error: {message}\n")


def _build_parser() -> _Parser:
    parser = _Parser(prog="python -m studies", description="Published figures, run again.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list", help="Show the studies.")
    run = commands.add_parser("run", help="Run a study and write its rows, NAME.csv and NAME.json.")
    run.add_argument("name", metavar="NAME", help="A study; list shows them.")
    run.add_argument("--data", type=Path, metavar="DIR", help="Folder with data sets, for studies that need one.")
    run.add_argument("--quick", action="store_true", help="Measure a small grid, in a few minutes.")
    run.add_argument("--seed", type=int, default=0, help="Public seed that all numbers follow from. [default: 0]")
    run.add_argument("--output", type=Path, metavar="DIR", help="Folder for the rows. [default: studies/results]")
    run.add_argument("--force", action="store_true", help="Overwrite rows that exist; drop an unfinished run.")
    page = commands.add_parser("page", help="Write page and figure of a study from its rows.")
    page.add_argument("name", metavar="NAME", nargs="?", help=f"A study, or {papers.NAME}, the map of the papers.")
    page.add_argument("--all", action="store_true", dest="is_all", help="All studies, and the map.")
    page.add_argument("--check", action="store_true", help="Write nothing; exit 1 if one is not up to date.")
    page.add_argument("--results", type=Path, metavar="DIR", default=RESULTS, help="Folder with the rows.")
    page.add_argument("--output", type=Path, metavar="DIR", default=DOCS, help="Folder for pages and figures.")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command and return its exit code: 0 done, 1 a page does not follow from its rows, 2 an error."""
    given = _build_parser().parse_args(arguments)
    try:
        if given.command == "list":
            for study in STUDIES.values():
                _tell(f"{study.name:<20}{study.question}")
            return 0
        if given.command == "run":
            return _run(given)
        return _build_pages(given)
    except DeniableError as error:
        sys.stderr.write(f"error: {error}\n")
    except KeyboardInterrupt:
        sys.stderr.write("\nerror: interrupted: the same command resumes from the finished cells.\n")
    return 2


def _run(given: argparse.Namespace) -> int:
    study = find_study(given.name)
    folder = given.output or (RESULTS / "quick" if given.quick else RESULTS)
    unfinished = find_unfinished(study, folder)
    if unfinished.is_dir() and not given.force:
        sys.stderr.write(f"resuming the run in {unfinished}\n")
    run_study(study, folder, seed=given.seed, data=given.data, quick=given.quick, force=given.force)
    _tell(str(folder / f"{study.stem}.csv"))
    return 0


def _build_pages(given: argparse.Namespace) -> int:
    if given.is_all == (given.name is not None):
        raise InputError("Name one study, or all of them with --all.")
    problems = []
    if given.is_all or given.name == papers.NAME:
        if given.check:
            problems += papers.check_map(given.results, given.output)
        else:
            _tell(str(papers.write_map(given.results, given.output)))
    for study in _choose_studies(given):
        if given.check:
            problems += check_page(study, given.results, given.output)
        else:
            for path in write_page(study, given.results, given.output):
                _tell(str(path))
    for problem in problems:
        sys.stderr.write(f"{problem}\n")
    return 1 if problems else 0


def _choose_studies(given: argparse.Namespace) -> list[Study]:
    if given.is_all:
        return find_with_rows(given.results)
    return [] if given.name == papers.NAME else [find_study(given.name)]


def find_with_rows(results: Path) -> list[Study]:
    """Return the studies whose rows are kept in a folder, and name the others on the standard error."""
    kept = {study.name: (results / f"{study.stem}.csv").is_file() for study in STUDIES.values()}
    skipped = [name for name, has_rows in kept.items() if not has_rows]
    if skipped:
        sys.stderr.write(f"skipped, as no rows are kept: {', '.join(skipped)}\n")
    return [STUDIES[name] for name, has_rows in kept.items() if has_rows]


def find_study(name: str) -> Study:
    """Return a study by its name.

    Raises:
        InputError: there is none.
    """
    study = STUDIES.get(name.replace("_", "-"))
    if study is None:
        raise InputError(f"There is no study {name!r}: choose one of {', '.join(STUDIES)}.")
    return study


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
