"""Check the files that a release uploads: the wheel and the source distribution.

Both are built twice, in two folders with other names, times, permissions and time zones, and must agree to the last
byte. They must hold the tracked files and no other, and describe themselves in a way that a package index can show.
Then the wheel is installed in a fresh environment of each supported Python on this machine, and the README's first
command is run with it, away from the checkout.

    pip install build twine
    python tools/check_distribution.py [--output FOLDER] [--python 3.12 ...]
"""

import argparse
import dataclasses
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13")


@dataclasses.dataclass(frozen=True)
class Builder:
    """One who builds the distributions.

    Attributes:
        folder: name of the folder of the copy.
        umask: which permissions new files lack.
        environment: time zone and locale.
    """

    folder: str
    umask: int
    environment: Mapping[str, str]


BUILDERS = (
    Builder("a", 0o022, {"TZ": "UTC", "LC_ALL": "C"}),
    Builder("a longer name", 0o077, {"TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8"}),
)


class CheckError(Exception):
    """A distribution that must not be published; the message says why."""


def run(
    command: Sequence[str | Path], folder: Path, environment: Mapping[str, str] | None = None, umask: int = -1
) -> str:
    """Run a command and return what it prints.

    Raises:
        CheckError: the command failed; what it printed follows.
    """
    # The caller's source folders and settings decide nothing.
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "DENIABLE_"))}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**inherited, **(environment or {})},
        umask=umask,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CheckError(f"{shlex.join(map(str, command))} failed:\n{done.stdout}")
    return done.stdout


def list_tracked_files() -> list[str]:
    """Return the files that git tracks, as paths relative to the repository."""
    names = run(["git", "ls-files", "-z"], ROOT).split("\0")
    return sorted(name for name in names if name and (ROOT / name).is_file())


def build_distributions(folder: Path, names: Sequence[str]) -> list[Path]:
    """Build both distributions as each builder would, and return the files of the first one.

    The wheel is built from the source distribution, as an installer without the wheel would.

    Raises:
        CheckError: the builds differ.
    """
    epoch = run(["git", "log", "-1", "--format=%ct"], ROOT).strip()
    outputs = []
    for builder in BUILDERS:
        checkout, output = folder / builder.folder / "checkout", folder / builder.folder / "dist"
        copy_files(names, checkout, builder.umask)
        environment = {**builder.environment, "SOURCE_DATE_EPOCH": epoch}
        run([sys.executable, "-m", "build", "--outdir", output, "."], checkout, environment, builder.umask)
        outputs.append(sorted(output.iterdir()))
    digests = [{path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths} for paths in outputs]
    if digests[0] != digests[1]:
        raise CheckError(f"two builds of one commit differ: {digests[0]} and {digests[1]}")
    for name, digest in digests[0].items():
        print(f"{digest}  {name}")
    return outputs[0]


def copy_files(names: Sequence[str], checkout: Path, umask: int) -> None:
    """Copy tracked files with new times, and the permissions that git would give them under a umask."""
    for name in names:
        target = checkout / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
        is_program = (ROOT / name).stat().st_mode & 0o100
        target.chmod((0o777 if is_program else 0o666) & ~umask)


def check_contents(distributions: Sequence[Path], names: Sequence[str]) -> None:
    """Check that the distributions hold the tracked files, and nothing else but their own description.

    Raises:
        CheckError: a file is missing or too much.
    """
    wheel, source = find_distribution(distributions, ".whl"), find_distribution(distributions, ".tar.gz")
    package = {name.removeprefix("src/") for name in names if name.startswith("src/deniable/")}
    with zipfile.ZipFile(wheel) as archive:
        wheel_names = set(archive.namelist())
    information = f"{wheel.name.rsplit('-', 3)[0]}.dist-info"
    described = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
    compare_names(wheel.name, wheel_names, package | {f"{information}/{name}" for name in described})
    with tarfile.open(source) as archive:
        source_names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    compare_names(source.name, source_names, {*names, "PKG-INFO"})


