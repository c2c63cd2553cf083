"""Training of image classifiers: what a trainer is, the task that it is given, and the fit of a model."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from deniable.core.errors import InputError
from deniable.core.guarantees import Verdict
from deniable.core.randomness import derive_key_from_seed, generate_key
from deniable.learning.loop import Checkpoint, TrainingRun, choose_device, run_training, select_batch
from deniable.models.images.certificates import RobustnessCertificate
from deniable.models.images.dataset import ImageDataset, LabelledImages
from deniable.models.images.model import ImageModel, predict_classes
from deniable.models.images.networks import ImageArchitecture, ImageNetwork, NetworkNoise, compute_noisy_scores
from deniable.models.images.options import ImageTrainingOptions
from deniable.models.tally import ImageScorer


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

    @property
    def shape(self) -> tuple[int, int, int]:
        """(channels, height, width) of an image."""
        channels, height, width = self.images.pixels.shape[1:]
        return channels, height, width

    @property
    def budget(self) -> tuple[float, float]:
        """The epsilon and delta that the options give.

        Raises:
            InputError: one is missing.
        """
        if self.options.epsilon is None or self.options.delta is None:
            raise InputError(f"Training {self.trainer} needs a budget: give --epsilon and --delta.")
        return self.options.epsilon, self.options.delta

    def build_network(self, seed: int = 0, *, normalised: bool = False, hidden: int | None = None) -> ImageNetwork:
        """Return the network that the options ask for, on the task's device; see `ImageArchitecture`."""
        options = self.options
        architecture = ImageArchitecture(options.network, self.shape, self.classes, options.width, normalised, hidden)
        return architecture.build(seed).to(self.device)

    def draw_batch(self, number: int) -> tuple[Tensor, Tensor]:
        """Return images (b, c, h, w) and labels (b,) of a step, on the task's device."""
        indices = select_batch(len(self.images), self.options.batch_size, number, self.key)
        return self.images.pixels[indices].to(self.device), self.images.labels[indices].to(self.device)


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
class Robustness:
    """What makes a trained model robust: the noise that it adds, and the certificate that follows.

    Attributes:
        get_noises: noise of the model, a function of the present parameters.
        certify: from the noise of the finished model to its certificate, None for none.
        project_parameters: called after every step, to project parameters onto the set that the certificate requires;
            it may read the parameters only.
    """

    get_noises: Callable[[], tuple[NetworkNoise, ...]] = tuple
    certify: Callable[[tuple[NetworkNoise, ...]], RobustnessCertificate | None] = lambda noises: None  # noqa: ARG005
    project_parameters: Callable[[], None] = lambda: None


def prepare_training(
    task: ImageTrainingTask,
    network: ImageNetwork,
    run: TrainingRun,
    robustness: Robustness,
    conclude: Callable[[], tuple[Verdict | None, dict[str, Any]]],
    compute_epsilon_spent: Callable[[int], float] | None = None,
) -> PreparedTraining:
    """Return a run, and how its model is built.

    Args:
        task: what to train on, and how.
        network: its parameters are trained in place.
        run: at its first step.
        robustness: of the finished model.
        conclude: gives the verdict on the privacy of the training records after the last step, None where nothing is
            claimed, and facts about the run.
        compute_epsilon_spent: see `PreparedTraining`.
    """

    def finish() -> ImageModel:
        (verdict, facts), noises = conclude(), robustness.get_noises()
        return ImageModel(task.trainer, network.eval(), noises, verdict, robustness.certify(noises), facts)

    return PreparedTraining(
        run,
        finish,
        lambda images, generator: compute_noisy_scores(network, images, robustness.get_noises(), generator),
        compute_epsilon_spent,
    )


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
        for name, example in (("epsilon", "1"), ("delta", "1e-5")):
            if name in self.option_names and getattr(options, name) is None:
                raise InputError(f"Training {self.name} needs {name}: give --{name}, for example {example}.")
        return options


@dataclasses.dataclass(frozen=True)
class TrainingProgress:
    """The state of a run, for its owner only: nothing in it is private.

    Attributes:
        done: number of steps done.
        steps: number of steps of the run.
        loss: loss of the last step over training records.
        compute_epsilon_spent: computes the epsilon spent so far, which takes a while; None if nothing is claimed.
        scores: the model as trained so far.
    """

    done: int
    steps: int
    loss: float
    compute_epsilon_spent: Callable[[], float] | None
    scores: ImageScorer

    def accuracy(self, images: Tensor, labels: Tensor) -> float:
        """Return the share of images (n, ...) that get their label (n,) in one draw of the noise."""
        return float((predict_classes(self.scores, images, draws=1).cpu() == labels).float().mean())


def fit_image_model(
    trainer: ImageTrainer,
    data: ImageDataset,
    options: ImageTrainingOptions,
    *,
    seed: int | None = None,
    checkpoint: Checkpoint | None = None,
    device: torch.device | None = None,
    progress: Callable[[TrainingProgress], None] = lambda status: None,  # noqa: ARG005 - reports nothing
) -> ImageModel:
    """Train a model.

    Args:
        trainer: how to train; those of this package are listed in the registry of trainers.
        data: the training images are protected, if the trainer protects any; the test images are not used.
        options: from `ImageTrainer.choose_options` of the trainer.
        seed: public, for tests and studies; the noise then hides nothing. None for a fresh key.
        checkpoint: where the run is saved; if its file exists, the run is resumed, and the caller removes the file. It
            is bound to everything that the run depends on: one key never serves two different runs.
        device: None for a GPU if there is one.
        progress: called after every step.

    Raises:
        InputError: options that cannot be met, or a checkpoint of another run.
        DeniableError: the loss is not finite, or a checkpoint cannot be written.
    """
    key = generate_key() if seed is None else derive_key_from_seed(seed)
    if checkpoint is not None:
        identity = {"model": trainer.name, "data": data.fingerprint, "seed": seed}
        checkpoint = checkpoint.bind({**identity, **dataclasses.asdict(options)})
        key = checkpoint.load_key(key)
    device = device or choose_device()
    prepared = trainer.prepare(ImageTrainingTask(trainer.name, data.train, len(data.classes), options, key, device))
    run, generator = prepared.run, torch.Generator(device).manual_seed(0)

    def report_step(done: int, loss: float) -> None:
        spent = functools.partial(prepared.compute_epsilon_spent, done) if prepared.compute_epsilon_spent else None
        progress(
            TrainingProgress(done, run.steps, loss, spent, lambda images: prepared.scores(images.to(device), generator))
        )

    run_training(run, key, checkpoint, report_step)
    model = prepared.finish()
    model.network.cpu()
    public_facts = {
        "options": dataclasses.asdict(options),
        "seed": seed,
        "records": len(data.train),
        "classes": list(data.classes),
        "classes declared": data.declaration.classes is not None,
        "pixel range": None if data.declaration.pixel_range is None else list(data.declaration.pixel_range),
    }
    return dataclasses.replace(model, facts={**model.facts, **public_facts})
