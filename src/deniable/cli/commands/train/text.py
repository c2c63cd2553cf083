"""``deniable train text``: a text classifier that claims no privacy: as usual, with certified bounds or on copies."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.cli.commandline import option
from deniable.cli.documents import LabelledColumns, ReplacementOptions, build_documents
from deniable.cli.model_runs import (
    HELD_OUT_SHARE,
    LossSteps,
    ModelFiles,
    ResumableOutput,
    check_torch,
    commit_to_data,
    refuse_pipes,
    train_and_write,
)
from deniable.cli.options import TrainingTableArgument, VectorSpaceOptions
from deniable.cli.owner_remarks import describe_source_markup
from deniable.cli.progress import show_passes, show_steps
from deniable.cli.rows import Rows, read_table
from deniable.cli.tables import TableOptions
from deniable.cli.terminal import say
from deniable.core.errors import InputError
from deniable.models.text.options import (
    TextNetworkName,
    TextTrainingMethod,
    TextTrainingOptions,
    make_text_training_options,
)

if TYPE_CHECKING:
    from deniable.learning.loop import Checkpoint
    from deniable.models.text.documents import Documents
    from deniable.models.text.model import TextModel
    from deniable.models.text.networks.base import TextNetwork
    from deniable.space import Space


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextModelOptions:
    """Model.

    Attributes:
        kind: kind of model.
        training: training: normal, ibp (certified bounds over --substitutions), or augmented (perturbed copies).
        epochs: maximum number of passes over the texts.
        learning_rate: learning rate of the optimizer.
        ibp_weight: final weight of the worst case, for ibp.
        copies: perturbed copies of each text, for augmented.
        seed: seed of all random draws.

    Raises:
        InputError: an option of another training, or a value outside its domain.
    """

    kind: TextNetworkName
    training: TextTrainingMethod = "normal"
    epochs: int | None = dataclasses.field(default=None, metadata=option(panel="Training", show_default="by kind"))
    learning_rate: float | None = dataclasses.field(
        default=None, metadata=option(panel="Training", show_default="by kind")
    )
    ibp_weight: float | None = dataclasses.field(default=None, metadata=option(panel="Training", show_default="0.8"))
    copies: int | None = dataclasses.field(default=None, metadata=option(panel="Training", show_default="4"))
    seed: int | None = dataclasses.field(default=None, metadata=option(panel="Training", show_default="random"))

    def __post_init__(self) -> None:
        """Refuse options that no training takes together."""
        for name, needed in (("ibp_weight", "ibp"), ("copies", "augmented")):
            if getattr(self, name) is not None and self.training != needed:
                given = f"--{name.replace('_', '-')}"
                raise InputError(f"{given} is for --training {needed}. Got {self.training}: leave it out.")
        self.build()

    def build(self) -> TextTrainingOptions:
        """The options of the training."""
        names = {"epochs": self.epochs, "learning_rate": self.learning_rate, "kappa": self.ibp_weight}
        given = {name: value for name, value in {**names, "copies": self.copies}.items() if value is not None}
        return make_text_training_options(self.kind, method=self.training, **given)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingColumns(LabelledColumns):
    """Data.

    Attributes:
        test: table to test on.
    """

    test: Path | None = dataclasses.field(
        default=None, metadata=option(metavar="FILE", show_default="a tenth of INPUT")
    )


def run_train_text(
    source: TrainingTableArgument,
    model: TextModelOptions,
    words: ReplacementOptions,
    columns: TrainingColumns,
    vectors: VectorSpaceOptions,
    table: TableOptions,
    output: ResumableOutput,
) -> None:
    """Train a text classifier that claims no privacy, and write it with its model card.

    To protect the training records, use train private-text or train fasttext. FILE.card.json and FILE.card.txt are
    for those who receive the model; FILE.owner.json is for its owner only. Run the same command again to resume an
    interrupted run. Requires the train extra of deniable.

    Examples:
        deniable train text reviews.csv --kind cnn --training ibp --label stars --output trained.model
    """
    check_torch()
    from deniable.models.text.card import build_text_card
    from deniable.models.text.model import certify_by_intervals, measure_text_accuracy
    from deniable.models.text.networks import select_text_network
    from deniable.models.text.substitutions import Substitutions
    from deniable.models.text.training import check_substitute_source, fit_text_model

    options, test = model.build(), columns.test
    if model.training == "normal" and (words.substitutions is not None or words.mechanism is not None):
        raise InputError(
            "--substitutions, --mechanism and --mechanism-epsilon are for --training ibp and augmented: choose one of "
            "these, or leave them out."
        )
    refuse_pipes(source, test)
    output.check(source, test, words.substitutions, *vectors.list_files())
    space = vectors.build()
    word_source = words.build_source(space)
    check_substitute_source(options, word_source)
    rows = read_table(str(source), table, columns.roles)
    network = select_text_network(model.kind, pairs=columns.premise is not None)
    training = _build_documents(rows, space, network)
    for remark in describe_source_markup(source, [*rows.texts, *(rows.premises or ())]):
        say(remark, err=True)
    fingerprint = rows.fingerprint
    if test is None:
        training, tested = _hold_out(training, source)
    else:
        try:
            test_rows = read_table(str(test), table, columns.roles)
            tested = _build_documents(test_rows, space, network, training.classes)
        except InputError as error:
            raise InputError(f"In --test: {error}") from None
        fingerprint = f"{fingerprint} {test_rows.fingerprint}"

    def fit(checkpoint: "Checkpoint") -> "TextModel":
        with show_steps("training") as steps:
            return fit_text_model(
                model.kind,
                space,
                training,
                options,
                source=word_source,
                seed=model.seed,
                checkpoint=checkpoint,
                progress=LossSteps(steps),
            )

    def describe(trained: "TextModel") -> ModelFiles:
        certified_count = None
        with show_passes("testing the model"):
            accuracy = measure_text_accuracy(trained, tested)
            if isinstance(word_source, Substitutions):
                certified_count = int(certify_by_intervals(trained, tested, word_source).sum())
        owner_record = commit_to_data(fingerprint)
        commitment = owner_record["commitment"]
        card = build_text_card(trained, training, tested, commitment, accuracy, certified_count, word_source)
        return ModelFiles(trained, card, owner_record, f"clean accuracy {accuracy.value:.3f}")

    train_and_write(output, fit, describe)


def _build_documents(
    rows: Rows, space: "Space", network: "type[TextNetwork]", classes: tuple[str, ...] | None = None
) -> "Documents":
    """The documents of a table, which the network takes."""
    from deniable.models.text.model import check_documents_fit

    documents = build_documents(rows, space, network.max_words, classes).documents
    check_documents_fit(network, documents)
    return documents


def _hold_out(documents: "Documents", source: Path) -> "tuple[Documents, Documents]":
    """Documents to learn from, and a tenth of them, drawn at random, to test on."""
    import numpy as np

    from deniable.core.randomness import derive_key_from_seed, make_generator

    order = make_generator(derive_key_from_seed(0), "held out").permutation(len(documents))
    held_out_count = max(1, round(HELD_OUT_SHARE * len(documents)))
    if held_out_count >= len(documents):
        raise InputError(f"{str(source)!r} has {len(documents)} texts, too few to hold some out: give --test.")
    return documents.take(np.sort(order[held_out_count:])), documents.take(np.sort(order[:held_out_count]))
