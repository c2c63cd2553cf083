"""``deniable tune``: the epsilon at which attackers, words kept or accuracy meet a goal."""

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.building import build_space, load_word_prior
from deniable.cli.choices import GuessedWordsName, MetricName, TunedMechanismName
from deniable.cli.options import (
    DATA_PANEL,
    HIDE_DEFAULT,
    PRIVACY_PANEL,
    WORDS_PANEL,
    DelimiterOption,
    EncodingOption,
    FormatOption,
    HideOption,
    MetricOption,
    PriorOption,
    QuotingOption,
    SpaceOption,
    TextColumnOption,
    UnescapeOption,
    list_choices,
    make_option,
)
from deniable.cli.owner_remarks import decode_texts, warn_of_copied_columns, warn_of_texts
from deniable.cli.printed_commands import TABLE_OPTIONS, format_command, select_given
from deniable.cli.progress import show_passes
from deniable.cli.tables import TableOptions, read_table_columns
from deniable.cli.usable_rows import describe_rows
from deniable.core.errors import InputError
from deniable.core.numbers import format_exact, format_upper
from deniable.core.parallel import expect_passes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from deniable.measure.labels import ClassLabels
    from deniable.measure.tuning import TuningResult
    from deniable.measure.utility import UtilityResult
    from deniable.space import Space
    from deniable.text.tables.copied_columns import CopiedColumns
    from deniable.words import WordMechanism
    from deniable.words.prior import Prior

_INPUT_PRIOR_NAME = "the frequencies of this input"
_MEASURED_FACTORS = (0.5, 1.0, 2.0)
"""Multiples of the chosen epsilon that the printed measurement compares."""
_INDENT = "\n" + 15 * " "
_GOAL_PANEL = "Goal (exactly one)"

MaximumRecoveryOption = Annotated[
    float | None,
    make_option(
        _GOAL_PANEL,
        "--max-recovery",
        "Maximum share of words that an attacker guesses from one private word at a time.",
        metavar="SHARE",
    ),
]
GuessedWordsOption = Annotated[
    GuessedWordsName,
    make_option(
        _GOAL_PANEL,
        "--for",
        "Whose share --max-recovery limits: that of rare words, beyond rank 1,000; the average; or that of every word.",
    ),
]
MinimumKeptOption = Annotated[
    float | None, make_option(_GOAL_PANEL, "--min-kept", "Minimum share of words that stay unchanged.", metavar="SHARE")
]
MinimumAccuracyOption = Annotated[
    float | None,
    make_option(
        _GOAL_PANEL,
        "--min-accuracy",
        "Minimum accuracy of a classifier trained on the private texts; needs --label.",
        metavar="SHARE",
    ),
]
TunedMechanismOption = Annotated[
    TunedMechanismName,
    make_option(
        PRIVACY_PANEL,
        "--mechanism",
        (
            f"Word mechanism: {list_choices(TunedMechanismName)}. best: the one of calibrated, tem and tight "
            "that needs the smallest proven epsilon."
        ),
        metavar="MECHANISM",
    ),
]
GoalLabelOption = Annotated[
    str | None,
    make_option(DATA_PANEL, "--label", "Name of the column with classes, for --min-accuracy.", metavar="COLUMN"),
]
InputPriorOption = Annotated[
    bool,
    make_option(
        WORDS_PANEL,
        "--prior-from-input",
        "Use the word frequencies of this input. Epsilon then depends on private data.",
    ),
]


@dataclasses.dataclass(frozen=True)
class _Goal:
    """What is asked for.

    Attributes:
        option: "--max-recovery", "--min-kept" or "--min-accuracy".
        target: its value.
        words: whose share ``--max-recovery`` limits.
    """

    option: str
    target: float
    words: GuessedWordsName

    @classmethod
    def parse(
        cls, max_recovery: float | None, min_kept: float | None, min_accuracy: float | None, words: GuessedWordsName
    ) -> "_Goal":
        """Return the one goal that was given.

        Raises:
            InputError: none, or several.
        """
        values = {"--max-recovery": max_recovery, "--min-kept": min_kept, "--min-accuracy": min_accuracy}
        targets = {option: target for option, target in values.items() if target is not None}
        if len(targets) != 1:
            raise InputError(
                "Give exactly one goal: --max-recovery, --min-kept or --min-accuracy. Got "
                f"{' and '.join(targets) or 'none'}."
            )
        return cls(*targets.popitem(), words)


@dataclasses.dataclass(frozen=True)
class _TuningTable:
    """The table that epsilon is chosen for, n rows.

    Attributes:
        texts: (n,) texts, empty where a row has none.
        labels: classes; None where the goal needs none.
        copied: what the printed command to privatize copies beside the texts.
        remarks: which rows lack what, for the owner.
    """

    texts: list[str]
    labels: "ClassLabels | None"
    copied: "CopiedColumns"
    remarks: list[str]


