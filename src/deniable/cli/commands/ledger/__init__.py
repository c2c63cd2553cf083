"""``deniable ledger``: what each person has spent, over all releases."""

from deniable.cli.commandline import add_command, make_group
from deniable.cli.commands.ledger.check import run_ledger_check
from deniable.cli.commands.ledger.create import run_ledger_create
from deniable.cli.commands.ledger.export import run_ledger_export
from deniable.cli.commands.ledger.show import run_ledger_show

group = make_group("Count what each person has spent over all releases, and refuse what exceeds a budget.")
add_command(group, "create", run_ledger_create)
add_command(group, "show", run_ledger_show)
add_command(group, "check", run_ledger_check)
add_command(group, "export", run_ledger_export)
