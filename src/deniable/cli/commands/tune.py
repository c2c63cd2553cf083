"""``deniable tune``: the epsilon at which attackers, words kept or accuracy meet a goal."""

import contextlib
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import typer

from deniable.cli.commandline import option
from deniable.cli.options import MECHANISM_NAMES, TableArgument, WordOptions
from deniable.cli.owner_remarks import warn_of_copied_columns, warn_of_texts
from deniable.cli.printed_commands import TABLE_OPTIONS, format_command, select_given
from deniable.cli.progress import show_passes
from deniable.cli.rows import Roles, describe_rows, read_table
from deniable.cli.tables import TableOptions
from deniable.cli.terminal import say
from deniable.core.errors import InputError
from deniable.core.numbers import format_exact, format_upper
from deniable.core.parallel import expect_passes

if TYPE_CHECKING:
    from deniable.measure.labels import ClassLabels
    from deniable.measure.tuning import TuningResult
    from deniable.space import Space
    from deniable.words.prior import Prior

_INPUT_PRIOR_NAME = "the frequencies of this input"
_MEASURED_FACTORS = (0.5, 1.0, 2.0)
"""Multiples of the chosen epsilon that the printed measurement compares."""
_INDENT = "\n" + 15 * " "


@dataclasses.dataclass(frozen=True, kw_only=True)
class TuningGoal:
    """Goal (exactly one).

    Attributes:
        max_recovery: maximum share of words that an attacker guesses from one private word at a time.
        for_: whose share --max-recovery limits: that of rare words, beyond rank 1,000; the average; or that of every
            word.
        min_kept: minimum share of words that stay unchanged.
        min_accuracy: minimum accuracy of a classifier trained on the private texts; requires --label.
        label: name of the column of classes, for --min-accuracy.
        mechanism: word mechanism; best is the one of calibrated, tem and tight that needs the smallest proven epsilon.

    Raises:
        InputError: no goal, several, or an option that belongs to another one.
    """

    max_recovery: float | None = dataclasses.field(default=None, metadata=option(metavar="SHARE"))
    for_: Literal["rare", "average", "every"] | None = dataclasses.field(
        default=None, metadata=option(show_default="rare")
    )
    min_kept: float | None = dataclasses.field(default=None, metadata=option(metavar="SHARE"))
    min_accuracy: float | None = dataclasses.field(default=None, metadata=option(metavar="SHARE"))
    label: str | None = dataclasses.field(default=None, metadata=option(metavar="COLUMN", panel="Data"))
    mechanism: str = dataclasses.field(
        default="auto", metadata=option(choices=[*MECHANISM_NAMES, "best"], metavar="MECHANISM", panel="Privacy")
    )

    def __post_init__(self) -> None:
        """Check that one goal is given, and what belongs to it."""
        given = self._list_given()
        if len(given) != 1:
            raise InputError(
                "Give exactly one goal: --max-recovery, --min-kept or --min-accuracy. Got "
                f"{' and '.join(given) or 'none'}."
            )
        if self.max_recovery is None and self.for_ is not None:
            raise InputError("--for says whose share --max-recovery limits: give both, or leave --for out.")
        if (self.min_accuracy is None) != (self.label is None):
            raise InputError("--min-accuracy and --label belong together: give both, or neither.")

    def _list_given(self) -> dict[str, float]:
        shares = (
            ("--max-recovery", self.max_recovery),
            ("--min-kept", self.min_kept),
            ("--min-accuracy", self.min_accuracy),
        )
        return {name: share for name, share in shares if share is not None}

    def tune(
        self, space: "Space", texts: Sequence[str], labels: "ClassLabels | None", prior: "Prior"
    ) -> "TuningResult":
        """Return the mechanism and epsilon that meet the goal; a classifier learns from the texts with a label."""
        from deniable.measure.choice import AUTO
        from deniable.measure.tuning import BEST, tune_kept, tune_recovery, tune_utility
        from deniable.registry import WORD_MECHANISMS

        (target,) = self._list_given().values()
        mechanism = WORD_MECHANISMS.get(self.mechanism, BEST if self.mechanism == BEST else AUTO)
        if labels is not None:
            learned = [texts[row] for row in labels.labelled_rows]
            codes = labels.codes[labels.labelled_rows]
            return tune_utility(space, learned, codes, target, mechanism=mechanism, prior=prior)
        if self.min_kept is not None:
            return tune_kept(space, target, mechanism=mechanism, prior=prior)
        return tune_recovery(space, target, words=self.for_ or "rare", mechanism=mechanism, prior=prior)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TunedTexts:
    """Data.

    Attributes:
        column: name of the column of texts.
        unescape: decode HTML entities such as &#039; before words are read.
    """

    column: str = dataclasses.field(default="text", metadata=option("--column", "-c", metavar="COLUMN"))
    unescape: Literal["html"] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class TuningWords(WordOptions):
    """Words and their vectors.

    Attributes:
        prior_from_input: use the word frequencies of this input; epsilon then depends on private data.

    Raises:
        InputError: two sources of word frequencies.
    """

    prior_from_input: bool = False

    def __post_init__(self) -> None:
        """Check that word frequencies have one source."""
        if self.prior is not None and self.prior_from_input:
            raise InputError("--prior and --prior-from-input exclude each other: leave one of them out.")


