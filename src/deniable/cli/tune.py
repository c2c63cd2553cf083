"""``deniable tune``: the epsilon at which attackers, words kept or accuracy meet a goal."""

import contextlib
import dataclasses
import shlex
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.building import build_space, load_word_prior
from deniable.cli.choices import MetricName, TunedMechanismName
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
from deniable.cli.owner_remarks import decode_texts, warn_of_texts
from deniable.cli.progress import show_passes
from deniable.cli.tables import COMPRESSED_ENDINGS, TableFormat, read_table_columns
from deniable.cli.usable_rows import describe_rows
from deniable.core.errors import InputError
from deniable.core.files import PIPE, find_free_path
from deniable.core.numbers import format_exact, format_upper
from deniable.core.progress import expect_passes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from deniable.measure.labels import ClassLabels
    from deniable.measure.tuning import TuningResult
    from deniable.measure.utility import UtilityResult
    from deniable.space import Space
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
    """

    option: str
    target: float

    @classmethod
    def parse(cls, max_recovery: float | None, min_kept: float | None, min_accuracy: float | None) -> "_Goal":
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
        return cls(*targets.popitem())


@dataclasses.dataclass(frozen=True)
class _TuningTable:
    """The table that epsilon is chosen for, n rows.

    Attributes:
        texts: (n,) texts, empty where a row has none.
        labels: classes; None where the goal needs none.
        remarks: which rows lack what, for the owner.
    """

    texts: list[str]
    labels: "ClassLabels | None"
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
    source: Annotated[str, typer.Argument(metavar="INPUT", help="Table that you want to privatize.")],
    *,
    max_recovery: MaximumRecoveryOption = None,
    min_kept: MinimumKeptOption = None,
    min_accuracy: MinimumAccuracyOption = None,
    mechanism: TunedMechanismOption = TunedMechanismName.AUTO,
    column: TextColumnOption = "text",
    label: GoalLabelOption = None,
    unescape: UnescapeOption = None,
    space: SpaceOption = "glove",
    metric: MetricOption = MetricName.EUCLIDEAN,
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
    goal = _Goal.parse(max_recovery, min_kept, min_accuracy)
    if prior is not None and prior_from_input:
        raise InputError("--prior and --prior-from-input exclude each other: leave one of them out.")
    if (goal.option == "--min-accuracy") != (label is not None):
        raise InputError("--min-accuracy and --label belong together: give both, or neither.")
    table = _read_table(source, column, label, TableFormat(format_, delimiter, encoding, quoting))
    table = dataclasses.replace(table, texts=decode_texts(table.texts, unescape))
    word_space = build_space(space, metric, hide)
    public_prior = load_word_prior(prior, word_space)
    with show_passes("tuning"), expect_passes(0):
        choice = _choose(goal, mechanism, word_space, table, public_prior, prior_from_input=prior_from_input)
    for remark in table.remarks:
        typer.echo(remark, err=True)
    warn_of_texts(table.texts, word_space)
    for line in _format_choice(choice):
        typer.echo(line)
    mechanism_options = {
        "--column": None if column == "text" else column,
        "--unescape": unescape,
        "--mechanism": choice.result.mechanism.name,
    }
    table_options = {
        "--space": None if space == "glove" else space,
        "--metric": None if metric is MetricName.EUCLIDEAN else metric,
        "--hide": None if hide == HIDE_DEFAULT else hide,
        "--prior": prior,
        "--format": format_,
        "--delimiter": delimiter,
        "--quoting": quoting,
        "--encoding": None if encoding == "utf-8" else encoding,
    }
    epsilons = ",".join(map(format_exact, _list_epsilons_around(choice.result.mechanism)))
    recovery_limit = {"--max-recovery": str(goal.target)} if goal.option == "--max-recovery" else {}
    measure_options = {
        "--label": label,
        **mechanism_options,
        "--epsilons": epsilons,
        **recovery_limit,
        **table_options,
    }
    typer.echo(f"measure        {_format_command('measure', source, measure_options, 'measure.html')}")
    epsilon_option = {"--epsilon": format_exact(choice.result.mechanism.epsilon)}
    flags = ["--chosen-from-data"] if choice.is_from_data else []
    privatize_options = {**mechanism_options, **epsilon_option, **table_options}
    typer.echo(f"run            {_format_command('privatize', source, privatize_options, 'private', flags)}")


def _read_table(source: str, column: str, label: str | None, table_format: TableFormat) -> _TuningTable:
    """Return the texts, and their classes where they are asked for."""
    from deniable.measure.labels import encode_labels

    cells = read_table_columns(source, [column, label], table_format)
    empty_rows = [row for row, text in enumerate(cells[column]) if text is None]
    remarks = describe_rows(source, empty_rows, "without a text, read as empty")
    labels = None
    if label is not None:
        labels = encode_labels(cells[label], label)
        unlabelled_rows = labels.unlabelled_rows.tolist()
        remarks += describe_rows(source, unlabelled_rows, f"without a label in {label!r}, not used for the accuracy")
    return _TuningTable([text or "" for text in cells[column]], labels, remarks)


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
    from deniable.measure.tuning import BEST, MechanismChoice, tune_kept, tune_recovery, tune_utility
    from deniable.registry.words import WORD_MECHANISMS
    from deniable.words.choice import AUTO

    mechanism: MechanismChoice = WORD_MECHANISMS.get(name.value, BEST if name is TunedMechanismName.BEST else AUTO)

    if goal.option == "--max-recovery":
        return tune_recovery(space, goal.target, mechanism=mechanism, prior=prior)
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
    known_words = np.concatenate([np.delete(text.words, text.unknown_positions) for text in lexed_texts])
    return np.bincount(known_words, minlength=len(space)), [len(text.words) for text in lexed_texts]


def _format_choice(choice: _Choice) -> list[str]:
    """Return what was chosen, and what is known of it."""
    result = choice.result
    condition = f"of words, if words follow {choice.prior_name}"
    blind_text = f"without the output: {100 * result.blind_share:.1f} %; attackers that use context guess more"
    lines = [
        f"choice         {result.mechanism.name} at epsilon {format_exact(result.mechanism.epsilon)}",
        f"verification   {_INDENT.join(str(result.verdict).splitlines())}",
        f"attacker       names {result.recovery_share.format_success()} {condition} ({blind_text})",
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


def _format_command(
    name: str, source: str, options: dict[str, str | Path | None], output_ending: str, flags: Sequence[str] = ()
) -> str:
    """Return a command about the input that runs as it stands.

    Args:
        name: of the command.
        source: the input; a pipe is to be given again, and what comes out of it is named after its format.
        options: their values; None where they are not given.
        output_ending: of the name of what is written beside the input; one without a dot goes before the input's own.
        flags: options without a value.
    """
    path = PurePath(f"input.{options['--format']}" if source == PIPE else source)
    endings = "".join(path.suffixes[-2 if path.suffix.lower() in COMPRESSED_ENDINGS else -1 :])
    own_endings = "" if "." in output_ending else endings
    output = path.with_name(f"{path.name.removesuffix(endings)}.{output_ending}{own_endings}")
    given_options = [part for option, value in options.items() if value is not None for part in (option, str(value))]
    arguments = [_mark_as_path(source), *given_options, *flags, "--output", _mark_as_path(find_free_path(str(output)))]
    return shlex.join(["deniable", name, *arguments])


def _mark_as_path(path: str) -> str:
    """Return a path that no command takes for an option."""
    return f"./{path}" if path.startswith("-") and path != PIPE else path
