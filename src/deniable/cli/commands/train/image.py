"""``deniable train image``: a private, certified or robust model of images, with its card."""

import functools
import time
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Annotated

from deniable.cli.choices import ImageKind, NetworkName
from deniable.cli.commands.train.options import (
    BatchSizeOption,
    BudgetDeltaOption,
    BudgetEpsilonOption,
    CheckpointOption,
    ClassesOption,
    LearningRateOption,
    ModelOutputOption,
    TrainingForceOption,
    parse_classes,
)
from deniable.cli.model_runs import ModelFiles, ModelOutput, check_torch, commit_to_data, train_and_write
from deniable.cli.options import (
    MODEL_PANEL,
    PRIVACY_PANEL,
    TRAINING_PANEL,
    ImagesArgument,
    TestSeedOption,
    get_choice,
    list_choices,
    make_option,
    select_given,
)
from deniable.cli.progress import LINE_SECONDS, Steps, show_passes, show_steps
from deniable.core.errors import InputError
from deniable.core.numbers import format_upper

if TYPE_CHECKING:
    from deniable.learning.loop import Checkpoint
    from deniable.models.images.certification import CertifiedAccuracyCurve
    from deniable.models.images.dataset import ImageDataset
    from deniable.models.images.model import ImageModel
    from deniable.models.images.training.fitting import TrainingProgress
    from deniable.models.images.training.trainer import ImageTrainer, ImageTrainingOptions

_ROBUSTNESS_PANEL = "Robustness"
_PROGRESS_IMAGES = 1_000
"""Test images behind the accuracy that a line of progress gives."""
_OPTION_OF_FIELD = {"average": "--averaging-decay", "views": "--augmentations"}
_CARD_IMAGES = 200
"""Test images behind the curve of certified accuracy on the card."""

KindOption = Annotated[
    ImageKind,
    make_option(
        MODEL_PANEL,
        "--kind",
        f"Kind of model: {list_choices(ImageKind)}. docs/robust.md says what each one guarantees.",
        metavar="KIND",
    ),
]
NetworkOption = Annotated[
    NetworkName | None, make_option(MODEL_PANEL, "--network", "Network architecture.", default_text="by kind")
]
WidthOption = Annotated[
    float | None,
    make_option(MODEL_PANEL, "--width", "Factor applied to the layer sizes of the network.", default_text="1.0"),
]
PixelRangeOption = Annotated[
    str | None,
    make_option(
        MODEL_PANEL,
        "--pixel-range",
        "Pixel values of black and white; never inferred from the images.",
        metavar="LOW,HIGH",
        default_text="0,255 for uint8; 0,1 for floats",
    ),
]
ExampleClipOption = Annotated[
    float | None,
    make_option(PRIVACY_PANEL, "--clip", "Clipping norm of the gradients of single examples.", default_text="by kind"),
]
NoiseMultiplierOption = Annotated[
    float | None,
    make_option(
        PRIVACY_PANEL,
        "--noise-multiplier",
        "DP-SGD noise per unit of --clip. If given, training ends when the budget is spent.",
        default_text="from the budget",
    ),
]
StepsOption = Annotated[
    int | None, make_option(TRAINING_PANEL, "--steps", "Number of training steps.", default_text="by kind")
]
AveragingOption = Annotated[
    float | None,
    make_option(
        TRAINING_PANEL,
        "--averaging-decay",
        "Decay of the running average of DP-SGD parameters; 0 turns averaging off.",
        default_text="by kind",
    ),
]
AugmentationsOption = Annotated[
    int | None,
    make_option(
        TRAINING_PANEL,
        "--augmentations",
        "Number of shifted copies of each example in its gradient.",
        default_text="by kind",
    ),
]
NoiseOption = Annotated[
    float | None,
    make_option(
        _ROBUSTNESS_PANEL,
        "--noise",
        "Standard deviation of the noise of a certified model; pixels are in [0, 1].",
        default_text="by kind",
    ),
]
AttackSizeOption = Annotated[
    float | None,
    make_option(
        _ROBUSTNESS_PANEL,
        "--attack-size",
        "Attack size that the model is trained against; pixels are in [0, 1].",
        default_text="by kind",
    ),
]
AttackStepsOption = Annotated[
    int | None,
    make_option(
        _ROBUSTNESS_PANEL, "--attack-steps", "Number of steps of each attack during training.", default_text="by kind"
    ),
]


