"""``deniable tune``: the epsilon at which an attacker's success, the words kept or the utility is what you ask for."""

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.options import (
    DelimiterOption,
    FormatOption,
    MetricOption,
    PriorOption,
    SpaceOption,
    build_space,
    load_word_prior,
)
from deniable.cli.progress import show_passes
from deniable.cli.tables import TableFormat, read_table_columns
from deniable.cli.usable_rows import describe_rows
from deniable.core.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from deniable.measure.tuning import TuningResult
    from deniable.space import Space

_INPUT_PRIOR_NAME = "the frequencies of this input"
_INDENT = "\n" + 15 * " "


def run_tune(
    source: Annotated[str, typer.Argument(metavar="INPUT", help="The table that you want to privatize.")],
    column: Annotated[str, typer.Option("--column", "-c", help="Column with text.")] = "text",
    recovery: Annotated[
        float | None, typer.Option(help="Share of words, at most, that an attacker names who sees one at a time.")
    ] = None,
    kept: Annotated[float | None, typer.Option(help="Share of words, at least, that stay as they are.")] = None,
    utility: Annotated[
        float | None,
        typer.Option(help="Accuracy, at least, of a classifier trained on the private text; needs --label."),
    ] = None,
    label: Annotated[str | None, typer.Option(help="Column of classes, for --utility.")] = None,
    mechanism: Annotated[
        str,
        typer.Option(
            help="auto, calibrated, tight, tem, multivariate-laplace or truncated-gumbel; best takes the one of "
            "calibrated, tem and tight that proves the least epsilon."
        ),
    ] = "auto",
    prior: PriorOption = None,
    input_prior: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--input-prior", help="Use the word frequencies of this input: epsilon is chosen from it.")
    ] = False,
    space: SpaceOption = "glove",
    metric: MetricOption = "euclidean",
    format_: FormatOption = None,
    delimiter: DelimiterOption = None,
    encoding: Annotated[str, typer.Option(help="Of the input.")] = "utf-8",
) -> None:
    """Choose epsilon by what it gives: an attacker's success, words kept, or the accuracy of a classifier.

    Prints the choice, what is proved of it, and the command that privatizes the input with it. Where the
    input's own word frequencies or a utility chose it, that command tells the certificate so.
    """
    import numpy as np  # noqa: PLC0415 - keeps --help fast

    from deniable.measure.labels import encode_labels  # noqa: PLC0415
    from deniable.measure.tuning import tune_kept, tune_recovery, tune_utility  # noqa: PLC0415
    from deniable.words.composition import compute_worst_loss  # noqa: PLC0415
    from deniable.words.prior import build_prior  # noqa: PLC0415

    goals = {"recovery": recovery, "kept": kept, "utility": utility}
    targets = {name: target for name, target in goals.items() if target is not None}
    if len(targets) != 1:
        raise InputError(f"Give one goal: --recovery, --kept or --utility. Got {' and '.join(targets) or 'none'}.")
    ((goal, target),) = targets.items()
    if prior is not None and input_prior:
        raise InputError("--prior FILE and --input-prior exclude each other: leave one of them out.")
    if (goal == "utility") != (label is not None):
        raise InputError("--utility and --label COLUMN go together: give both, or neither.")
    table = read_table_columns(source, [column, label], TableFormat(format_, delimiter, encoding))
    texts = [text or "" for text in table[column]]
    empty_rows = [row for row, text in enumerate(table[column]) if text is None]
    remarks = describe_rows(source, empty_rows, "without a text, read as empty")
    coded_labels = encode_labels(table[label], label) if label else None
    if coded_labels is not None:
        label_remark = f"without a label in {label!r}, no part of the accuracy"
        remarks += describe_rows(source, coded_labels.unlabelled_rows.tolist(), label_remark)
    word_space = build_space(space, metric)
    public_prior = load_word_prior(prior, word_space)
    with show_passes("tuning"):
        counts, lengths = _count_words(word_space, texts)
        tuning_prior = (
            build_prior(word_space, counts, _INPUT_PRIOR_NAME, is_public=False) if input_prior else public_prior
        )
        if goal == "recovery":
            choice = tune_recovery(word_space, target, mechanism=mechanism, prior=tuning_prior)
        elif goal == "kept":
            choice = tune_kept(word_space, target, mechanism=mechanism, prior=tuning_prior)
        elif coded_labels is not None:
            labelled_texts, codes = (
                [texts[row] for row in coded_labels.labelled_rows],
                coded_labels.codes[coded_labels.labelled_rows],
            )
            choice = tune_utility(word_space, labelled_texts, codes, target, mechanism=mechanism, prior=tuning_prior)
        # What the certificate will say is found now, and kept in the cache: never the frequencies of the input.
        choice.mechanism.expected_kept_share(public_prior)
        median_length = int(np.quantile(lengths, 0.5, method="lower"))
        median_loss = median_length * compute_worst_loss(choice.mechanism.law, choice.mechanism.guarantee)
    for line in remarks:
        typer.echo(line, err=True)
    is_chosen_from_data = input_prior or goal == "utility"
    for line in _format_choice(
        choice, goal, tuning_prior.name, median_loss, median_length, is_chosen_from_data=is_chosen_from_data
    ):
        typer.echo(line)
    options = {
        "--column": "" if column == "text" else column,
        "--mechanism": choice.mechanism.name,
        "--epsilon": f"{choice.mechanism.epsilon:g}",
        "--space": "" if space == "glove" else space,
        "--metric": "" if metric == "euclidean" else metric,
        "--prior": None if prior is None else str(prior),
        "--format": format_,
        "--delimiter": delimiter,
        "--encoding": "" if encoding == "utf-8" else encoding,
    }
    given_options = [part for option, value in options.items() if value for part in (option, value)]
    command = [
        "deniable",
        "privatize",
        source,
        *given_options,
        *(["--chosen-from-data"] if is_chosen_from_data else []),
    ]
    typer.echo(f"run            {shlex.join(command)} --output OUTPUT")


