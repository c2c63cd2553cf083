"""``deniable certificate``: what is done with the certificates of others."""

from deniable.cli.certificate.check import run_certificate_check
from deniable.cli.options import add_command, make_group

group = make_group("Check the certificate of a release.")
add_command(group, "check", run_certificate_check)
