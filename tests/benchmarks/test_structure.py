"""The counts of `benchmarks/structure.py`, on a toy tree that is counted by hand."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "structure.py"

FILES = {
    "src/deniable/__init__.py": '"""Toy."""\n',
    "src/deniable/core/__init__.py": '"""Core."""\n',
    "src/deniable/core/laws.py": '''"""Laws."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from deniable.core.rows import Row

LIMIT = 3


class Scorer(Protocol):
    """Scores."""

    def score_rows(self) -> int:
        """Return it."""


class Law:
    """A law."""

    def __init__(self) -> None:
        self.size = 1

    @property
    def found(self) -> int:
        """Not a method."""
        return 1

    def count_rows(self) -> int:
        """Return it."""
        return self.size

    def score_rows(self) -> int:
        return 1


def found(row: "Row") -> int:
    def inner() -> None:
        pass

    return 1


def _read_seed() -> None:
    pass
''',
    "src/deniable/core/rows.py": '''"""Rows."""

from deniable.core import laws
from deniable.core.laws import Law

LIMIT: int = 4


class Row(Law):
    """A row."""

    def count_rows(self) -> int:
        """Override."""
        return laws.LIMIT


class Table:
    """A table."""

    def count_rows(self) -> int:
        """Count again."""
        return 2

    def score_rows(self) -> int:
        """As the protocol asks."""
        return 2


def seed_rows() -> None:
    """Long."""
'''
    + "    x = 1\n" * 49,
    "src/deniable/core/codes.py": '"""Constants alone."""\n\nCODE = 1\n',
    "src/deniable/studies/old.py": '"""A study."""\n\nLIMIT = 5\n',
    "studies/new.py": "x = 1\n\n\n",
    "tests/core/test_laws.py": "def test_found():\n    pass\n",
    "tests/core/test_rows.py": "ROWS = 1\n",
}


@pytest.fixture(scope="module")
def structure():
    """Return the script as a module."""
    spec = importlib.util.spec_from_file_location("benchmark_structure", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path):
    """Return a toy tree."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.fixture
def measured(structure, checkout):
    """Return the rows of the table by name, and the lists by title."""
    rows, lists = structure.measure_structure(checkout)
    return dict(rows), dict(lists)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("studies: lines, files", "6, 2"),
        # LIMIT of LIMIT, Scorer, Law, found, Row, Table, seed_rows, CODE; TYPE_CHECKING's import is no definition
        ("public names defined in two modules or more", "12.5 % (1 of 8)"),
        # count_rows is defined by Law and by Table; Row's is an override, and score_rows is a protocol's
        ("public methods defined in two classes or more", "100.0 % (1 of 1)"),
        ("one-word names of functions", "33.3 % (1 of 3)"),
        ("one-word names of methods", "0.0 % (0 of 6)"),
        ("participle names of functions", "33.3 % (1 of 3)"),
        ("functions over 50 lines", "8.3 % (1 of 12)"),
        ("functions over 50 lines without their docstrings", "0.0 % (0 of 12)"),
        ("modules with a test at the mirrored path", "50.0 % (1 of 2)"),
        ("import circles", "none"),
        ("the same, inside functions and for type checking too", "1, of 2 modules"),
    ],
)
def test_counts(measured, name, value):
    """Every count is the one made by hand."""
    assert measured[0][name] == value


def test_places(measured, checkout):
    """The lists name what the counts count."""
    rows, lists = measured
    assert rows["longest function"] == f"51 lines, {checkout}/src/deniable/core/rows.py:29 seed_rows"
    assert lists["public names defined in two modules or more"] == ["LIMIT: deniable.core.laws, deniable.core.rows"]
    assert lists["participle names"] == ["found"]
    assert lists["modules without a test at the mirrored path"] == ["core/rows.py"]
    assert lists["public definitions without a docstring"] == [
        "deniable.core.laws.Law.score_rows",
        "deniable.core.laws.found",
    ]
    assert list(lists.values())[-1] == ["deniable.core.laws, deniable.core.rows"]


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("found", True), ("_held_rows", True), ("privatized", True), ("made", True), ("counting_rows", True),
        ("read", False), ("split_rows", False), ("seed", False), ("open", False), ("sample_drawn", False),
        ("string_length", False), ("send", False),
    ],
)  # fmt: skip
def test_participles(structure, name, is_one):
    """First words that are participles count; imperatives and nouns of the same form do not."""
    assert structure.is_participle(name) is is_one


def test_circles_are_components(structure):
    """Modules that reach each other are one circle, however many ways there are; a chain is none."""
    imports = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}, "g": set()}
    assert structure.find_circles(imports) == [["a", "b", "c"], ["d", "e"]]


def test_relative_and_inner_imports(structure, tmp_path):
    """Relative imports are resolved, names of a module are no modules, and those in functions count on request."""
    root = tmp_path / "p"
    root.mkdir()
    (root / "__init__.py").write_text("from . import a\n")
    (root / "a.py").write_text("from .b import x\n\n\ndef f():\n    import p.c\n")
    (root / "b.py").write_text("x = 1\n")
    (root / "c.py").write_text("from p import b\n")
    modules = {module.name: module for module in structure.read_modules(root, "p")}
    names = frozenset(modules)
    assert names == {"p", "p.a", "p.b", "p.c"}
    assert structure.list_imports(modules["p"], names, everywhere=False) == {"p.a"}
    assert structure.list_imports(modules["p.a"], names, everywhere=False) == {"p.b"}
    assert structure.list_imports(modules["p.a"], names, everywhere=True) == {"p.b", "p.c"}
    assert structure.list_imports(modules["p.c"], names, everywhere=False) == {"p.b"}


def test_a_folder_that_is_no_checkout(structure, tmp_path):
    """A folder without the package is refused in one line."""
    with pytest.raises(SystemExit, match="name the folder of a checkout"):
        structure.measure_structure(tmp_path)
