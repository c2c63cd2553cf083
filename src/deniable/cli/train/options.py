"""Options that several training commands share."""

from pathlib import Path
from typing import Annotated

from deniable.cli.options import DATA_PANEL, OUTPUT_PANEL, TRAINING_PANEL, make_option

ModelOutputOption = Annotated[
    Path,
    make_option(OUTPUT_PANEL, "--output", "-o", "Model file to write; the model card goes next to it.", metavar="FILE"),
]
CheckpointOption = Annotated[
    int,
    make_option(
        OUTPUT_PANEL, "--checkpoint-every", "Number of training steps between checkpoints.", min=1, metavar="STEPS"
    ),
]
TrainingForceOption = Annotated[
    bool, make_option(OUTPUT_PANEL, "--force", "Overwrite existing output files, and the checkpoint of another run.")
]
TrainingSeedOption = Annotated[
    int | None,
    make_option(
        OUTPUT_PANEL, "--seed", "Seed of all random draws; the same seed gives the same results.", default_text="random"
    ),
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
