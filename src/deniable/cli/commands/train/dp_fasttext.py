"""``deniable train text --kind dp-fasttext``: DP-SGD on means of frozen word vectors, every record hidden."""

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.cli.building import build_space
from deniable.cli.choices import MetricName
from deniable.cli.commands.train.options import parse_classes
from deniable.cli.commands.train.private_text import (
    check_budget,
    describe_test_accuracy,
    read_private_test_table,
    warn_of_delta,
)
from deniable.cli.model_runs import ModelFiles, ModelOutput, commit_to_data, train_and_write
from deniable.cli.owner_remarks import describe_source_markup, warn_owner
from deniable.cli.private_tables import (
    PrivateColumns,
    PrivateTable,
    check_test_file,
    hold_out_rows,
    read_private_table,
)
from deniable.cli.progress import show_passes, show_steps
from deniable.core.errors import InputError

if TYPE_CHECKING:
    from deniable.learning.loop import Checkpoint
    from deniable.models.text.documents import Documents
    from deniable.models.text.model import TextModel
    from deniable.models.text.private_training import PrivateTextOptions
    from deniable.space import Space


@dataclasses.dataclass(frozen=True)
class _Run:
    """What a private run is a function of, beside the checkpoint.

    Attributes:
        table: all private rows.
        test_table: None to hold out some of these.
        classes: declared.
        space: whose vectors the model stands on.
        options: of the training.
    """

    table: PrivateTable
    test_table: PrivateTable | None
    classes: tuple[str, ...]
    space: "Space"
    options: "PrivateTextOptions"


def train_dp_fasttext(
    source: Path,
    columns: PrivateColumns,
    given: dict[str, Any],
    words: tuple[str, str],
    test: Path | None,
    output: ModelOutput,
) -> None:
    """Train a private classifier on frozen word vectors, or resume its training, and write it with its card.

    Args:
        source: path of the private table.
        columns: its columns; none of persons.
        given: ``classes``, ``records`` and fields of `PrivateTextOptions`, those that were given.
        words: space and hidden classes, as their options name them.
        test: table to test on; None for a tenth of the private rows.
        output: where the model goes.

    Raises:
        InputError: an option is missing or cannot be met, or a table cannot be used.
    """
    classes, options = _parse_options(given)
    check_test_file(test, str(source))
    warn_of_delta(options.delta, options.places)
    space = build_space(words[0], MetricName.EUCLIDEAN, words[1])
    options.plan_settings(space.vectors.shape[1])  # a budget that cannot be met is refused before anything is read
    table = read_private_table(str(source), columns, classes)
    test_table = read_private_test_table(test, columns, classes)
    surplus = table.row_count - options.places
    remarks = [*table.remarks, *describe_source_markup(source, table.texts)]
    if surplus > 0:
        remarks.append(
            f"{source}: {surplus:,} rows, chosen at random, left out: --records declares {options.places:,} places"
        )
    warn_owner(remarks)
    run = _Run(table, test_table, classes, space, options)
    parameters = {
        "model": "dp-fasttext",
        "data": table.fingerprint,
        "space": space.fingerprint,
        "held out": test_table is None,
        "classes": ",".join(classes),
        **dataclasses.asdict(options),
    }
    train_and_write(output, parameters, functools.partial(_fit_model, run), functools.partial(_describe_model, run))


def _parse_options(given: dict[str, Any]) -> "tuple[tuple[str, ...], PrivateTextOptions]":
    """Return classes and options.

    Raises:
        InputError: one that must be declared is missing, or a value outside its domain.
    """
    from deniable.models.text.private_training import PrivateTextOptions

    check_budget(given.get("epsilon"), given.get("delta"))
    classes, places = parse_classes(given.get("classes")), given.get("records")
    if classes is None:
        raise InputError(
            "The classes must be declared, since which labels occur is private: give --classes, for example A,B."
        )
    if len(classes) < 2:  # noqa: PLR2004 - one class leaves nothing to learn
        raise InputError(f"--classes must be at least two names. Got {given['classes']!r}: name them all.")
    if places is None:
        raise InputError(
            "--kind dp-fasttext needs a public number of places for records, since their true number is private: give "
            "--records, for example 5000; --kind dp-linear can measure it."
        )
    others = {name: value for name, value in given.items() if name not in {"classes", "records"}}
    return classes, PrivateTextOptions(places=places, **others)


def _fit_model(run: _Run, checkpoint: "Checkpoint") -> "tuple[TextModel, PrivateTable]":
    """Train the model, or resume its training, and return it with the rows to test on.

    Which rows are held out follows from the run's key, so that a resumed run holds out the same ones.
    """
    from deniable.core.randomness import generate_key
    from deniable.models.text.private_training import fit_private_text_model

    key = checkpoint.load_key(generate_key())
    train_table, test_table = (run.table, run.test_table) if run.test_table else hold_out_rows(run.table, key)
    with show_passes("reading words"):
        documents = _build_documents(train_table, run.classes, run.space)
    with show_steps("training") as steps:  # without the loss, which is a figure about private records
        model = fit_private_text_model(
            run.space,
            documents,
            run.options,
            key=key,
            checkpoint=checkpoint,
            progress=lambda done, total, _: steps.update(done, total, ""),
        )
    return model, test_table


def _build_documents(table: PrivateTable, classes: Sequence[str], space: "Space") -> "Documents":
    """Return a document for every row of the file that the table was read from, empty for those that it lacks."""
    import numpy as np

    from deniable.learning.clipping import EMPTY_LABEL
    from deniable.models.text.documents import Documents, tokenize_texts
    from deniable.text.remarks import describe_unknown_words

    texts: list[str | None] = [None] * table.row_count
    labels = np.full(table.row_count, EMPTY_LABEL, dtype=np.int64)
    for row, text, label in zip(table.rows, table.texts, table.labels, strict=True):
        texts[row], labels[row] = text, classes.index(label)
    tokenized = tokenize_texts(space, texts)
    warn_owner(describe_unknown_words(tokenized.unknown_count, tokenized.unknown_count + len(tokenized.texts.words)))
    return Documents(tokenized.texts, labels, (*classes,))


def _describe_model(run: _Run, trained: "tuple[TextModel, PrivateTable]") -> ModelFiles:
    """Return the files of a model; what was measured on private rows goes to the owner alone."""
    from deniable.models.text.card import build_private_text_card
    from deniable.models.text.prediction import SpacePredictor

    model, test_table = trained
    owner_record: dict[str, Any] = dict(commit_to_data(run.table.fingerprint))
    figures, accuracy = describe_test_accuracy(SpacePredictor(model, run.space), test_table)
    owner_record |= accuracy | {"usable rows": len(run.table)}
    card = build_private_text_card(model, owner_record["commitment"])
    return ModelFiles(model, card, owner_record, figures, are_figures_private=True)
