"""``deniable attack text``: other words that change the class of a text, and how often there are some."""

import shutil
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.building import build_space, build_substitute_source, describe_substitutions, find_word_files
from deniable.cli.choices import MechanismName, MetricName, SearchName
from deniable.cli.labelled_tables import LabelledColumns, build_documents, print_remarks, read_labelled_table
from deniable.cli.model_runs import check_torch, translate_memory_errors
from deniable.cli.options import (
    ATTACK_WORDS_PANEL,
    HIDE_DEFAULT,
    OUTPUT_PANEL,
    DelimiterOption,
    EncodingOption,
    ForceOption,
    FormatOption,
    HideOption,
    LabelledTableArgument,
    LabelOption,
    MechanismEpsilonOption,
    MetricOption,
    PremiseOption,
    QuotingOption,
    RowLimitOption,
    SeedOption,
    SpaceOption,
    SubstitutionsOption,
    TextColumnOption,
    TextModelArgument,
    get_choice,
    list_choices,
    make_option,
)
from deniable.cli.progress import show_passes
from deniable.cli.tables import TableOptions, encode_rows, parse_output_format
from deniable.core.errors import InputError

if TYPE_CHECKING:
    from deniable.cli.labelled_tables import LabelledDocuments
    from deniable.models.text.attacks import TextAttackResult
    from deniable.models.text.documents import RowIndices
    from deniable.space import Space

_ATTACK_PANEL = "Attack"
_DEFAULT_WIDTH = 100
_BRACKETS = "[", "]"

AttackMechanismOption = Annotated[
    MechanismName | None,
    make_option(
        ATTACK_WORDS_PANEL,
        "--mechanism",
        f"Word mechanism that draws the new words: {list_choices(MechanismName)}. It needs --mechanism-epsilon.",
        metavar="MECHANISM",
    ),
]
SearchOption = Annotated[SearchName, make_option(_ATTACK_PANEL, "--search", "Search algorithm.")]
ExamplesOption = Annotated[int, make_option(_ATTACK_PANEL, "--examples", "Number of attacked texts to print.", min=0)]
AttackTableOption = Annotated[
    str,
    make_option(
        OUTPUT_PANEL,
        "--output",
        "-o",
        "Table to write, each text next to its attack: csv, tsv, jsonl or parquet.",
        metavar="FILE",
    ),
]


def run_attack_text(
    model: TextModelArgument,
    source: LabelledTableArgument,
    *,
    substitutions: SubstitutionsOption = None,
    mechanism: AttackMechanismOption = None,
    mechanism_epsilon: MechanismEpsilonOption = None,
    search: SearchOption = SearchName.GENETIC,
    examples: ExamplesOption = 5,
    column: TextColumnOption = "text",
    label: LabelOption,
    premise: PremiseOption = None,
    limit: RowLimitOption = None,
    space: SpaceOption = "glove",
    metric: MetricOption = MetricName.EUCLIDEAN,
    hide: HideOption = HIDE_DEFAULT,
    format_: FormatOption = None,
    delimiter: DelimiterOption = None,
    quoting: QuotingOption = None,
    encoding: EncodingOption = "utf-8",
    output: AttackTableOption,
    force: ForceOption = False,
    seed: SeedOption = 0,
) -> None:
    """Attack a text classifier by replacing words.

    Prints clean and adversarial accuracy, the number of queries, and examples with the changed words in brackets. Give
    --substitutions, or --mechanism with --mechanism-epsilon. Requires the train extra of deniable.
    """
    check_torch()
    from deniable.core.files import check_outputs, open_outputs
    from deniable.core.randomness import derive_key_from_seed
    from deniable.models.text.attacks import TEXT_ATTACKS
    from deniable.models.text.model import describe_source, load_text_model
    from deniable.models.text.training import check_documents_fit

    output_format = parse_output_format(output)
    columns = LabelledColumns(column, label, premise, TableOptions(format_, delimiter, encoding, quoting))
    check_outputs([output], [model, source, substitutions, *find_word_files(space, hide)], force=force)
    word_space = build_space(space, metric, hide)
    text_model = load_text_model(model, word_space)
    word_source = build_substitute_source(word_space, substitutions, get_choice(mechanism), mechanism_epsilon)
    if word_source is None:
        raise InputError("An attack needs words to try: give --mechanism and --mechanism-epsilon, or --substitutions.")
    table = read_labelled_table(source, columns, limit)
    rows = build_documents(table, word_space, text_model.network.max_words, text_model.classes)
    documents = rows.documents
    check_documents_fit(text_model.network, documents)
    print_remarks([*describe_substitutions(substitutions, word_source), *rows.remarks])
    with translate_memory_errors(), show_passes("attack"):
        scorer = text_model.network.make_scorer(documents)
        result = TEXT_ATTACKS[search](scorer, documents, word_source, derive_key_from_seed(seed))
        predictions = text_model.predict(documents)
    attack_table = _AttackTable(word_space, rows, result, predictions)
    with open_outputs(output, force=force, owner_only=[output]) as (stream,):
        stream.write(encode_rows(attack_table.build_columns(), output_format))
    typer.echo(f"{search} search, words by {describe_source(word_source)}; {_format_size(result)}")
    _report_attack(result, attack_table, examples)


