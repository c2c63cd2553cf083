"""``deniable attack``: other words that lead a text classifier astray, and how often there are some."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.options import Delimiter, FormatName, MetricName, SpaceSource, unknown_name, vector_files
from deniable.cli.progress import passes
from deniable.cli.rows import kind_of, packed_rows
from deniable.cli.runs import check_torch, memory_told
from deniable.cli.tables import Form
from deniable.cli.texts import table_of
from deniable.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from deniable.cli.texts import Labelled
    from deniable.robust.text.attacks import Attacked
    from deniable.space import Space

_WIDTH = 100
_MARKS = "[", "]"


def attack(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A text model that deniable train wrote.")],
    source: Annotated[
        str, typer.Argument(metavar="INPUT", help="csv, tsv, jsonl or parquet, also .gz or .zst; - is a pipe.")
    ],
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="csv, tsv, jsonl or parquet: each text beside its attack."),
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
    examples: Annotated[int, typer.Option(help="Attacked texts that are shown.")] = 5,
    seed: Annotated[int, typer.Option(help="Of the search; what it finds follows from it.")] = 0,
    space: SpaceSource = "glove",
    metric: MetricName = "euclidean",
    format_: FormatName = None,
    delimiter: Delimiter = None,
    encoding: Annotated[str, typer.Option(help="Of the input.")] = "utf-8",
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output.")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Attack a text classifier by other words.

    Prints clean and adversarial accuracy, queries, and texts beside their attacks with the changed words in brackets.
    """
    check_torch()
    from deniable.randomness import key_from_seed  # noqa: PLC0415 - keeps --help fast
    from deniable.robust.text.attacks import ATTACKS  # noqa: PLC0415
    from deniable.robust.text.model import described, load_text  # noqa: PLC0415
    from deniable.robust.text.training import check_fits  # noqa: PLC0415
    from deniable.text.tables.files import check_outputs, writing  # noqa: PLC0415

    if search not in ATTACKS:
        raise unknown_name("search", search, list(ATTACKS))
    for name, value, least in (("--limit", limit, 1), ("--examples", examples, 0)):
        if value is not None and value < least:
            raise InputError(f"{name} must be at least {least}. Got {value}.")
    kind = kind_of(output)
    table = table_of(label, column, premise, Form(format_, delimiter, encoding), space, metric)
    check_outputs([output], [model, source, substitutions, vector_files(space)], force=force)
    domain = table.build_space()
    found = load_text(model, domain)
    words = table.source(domain, substitutions, mechanism, epsilon)
    if words is None:
        raise InputError("An attack needs words to try: give --mechanism and --epsilon, or --substitutions.")
    given = table.documents(domain, source, found.network.longest, found.classes, limit)
    documents = given.documents
    check_fits(found.network, documents)
    table.tell()
    with memory_told(), passes("attack"):
        scorer = found.network.scorer(documents)
        result = ATTACKS[search](scorer, documents, words, key_from_seed(seed))
        predicted = found.predict(documents)
    rows = _Rows(domain, given, result, predicted)
    with writing(output, force=force, owner_only=[output]) as (stream,):
        stream.write(packed_rows(rows.columns(), kind))
    asked = int(result.queries.sum())
    typer.echo(f"{search} search, words by {described(words)}; {len(documents):,} texts, {asked:,} queries")
    typer.echo(f"clean accuracy       {result.clean_accuracy().percent()}")
    typer.echo(f"adversarial accuracy {result.adversarial_accuracy().percent()}")
    if result.flipped.any():
        flipped = result.flipped
        changed, queries = result.changed[flipped].mean(), result.queries[flipped].mean()
        typer.echo(f"of the texts led astray: {changed:.1f} words changed, {queries:,.0f} queries on average")
    width = shutil.get_terminal_size((_WIDTH, 0)).columns
    for row in result.flipped.nonzero()[0][:examples].tolist():
        typer.echo("\n".join(["", *rows.example(row, width)]))


class _Rows:
    """Each text beside its attack."""

    def __init__(self, space: "Space", given: "Labelled", result: "Attacked", predicted: "np.ndarray") -> None:
        self._space, self._documents, self._texts, self._result = space, given.documents, given.read, result
        self._rows, self._predicted = given.rows, predicted

    def columns(self) -> dict[str, list[object]]:
        """Return the table that is written."""
        documents, result = self._documents, self._result
        rows = range(len(documents))
        return {
            "row": (self._rows + 1).tolist(),
            "label": [documents.classes[code] for code in documents.labels],
            "predicted": [documents.classes[code] for code in self._predicted],
            "flipped": result.flipped.tolist(),
            "margin": result.margins.tolist(),
            "queries": result.queries.tolist(),
            "changed": result.changed.tolist(),
            "text": ["".join(self._texts.cut[row]) for row in rows],
            "attacked": [self._texts.written(row, self._words(row)) for row in rows],
        }

    def example(self, row: int, width: int) -> list[str]:
        """Return one text and its attack, the changed words in brackets, cut to the width around the first change."""
        changed = [word is not None for word in self._words(row)]
        originals = [self._texts.cut[row][place] for place in self._texts.places[row]]
        marked = [_marked(word) if new else None for word, new in zip(originals, changed, strict=True)]
        attacked = [None if word is None else _marked(word) for word in self._words(row)]
        label = self._documents.classes[self._documents.labels[row]]
        head = (
            f"row {self._rows[row] + 1}, {label}: {_words(sum(changed))} changed, {self._result.queries[row]:,} queries"
        )
        pair = (self._texts.written(row, marked), self._texts.written(row, attacked))
        lines = [head, *(f"  {sign} {_cut(text, width - 4)}" for sign, text in zip("-+", pair, strict=True))]
        swaps = [f"{old} -> {new}" for old, new in zip(originals, self._words(row), strict=True) if new is not None]
        return [*lines, f"  = {_cut(', '.join(swaps), width - 4)}"]

    def _words(self, row: int) -> list[str | None]:
        """Return the new word in each place of one text; None where it is the old one."""
        pairs = zip(self._documents.texts[row].tolist(), self._result.texts[row].tolist(), strict=True)
        return [None if old == new else self._space.words[new] for old, new in pairs]


def _words(count: int) -> str:
    return f"{count} word{'s' * (count != 1)}"


def _marked(word: str) -> str:
    return word.join(_MARKS)


def _cut(text: str, width: int) -> str:
    """Return a text in one line of some characters, around the first mark."""
    line = " ".join(text.split())
    start = max(0, line.find(_MARKS[0]) - width // 3) if len(line) > width else 0
    piece = line[start : start + width]
    return ("..." + piece[3:] if start else piece) if start + width >= len(line) else piece[: width - 3] + "..."