def run_train_image(
    data: ImagesArgument,
    *,
    kind: KindOption,
    network: NetworkOption = None,
    width: WidthOption = None,
    pixel_range: PixelRangeOption = None,
    classes: ClassesOption = None,
    epsilon: BudgetEpsilonOption = None,
    delta: BudgetDeltaOption = None,
    clip: ExampleClipOption = None,
    noise_multiplier: NoiseMultiplierOption = None,
    test_seed: TestSeedOption = None,
    steps: StepsOption = None,
    batch_size: BatchSizeOption = None,
    learning_rate: LearningRateOption = None,
    averaging_decay: AveragingOption = None,
    augmentations: AugmentationsOption = None,
    noise: NoiseOption = None,
    attack_size: AttackSizeOption = None,
    attack_steps: AttackStepsOption = None,
    output: ModelOutputOption,
    force: TrainingForceOption = False,
    checkpoint_every: CheckpointOption = 20,
) -> None:
    """Train a private, certified or robust image classifier, and write it with its model card.

    FILE.card.json and FILE.card.txt are for those who receive the model; FILE.owner.json is for its owner only. Run the
    same command again to resume an interrupted run. Requires the train extra of deniable.
    """
    check_torch()
    from deniable.models.images.reading import read_images
    from deniable.models.images.training.fitting import describe_image_run
    from deniable.registry.trainers import IMAGE_TRAINERS

    given_options: dict[str, object] = {
        "epsilon": epsilon,
        "delta": delta,
        "clip": clip,
        "noise_multiplier": noise_multiplier,
        "network": get_choice(network),
        "width": width,
        "steps": steps,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "average": averaging_decay,
        "views": augmentations,
        "noise": noise,
        "attack_size": attack_size,
        "attack_steps": attack_steps,
    }
    trainer = IMAGE_TRAINERS[kind]
    given_options = select_given(given_options)
    _check_options_are_used(trainer.name, trainer.option_names, given_options)
    options = trainer.choose_options(**given_options)
    model_output = ModelOutput(output, force, checkpoint_every)
    model_output.check(data)
    dataset = read_images(data, pixel_range=_parse_pixel_range(pixel_range), classes=parse_classes(classes))
    train_and_write(
        model_output,
        describe_image_run(trainer, dataset, options, test_seed),
        functools.partial(_fit_model, trainer, dataset, options, test_seed),
        functools.partial(_describe_model, dataset),
    )


def _check_options_are_used(kind: str, used_fields: Collection[str], given_fields: Iterable[str]) -> None:
    """Raise `InputError` for an option that means nothing to a kind of model, by the name that the user typed."""
    for field in given_fields:
        if field not in used_fields:
            used_options = ", ".join(sorted(map(_name_option, used_fields)))
            raise InputError(
                f"{_name_option(field)} means nothing to {kind}, which takes {used_options}: leave it out."
            )


def _name_option(field: str) -> str:
    """Return the option that stands for a field of the training options."""
    return _OPTION_OF_FIELD.get(field, f"--{field.replace('_', '-')}")


def _fit_model(
    trainer: "ImageTrainer",
    dataset: "ImageDataset",
    options: "ImageTrainingOptions",
    seed: int | None,
    checkpoint: "Checkpoint",
) -> "ImageModel":
    """Train the model, or resume its training."""
    from deniable.models.images.training.fitting import fit_image_model

    with show_steps("training") as steps:
        return fit_image_model(
            trainer, dataset, options, seed=seed, checkpoint=checkpoint, progress=_ImageProgress(dataset, steps)
        )


def _describe_model(dataset: "ImageDataset", model: "ImageModel") -> ModelFiles:
    """Return the files of a trained model, with what tests say of it."""
    from deniable.models.images.card import build_image_card
    from deniable.models.images.model import measure_image_accuracy

    with show_passes("testing the model"):
        clean_accuracy = measure_image_accuracy(model, dataset.test)
    with show_passes("certified accuracy"):
        curve = _certify_card_images(model, dataset)
    owner_record = commit_to_data(dataset.fingerprint)
    card = build_image_card(model, dataset, owner_record["commitment"], clean_accuracy, curve)
    figures = f"clean accuracy {clean_accuracy.value:.3f}"
    return ModelFiles(model, card, owner_record, figures)


def _certify_card_images(model: "ImageModel", dataset: "ImageDataset") -> "CertifiedAccuracyCurve | None":
    """Return certified accuracy on some test images; None for a model that certifies nothing."""
    from deniable.models.images.certification import certify_image_model
    from deniable.models.shared.draws import make_noise_generator

    if model.certificate is None:
        return None
    seed = model.facts["seed"]
    generator = None if seed is None else make_noise_generator(seed)  # a run that can be repeated has one card
    return certify_image_model(
        model, dataset.test.pixels[:_CARD_IMAGES], dataset.test.labels[:_CARD_IMAGES], generator=generator
    )


def _parse_pixel_range(text: str | None) -> tuple[float, float] | None:
    """Return two numbers with a comma between them; None for None.

    Raises:
        InputError: anything else.
    """
    if text is None:
        return None
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise InputError(
            f"--pixel-range must be two numbers with a comma between them, such as -1,1. Got {text!r}."
        ) from None
    return low, high


class _ImageProgress:
    """The steps of a run: loss, and now and then the accuracy on some test images and the epsilon spent."""

    def __init__(self, dataset: "ImageDataset", steps: Steps) -> None:
        self._test_images, self._steps, self._last_time, self._figures = dataset.test, steps, time.monotonic(), ""

    def __call__(self, status: "TrainingProgress") -> None:
        if time.monotonic() - self._last_time >= LINE_SECONDS or status.done == status.steps:
            self._figures = self._format_figures(status)
            self._last_time = time.monotonic()
        self._steps.update(status.done, status.steps, f"loss {format_upper(status.loss)}{self._figures}")

    def _format_figures(self, status: "TrainingProgress") -> str:
        accuracy = status.accuracy(
            self._test_images.pixels[:_PROGRESS_IMAGES], self._test_images.labels[:_PROGRESS_IMAGES]
        )
        spent_text = (
            ""
            if status.compute_epsilon_spent is None
            else f", epsilon {format_upper(status.compute_epsilon_spent(), 4)}"
        )
        return f", accuracy {accuracy:.3f}{spent_text}"
