"""The ``deniable`` command: one line per error; exit codes 0, 1 (claim refuted, budget exceeded), 2 (could not run)."""

import errno
import os
import re
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated

import typer

from deniable import __version__
from deniable.cli.choices import VerifiedMechanismName
from deniable.cli.commandline import EXIT_COULD_NOT_RUN, EXIT_REFUTED, HELP_SETTINGS, add_command
from deniable.cli.commands import attack, audit, certificate, certify, ledger, train
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
from deniable.cli.memory import is_out_of_memory
from deniable.cli.options import suggest_name
from deniable.cli.outcome import describe_outputs, describe_remedy, forget_outputs, watch_outputs
from deniable.cli.progress import watch_command
from deniable.cli.streams import prepare_streams
from deniable.core.errors import BudgetExceeded, DeniableError, escape_unprintable, is_interruption

_INTERRUPTED = 130
"""What typer returns in place of a KeyboardInterrupt."""
_BROKEN_PIPE = 1
"""With what typer exits where the reader of standard output went away."""
_UNKNOWN_CHOICE = re.compile(
    r"(?P<start>.*: )(?:Value error, )?'(?P<name>[^']*)' is not one of (?P<choices>'.*')\.?", re.DOTALL
)
_UNKNOWN_OPTION = re.compile(r"(?P<start>No such option: (?P<option>--?[\w-]+)).*", re.DOTALL)
_CLAIM_HINT = "The claim of a black box is --claim, not --epsilon."
_OPTION_HINTS = {
    ("deniable audit mechanism", "--claim"): "The claim of a mechanism of this package is its --epsilon.",
    ("deniable audit callable", "--epsilon"): _CLAIM_HINT,
    ("deniable audit command", "--epsilon"): _CLAIM_HINT,
    ("deniable audit outputs", "--epsilon"): _CLAIM_HINT,
}
"""What is meant by an option of a neighbouring command, by the command that lacks it."""
_UNKNOWN_COMMAND = re.compile(r"No such command '(?P<name>[^']*)'.*", re.DOTALL)
_METRIC_HINTS = {"cosine": "Cosine distance is no metric: use angular."}

app = typer.Typer(
    help="Private text under metric differential privacy, with a guarantee that is checked.",
    epilog="Start with: deniable privatize reviews.csv --column text --epsilon 3 --output private.csv",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,  # a traceback with local variables would show keys and private texts
    context_settings=HELP_SETTINGS,
)
add_command(app, "privatize", run_privatize, "Release texts")
add_command(app, "rewrite", run_rewrite, "Release texts")
add_command(app, "synthesize", run_synthesize, "Release texts")
add_command(app, "serve", run_serve, "Release texts")
add_command(app, "key", run_key, "Release texts")
app.add_typer(ledger.group, name="ledger", rich_help_panel="Release texts")
add_command(app, "compare", run_compare, "Choose epsilon")
add_command(app, "tune", run_tune, "Choose epsilon")
add_command(app, "measure", run_measure, "Choose epsilon")
add_command(app, "explain", run_explain, "Choose epsilon")
app.add_typer(audit.group, name="audit", rich_help_panel="Check claims")
app.add_typer(certificate.group, name="certificate", rich_help_panel="Check claims")
app.add_typer(train.group, name="train", rich_help_panel="Models")
add_command(app, "predict", run_predict, "Models")
app.add_typer(certify.group, name="certify", rich_help_panel="Models")
app.add_typer(attack.group, name="attack", rich_help_panel="Models")


