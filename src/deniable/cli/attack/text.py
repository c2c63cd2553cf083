"""``deniable attack``: other words that lead a text classifier astray, and how often there are some."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.labelled_tables import build_labelled_table
from deniable.cli.model_runs import check_torch, translate_memory_errors
from deniable.cli.options import (
    DelimiterOption,
    FormatOption,
    MetricOption,
    SpaceOption,
    find_vector_files,
    unknown_name_error,
)
from deniable.cli.progress import show_passes
from deniable.cli.tables import TableFormat, encode_rows, parse_output_format
from deniable.core.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from deniable.cli.labelled_tables import LabelledRows
    from deniable.models.text.attacks import TextAttackResult
    from deniable.space import Space

_DEFAULT_WIDTH = 100
_BRACKETS = "[", "]"


def run_attack_text(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A text model that deniable train wrote.")],
    source: Annotated[
        str, typer.Argument(metavar="INPUT", help="csv, tsv, jsonl or parquet, also .gz or .zst; - is a pipe.")
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="csv, tsv, jsonl or parquet: each text beside its run_attack_text."
        ),
    ],
    label: Annotated[str | None, typer.Option(help="Column with classes.", show_default=False)] = None,
    column: Annotated[str, typer.Option("--column", "-c", help="Column with text.")] = "text",
    premise: Annotated[str | None, typer.Option(help="Column with the first text of a pair, which stays.")] = None,
    mechanism: Annotated[
        str | None, typer.Option(help="Draws the new words, with --epsilon: as for deniable privatize.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Of the mechanism.")] = None,
    substitutions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="In its place: JSON of word: [substitute, ...].")
    ] = None,
    search: Annotated[str, typer.Option("--search", help="genetic, greedy or resampling.")] = "genetic",
    limit: Annotated[int | None, typer.Option(help="Rows, the first ones; all by default.")] = None,
    examples: Annotated[int, typer.Option(help="TextAttackResult texts that are shown.")] = 5,
    seed: Annotated[int, typer.Option(help="Of the search; what it finds follows from it.")] = 0,
    space: SpaceOption = "glove",
    metric: MetricOption = "euclidean",
    format_: FormatOption = None,
    delimiter: DelimiterOption = None,
    encoding: Annotated[str, typer.Option(help="Of the input.")] = "utf-8",
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output.")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Attack a text classifier by other words.

    Prints clean and adversarial accuracy, queries, and texts beside their attacks with the changed words in brackets.
    """
    check_torch()
    from deniable.core.files import check_outputs, open_outputs  # noqa: PLC0415
    from deniable.core.randomness import derive_key_from_seed  # noqa: PLC0415 - keeps --help fast
    from deniable.models.text.attacks import TEXT_ATTACKS  # noqa: PLC0415
    from deniable.models.text.model import describe_source, load_text_model  # noqa: PLC0415
    from deniable.models.text.training import check_documents_fit  # noqa: PLC0415

    if search not in TEXT_ATTACKS:
        raise unknown_name_error("search", search, list(TEXT_ATTACKS))
    for name, value, minimum in (("--limit", limit, 1), ("--examples", examples, 0)):
        if value is not None and value < minimum:
            raise InputError(f"{name} must be at least {minimum}. Got {value}.")
    output_format = parse_output_format(output)
    table = build_labelled_table(label, column, premise, TableFormat(format_, delimiter, encoding), space, metric)
    check_outputs([output], [model, source, substitutions, find_vector_files(space)], force=force)
    word_space = table.build_space()
    text_model = load_text_model(model, word_space)
    word_source = table.build_word_source(word_space, substitutions, mechanism, epsilon)
    if word_source is None:
        raise InputError("An attack needs words to try: give --mechanism and --epsilon, or --substitutions.")
    labelled_rows = table.read_documents(word_space, source, text_model.network.max_words, text_model.classes, limit)
    documents = labelled_rows.documents
    check_documents_fit(text_model.network, documents)
    table.print_remarks()
    with translate_memory_errors(), show_passes("attack"):
        scorer = text_model.network.make_scorer(documents)
        outcome = TEXT_ATTACKS[search](scorer, documents, word_source, derive_key_from_seed(seed))
        predicted = text_model.predict(documents)
    attack_table = _AttackTable(word_space, labelled_rows, outcome, predicted)
    with open_outputs(output, force=force, owner_only=[output]) as (stream,):
        stream.write(encode_rows(attack_table.build_columns(), output_format))
    query_count = int(outcome.queries.sum())
    typer.echo(
        f"{search} search, words by {describe_source(word_source)}; {len(documents):,} texts, {query_count:,} queries"
    )
    typer.echo(f"clean accuracy       {outcome.clean_accuracy().format_percent()}")
    typer.echo(f"adversarial accuracy {outcome.adversarial_accuracy().format_percent()}")
    if outcome.flipped.any():
        flipped = outcome.flipped
        mean_changed, mean_queries = outcome.changed_words[flipped].mean(), outcome.queries[flipped].mean()
        typer.echo(f"of the texts led astray: {mean_changed:.1f} words changed, {mean_queries:,.0f} queries on average")
    width = shutil.get_terminal_size((_DEFAULT_WIDTH, 0)).columns
    for row in outcome.flipped.nonzero()[0][:examples].tolist():
        typer.echo("\n".join(["", *attack_table.format_example(row, width)]))