def compare_names(distribution: str, present: set[str], expected: set[str]) -> None:
    """Raise `CheckError` where a distribution lacks files, or has some that it should not have."""
    if present != expected:
        missing, surplus = sorted(expected - present), sorted(present - expected)
        raise CheckError(f"{distribution} lacks {missing} and should not have {surplus}")
    print(f"{distribution} holds {len(present):,} files, all of them tracked")


def find_distribution(distributions: Sequence[Path], suffix: str) -> Path:
    """Return the one distribution of a kind."""
    (path,) = (path for path in distributions if path.name.endswith(suffix))
    return path


def check_description(distributions: Sequence[Path]) -> None:
    """Check that an index can show the description, and that the changelog knows the version.

    Raises:
        CheckError: it cannot, or does not.
    """
    print(run([sys.executable, "-m", "twine", "--no-color", "check", "--strict", *distributions], ROOT).strip())
    version = find_distribution(distributions, ".whl").name.split("-")[1]
    if f"\n## {version}" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        raise CheckError(f"CHANGELOG.md has no heading for version {version}")


def find_python(version: str) -> str | None:
    """Return the program of a Python version, or None where this machine cannot run it."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable
    program = shutil.which(f"python{version}")
    if (
        program is None
        or subprocess.run([program, "-m", "ensurepip", "--version"], capture_output=True, check=False).returncode
    ):
        return None
    return program


def check_installation(wheel: Path, python: str, folder: Path) -> None:
    """Install the wheel in a fresh environment and run the README's first command with it.

    Raises:
        CheckError: an installed package lacks another, or the command fails or writes something else.
    """
    folder.mkdir()
    run([python, "-m", "venv", folder / "venv"], folder)
    programs = next(path for path in (folder / "venv" / "bin", folder / "venv" / "Scripts") if path.is_dir())
    run([programs / "python", "-m", "pip", "install", "--quiet", wheel], folder)
    run([programs / "python", "-m", "pip", "check"], folder)
    (folder / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "reviews.csv", folder / "examples")
    program, *arguments = shlex.split(read_first_command())
    printed = run([programs / program, *arguments], folder, {"DENIABLE_CACHE": str(folder / "cache")})
    output = (folder / arguments[-1]).read_text(encoding="utf-8")
    original = (ROOT / "examples" / "reviews.csv").read_text(encoding="utf-8")
    if "(proved)" not in printed or output == original or output[:40] != original[:40]:
        raise CheckError(f"the README's first command printed\n{printed}")


def read_first_command() -> str:
    """Return the README's first command, without the installation before it."""
    block = re.search(r"^```sh\n(.*?)\n", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    if block is None or " && " not in block[1]:
        raise CheckError("the README's first block of commands does not install the package and run it")
    return block[1].partition(" && ")[2]


def check_all(pythons: Sequence[str], output: Path | None) -> None:
    """Run every check, and copy the checked files to a folder if one is named.

    Raises:
        CheckError: what a release must not have.
    """
    names = list_tracked_files()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        distributions = build_distributions(folder, names)
        check_contents(distributions, names)
        check_description(distributions)
        for version in pythons:
            python = find_python(version)
            if python is None:
                print(f"Python {version}: skipped, no working python{version} with ensurepip is on PATH")
                continue
            check_installation(find_distribution(distributions, ".whl"), python, folder / version)
            print(f"Python {version}: installed, and the README's first command ran")
        if output is not None:
            output.mkdir(parents=True, exist_ok=True)
            for path in distributions:
                shutil.copy(path, output)


def main() -> None:
    """Read the options and run the checks."""
    parser = argparse.ArgumentParser(description="Build the distributions twice, and check and install them.")
    parser.add_argument("--output", type=Path, help="Folder that the checked distributions are copied to.")
    parser.add_argument("--python", nargs="*", choices=PYTHONS, default=PYTHONS, help="Versions to install on.")
    options = parser.parse_args()
    try:
        check_all(options.python, options.output)
    except CheckError as failure:
        sys.exit(f"error: {failure}")


if __name__ == "__main__":
    main()
