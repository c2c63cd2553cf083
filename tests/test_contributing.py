"""What CONTRIBUTING says of new mechanisms and commands: in a copy of this repository their files are all they need."""

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
LINES_BEFORE = {
    "src/deniable/registry.py": (
        '        "truncated-gumbel": "deniable.published.truncated_gumbel.mechanism:TruncatedGumbel",\n'
    ),
    "src/deniable/cli/main.py": 'add_command(app, "explain", run_explain, "Check")\n',
    "tests/catalogue/expected.txt": "# deniable explain\n",
}
"""File -> the line after which the new one stands."""
COMMAND_IMPORT = "from deniable.cli.commands.explain import run_explain\n"
"""Below which the new command's import stands."""
NOTICING_TESTS = (
    "tests/words/test_plain_exponential.py",
    "tests/test_registry.py",
    "tests/cli/test_options.py",
    "tests/test_package.py::test_stub_and_package_agree",
    "tests/test_package.py::test_every_public_name_resolves",
    "tests/test_package.py::test_public_members_are_documented",
    "tests/cli/test_processes.py::test_shell_completion_lists_choices",
    "tests/cli/commands/test_privatize.py::test_mechanisms_and_metrics",
    "tests/catalogue",
    "tests/cli/commands/audit/test_mechanism.py::test_help",
    "tests/cli/test_main.py",
)


def read_files():
    """Return the files that the sections on word mechanisms and commands name, with what they show of each."""
    section = CONTRIBUTING.split("## A new word mechanism\n")[1].split("\n## A new broken")[0]
    return dict(re.findall(r"^`([^`\n]+)`[^\n`]*:\n\n```\w+\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL))


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a copy of the repository with those files, compiled code and all, so that nothing compiles again."""
    folder = tmp_path_factory.mktemp("copy")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns(*UNFINISHED))
        else:
            shutil.copy2(source, folder / name)
    files = read_files()
    assert len(files) == 6
    for name, text in files.items():
        assert (folder / name).exists() is (name in LINES_BEFORE)
        if name in LINES_BEFORE:
            whole, line = (folder / name).read_text(encoding="utf-8"), LINES_BEFORE[name]
            assert line in whole
            whole = whole.replace(COMMAND_IMPORT, COMMAND_IMPORT + COMMAND_IMPORT.replace("explain", "near"))
            text = whole.replace(line, line + text)  # noqa: PLW2901 - the whole file
        (folder / name).write_text(text, encoding="utf-8")
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
    """Its name makes the mechanism of the copy."""
    program = "import deniable as dn; s = dn.Space.load('space.txt'); print(dn.mechanism('plain', s, epsilon=2.0))"
    assert run(copy, "-c", program).startswith("PlainExponential(Space(5 words, steps")


def test_a_missing_test_is_noticed(copy):
    """Without its contract test, a mechanism of the registry fails the tests of the registry."""
    name = "tests/words/test_plain_exponential.py"
    (copy / name).rename(copy / "aside")
    try:
        with pytest.raises(AssertionError, match="test_every_mechanism_has_a_contract_test"):
            run(copy, *PYTEST, "-k", "every_mechanism_has", "tests/test_registry.py")
    finally:
        (copy / "aside").rename(copy / name)


def test_a_command_is_one_file_and_one_line(copy):
    """The copy has the new command, with its help, its options and its refusal."""
    printed = deniable(copy, "near", "cat", "--space", "space.txt", "--metric", "euclidean", "-n", "2")
    assert [line.split()[0] for line in printed.splitlines()] == ["the", "dog"]
    assert deniable(copy, "near", "cat", "--space", "space.txt", "--farthest", "0") == ""
    assert re.search(r"--count +-n .*Number of words to print\..*\[default: 12\]", deniable(copy, "near", "--help"))
    with pytest.raises(AssertionError, match=r"deniable: --farthest must be at least 0\. Got -1\.0\."):
        deniable(copy, "near", "cat", "--farthest", "-1")
