"""``deniable audit``: one command for each kind of claimant."""

from deniable.cli.commandline import add_command, make_group
from deniable.cli.commands.audit.callable import run_audit_callable
from deniable.cli.commands.audit.command import run_audit_command
from deniable.cli.commands.audit.lm import run_audit_lm
from deniable.cli.commands.audit.mechanism import run_audit_mechanism
from deniable.cli.commands.audit.outputs import run_audit_outputs
from deniable.cli.commands.audit.sampler import run_audit_sampler
from deniable.cli.commands.audit.sensitivity import run_audit_sensitivity
from deniable.cli.commands.audit.training import run_audit_training
from deniable.cli.commands.audit.zoo import run_audit_zoo

group = make_group("Test a privacy claim: by exact computation if the probabilities are known, otherwise by sampling.")
add_command(group, "mechanism", run_audit_mechanism)
add_command(group, "callable", run_audit_callable)
add_command(group, "command", run_audit_command)
add_command(group, "outputs", run_audit_outputs)
add_command(group, "training", run_audit_training)
add_command(group, "lm", run_audit_lm)
add_command(group, "sensitivity", run_audit_sensitivity)
add_command(group, "sampler", run_audit_sampler)
add_command(group, "zoo", run_audit_zoo)
