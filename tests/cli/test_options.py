"""Options across commands: one meaning for each name, and names that can be listed."""

import enum

import typer

from deniable.cli import options
from deniable.cli.choices import NoiseLaw
from deniable.cli.main import app

PURPOSES = {
    "--epsilon": {"budget"},
    "--seed": {"seed"},
    "--test-seed": {"not private"},
    "--output": {"write", "table,", "json file", "model file", "synthetic table"},
    "--kind": {"kind of model"},
    "--mechanism-epsilon": {"epsilon of --mechanism"},
    "--limit": {"maximum number of"},
    "--max-tokens": {"maximum number of tokens"},
    "--json": {"print the result as json"},
}
"""Of each option some words, one of which its help has in every command."""


def commands():
    """Return every command by its name, such as "train image"."""
    root = typer.main.get_command(app)
    found = {}
    for name, command in root.commands.items():
        if hasattr(command, "commands"):
            found |= {f"{name} {inner}": leaf for inner, leaf in command.commands.items()}
        else:
            found[name] = command
    return found


def test_one_meaning_for_each_option():
    """An option of one name is about one thing in every command."""
    for name, command in commands().items():
        for parameter in command.params:
            for option in set(parameter.opts) & set(PURPOSES):
                assert any(words in parameter.help.lower() for words in PURPOSES[option]), (name, option)


def test_every_option_has_a_sentence():
    """Every option and argument has a help text that begins with a capital and ends as a sentence does."""
    for name, command in commands().items():
        for parameter in command.params:
            help_text = getattr(parameter, "help", None)
            assert help_text, (name, parameter.name)
            assert help_text[0].isupper() or help_text.startswith(("JSON", "DP-SGD")), (name, parameter.name)
            assert help_text.rstrip(")").endswith("."), (name, parameter.name)


def test_no_page_is_too_long():
    """No command has more than 40 options."""
    assert max(len(command.params) for command in commands().values()) <= 40


def test_options_that_were_given():
    """What stands on the command line is listed by its first name, defaults and arguments are not."""
    command = commands()["compare"]
    arguments = ["t.csv", "--report", "r.html", "--label", "kind", "--folds", "5", "--force"]
    context = command.make_context("compare", arguments)
    assert options.list_given_options(context) == {
        "--report": "r.html",
        "--label": "kind",
        "--folds": 5,
        "--force": True,
    }


def test_names_that_are_many():
    """Of many names the first are shown, with the number of the others."""
    assert options.format_names(["a", "b"]) == "a, b"
    assert options.format_names([str(number) for number in range(1_012)]).endswith("8, 9 and 1,002 more")


def test_choices_in_words():
    """Choices are listed as a sentence lists them."""
    assert options.list_choices(NoiseLaw) == "gaussian or laplace"
    assert options.list_choices(enum.StrEnum("Three", "x y z")) == "x, y or z"


def test_suggestions():
    """A name close to a known one brings it up, any other none."""
    assert options.suggest_name("Temm", ["tem", "tight"]) == "Did you mean 'tem'?"
    assert options.suggest_name("xxxxx", ["tem", "tight"]) == ""