class _AttackTable:
    """Each text beside its attack."""

    def __init__(
        self, space: "Space", labelled_rows: "LabelledRows", outcome: "TextAttackResult", predictions: "np.ndarray"
    ) -> None:
        self._space, self._documents, self._parsed_texts, self._outcome = (
            space,
            labelled_rows.documents,
            labelled_rows.parsed_texts,
            outcome,
        )
        self._row_numbers, self._predictions = labelled_rows.row_numbers, predictions

    def build_columns(self) -> dict[str, list[object]]:
        """Return the table that is written."""
        documents, outcome = self._documents, self._outcome
        rows = range(len(documents))
        return {
            "row": (self._row_numbers + 1).tolist(),
            "label": [documents.classes[code] for code in documents.labels],
            "predicted": [documents.classes[code] for code in self._predictions],
            "flipped": outcome.flipped.tolist(),
            "margin": outcome.margins.tolist(),
            "queries": outcome.queries.tolist(),
            "changed": outcome.changed_words.tolist(),
            "text": ["".join(self._parsed_texts.pieces[row]) for row in rows],
            "attacked": [self._parsed_texts.replace_words(row, self._find_new_words(row)) for row in rows],
        }

    def format_example(self, row: int, width: int) -> list[str]:
        """Return one text and its attack, the changed words in brackets, cut to the width around the first change."""
        is_changed = [word is not None for word in self._find_new_words(row)]
        originals = [self._parsed_texts.pieces[row][place] for place in self._parsed_texts.word_positions[row]]
        marked_originals = [
            _bracket_word(word) if is_new else None for word, is_new in zip(originals, is_changed, strict=True)
        ]
        marked_replacements = [None if word is None else _bracket_word(word) for word in self._find_new_words(row)]
        label = self._documents.classes[self._documents.labels[row]]
        heading = f"row {self._row_numbers[row] + 1}, {label}: {_format_word_count(sum(is_changed))} changed, {self._outcome.queries[row]:,} queries"
        text_pair = (
            self._parsed_texts.replace_words(row, marked_originals),
            self._parsed_texts.replace_words(row, marked_replacements),
        )
        lines = [
            heading,
            *(
                f"  {sign} {_shorten_around_bracket(text, width - 4)}"
                for sign, text in zip("-+", text_pair, strict=True)
            ),
        ]
        replacements = [
            f"{old} -> {is_new}"
            for old, is_new in zip(originals, self._find_new_words(row), strict=True)
            if is_new is not None
        ]
        return [*lines, f"  = {_shorten_around_bracket(', '.join(replacements), width - 4)}"]

    def _find_new_words(self, row: int) -> list[str | None]:
        """Return the new word in each place of one text; None where it is the old one."""
        pairs = zip(self._documents.texts[row].tolist(), self._outcome.texts[row].tolist(), strict=True)
        return [None if old == new else self._space.words[new] for old, new in pairs]


def _format_word_count(count: int) -> str:
    return f"{count} word{'s' * (count != 1)}"


def _bracket_word(word: str) -> str:
    return word.join(_BRACKETS)


def _shorten_around_bracket(text: str, width: int) -> str:
    """Return a text in one line of some characters, around the first mark."""
    line = " ".join(text.split())
    start = max(0, line.find(_BRACKETS[0]) - width // 3) if len(line) > width else 0
    excerpt = line[start : start + width]
    return ("..." + excerpt[3:] if start else excerpt) if start + width >= len(line) else excerpt[: width - 3] + "..."
