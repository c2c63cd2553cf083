"""``deniable attack``: one command for each kind of model."""

from deniable.cli.attack.text import run_attack_text
from deniable.cli.options import add_command, make_group

group = make_group("Attack a model, and measure how often its predictions change.")
add_command(group, "text", run_attack_text)


@group.callback()
def _keep_group() -> None:
    """Attack a model, and measure how often its predictions change."""
