"""The pages of docs/reference say what the program is."""

from pathlib import Path

import pytest
import typer

import deniable as dn
from tools.reference.__main__ import FOLDER, list_stale_pages
from tools.reference.certificate import Field, assign_checks, describe_certificates
from tools.reference.commands import describe_commands, list_commands
from tools.reference.python_names import describe_python
from tools.reference.routes import describe_routes

STALE = "out of date: run python -m tools.reference"


@pytest.mark.parametrize(
    ("name", "describe"),
    [
        ("commands.md", describe_commands),
        ("http.md", lambda: describe_routes(Path(__file__).parents[2] / "docs" / "openapi.json")),
        pytest.param("certificate.md", describe_certificates, marks=pytest.mark.deep),
    ],
)
def test_a_page_is_what_the_program_says(name, describe):
    """Each page is what its generator writes; that of certificates issues three of them."""
    if name == "certificate.md":
        pytest.importorskip("torch", reason="torch is not installed: pip install 'deniable[train]'")
    assert (FOLDER / name).read_text("utf-8") == describe(), STALE


def test_python_pages_are_whole():
    """Every public name has its place, and no other page lies in the folder."""
    pages = describe_python()
    assert list_stale_pages(pages, FOLDER / "python") == [], STALE
    text = "\n".join(pages.values())
    for name in ("Ledger", "BudgetExceeded", "laws.Law", "measure.measure_recovery"):
        assert f"::: deniable.{name}\n" in text


def test_every_option_of_the_program():
    """Arguments, short names, switches, choices and defaults are read as help shows them."""
    commands = {command.name: command for command in list_commands()}
    privatize = commands["privatize"]
    options = {option.names[0]: option for option in privatize.options}
    assert [argument.names for argument in privatize.arguments] == [("INPUT",)]
    assert options["--output"].names == ("--output", "-o")
    assert options["--output"].is_required
    assert options["--case"].value == "lower|copy"
    assert options["--case"].default == "`lower`"
    assert options["--force"].value == ""
    assert "certificate check" in commands


def test_examples_of_a_command():
    """Command lines at the end of a command's help are examples on its page."""
    group = typer.Typer()
    group.command("near", help="Print near words.", epilog="Examples:\n\ndeniable near tea\n\ndeniable near rye")(print)
    (command,) = list_commands(group, "space ", "Words")
    assert (command.name, command.panel) == ("space near", "Words")
    assert command.examples == ("deniable near tea", "deniable near rye")


def test_a_field_that_nobody_describes():
    """A new field of a certificate needs a line, a line needs a field, and the most particular line counts."""
    fields = [Field("a", "", "first"), Field("a.b", "", "second")]
    checks = [dn.FieldCheck(path, 1, "stated", "why") for path in ("a.b[0]", "a.c")]
    found = assign_checks(fields, checks)
    assert [check.path for check in found["a.b"]] == ["a.b[0]"]
    with pytest.raises(ValueError, match="does not describe z"):
        assign_checks(fields, [*checks, dn.FieldCheck("z", 1, "stated")])
    with pytest.raises(ValueError, match=r"no certificate has: a\.b"):
        assign_checks(fields, checks[1:])
