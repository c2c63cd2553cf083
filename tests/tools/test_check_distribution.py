"""The check of the files that a release uploads; `.ci/run` runs it whole."""

import stat
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tool(monkeypatch):
    """Return the tool, which is a script and no package."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    import check_distribution

    return check_distribution


NAMES = ("README.md", "src/deniable/__init__.py", "src/deniable/py.typed")
INFORMATION = ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")


def write_distributions(folder, surplus_of_wheel=(), surplus_of_source=()):
    """Write a wheel and a source distribution of three tracked files, with more if asked."""
    wheel, source = folder / "deniable-0.1.0-py3-none-any.whl", folder / "deniable-0.1.0.tar.gz"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in ("deniable/__init__.py", "deniable/py.typed", *surplus_of_wheel):
            archive.writestr(name, "")
        for name in INFORMATION:
            archive.writestr(f"deniable-0.1.0.dist-info/{name}", "")
    with tarfile.open(source, "w:gz") as archive:
        for name in (*NAMES, "PKG-INFO", *surplus_of_source):
            archive.addfile(tarfile.TarInfo(f"deniable-0.1.0/{name}"))
    return [wheel, source]


def test_distributions_of_the_tracked_files_pass(tool, tmp_path):
    """A wheel and a source distribution that hold the tracked files, and their description, are fine."""
    tool.check_contents(write_distributions(tmp_path), NAMES)


@pytest.mark.parametrize(
    ("surplus", "name"),
    [
        ({"surplus_of_wheel": ["deniable/__pycache__/x.pyc"]}, "deniable/__pycache__/x.pyc"),
        ({"surplus_of_wheel": ["tests/test_x.py"]}, "tests/test_x.py"),
        ({"surplus_of_source": ["notes.txt"]}, "notes.txt"),
    ],
)
def test_a_file_too_much_is_named(tool, tmp_path, surplus, name):
    """A cache, a test in the wheel or an untracked file in the source distribution must not be published."""
    with pytest.raises(tool.CheckError, match=name):
        tool.check_contents(write_distributions(tmp_path, **surplus), NAMES)


def test_a_missing_file_is_named(tool, tmp_path):
    """A tracked file of the package that the wheel lacks is named."""
    with pytest.raises(tool.CheckError, match=r"lacks \['deniable/data.txt'\]"):
        tool.check_contents(write_distributions(tmp_path), (*NAMES, "src/deniable/data.txt"))


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX systems")
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_copies_have_the_permissions_of_their_umask(tool, tmp_path, umask, mode):
    """Two builders read files of the same content with different permissions; a program stays one."""
    tool.copy_files(["README.md", ".ci/run"], tmp_path, umask)
    assert (tmp_path / "README.md").read_bytes() == (ROOT / "README.md").read_bytes()
    assert stat.S_IMODE((tmp_path / "README.md").stat().st_mode) == mode
    assert stat.S_IMODE((tmp_path / ".ci" / "run").stat().st_mode) == mode | (mode >> 2 & 0o111)


def test_the_first_command_is_the_readmes(tool):
    """What runs with the installed wheel is what the README's readers run first."""
    command = tool.read_first_command()
    assert command.startswith("deniable privatize examples/reviews.csv ")
    assert command.endswith(" --output private.csv")


def test_pythons_that_cannot_run_are_not_found(tool, tmp_path, monkeypatch):
    """This Python is found; a version that is not there, or only as a program that fails, is not."""
    assert tool.find_python(f"{sys.version_info.major}.{sys.version_info.minor}") == sys.executable
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tool.find_python("3.99") is None
    broken = tmp_path / "python3.98"
    broken.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    broken.chmod(0o755)
    assert tool.find_python("3.98") is None


def test_a_failed_command_says_what_it_printed(tool, tmp_path):
    """The message names the command and holds its output."""
    with pytest.raises(tool.CheckError, match=r"(?s)raise SystemExit.*failed:\nseen"):
        tool.run([sys.executable, "-c", "print('seen'); raise SystemExit(3)"], tmp_path)
