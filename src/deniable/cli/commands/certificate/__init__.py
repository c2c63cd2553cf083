"""``deniable certificate``: what is done with the certificates of others."""

from deniable.cli.commandline import add_command, make_group
from deniable.cli.commands.certificate.check import run_certificate_check

group = make_group("Check the certificate of a release.")
add_command(group, "check", run_certificate_check)
