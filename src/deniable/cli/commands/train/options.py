"""Options that several training commands share, and how their values are read."""

from pathlib import Path
from typing import Annotated

from deniable.cli.options import DATA_PANEL, MODEL_PANEL, OUTPUT_PANEL, PRIVACY_PANEL, TRAINING_PANEL, make_option
from deniable.persons.value_lists import parse_distinct_names

ModelOutputOption = Annotated[
    Path,
    make_option(OUTPUT_PANEL, "--output", "-o", "Model file; its card goes next to it.", metavar="FILE"),
]
CheckpointOption = Annotated[
    int,
    make_option(OUTPUT_PANEL, "--checkpoint-every", "Training steps between checkpoints.", min=1, metavar="STEPS"),
]
TrainingForceOption = Annotated[
    bool, make_option(OUTPUT_PANEL, "--force", "Overwrite files, and the checkpoint of another run.")
]
TrainingSeedOption = Annotated[
    int | None,
    make_option(OUTPUT_PANEL, "--seed", "Seed of all random draws.", default_text="random"),
]
TestTableOption = Annotated[
    Path | None, make_option(DATA_PANEL, "--test", "Table to test on.", metavar="FILE", default_text="a tenth of INPUT")
]
BatchSizeOption = Annotated[
    int | None,
    make_option(TRAINING_PANEL, "--batch-size", "Number of examples in a training step.", default_text="by kind"),
]
LearningRateOption = Annotated[
    float | None,
    make_option(TRAINING_PANEL, "--learning-rate", "Learning rate of the optimizer.", default_text="by kind"),
]
ClipOption = Annotated[
    float | None, make_option(TRAINING_PANEL, "--clip", "Clipping norm of gradients.", default_text="by kind")
]
EpochsOption = Annotated[
    int | None,
    make_option(TRAINING_PANEL, "--epochs", "Maximum number of passes over the texts.", default_text="by kind"),
]
ClassesOption = Annotated[
    str | None,
    make_option(
        MODEL_PANEL,
        "--classes",
        "Names of all classes; those of the data are private.",
        metavar="A,B,...",
        default_text="images: those that occur; texts: public labels",
    ),
]
BudgetEpsilonOption = Annotated[
    float | None, make_option(PRIVACY_PANEL, "--epsilon", "Privacy budget for the training records.")
]
BudgetDeltaOption = Annotated[
    float | None, make_option(PRIVACY_PANEL, "--delta", "Delta of the budget; for example 1e-5.")
]
PersonOption = Annotated[
    str | None,
    make_option(PRIVACY_PANEL, "--person", "Column of the persons to hide, not records.", metavar="COLUMN"),
]
MaxRecordsOption = Annotated[
    int | None,
    make_option(
        PRIVACY_PANEL, "--max-records", "Records that count of each person.", min=1, metavar="N", default_text="all"
    ),
]
RecordsOption = Annotated[
    int | None,
    make_option(
        PRIVACY_PANEL,
        "--records",
        "Public number of records/persons.",
        min=1,
        metavar="N",
        default_text="measured",
    ),
]
PublicOption = Annotated[
    Path | None,
    make_option(PRIVACY_PANEL, "--public", "Public texts of the kind: table or lines.", metavar="FILE"),
]
PublicLabelOption = Annotated[
    str | None,
    make_option(PRIVACY_PANEL, "--public-label", "Column of labels in the public table.", metavar="COLUMN"),
]


def parse_classes(text: str | None) -> tuple[str, ...] | None:
    """Return the names of ``--classes``; None for None.

    Raises:
        InputError: see `parse_distinct_names`.
    """
    return None if text is None else parse_distinct_names("--classes", text)