def run_tune(
    context: typer.Context,
    source: TableArgument,
    goal: TuningGoal,
    data: TunedTexts,
    words: TuningWords,
    table: TableOptions,
) -> None:
    """Choose epsilon by its effect: an attacker's success, the share of words kept, or the accuracy of a classifier.

    Prints the chosen epsilon, its proof, and two commands to run next: one to measure it, one to privatize with it. If
    the choice used the private texts, the second one makes the certificate say so.

    Examples:
        deniable tune reviews.csv --max-recovery 0.2
        deniable tune reviews.csv --label stars --min-accuracy 0.7
    """
    import numpy as np

    from deniable.measure.labels import encode_labels
    from deniable.text.escapes import decode_escapes
    from deniable.text.tables.copied_columns import CopiedColumns
    from deniable.text.tables.layout import TableLayout
    from deniable.text.tokens import Lexer
    from deniable.words.composition import compute_worst_loss
    from deniable.words.prior import build_prior

    copied = CopiedColumns(TableLayout(source, (data.column,)))
    rows = read_table(source, table, Roles(text=data.column, label=goal.label), copied=copied)
    texts = [decode_escapes(text, data.unescape) for text in rows.texts]
    labels = None if goal.label is None else encode_labels(rows.labels, goal.label)
    space = words.build()
    public_prior = words.load_prior(space)
    lexer = Lexer(space, "draw", "lower", ())
    lexed_texts = [lexer.lex(text) for text in texts]
    known_words = np.concatenate([text.words[~text.unknown_mask] for text in lexed_texts])
    if not len(known_words):
        raise InputError("The texts hold no word of the vocabulary: name another column, or another --space.")
    prior = public_prior
    if words.prior_from_input:
        counts = np.bincount(known_words, minlength=len(space))
        prior = build_prior(space, counts, _INPUT_PRIOR_NAME, is_public=False)
    with show_passes("tuning"), expect_passes(1):
        result = goal.tune(space, texts, labels, prior)
        # What the certificate will say is computed now, and cached: never the frequencies of the input.
        result.mechanism.expected_kept_share(public_prior)
    missing = [row for row, text in enumerate(rows.columns[data.column]) if text is None]
    remarks = describe_rows(source, missing, "without a text, read as empty")
    if labels is not None:
        consequence = f"without a label in {goal.label!r}, not used for the accuracy"
        remarks += describe_rows(source, labels.unlabelled_rows.tolist(), consequence)
    for remark in remarks:
        say(remark, err=True)
    warn_of_texts(texts, space)
    warn_of_copied_columns(copied.layout, copied.describe())
    for line in _describe_result(result, prior):
        say(line)
    median_length = int(np.quantile([len(text.words) for text in lexed_texts], 0.5, method="lower"))
    median_loss = median_length * compute_worst_loss(result.mechanism.law, result.mechanism.guarantee)
    say(f"whole records  the median record, {median_length:,} words: epsilon {format_upper(median_loss)}")
    is_from_data = words.prior_from_input or labels is not None
    if is_from_data:
        say("chosen         from the private texts: --chosen-from-data says so in the certificate")
    _print_commands(context, source, result, is_from_data=is_from_data)


