"""``deniable tune``: the epsilon at which an attacker's success, the words kept or the utility is what you ask for."""

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.left_out import describe_rows
from deniable.cli.options import Delimiter, FormatName, MetricName, PriorFile, SpaceSource, build_space, load_prior
from deniable.cli.progress import passes
from deniable.cli.tables import Form, read_table
from deniable.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from deniable.measure.tuning import Choice
    from deniable.space import Space

_INPUT_WORDS = "the frequencies of this input"
_INDENT = "\n" + 15 * " "


def tune(
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
    prior: PriorFile = None,
    input_prior: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--input-prior", help="Use the word frequencies of this input: epsilon is chosen from it.")
    ] = False,
    space: SpaceSource = "glove",
    metric: MetricName = "euclidean",
    format_: FormatName = None,
    delimiter: Delimiter = None,
    encoding: Annotated[str, typer.Option(help="Of the input.")] = "utf-8",
) -> None:
    """Choose epsilon by what it gives: an attacker's success, words kept, or the accuracy of a classifier.

    Prints the choice, what is proved of it, and the command that privatizes the input with it. Where the
    input's own word frequencies or a utility chose it, that command tells the certificate so.
    """
    import numpy as np  # noqa: PLC0415 - keeps --help fast

    from deniable.measure.labels import labels  # noqa: PLC0415
    from deniable.measure.tuning import tune_kept, tune_recovery, tune_utility  # noqa: PLC0415
    from deniable.words.documents import worst_loss  # noqa: PLC0415
    from deniable.words.prior import build_prior  # noqa: PLC0415

    goals = {"recovery": recovery, "kept": kept, "utility": utility}
    given = {name: target for name, target in goals.items() if target is not None}
    if len(given) != 1:
        raise InputError(f"Give one goal: --recovery, --kept or --utility. Got {' and '.join(given) or 'none'}.")
    ((goal, target),) = given.items()
    if prior is not None and input_prior:
        raise InputError("--prior FILE and --input-prior exclude each other: leave one of them out.")
    if (goal == "utility") != (label is not None):
        raise InputError("--utility and --label COLUMN go together: give both, or neither.")
    table = read_table(source, [column, label], Form(format_, delimiter, encoding))
    texts = [text or "" for text in table[column]]
    empty = [row for row, text in enumerate(table[column]) if text is None]
    remarks = describe_rows(source, empty, "without a text, read as empty")
    coded = labels(table[label], label) if label else None
    if coded is not None:
        without = f"without a label in {label!r}, no part of the accuracy"
        remarks += describe_rows(source, coded.unlabelled.tolist(), without)
    domain = build_space(space, metric)
    public = load_prior(prior, domain)
    with passes("tuning"):
        counts, lengths = _words(domain, texts)
        frequencies = build_prior(domain, counts, _INPUT_WORDS, public=False) if input_prior else public
        if goal == "recovery":
            choice = tune_recovery(domain, target, mechanism=mechanism, prior=frequencies)
        elif goal == "kept":
            choice = tune_kept(domain, target, mechanism=mechanism, prior=frequencies)
        elif coded is not None:
            labelled, codes = [texts[row] for row in coded.labelled], coded.codes[coded.labelled]
            choice = tune_utility(domain, labelled, codes, target, mechanism=mechanism, prior=frequencies)
        # What the certificate will say is found now, and kept in the cache: never the frequencies of the input.
        choice.mechanism.expected_kept(public)
        median = int(np.quantile(lengths, 0.5, method="lower"))
        whole = median * worst_loss(choice.mechanism)
    for line in remarks:
        typer.echo(line, err=True)
    looked = input_prior or goal == "utility"
    for line in _lines(choice, goal, frequencies.name, whole, median, looked=looked):
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
    command = ["deniable", "privatize", source, *given_options, *(["--chosen-from-data"] if looked else [])]
    typer.echo(f"run            {shlex.join(command)} --output OUTPUT")


def _words(space: "Space", texts: list[str]) -> "tuple[npt.NDArray[np.int64], list[int]]":
    """Return how often the texts hold each word of the space (n,), and how many words each text has."""
    import numpy as np  # noqa: PLC0415

    from deniable.text.tokens import Lexer  # noqa: PLC0415

    lexer = Lexer(space, "draw", "lower", ())
    cut = [lexer.lex(text) for text in texts]
    if sum(len(text.words) - text.unknown for text in cut) == 0:
        raise InputError("The texts hold no word of the vocabulary: name another column, or another --space.")
    known = np.concatenate([np.delete(text.words, text.stand_ins) for text in cut])
    return np.bincount(known, minlength=len(space)), [len(text.words) for text in cut]


def _lines(choice: "Choice", goal: str, prior: str, whole: float, median: int, *, looked: bool) -> list[str]:
    """Return what was chosen, and what is known of it."""
    mechanism, verdict = choice.mechanism, choice.verdict
    under = f"of words, if words follow {prior}"
    better = f"without the output: {100 * choice.blind:.1f} %; by reading words in context: more"
    lines = [
        f"choice         {mechanism.name} at epsilon {mechanism.epsilon:g}",
        f"verification   {_INDENT.join(str(verdict).splitlines())}",
        f"attacker       names {choice.recovered.percent()} {under} ({better})",
        f"kept           {choice.kept.percent()} {under}",
    ]
    if goal == "utility":
        lines.append(
            f"utility        {100 * choice.reached:.1f} % accuracy, trained on private and tested on original texts"
        )
    lines.append(f"whole records  the median record, {median:,} words: epsilon {whole:,.3g}")
    if looked:
        lines.append("chosen         from the private texts: the certificate must say so, and --chosen-from-data does")
    return lines
