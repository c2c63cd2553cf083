"""``deniable rewrite``: a table in, the same table with rewritten texts and a certificate out."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.charging import LedgerChoice, report_charges
from deniable.cli.commandline import option
from deniable.cli.model_runs import check_torch
from deniable.cli.options import TableArgument
from deniable.cli.owner_remarks import warn_owner
from deniable.cli.progress import show_passes
from deniable.cli.releases import ReleasedColumns, ReleaseOutput, open_release_files
from deniable.cli.rows import format_row_count, format_row_numbers
from deniable.cli.tables import TableOptions
from deniable.cli.terminal import say
from deniable.core.errors import InputError, check_positive
from deniable.registry import REWRITING_METHODS, check_method_options, check_not_refuted

if TYPE_CHECKING:
    from deniable.rewriting.methods import RewritingMethod

_OTHER_MODEL = (
    "Are the texts in another language, or of another kind, than those that the model learned from? "
    "Rewritten texts are in the words of the model: train one on public texts of their language with deniable train "
    "rewriter"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextPrivacy:
    """Privacy.

    Attributes:
        epsilon: privacy budget for each text as a whole; smaller is more private.
        method: rewriting method; the guarantees of adept and dptext are refuted.
        allow_refuted: permit a method whose guarantee is refuted; the output is NOT private.
        delta: delta of the budget, for adept-gaussian; for example 1e-5.
        max_tokens: maximum number of tokens in a new text, for tokens and tokens-mixed; of fewer tokens each gets a
            larger share of epsilon.
        chosen_from_data: record that epsilon was chosen from this input.
        test_seed: public seed, for tests; the output is NOT private.

    Raises:
        InputError: an epsilon that no method takes, or a method whose guarantee is refuted.
    """

    epsilon: float
    method: str = dataclasses.field(metadata=option(choices=list(REWRITING_METHODS), metavar="METHOD"))
    allow_refuted: bool = False
    delta: float | None = None
    max_tokens: int | None = dataclasses.field(default=None, metadata=option(show_default="limit of the model"))
    chosen_from_data: bool = False
    test_seed: int | None = None

    def __post_init__(self) -> None:
        """Refuse an epsilon before a model is read."""
        check_positive(self.method, "epsilon", self.epsilon)
        check_not_refuted(self.method, allow_refuted=self.allow_refuted)

    def build(self, path: Path, options: dict[str, float]) -> "RewritingMethod":
        """The method with the model of a file.

        Raises:
            InputError: the file holds no rewriter, or more tokens are asked for than it has.
        """
        from deniable.rewriting.model import load_rewriter

        model = load_rewriter(path)
        if self.max_tokens is not None and not 1 <= self.max_tokens <= model.limit:
            raise InputError(f"--max-tokens must be from 1 to {model.limit}, the model's limit. Got {self.max_tokens}.")
        return REWRITING_METHODS[self.method](model, epsilon=self.epsilon, seed=self.test_seed, **options)


def run_rewrite(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model file written by deniable train rewriter from public texts.")
    ],
    source: TableArgument,
    privacy: TextPrivacy,
    ledger: LedgerChoice,
    columns: ReleasedColumns,
    table: TableOptions,
    output: ReleaseOutput,
) -> None:
    """Rewrite the text columns of a table, each text as a whole.

    Writes the same table with new texts, and a certificate that states what is guaranteed and what is not. Each text,
    an empty one included, is protected as a whole by local differential privacy; null stays null. Texts longer than
    the model accepts are truncated. All other columns are copied unchanged, unless --columns lists which to copy.
    Requires the train extra of deniable.

    Examples:
        deniable rewrite rewriter.model reviews.csv --method adept-norm --epsilon 100 --output rewritten.csv
    """
    check_torch()
    from deniable.cli.release_summary import say_release, say_written
    from deniable.rewriting.table import rewrite_table
    from deniable.text.remarks import describe_markup, describe_unknown_words

    method_options = check_method_options(privacy.method, delta=privacy.delta, max_draws=privacy.max_tokens)
    if ledger.ledger is not None and privacy.test_seed is not None:
        raise InputError("--test-seed hides nothing, and --ledger counts what is hidden: leave out one of them.")
    files = open_release_files(source, table, columns, output, [model, *ledger.list_files()], replace_empty=True)
    ledger.require_persons(columns.person)
    opened_ledger = ledger.open()
    method = privacy.build(model, method_options)
    with show_passes("rewriting"):
        certificate, counts = rewrite_table(
            files,
            method,
            unescape=columns.unescape,
            ledger=opened_ledger,
            over_budget=ledger.over_budget,
            chosen_from_data=privacy.chosen_from_data,
        )
    if not certificate.private:
        say(f"warning: the guarantee of {privacy.method} is refuted: {method.guarantee.source}", err=True)
    odds = [("any two private texts", certificate.guarantee["epsilon"])]
    say_release(certificate, odds, verbose=output.verbose)
    if opened_ledger is not None:
        report_charges(counts.charges)
    if counts.truncated_rows:
        rows = f"{format_row_count(counts.truncated_rows)} with more than {method.model.limit:,} tokens"
        say(
            f"for you only   {rows}, of which only the first were used: {format_row_numbers(counts.truncated_rows)}; "
            "this depends on the private text: do not publish it",
            err=True,
        )
    unknown_words = describe_unknown_words(counts.unknown_words, counts.words, _OTHER_MODEL)
    warn_owner([*files.layout.remarks, *unknown_words, *describe_markup(counts.markup)])
    say_written(files.outputs, files.certificate, verbose=output.verbose)