def _print_version(is_requested: bool) -> None:  # noqa: FBT001 - typer's callback
    if is_requested:
        typer.echo(f"deniable {__version__}")
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
    """Run the command line and return its exit code.

    Every expected failure is one line on standard error that says what is wrong and how to fix it.
    """
    prepare_streams()
    forget_outputs()
    # Remarks of libraries on how they compute; what a user must know is said in one line.
    warnings.filterwarnings("ignore", module="sklearn")
    command = typer.main.get_command(app)
    try:
        with watch_outputs(), watch_command():
            code = command.main(
                args=None if arguments is None else list(arguments), prog_name="deniable", standalone_mode=False
            )
    except SystemExit as end:
        if end.code == _BROKEN_PIPE:
            return _print_failure(_describe_error(BrokenPipeError()))
        return int(end.code or 0)  # shell completion
    except (DeniableError, OSError, MemoryError) as error:
        is_answer = isinstance(error, BudgetExceeded)
        return _print_failure(_describe_error(error), EXIT_REFUTED if is_answer else EXIT_COULD_NOT_RUN)
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    except BaseException as error:  # noqa: BLE001 - told apart there
        if not is_interruption(error):
            return _handle_unexpected_error(error)
        code = _INTERRUPTED
    if code == _INTERRUPTED:
        return _print_failure(f"interrupted: {describe_outputs()}.")
    return EXIT_REFUTED if code == EXIT_REFUTED else 0


def _describe_error(error: BaseException) -> str:
    if isinstance(error, BudgetExceeded):
        return f"{error} {describe_outputs().capitalize()}."
    if isinstance(error, BrokenPipeError):
        return "the reader of the output went away."
    if isinstance(error, OSError) and error.strerror and error.errno != errno.ENOMEM:
        location = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{location}: {describe_outputs()}.{describe_remedy(error)}"
    if not isinstance(error, DeniableError) and is_out_of_memory(error):
        return (
            f"out of memory: {describe_outputs()}. Give fewer or shorter rows, a smaller vector file, or smaller sizes."
        )
    return str(error)


def _handle_unexpected_error(error: BaseException) -> int:
    """Return the exit code for an error that is none of the package's: wrong usage, or a bug."""
    # The usage errors of typer have no public base class, but one method.
    format_message = getattr(error, "format_message", None)
    if format_message is None:
        if os.environ.get("DENIABLE_TRACEBACK"):
            raise error
        if is_out_of_memory(error):
            return _print_failure(_describe_error(error))
        # Not 1, which says that a claim is refuted.
        return _print_failure(
            f"internal error, {type(error).__name__}: {error}; {describe_outputs()}. Please report it, with what "
            "DENIABLE_TRACEBACK=1 shows."
        )
    context = getattr(error, "ctx", None)
    command_path = getattr(context, "command_path", "deniable")
    message = _describe_usage_error(format_message(), error.__cause__, command_path)
    if not message:  # a command or group without arguments shows its help
        return 0
    return _print_failure(f"{message} See: {command_path} --help")


def _describe_usage_error(message: str, cause: BaseException | None, command_path: str) -> str:
    """Return the message of typer with the value that is wrong, and what was probably meant."""
    unknown_option = _UNKNOWN_OPTION.fullmatch(message)
    if unknown_option is not None:
        hint = _OPTION_HINTS.get((command_path, unknown_option["option"]))
        return message if hint is None else f"{unknown_option['start']}. {hint}"
    unknown_command = _UNKNOWN_COMMAND.fullmatch(message)
    if unknown_command is not None and command_path == "deniable audit":
        name = unknown_command["name"]
        is_mechanism = name in {*VerifiedMechanismName}
        return f"{message} Mechanisms go by: deniable audit mechanism {name}." if is_mechanism else message
    unknown_choice = _UNKNOWN_CHOICE.fullmatch(message)
    if unknown_choice is not None:
        name, choices = unknown_choice["name"], re.findall(r"'([^']*)'", unknown_choice["choices"])
        hint = _METRIC_HINTS.get(name) or suggest_name(name, choices)
        return f"{unknown_choice['start']}{name!r} is not one of {', '.join(choices)}. {hint}".strip()
    errors = getattr(cause, "errors", None)  # of pydantic, with which newer versions of typer check values
    if errors is not None and message:
        return f"{message.replace('Input should be', 'it must be').rstrip('.')}. Got {errors()[0].get('input')}."
    return message


def _print_failure(message: str, code: int = EXIT_COULD_NOT_RUN) -> int:
    line = escape_unprintable(" ".join(message.split()))  # what it quotes may be anybody's
    print(f"deniable: {line}", file=sys.stderr)  # noqa: T201 - the command line's own output
    return code
