"""What CONTRIBUTING says of a new mechanism: its files, written into a copy of this repository, are all it needs."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.deep
ROOT = Path(__file__).parents[1]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
COPIED = ("src", "tests", "docs", ".ci", "pyproject.toml", "zensical.toml", "CONTRIBUTING.md")
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", "-n", "0")
UNFINISHED = ("*.tmp.*", "*.pyc.*")
"""Compiled code that another process is about to write."""
REGISTRY = "src/deniable/registry/word_mechanisms.py"
NOTICING_TESTS = (
    "tests/words/test_plain_exponential.py",
    "tests/registry/test_words.py",
    "tests/registry/test_names.py",
    "tests/cli/test_choices.py",
    "tests/test_package.py::test_stub_and_package_agree",
    "tests/test_package.py::test_every_public_name_resolves",
    "tests/test_package.py::test_public_members_are_documented",
    "tests/cli/test_processes.py::test_shell_completion_lists_choices",
    "tests/cli/commands/test_privatize.py::test_mechanisms_and_metrics",
    "tests/catalogue",
    "tests/cli/commands/audit/test_mechanism.py::test_help",
)


def read_files():
    """Return the files that the section on word mechanisms names, with what it shows of each."""
    section = CONTRIBUTING.split("## A new word mechanism\n")[1].split("\n## A new broken")[0]
    return dict(re.findall(r"^`([^`\n]+)`[^\n`]*:\n\n```\w+\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL))


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a copy of the repository with the four files, compiled code and all, so that nothing compiles again."""
    folder = tmp_path_factory.mktemp("copy")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns(*UNFINISHED))
        else:
            shutil.copy2(source, folder / name)
    files = read_files()
    assert len(files) == 4
    for name, text in files.items():
        assert (folder / name).exists() is (name == REGISTRY)
        with (folder / name).open("a", encoding="utf-8") as file:
            file.write(text)
    (folder / "space.txt").write_text(
        "".join(f"{word} {n} {n * n % 7}\n" for n, word in enumerate(["the", "cat", "a", "dog"]))
    )
    (folder / "in.csv").write_text("text\nthe cat\na dog\n")
    return folder


def run(folder, *command):
    """Run a command in the copy, of whose package it makes use, and return what it prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (folder / "src", folder))), "COLUMNS": "400"}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def deniable(folder, *arguments):
    """Run the copy's command line."""
    return run(folder, "-c", "from deniable.cli.start import run; run()", *arguments)


def test_tests_take_notice(copy):
    """In the copy the new mechanism passes its contract, and no test of names, choices or help misses it."""
    printed = run(copy, *PYTEST, "-x", "-k", "not glove", *NOTICING_TESTS)
    assert " passed" in printed or "100%" in printed


def test_commands_take_notice(copy):
    """The copy's commands explain, privatize, verify and offer the new mechanism."""
    where = ("--space", "space.txt", "--epsilon", "2")
    assert deniable(copy, "explain", "cat", "--mechanism", "plain", *where).startswith("plain, 2-metric-DP")
    deniable(copy, "privatize", "in.csv", "--mechanism", "plain", "--output", "out.csv", *where)
    assert '"name": "plain"' in (copy / "out.csv.certificate.json").read_text(encoding="utf-8")
    assert "\nproved: claimed epsilon 2" in deniable(copy, "audit", "mechanism", "plain", *where)
    for command in (["tune"], ["privatize"], ["audit", "mechanism"], ["explain"]):
        assert re.search(r"truncated-gumbel,? (or )?plain", deniable(copy, *command, "--help"))


def test_python_takes_notice(copy):
    """The class is a public name of the copy, and its name makes it."""
    program = "import deniable as dn; s = dn.Space.load('space.txt'); print(dn.mechanism('plain', s, epsilon=2.0))"
    assert run(copy, "-c", program).startswith("PlainExponential(Space(5 words, steps")
    assert "PlainExponential" in run(copy, "-c", "import deniable as dn; print(dn.__all__)")


def test_docs_take_notice(copy):
    """The docs build without a complaint, with the page in the navigation and in the table of all mechanisms."""
    run(copy, "-m", "zensical", "build", "--clean", "--strict")
    overview = (copy / "site" / "mechanisms" / "index.html").read_text(encoding="utf-8")
    table = overview[overview.index("<table") : overview.index("</table>")]
    assert "plain_exponential/" in table
    assert "proved, Theorem 6, and by computation" in table
    assert re.search(r'href="[./]*plain_exponential/" class="md-nav__link', overview)


@pytest.mark.parametrize("name", [name for name in read_files() if name.startswith(("tests/", "docs/"))])
def test_a_missing_file_is_noticed(copy, name):
    """Without its contract test or its page, a mechanism of the registry fails the tests of the registry."""
    (copy / name).rename(copy / "aside")
    try:
        with pytest.raises(AssertionError, match=r"test_every_mechanism_has_a_(contract_test|page)"):
            run(copy, *PYTEST, "-k", "every_mechanism_has", "tests/registry/test_words.py")
    finally:
        (copy / "aside").rename(copy / name)