def _format_size(result: "TextAttackResult") -> str:
    """Return how many texts were attacked, with how many queries."""
    return f"{len(result.texts):,} texts, {int(result.queries.sum()):,} queries"


def _report_attack(result: "TextAttackResult", table: "_AttackTable", example_count: int) -> None:
    """Print the accuracies, the mean effort, and some examples."""
    typer.echo(f"clean accuracy       {result.clean_accuracy().format_percent()}")
    typer.echo(f"adversarial accuracy {result.adversarial_accuracy().format_percent()}")
    flipped = result.flipped
    if flipped.any():
        mean_changed, mean_queries = result.changed_words[flipped].mean(), result.queries[flipped].mean()
        typer.echo(f"per misclassified text: {mean_changed:.1f} words changed, {mean_queries:,.0f} queries on average")
    width = shutil.get_terminal_size((_DEFAULT_WIDTH, 0)).columns
    for row in flipped.nonzero()[0][:example_count].tolist():
        typer.echo("\n".join(["", *table.format_example(row, width)]))


class _AttackTable:
    """Each text beside its attack."""

    def __init__(
        self, space: "Space", rows: "LabelledDocuments", result: "TextAttackResult", predictions: "RowIndices"
    ) -> None:
        self._space, self._result, self._predictions = space, result, predictions
        self._documents, self._tokenized_texts, self._row_numbers = (
            rows.documents,
            rows.tokenized_texts,
            rows.row_numbers,
        )

    def build_columns(self) -> dict[str, list[object]]:
        """Return the table that is written."""
        documents, result = self._documents, self._result
        rows = range(len(documents))
        return {
            "row": (self._row_numbers + 1).tolist(),
            "label": [documents.classes[code] for code in documents.labels],
            "predicted": [documents.classes[code] for code in self._predictions],
            "flipped": result.flipped.tolist(),
            "margin": result.margins.tolist(),
            "queries": result.queries.tolist(),
            "changed": result.changed_words.tolist(),
            "text": ["".join(self._tokenized_texts.pieces[row]) for row in rows],
            "attacked": [self._tokenized_texts.replace_words(row, self._find_new_words(row)) for row in rows],
        }

    def format_example(self, row: int, width: int) -> list[str]:
        """Return one text and its attack, the changed words in brackets, cut to the width around the first change."""
        tokenized, new_words = self._tokenized_texts, self._find_new_words(row)
        old_words = [tokenized.pieces[row][place] for place in tokenized.word_positions[row]]
        changes = [(old, new) for old, new in zip(old_words, new_words, strict=True) if new is not None]
        before = tokenized.replace_words(
            row, [new and _bracket_word(old) for old, new in zip(old_words, new_words, strict=True)]
        )
        after = tokenized.replace_words(row, [new and _bracket_word(new) for new in new_words])
        label = self._documents.classes[self._documents.labels[row]]
        words = f"{len(changes)} word{'s' * (len(changes) != 1)}"
        return [
            f"row {self._row_numbers[row] + 1}, {label}: {words} changed, {self._result.queries[row]:,} queries",
            f"  - {_shorten_around_bracket(before, width - 4)}",
            f"  + {_shorten_around_bracket(after, width - 4)}",
            f"  = {_shorten_around_bracket(', '.join(f'{old} -> {new}' for old, new in changes), width - 4)}",
        ]

    def _find_new_words(self, row: int) -> list[str | None]:
        """Return the new word in each place of one text; None where it is the old one."""
        pairs = zip(self._documents.texts[row].tolist(), self._result.texts[row].tolist(), strict=True)
        return [None if old == new else self._space.words[new] for old, new in pairs]


def _bracket_word(word: str) -> str:
    return word.join(_BRACKETS)


def _shorten_around_bracket(text: str, width: int) -> str:
    """Return a text as one line of at most ``width`` characters, around the first bracket."""
    line = " ".join(text.split())
    start = max(0, line.find(_BRACKETS[0]) - width // 3) if len(line) > width else 0
    excerpt = line[start : start + width]
    return ("..." + excerpt[3:] if start else excerpt) if start + width >= len(line) else excerpt[: width - 3] + "..."
