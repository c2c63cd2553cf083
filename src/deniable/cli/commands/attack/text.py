"""``deniable attack text``: other words that change the class of a text, and how often there are some."""

import dataclasses
import shutil
from typing import TYPE_CHECKING

from deniable.cli.commandline import option
from deniable.cli.documents import LabelledDocuments, LimitedColumns, ReplacementOptions, build_documents
from deniable.cli.model_runs import check_torch
from deniable.cli.options import LabelledTableArgument, TextModelArgument, VectorSpaceOptions
from deniable.cli.progress import show_passes
from deniable.cli.rows import read_table
from deniable.cli.tables import TableOptions, encode_rows, parse_output_format
from deniable.cli.terminal import say
from deniable.core.errors import InputError
from deniable.models.text.options import TextAttackName

if TYPE_CHECKING:
    from deniable.models.text.attack_search import TextAttackResult
    from deniable.models.text.documents import RowIndices
    from deniable.space import Space

_DEFAULT_WIDTH = 100
_BRACKETS = "[", "]"


@dataclasses.dataclass(frozen=True, kw_only=True)
class AttackOptions:
    """Attack.

    Attributes:
        search: search algorithm.
        examples: number of attacked texts to print.
        output: table to write, each text next to its attack: csv, tsv, jsonl or parquet.
        force: overwrite existing output files.
        seed: seed of all random draws; the same seed gives the same results.
    """

    search: TextAttackName = "genetic"
    examples: int = dataclasses.field(default=5, metadata=option(min=0))
    output: str = dataclasses.field(metadata=option("--output", "-o", metavar="FILE", panel="Output"))
    force: bool = dataclasses.field(default=False, metadata=option("--force", panel="Output"))
    seed: int = dataclasses.field(default=0, metadata=option(panel="Output"))


def run_attack_text(
    model: TextModelArgument,
    source: LabelledTableArgument,
    words: ReplacementOptions,
    options: AttackOptions,
    columns: LimitedColumns,
    vectors: VectorSpaceOptions,
    table: TableOptions,
) -> None:
    """Attack a text classifier by replacing words.

    Prints clean and adversarial accuracy, the number of queries, and examples with the changed words in brackets. Give
    --substitutions, or --mechanism with --mechanism-epsilon. Requires the train extra of deniable.

    Examples:
        deniable attack text trained.model test.csv --label stars --substitutions neighbours.json -o attacked.csv
    """
    check_torch()
    from deniable.core.files import check_outputs, open_outputs
    from deniable.core.randomness import derive_key_from_seed
    from deniable.models.text.attacks import TEXT_ATTACKS
    from deniable.models.text.model import check_documents_fit, load_text_model
    from deniable.models.text.substitutions import describe_source

    output = options.output
    output_format = parse_output_format(output)
    check_outputs([output], [model, source, words.substitutions, *vectors.list_files()], force=options.force)
    space = vectors.build()
    text_model = load_text_model(model, space)
    word_source = words.build_source(space)
    if word_source is None:
        raise InputError("An attack needs words to try: give --mechanism and --mechanism-epsilon, or --substitutions.")
    read = read_table(source, table, columns.roles, limit=columns.limit)
    rows = build_documents(read, space, text_model.network.max_words, text_model.classes)
    documents = rows.documents
    check_documents_fit(text_model.network, documents)
    with show_passes("attack"):
        scorer = text_model.network.make_scorer(documents)
        result = TEXT_ATTACKS[options.search](scorer, documents, word_source, derive_key_from_seed(options.seed))
        predictions = text_model.predict(documents)
    attacked = _AttackTable(space, rows, result, predictions)
    with open_outputs(output, force=options.force, owner_only=[output]) as (stream,):
        stream.write(encode_rows(attacked.build_columns(), output_format))
    size = f"{len(result.texts):,} texts, {int(result.queries.sum()):,} queries"
    say(f"{options.search} search, words by {describe_source(word_source)}; {size}")
    say(f"clean accuracy       {result.clean_accuracy().format_percent()}")
    say(f"adversarial accuracy {result.adversarial_accuracy().format_percent()}")
    flipped = result.flipped
    if flipped.any():
        mean_changed, mean_queries = result.changed_words[flipped].mean(), result.queries[flipped].mean()
        say(f"per misclassified text: {mean_changed:.1f} words changed, {mean_queries:,.0f} queries on average")
    width = shutil.get_terminal_size((_DEFAULT_WIDTH, 0)).columns
    for row in flipped.nonzero()[0][: options.examples].tolist():
        say("\n".join(["", *attacked.format_example(row, width)]))


class _AttackTable:
    """Each text beside its attack."""

    def __init__(
        self, space: "Space", rows: LabelledDocuments, result: "TextAttackResult", predictions: "RowIndices"
    ) -> None:
        self._space, self._result, self._predictions = space, result, predictions
        self._documents, self._tokenized_texts = rows.documents, rows.tokenized_texts
        self._row_numbers = [number + 1 for number in rows.rows.numbers]

    def build_columns(self) -> dict[str, list[object]]:
        """Return the table that is written."""
        documents, result = self._documents, self._result
        rows = range(len(documents))
        return {
            "row": [*self._row_numbers],
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
            f"row {self._row_numbers[row]}, {label}: {words} changed, {self._result.queries[row]:,} queries",
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
