"""The ``deniable`` command: its groups of commands."""

import warnings
from collections.abc import Sequence
from typing import Annotated

import typer

from deniable import __version__
from deniable.cli.commandline import HELP_SETTINGS, add_command
from deniable.cli.commands import attack, audit, certificate, certify, ledger, model, train
from deniable.cli.commands.compare import run_compare
from deniable.cli.commands.explain import run_explain
from deniable.cli.commands.key import run_key
from deniable.cli.commands.measure import run_measure
from deniable.cli.commands.predict import run_predict
from deniable.cli.commands.privatize import run_privatize
from deniable.cli.commands.rewrite import run_rewrite
from deniable.cli.commands.serve import run_serve
from deniable.cli.commands.synthesize import run_synthesize
from deniable.cli.commands.tune import run_tune
from deniable.cli.process import run_command
from deniable.cli.progress import watch_command
from deniable.cli.terminal import say

app = typer.Typer(
    help="Private text under metric differential privacy, with a guarantee that is checked.",
    epilog="Start with: deniable privatize reviews.csv --column text --epsilon 2.8 --output private.csv",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,  # a traceback with local variables would show keys and private texts
    context_settings=HELP_SETTINGS,
)
add_command(app, "privatize", run_privatize, "Release")
add_command(app, "rewrite", run_rewrite, "Release")
add_command(app, "synthesize", run_synthesize, "Release")
add_command(app, "serve", run_serve, "Release")
add_command(app, "tune", run_tune, "Check")
add_command(app, "measure", run_measure, "Check")
add_command(app, "compare", run_compare, "Check")
add_command(app, "explain", run_explain, "Check")
app.add_typer(certificate.group, name="certificate", rich_help_panel="Check")
add_command(app, "key", run_key, "Keys and budgets")
app.add_typer(ledger.group, name="ledger", rich_help_panel="Keys and budgets")
app.add_typer(train.group, name="train", rich_help_panel="Models and audits")
add_command(app, "predict", run_predict, "Models and audits")
app.add_typer(certify.group, name="certify", rich_help_panel="Models and audits")
app.add_typer(attack.group, name="attack", rich_help_panel="Models and audits")
app.add_typer(model.group, name="model", rich_help_panel="Models and audits")
app.add_typer(audit.group, name="audit", rich_help_panel="Models and audits")


def _print_version(is_requested: bool) -> None:  # noqa: FBT001 - typer's callback
    if is_requested:
        say(f"deniable {__version__}")
        raise typer.Exit


@app.callback()
def _read_global_options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Take the options that stand before the command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; see `deniable.cli.process`."""
    # Remarks of libraries on how they compute; what a user must know is said in one line.
    warnings.filterwarnings("ignore", module="sklearn")
    command = typer.main.get_command(app)

    def call() -> int | None:
        with watch_command():
            result: int | None = command.main(
                None if arguments is None else list(arguments), "deniable", standalone_mode=False
            )
            return result

    return run_command(call)
