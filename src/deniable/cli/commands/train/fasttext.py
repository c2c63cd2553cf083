"""``deniable train fasttext``: a private classifier of texts on frozen word vectors, trained by DP-SGD."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.cli.commandline import option
from deniable.cli.model_runs import (
    ModelFiles,
    ResumableOutput,
    check_torch,
    commit_to_data,
    refuse_pipes,
    train_and_write,
)
from deniable.cli.options import SpaceOptions, TrainingTableArgument
from deniable.cli.owner_remarks import describe_source_markup, warn_owner
from deniable.cli.progress import show_passes, show_steps
from deniable.cli.rows import Roles, Rows, read_table
from deniable.cli.tables import TableOptions
from deniable.cli.value_lists import parse_distinct_names
from deniable.core.errors import InputError
from deniable.models.text.options import PrivateTextOptions

if TYPE_CHECKING:
    from deniable.learning.loop import Checkpoint
    from deniable.models.text.documents import Documents
    from deniable.models.text.model import TextModel
    from deniable.space import Space


@dataclasses.dataclass(frozen=True, kw_only=True)
class PrivateColumns:
    """Data.

    Attributes:
        column: name of the column with text.
        label: name of the column with the class of each text.
        classes: names of all classes; which labels occur is private.
        test: table to test on.

    Raises:
        InputError: one column for two purposes, or fewer than two classes.
    """

    column: str = dataclasses.field(default="text", metadata=option("--column", "-c", metavar="COLUMN"))
    label: str = dataclasses.field(metadata=option(metavar="COLUMN"))
    classes: str = dataclasses.field(metadata=option(metavar="A,B,..."))
    test: Path | None = dataclasses.field(
        default=None, metadata=option(metavar="FILE", show_default="a tenth of INPUT")
    )

    def __post_init__(self) -> None:
        """Refuse what cannot be learned."""
        _ = self.roles
        if len(self.names) < 2:  # noqa: PLR2004 - one class leaves nothing to learn
            raise InputError(f"--classes must be at least two names. Got {self.classes!r}: name them all.")

    @property
    def roles(self) -> Roles:
        """What the columns are for."""
        return Roles(text=self.column, label=self.label)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the classes."""
        return parse_distinct_names("--classes", self.classes)

    def read(self, source: Path, table: TableOptions) -> tuple[Rows, Rows]:
        """All rows of a table, and those that can be used."""
        rows = read_table(str(source), table, self.roles)
        return rows, rows.usable(self.names)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FrozenVectors(SpaceOptions):
    """Words and their vectors."""

    metric: str = dataclasses.field(default="euclidean", init=False)  # a mean of vectors needs no distance


def run_train_fasttext(
    source: TrainingTableArgument,
    privacy: PrivateTextOptions,
    columns: PrivateColumns,
    vectors: FrozenVectors,
    table: TableOptions,
    output: ResumableOutput,
) -> None:
    """Train a private text classifier on word vectors by DP-SGD, and write it with its model card.

    Every record is protected; train private-text protects people too. FILE.card.json and FILE.card.txt are for those
    who receive the model; FILE.owner.json is for its owner only. Run the same command again to resume an interrupted
    run. Requires the train extra of deniable.

    Examples:
        deniable train fasttext in.csv --label y --classes bad,good --records 5000 --epsilon 1 --delta 1e-6 -o my.model
    """
    check_torch()
    from deniable.cli.private_collections import check_test_file, describe_accuracy, warn_of_delta
    from deniable.core.randomness import generate_key
    from deniable.models.text.card import build_private_text_card
    from deniable.models.text.model import SpacePredictor
    from deniable.models.text.private_training import fit_private_text_model, plan_private_training

    refuse_pipes(source, columns.test)
    output.check(source, columns.test, *vectors.list_files())
    check_test_file(columns.test, str(source))
    warn_of_delta(privacy.delta, privacy.places)
    space = vectors.build()
    plan_private_training(privacy, space.vectors.shape[1])  # refuses a budget that cannot be met
    rows, usable = columns.read(source, table)
    test_rows = None
    if columns.test is not None:
        try:
            test_rows = columns.read(columns.test, table)[1]
        except InputError as error:
            raise InputError(f"In --test: {error}") from None
    remarks, surplus = [*usable.remarks, *describe_source_markup(source, usable.texts)], rows.total - privacy.places
    if surplus > 0:
        declared = f"--records declares {privacy.places:,} places"
        remarks.append(f"{source}: {surplus:,} rows, chosen at random, left out: {declared}")
    warn_owner(remarks)

    def fit(checkpoint: "Checkpoint") -> "tuple[TextModel, Rows]":
        # Another run is refused or replaced here, before its key could hold out rows of this one.
        identity = {"table": rows.fingerprint, "held out": test_rows is None, "classes": columns.names}
        checkpoint = checkpoint.bind({**identity, "space": space.fingerprint, **dataclasses.asdict(privacy)})
        key = dataclasses.replace(checkpoint, announce=lambda: None).load_key(generate_key())
        checkpoint = dataclasses.replace(checkpoint, is_replaced=False)
        train_rows, tested = usable.hold_out(key) if test_rows is None else (usable, test_rows)
        with show_passes("reading words"):
            documents = _build_documents(train_rows, columns.names, space)
        with show_steps("training") as steps:  # without the loss, which is a figure about private records
            model = fit_private_text_model(
                space,
                documents,
                privacy,
                key=key,
                checkpoint=checkpoint,
                progress=lambda done, total, _: steps.update(done, total, ""),
            )
        return model, tested

    def describe(trained: "tuple[TextModel, Rows]") -> ModelFiles:
        model, tested = trained
        owner_record: dict[str, Any] = {**commit_to_data(rows.fingerprint), "usable rows": len(usable)}
        with show_passes("testing the model"):
            figures, accuracy = describe_accuracy(SpacePredictor(model, space), tested)
        card = build_private_text_card(model, owner_record["commitment"])
        return ModelFiles(model, card, owner_record | accuracy, figures, are_figures_private=True)

    train_and_write(output, fit, describe)


def _build_documents(rows: Rows, classes: tuple[str, ...], space: "Space") -> "Documents":
    """A document for every row of the file that a table was read from, empty for those that it lacks."""
    import numpy as np

    from deniable.learning.clipping import EMPTY_LABEL
    from deniable.models.text.documents import Documents, tokenize_texts
    from deniable.text.remarks import describe_unknown_words

    texts: list[str | None] = [None] * rows.total
    labels = np.full(rows.total, EMPTY_LABEL, dtype=np.int64)
    for row, text, label in zip(rows.numbers, rows.texts, rows.labels, strict=True):
        texts[row], labels[row] = text, classes.index(str(label))
    tokenized = tokenize_texts(space, texts)
    warn_owner(describe_unknown_words(tokenized.unknown_count, tokenized.unknown_count + len(tokenized.texts.words)))
    return Documents(tokenized.texts, labels, classes)
