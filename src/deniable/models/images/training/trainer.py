"""What a trainer of image classifiers is: its options, the task that it is given, and the run that it prepares."""

import dataclasses
from collections.abc import Callable
from typing import NoReturn

import torch
from torch import Tensor

from deniable.core.errors import InputError, check_count, check_fraction, check_number_within, check_positive
from deniable.learning.loop import TrainingRun
from deniable.models.images.dataset import LabelledImages
from deniable.models.images.model import ImageModel
from deniable.models.images.networks import ImageArchitecture

_MAX_SIZE = 1e30
"""Sizes and their inverses stay in the range of float32: noise that is rounded to zero protects nothing."""
_MAX_WIDTH = 100.0
_MAX_COUNT = 10_000_000


@dataclasses.dataclass(frozen=True)
class ImageTrainingOptions:
    """The options of a training run; each trainer uses some of them.

    Attributes:
        epsilon: privacy budget of the training records.
        delta: delta of that budget.
        network: one of `deniable.models.images.networks.IMAGE_NETWORKS`.
        width: factor on the sizes of its layers.
        steps: T.
        batch_size: records of a batch; the expected number if batches are sampled at random.
        learning_rate: learning rate of the optimizer.
        clip: norm to which DP-SGD clips the gradient of an example.
        noise_multiplier: noise of DP-SGD per unit of the clipping norm. None computes it from the budget; with a
            number, training stops when the budget is spent.
        average: decay of the running mean of the parameters of DP-SGD; 0 for none.
        views: number of views of an example, shifted by at most a pixel and averaged inside its gradient.
        noise: standard deviation of the noise on the pixels of [0, 1], under which a certified model predicts.
        attack_size: l_inf size of the attacks of adversarial training, in pixels of [0, 1]; for noise after the first
            layer, the l2 size L of the attack to which it is calibrated.
        attack_steps: number of steps of the attacks inside training.
    """

    epsilon: float | None = None
    delta: float | None = None
    network: str = "small"
    width: float = 1.0
    steps: int = 1_000
    batch_size: int = 256
    learning_rate: float = 1e-3
    clip: float = 0.1
    noise_multiplier: float | None = None
    average: float = 0.9
    views: int = 1
    noise: float = 0.25
    attack_size: float = 0.1
    attack_steps: int = 10

    def __post_init__(self) -> None:
        check_positive("training", "width", self.width, _MAX_WIDTH)
        for name in ("learning_rate", "clip", "noise", "attack_size"):
            check_number_within("training", name, getattr(self, name), 1 / _MAX_SIZE, _MAX_SIZE)
        for name in ("steps", "batch_size", "views", "attack_steps"):
            check_count("training", name, getattr(self, name), maximum=_MAX_COUNT)
        check_fraction("training", "average", self.average)
        if self.noise_multiplier is not None:
            check_positive("training", "noise_multiplier", self.noise_multiplier)
        if self.epsilon is not None:
            check_positive("training", "epsilon", self.epsilon)
        if self.delta is not None:
            check_positive("training", "delta", self.delta, 1.0)


@dataclasses.dataclass(frozen=True)
class ImageTrainingTask:
    """What a trainer trains on.

    Attributes:
        trainer: name of the trainer.
        images: the training records.
        classes: K.
        options: of the trainer.
        key: 32 bytes, secret: every random draw of the run follows from it.
        device: where the run is computed.
    """

    trainer: str
    images: LabelledImages
    classes: int
    options: ImageTrainingOptions
    key: bytes = dataclasses.field(repr=False)
    device: torch.device

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied, since the copy would contain the key."""
        raise InputError("A training task holds its secret key and cannot be pickled: create it where it is used.")

    @property
    def shape(self) -> tuple[int, int, int]:
        """(channels, height, width) of an image."""
        channels, height, width = self.images.pixels.shape[1:]
        return channels, height, width

    def architecture(self, *, normalised: bool = False) -> ImageArchitecture:
        """Return the architecture that the options ask for."""
        return ImageArchitecture(self.options.network, self.shape, self.classes, self.options.width, normalised)


@dataclasses.dataclass(frozen=True)
class PreparedTraining:
    """A run at its first step, and how its model is built.

    Attributes:
        run: the run.
        finish: builds the model after the last step.
        scores: logits (b, K) of the model as trained so far, with noise from a generator.
        compute_epsilon_spent: from the number of steps done to the epsilon spent; None if nothing is claimed.
    """

    run: TrainingRun
    finish: Callable[[], ImageModel]
    scores: Callable[[Tensor, torch.Generator], Tensor]
    compute_epsilon_spent: Callable[[int], float] | None = None


@dataclasses.dataclass(frozen=True)
class ImageTrainer:
    """A way to train a model.

    Attributes:
        name: name on the command line.
        summary: one line about what it claims.
        source: papers by authors and year.
        option_names: names of the options that it uses.
        defaults: values of the options unless others are given.
        prepare: builds a run from a task.
    """

    name: str
    summary: str
    source: str
    option_names: frozenset[str]
    defaults: ImageTrainingOptions
    prepare: Callable[[ImageTrainingTask], PreparedTraining]

    def choose_options(self, **values: object) -> ImageTrainingOptions:
        """Return the defaults, replaced by the given values.

        Raises:
            InputError: an option that this trainer does not use, a missing one that it needs, or a bad value.
        """
        for name in values:
            if name not in self.option_names:
                raise InputError(
                    f"{name!r} is not an option of {self.name}, which takes {', '.join(sorted(self.option_names))}: "
                    "leave it out."
                )
        options = dataclasses.replace(self.defaults, **values)  # type: ignore[arg-type]
        for name in ("epsilon", "delta"):
            if name in self.option_names and getattr(options, name) is None:
                example = {"epsilon": "1", "delta": "1e-5"}[name]
                raise InputError(f"Training {self.name} needs {name}: give --{name}, for example {example}.")
        return options