@dataclasses.dataclass(frozen=True)
class _Choice:
    """What was chosen, and what is known of it.

    Attributes:
        result: mechanism, verdict and outcomes.
        prior_name: under what word frequencies the outcomes hold.
        median_length: words of the median record.
        median_loss: epsilon of the median record as a whole.
        is_from_data: whether the private texts decided.
    """

    result: "TuningResult"
    prior_name: str
    median_length: int
    median_loss: float
    is_from_data: bool


def run_tune(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="INPUT", help="Table that you want to privatize.")],
    *,
    max_recovery: MaximumRecoveryOption = None,
    for_: GuessedWordsOption = GuessedWordsName.RARE,
    min_kept: MinimumKeptOption = None,
    min_accuracy: MinimumAccuracyOption = None,
    mechanism: TunedMechanismOption = TunedMechanismName.AUTO,
    column: TextColumnOption = "text",
    label: GoalLabelOption = None,
    unescape: UnescapeOption = None,
    space: SpaceOption = "glove",
    metric: MetricOption = MetricName.STEPS,
    hide: HideOption = HIDE_DEFAULT,
    prior: PriorOption = None,
    prior_from_input: InputPriorOption = False,
    format_: FormatOption = None,
    delimiter: DelimiterOption = None,
    quoting: QuotingOption = None,
    encoding: EncodingOption = "utf-8",
) -> None:
    """Choose epsilon by its effect: an attacker's success, the share of words kept, or the accuracy of a classifier.

    Prints the choice, its proof, and two commands: measure shows what the choice and its neighbours protect and cost,
    run privatizes the input with it. If the choice used the private texts, that command says so in the certificate.
    """
    goal = _Goal.parse(max_recovery, min_kept, min_accuracy, for_)
    if max_recovery is None and select_given(context, "--for"):
        raise InputError("--for says whose share --max-recovery limits: give both, or leave --for out.")
    if prior is not None and prior_from_input:
        raise InputError("--prior and --prior-from-input exclude each other: leave one of them out.")
    if (goal.option == "--min-accuracy") != (label is not None):
        raise InputError("--min-accuracy and --label belong together: give both, or neither.")
    table = _read_table(source, column, label, TableOptions(format_, delimiter, encoding, quoting))
    table = dataclasses.replace(table, texts=decode_texts(table.texts, unescape))
    word_space = build_space(space, metric, hide)
    public_prior = load_word_prior(prior, word_space)
    with show_passes("tuning"), expect_passes(0):
        choice = _choose(goal, mechanism, word_space, table, public_prior, prior_from_input=prior_from_input)
    for remark in table.remarks:
        typer.echo(remark, err=True)
    warn_of_texts(table.texts, word_space)
    warn_of_copied_columns(table.copied.layout, table.copied.describe())
    for line in _format_choice(choice):
        typer.echo(line)
    _print_commands(context, source, choice)


def _print_commands(context: typer.Context, source: str, choice: "_Choice") -> None:
    """Print the command that measures the choice and its neighbours, and the one that privatizes with it."""
    chosen = choice.result.mechanism
    column_options = select_given(context, "--column", "--unescape")
    mechanism_options = {**column_options, "--mechanism": chosen.name}
    table_options = select_given(context, "--space", "--metric", "--hide", "--prior", *TABLE_OPTIONS)
    measure_options = {
        **select_given(context, "--label"),
        **mechanism_options,
        "--epsilons": ",".join(map(format_exact, _list_epsilons_around(chosen))),
        **select_given(context, "--max-recovery"),
        **table_options,
    }
    typer.echo(f"measure        {format_command(['measure'], source, measure_options, 'measure.html')}")
    flags = ["--chosen-from-data"] if choice.is_from_data else []
    privatize_options = {**mechanism_options, "--epsilon": format_exact(chosen.epsilon), **table_options}
    typer.echo(f"run            {format_command(['privatize'], source, privatize_options, 'private', flags)}")


def _read_table(source: str, column: str, label: str | None, table_format: TableOptions) -> _TuningTable:
    """Return the texts, and their classes where they are asked for."""
    from deniable.measure.labels import encode_labels
    from deniable.text.tables.copied_columns import CopiedColumns
    from deniable.text.tables.layout import TableLayout

    copied = CopiedColumns(TableLayout(source, (column,)))
    cells = read_table_columns(source, [column, label], table_format, copied=copied)
    empty_rows = [row for row, text in enumerate(cells[column]) if text is None]
    remarks = describe_rows(source, empty_rows, "without a text, read as empty")
    labels = None
    if label is not None:
        labels = encode_labels(cells[label], label)
        unlabelled_rows = labels.unlabelled_rows.tolist()
        remarks += describe_rows(source, unlabelled_rows, f"without a label in {label!r}, not used for the accuracy")
    return _TuningTable([text or "" for text in cells[column]], labels, copied, remarks)


