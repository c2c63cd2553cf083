"""The package: its public names, and how little importing it takes."""

import ast
import dataclasses
import importlib
import importlib.metadata
import importlib.resources
import inspect
import subprocess
import sys
import types
from pathlib import Path

import pytest

import deniable as dn

EXTRAS = ("torch", "transformers", "gguf", "dp_accounting", "jinja2", "matplotlib", "sklearn", "pyspark", "ray")
UNUSED = ("pyarrow", "pandas", "rich", "typer", *EXTRAS)
HEAVY = ("numba", "scipy", "randomgen", "threadpoolctl", *UNUSED)
SOURCE = Path(dn.__file__).parent
STUBS = sorted(SOURCE.rglob("*.pyi"))


def python(program):
    """Run a program in a fresh interpreter, with warnings as errors, and return what it prints."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True, timeout=60
    ).stdout.strip()


def test_import_takes_nothing_heavy():
    """``import deniable`` loads nothing heavier than NumPy, and none of the package's own modules."""
    loaded = python("import sys, deniable; print(*sys.modules)").split()
    assert "deniable" in loaded
    assert not set(HEAVY) & set(loaded)
    assert [name for name in loaded if name.startswith("deniable.")] == []


@pytest.mark.parametrize(
    ("name", "module", "light_of"),
    [
        ("Guarantee", "core.guarantees", HEAVY),
        ("InputError", "core.errors", HEAVY),
        ("Verdict", "core.guarantees", HEAVY),
        ("Witness", "core.guarantees", HEAVY),
        ("Space", "space", UNUSED),
        ("audit", "auditing", UNUSED),
        ("Laplace", "vectors", ("numba", "scipy", *UNUSED)),
        ("verify", "auditing", UNUSED),
    ],
)
def test_name_loads_only_what_it_needs(name, module, light_of):
    """A name that needs no compiled loops, tables or command line loads none of them."""
    loaded = python(f"import sys, deniable; deniable.{name}; print(*sys.modules)").split()
    assert f"deniable.{module}" in loaded
    assert not set(light_of) & set(loaded)


@pytest.mark.parametrize(
    "program",
    [
        "import deniable.models",
        "import studies",
        "import deniable.cli.main",
        "from deniable.cli.main import app; from typer.testing import CliRunner; CliRunner().invoke(app, ['--help'])",
    ],
)
def test_extras_are_loaded_by_what_needs_them_only(program):
    """Neither the front door of the room of models, nor the studies, nor the help of the command line load an extra."""
    loaded = python(f"import sys\n{program}\nprint(*sys.modules)").split()
    assert "deniable" in loaded
    assert not set(EXTRAS) & set(loaded)


def read_stub(stub):
    """Return the names that a stub imports, each with the dotted name of what it stands for."""
    package = ".".join(("deniable", *stub.parent.relative_to(SOURCE).parts))
    imports = [node for node in ast.parse(stub.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]
    assert all(node.level == 1 for node in imports)
    names = {
        alias.asname: ".".join(filter(None, (package, node.module, alias.name)))
        for node in imports
        for alias in node.names
    }
    return package, names


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.parent.name)
def test_stub_and_package_agree(stub):
    """What a type checker reads in a stub is what the package has: the same names, for the same things."""
    package, names = read_stub(stub)
    module = importlib.import_module(package)
    assert sorted(names) == sorted(module.__all__) == dir(module)
    for name, target in names.items():
        value = getattr(module, name)
        found = value.__name__ if isinstance(value, types.ModuleType) else f"{value.__module__}.{value.__qualname__}"
        assert found == target


def test_every_lazy_package_has_a_stub():
    """Each package whose names are imported when they are used has a stub, without which it could not be imported."""
    lazy = {
        path.with_suffix(".pyi") for path in SOURCE.rglob("*.py") if "= lazy_loader.attach" in path.read_text("utf-8")
    }
    assert lazy == set(STUBS)


@pytest.mark.parametrize("name", dn.__all__)
def test_every_public_name_resolves(name):
    """Each public name is a documented class, function or module of the package, under its own name."""
    value = getattr(dn, name)
    assert inspect.isclass(value) or inspect.isfunction(value) or inspect.ismodule(value)
    assert value.__name__.rpartition(".")[2] == name
    assert not inspect.ismodule(value) or value.__name__.startswith("deniable.")
    assert (value.__name__ if inspect.ismodule(value) else value.__module__).startswith("deniable.")
    assert inspect.getdoc(value)


@pytest.mark.parametrize("name", [name for name in dn.__all__ if inspect.isclass(getattr(dn, name))])
def test_public_members_are_documented(name):
    """Each public method and property has a docstring of its own or its base's."""
    cls = getattr(dn, name)
    fields = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    kinds = (property, classmethod, staticmethod)
    members = [key for key, value in vars(cls).items() if callable(value) or isinstance(value, kinds)]
    undocumented = [
        key for key in members if key[0] != "_" and key not in fields and not inspect.getdoc(getattr(cls, key))
    ]
    assert undocumented == []


def test_star_import_gives_the_public_names():
    """A star import gives exactly the public names."""
    names = python("from deniable import *; print(*(name for name in dir() if not name.startswith('__')))").split()
    assert sorted(names) == sorted(dn.__all__)


def test_unknown_name_is_an_attribute_error():
    """A name that the package does not have fails as for any module."""
    with pytest.raises(AttributeError):
        dn.nonesuch  # noqa: B018 - the access is the test
    assert not hasattr(dn, "_private")


def test_version_is_the_distribution_version():
    """The version in the code is the one that was installed."""
    assert dn.__version__ == importlib.metadata.version("deniable")