def _count_words(space: "Space", texts: list[str]) -> "tuple[npt.NDArray[np.int64], list[int]]":
    """Return how often the texts hold each word of the space (n,), and how many words each text has."""
    import numpy as np  # noqa: PLC0415

    from deniable.text.tokens import Lexer  # noqa: PLC0415

    lexer = Lexer(space, "draw", "lower", ())
    lexed_texts = [lexer.lex(text) for text in texts]
    if sum(len(text.words) - text.unknown_count for text in lexed_texts) == 0:
        raise InputError("The texts hold no word of the vocabulary: name another column, or another --space.")
    known_words = np.concatenate([np.delete(text.words, text.unknown_positions) for text in lexed_texts])
    return np.bincount(known_words, minlength=len(space)), [len(text.words) for text in lexed_texts]


def _format_choice(
    choice: "TuningResult",
    goal: str,
    prior_name: str,
    median_loss: float,
    median_length: int,
    *,
    is_chosen_from_data: bool,
) -> list[str]:
    """Return what was chosen, and what is known of it."""
    mechanism, verdict = choice.mechanism, choice.verdict
    prior_text = f"of words, if words follow {prior_name}"
    blind_text = f"without the output: {100 * choice.blind_share:.1f} %; by reading words in context: more"
    lines = [
        f"choice         {mechanism.name} at epsilon {mechanism.epsilon:g}",
        f"verification   {_INDENT.join(str(verdict).splitlines())}",
        f"attacker       names {choice.recovery_share.format_percent()} {prior_text} ({blind_text})",
        f"kept           {choice.kept_share.format_percent()} {prior_text}",
    ]
    if goal == "utility":
        lines.append(
            f"utility        {100 * choice.achieved:.1f} % accuracy, trained on private and tested on original texts"
        )
    lines.append(f"whole records  the median record, {median_length:,} words: epsilon {median_loss:,.3g}")
    if is_chosen_from_data:
        lines.append("chosen         from the private texts: the certificate must say so, and --chosen-from-data does")
    return lines
