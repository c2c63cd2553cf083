"""``deniable attack``: one command for each kind of model."""

from deniable.cli.commandline import add_command, make_group
from deniable.cli.commands.attack.image import run_attack_image
from deniable.cli.commands.attack.text import run_attack_text

group = make_group("Attack a model, and measure how often its predictions change.")
add_command(group, "image", run_attack_image)
add_command(group, "text", run_attack_text)