def _choose(
    goal: _Goal,
    mechanism: TunedMechanismName,
    space: "Space",
    table: _TuningTable,
    public_prior: "Prior",
    *,
    prior_from_input: bool,
) -> _Choice:
    """Return the mechanism and epsilon that meet the goal, and what they mean for the table."""
    import numpy as np

    from deniable.words.composition import compute_worst_loss
    from deniable.words.prior import build_prior

    counts, lengths = _count_words(space, table.texts)
    prior = public_prior
    if prior_from_input:
        prior = build_prior(space, counts, _INPUT_PRIOR_NAME, is_public=False)
    with expect_passes(1):
        result = _tune(goal, mechanism, space, table, prior)
        # What the certificate will say is computed now, and cached: never the frequencies of the input.
        result.mechanism.expected_kept_share(public_prior)
    median_length = int(np.quantile(lengths, 0.5, method="lower"))
    median_loss = median_length * compute_worst_loss(result.mechanism.law, result.mechanism.guarantee)
    is_from_data = prior_from_input or goal.option == "--min-accuracy"
    return _Choice(result, prior.name, median_length, median_loss, is_from_data)


def _tune(goal: _Goal, name: TunedMechanismName, space: "Space", table: _TuningTable, prior: "Prior") -> "TuningResult":
    """Return the mechanism and epsilon that meet the goal."""
    from deniable.measure.choice import AUTO
    from deniable.measure.tuning import BEST, MechanismChoice, tune_kept, tune_recovery, tune_utility
    from deniable.registry.words import WORD_MECHANISMS

    mechanism: MechanismChoice = WORD_MECHANISMS.get(name.value, BEST if name is TunedMechanismName.BEST else AUTO)

    if goal.option == "--max-recovery":
        return tune_recovery(space, goal.target, words=goal.words.value, mechanism=mechanism, prior=prior)
    if table.labels is None:
        return tune_kept(space, goal.target, mechanism=mechanism, prior=prior)
    rows = table.labels.labelled_rows
    texts = [table.texts[row] for row in rows]
    return tune_utility(space, texts, table.labels.codes[rows], goal.target, mechanism=mechanism, prior=prior)


def _count_words(space: "Space", texts: list[str]) -> "tuple[npt.NDArray[np.int64], list[int]]":
    """Return how often the texts hold each word of the space (n,), and how many words each text has."""
    import numpy as np

    from deniable.text.tokens import Lexer

    lexer = Lexer(space, "draw", "lower", ())
    lexed_texts = [lexer.lex(text) for text in texts]
    if sum(len(text.words) - text.unknown_count for text in lexed_texts) == 0:
        raise InputError("The texts hold no word of the vocabulary: name another column, or another --space.")
    known_words = np.concatenate([text.words[~text.unknown_mask] for text in lexed_texts])
    return np.bincount(known_words, minlength=len(space)), [len(text.words) for text in lexed_texts]


def _format_choice(choice: _Choice) -> list[str]:
    """Return what was chosen, and what is known of it."""
    from deniable.words.outcomes import NOT_KNOWN

    result = choice.result
    condition = f"of words, if words follow {choice.prior_name}"
    blind_text = f"without any output: {100 * result.blind_share:.1f} %; attackers that use context guess more"
    guess = f"the best guess from one output word is right for {result.recovery_share.format_success()} {condition}"
    bands = f"by frequency: {NOT_KNOWN}" if result.outcomes is None else result.outcomes.describe_bands()
    lines = [
        f"choice         {result.mechanism.name} at epsilon {format_exact(result.mechanism.epsilon)}",
        f"verification   {_INDENT.join(str(result.verdict).splitlines())}",
        f"attacker       {guess} ({blind_text}){_INDENT}{bands}",
        f"most exposed   {NOT_KNOWN if result.outcomes is None else result.outcomes.describe_exposed()}",
        f"kept           {result.kept_share.format_percent()} {condition}",
    ]
    if result.utility is not None:
        lines += _format_utility(result.utility)
    lines.append(
        f"whole records  the median record, {choice.median_length:,} words: epsilon {format_upper(choice.median_loss)}"
    )
    if choice.is_from_data:
        lines.append("chosen         from the private texts: --chosen-from-data says so in the certificate")
    return lines


def _format_utility(utility: "UtilityResult") -> list[str]:
    """Return what a classifier learns from the private texts, beside the originals and a blind guess."""
    lines = []
    for name, score in (("accuracy", utility.accuracy), ("balanced", utility.balanced_accuracy)):
        retained = "cannot be judged" if score.retained is None else score.retained.format_percent()
        lines.append(
            f"{name:<14} {score.private.format_percent()} trained on private texts, {100 * score.original.value:.1f} % "
            f"on the originals, {100 * score.blind:.1f} % by a blind guess; gain retained: {retained}"
        )
    if not utility.balanced_accuracy.is_better_than_blind:
        lines.append("               no better than a blind guess in balanced accuracy: such texts teach nothing")
    return lines


def _list_epsilons_around(mechanism: "WordMechanism") -> list[float]:
    """Return half of a mechanism's epsilon, itself and its double, as far as the mechanism takes them."""
    epsilons = []
    for factor in _MEASURED_FACTORS:
        with contextlib.suppress(InputError):  # below the mechanism's minimum epsilon
            epsilons.append(type(mechanism)(mechanism.space, epsilon=factor * mechanism.epsilon).epsilon)
    return epsilons