def _describe_result(result: "TuningResult", prior: "Prior") -> list[str]:
    """Return what was chosen, and what is known of it."""
    from deniable.measure.studied_readers import find_studied_reader
    from deniable.words.outcomes import NOT_KNOWN

    condition = f"of words, if words follow {prior.name}"
    blind_text = f"{100 * result.blind_share:.1f}% without any output; more for attackers who read words in context"
    guess = f"the best guess from one output word is right for {result.recovery_share.format_success()} {condition}"
    bands = f"by frequency: {NOT_KNOWN}" if result.outcomes is None else result.outcomes.describe_bands()
    lines = [
        f"choice         {result.mechanism.name} at epsilon {format_exact(result.mechanism.epsilon)}",
        f"verification   {_INDENT.join(str(result.verdict).splitlines())}",
        f"attacker       {guess} ({blind_text}){_INDENT}{bands}",
        f"most exposed   {NOT_KNOWN if result.outcomes is None else result.outcomes.describe_exposed()}",
        f"kept           {result.kept_share.format_percent()} {condition}",
    ]
    studied = find_studied_reader(result.mechanism)
    if studied is not None:
        lines.insert(
            3,
            f"reader         at epsilon {format_exact(studied.epsilon)}, a reader with a language model who knew the "
            f"words before{_INDENT}guessed {studied.guessed}% of the words of film reviews, "
            f"{studied.blind}% without any output",
        )
    if result.utility is None:
        return lines
    for name, score in (("accuracy", result.utility.accuracy), ("balanced", result.utility.balanced_accuracy)):
        retained = "cannot be judged" if score.retained is None else score.retained.format_percent()
        lines.append(
            f"{name:<14} {score.private.format_percent()} trained on private texts, {100 * score.original.value:.1f}% "
            f"on the originals, {100 * score.blind:.1f}% by a blind guess; gain retained: {retained}"
        )
    if not result.utility.balanced_accuracy.is_better_than_blind:
        lines.append("               no better than a blind guess in balanced accuracy: such texts teach nothing")
    return lines


def _print_commands(context: typer.Context, source: str, result: "TuningResult", *, is_from_data: bool) -> None:
    """Print the command that measures the choice and its neighbours, and the one that privatizes with it."""
    chosen = result.mechanism
    epsilons = []
    for factor in _MEASURED_FACTORS:
        with contextlib.suppress(InputError):  # below the mechanism's minimum epsilon
            epsilons.append(type(chosen)(chosen.space, epsilon=factor * chosen.epsilon).epsilon)
    mechanism_options = {**select_given(context, "--column", "--unescape"), "--mechanism": chosen.name}
    table_options = select_given(context, "--space", "--metric", "--hide", *TABLE_OPTIONS)
    measure_options = {
        **select_given(context, "--label"),
        **mechanism_options,
        "--epsilons": ",".join(map(format_exact, epsilons)),
        **select_given(context, "--max-recovery", "--prior"),
        **table_options,
    }
    say(f"measure        {format_command(['measure'], source, measure_options, 'measure.html')}")
    flags = ["--chosen-from-data"] if is_from_data else []
    privatize_options = {**mechanism_options, "--epsilon": format_exact(chosen.epsilon), **table_options}
    say(f"run            {format_command(['privatize'], source, privatize_options, 'private', flags)}")
