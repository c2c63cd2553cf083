"""``deniable model``: what is done with the language models of others."""

from deniable.cli.commandline import add_command, make_group
from deniable.cli.commands.model.check import run_model_check

group = make_group("Check a language model before it writes texts.")
add_command(group, "check", run_model_check)
