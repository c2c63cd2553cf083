"""``deniable certify``: one command for each kind of model."""

from deniable.cli.commandline import add_command, make_group
from deniable.cli.commands.certify.image import run_certify_image
from deniable.cli.commands.certify.text import run_certify_text

group = make_group("Certify how far the predictions of a model are safe from attacks.")
add_command(group, "image", run_certify_image)
add_command(group, "text", run_certify_text)
