"""Run the deep tests that a change needs: those of what it touches, and the day's third of the others.

    python .ci/deep.py [--all] [--since REVISION] [PYTEST OPTIONS]

What has changed is the difference between the files here and a revision: the last one that is on the remote's main
branch and, where that is this one, the last one a day older. Without git everything has changed. A file of the package
touches the tests of its room, and those of faults and hostile files; a page of the docs the tests that run pages; a
helper of tests the folder it is in. The thirds are of all files, so that three days in a row see each of them.
"""

import argparse
import datetime as dt
import subprocess
import sys
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
THIRDS = 3
NO_TESTS = 5
"""Exit status of pytest where all tests are left out."""
PAGES = ("tests/test_docs.py", "tests/test_howto.py", "tests/test_contributing.py")
HOSTILE = ("tests/reliability", "tests/fuzzing")


def ask_git(*arguments):
    """Return what git prints, or None where it fails or is not there."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def find_base():
    """Return the revision that the change begins at, or None where git does not know it."""
    head, base = ask_git("rev-parse", "HEAD"), ask_git("merge-base", "HEAD", "origin/main")
    if base and base != head:
        return base
    date = ask_git("log", "-1", "--format=%ct")
    return ask_git("rev-list", "-1", f"--before={int(date) - 86400}", "HEAD") if date else None


def list_changed_files(base):
    """Return the tracked files that differ from a revision, or None where that is not known."""
    names = ask_git("diff", "--name-only", base) if base else None
    return None if names is None else [PurePosixPath(name) for name in names.splitlines()]


def list_touched_paths(changed):
    """Return the paths below which a changed file touches all tests."""
    parts = changed.parts
    if parts[0] in {"docs", "examples"} or changed.suffix == ".md":
        return PAGES
    if changed.name in {"Dockerfile", "compose.yaml"}:
        return ("tests/test_container.py",)
    if parts[0] == "src":
        if changed.name == "registry.py":
            return ("tests/test_registry.py", "tests/test_contributing.py", *HOSTILE)
        return (f"tests/{parts[2]}", *HOSTILE)
    if parts[0] == "tests":
        return (str(changed),) if changed.name.startswith("test_") else ("/".join(parts[:-1][:2]),)
    return ("tests",) if changed.name == "pyproject.toml" else (f"tests/{parts[0]}",)


def choose_tests(tests, changed, day):
    """Return the tests of what has changed, and the others that are due on a day."""
    if changed is None:
        return tests, []
    paths = {path for file in changed for path in list_touched_paths(file)}
    paths |= {"tests"} if "tests/contracts" in paths else set()
    touched = [test for test in tests if paths & {str(test), *map(str, test.parents)}]
    due = [test for number, test in enumerate(tests) if number % THIRDS == day % THIRDS]
    return touched, [test for test in due if test not in touched]


def main():
    """Choose, say so, and run."""
    parser = argparse.ArgumentParser(description="Run the deep tests of a change, and the day's third of the others.")
    parser.add_argument("--all", action="store_true", help="run all deep tests")
    parser.add_argument("--since", metavar="REVISION", help="where the change begins")
    options, rest = parser.parse_known_args()
    tests = sorted(PurePosixPath(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py"))
    today = dt.datetime.now(dt.UTC).date()
    base = options.since or find_base()
    changed = None if options.all else list_changed_files(base)
    if options.since and changed is None:
        sys.exit(f"git does not know the revision {options.since}: fetch it, or name another.")
    touched, due = choose_tests(tests, changed, today.toordinal())
    if changed is None:
        print(f"deep tests of all {len(tests)} files", flush=True)
    else:
        print(f"{len(changed)} files differ from {base}: deep tests of {len(touched)} files that they touch,")
        print(f"and of {len(due)} others, the third due on {today}:", *due, sep="\n  ", flush=True)
    command = [sys.executable, "-m", "pytest", "-m", "deep", *rest, *map(str, touched + due)]
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    sys.exit(0 if status == NO_TESTS and changed is not None else status)


if __name__ == "__main__":
    main()
