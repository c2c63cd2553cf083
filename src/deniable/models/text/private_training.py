"""Training a text classifier by DP-SGD (Abadi et al. 2016): one linear layer on means of frozen word vectors."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deniable.accounting.planning import build_training_verdict, describe_accounting, plan_training
from deniable.accounting.training import TrainingPlan
from deniable.core.errors import InputError, check_count, check_number_within, check_positive
from deniable.core.guarantees import EMPTY_PLACE
from deniable.core.randomness import generate_key, make_generator
from deniable.learning.clipping import EMPTY_LABEL
from deniable.learning.dp_sgd import DPSGDRun, DPSGDSettings
from deniable.learning.loop import Checkpoint, run_training
from deniable.models.text.documents import Documents
from deniable.models.text.model import TextModel, make_space_error
from deniable.models.text.networks.frozen_mean import FrozenMean
from deniable.space import Space
from deniable.text.release_certificate import CHOSEN_BY_OWNER, CHOSEN_FROM_DATA

PRIVATE_TEXT_KIND = "dp-fasttext"
_DEFAULT_STEPS, _DEFAULT_BATCH_SIZE = 60, 4_096
_MAX_LEARNING_RATE = 4.0
_AVERAGING_DECAY = 0.9
_MAX_COUNT = 100_000_000
_MIN_VALUE, _MAX_VALUE = 1e-30, 1e30
"""Range of values, well inside that of float32."""


@dataclasses.dataclass(frozen=True)
class PrivateTextOptions:
    """Options of a private training run; what is None follows from the others and from the space, from no record.

    Attributes:
        epsilon: privacy budget of the training records.
        delta: delta of that budget.
        places: N, the public number of places for records; those without a record are empty records.
        batch_size: expected number of places in a batch; None for 4,096, or for all places where they are fewer.
        epochs: passes over the places; None for as many as make 60 steps.
        learning_rate: learning rate of the optimizer; None for `choose_learning_rate`.
        clip: norm to which the gradient of a record is clipped.
        chosen_from_data: whether epsilon was chosen by looking at the private records.
    """

    epsilon: float
    delta: float
    places: int
    batch_size: int | None = None
    epochs: int | None = None
    learning_rate: float | None = None
    clip: float = 1.0
    chosen_from_data: bool = False

    def __post_init__(self) -> None:
        check_positive("training", "epsilon", self.epsilon)
        check_positive("training", "delta", self.delta, 1.0)
        for name in ("places", "batch_size", "epochs"):
            if getattr(self, name) is not None:
                check_count("training", name, getattr(self, name), maximum=_MAX_COUNT)
        for name in ("learning_rate", "clip"):
            if getattr(self, name) is not None:
                check_number_within("training", name, getattr(self, name), _MIN_VALUE, _MAX_VALUE)

    def plan_settings(self, dimensions: int) -> DPSGDSettings:
        """Return the settings of DP-SGD that spend at most the budget, for vectors of so many dimensions.

        Raises:
            InputError: the budget cannot be met.
        """
        batch_size = self.batch_size or min(self.places, _DEFAULT_BATCH_SIZE)
        steps = _DEFAULT_STEPS if self.epochs is None else math.ceil(self.epochs * self.places / batch_size)
        plan = plan_training(self.places, batch_size, steps, self.epsilon, self.delta, clip=self.clip)
        rate = self.learning_rate or choose_learning_rate(plan, dimensions)
        return DPSGDSettings(plan, rate, _AVERAGING_DECAY)


def choose_learning_rate(plan: TrainingPlan, dimensions: int) -> float:
    """Return a learning rate at which the noise of a step moves the weights of a class by about 1/2, at most 4.

    It was chosen on film reviews of IMDB, some of its test reviews among them.

    Args:
        plan: expected number of places in a batch, and noise.
        dimensions: d, of the vectors; the noise on the weights of a class has norm sqrt(d) times that of one.
    """
    return min(_MAX_LEARNING_RATE, plan.rate * plan.records / (2 * plan.noise_multiplier * math.sqrt(dimensions)))


def fit_private_text_model(
    space: Space,
    documents: Documents,
    options: PrivateTextOptions,
    *,
    key: bytes | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Callable[[int, int, float], None] = lambda done, steps, loss: None,  # noqa: ARG005 - ignores progress
) -> TextModel:
    """Train a private text classifier.

    The guarantee compares documents of which one is made empty. What the model gets of the documents beyond the
    declared number of places is decided by the key and by their number alone, never by what they say.

    Args:
        space: whose words it reads, and whose vectors it stands on.
        documents: to learn from; one without words, with more words than the network takes, or with the label
            `deniable.learning.clipping.EMPTY_LABEL` is an empty record.
        options: see `PrivateTextOptions`.
        key: 32 bytes, secret: the noise can be removed with it; None for a fresh one.
        checkpoint: file that the run is saved to; an existing one is resumed with its own key, and the caller removes
            it. It is bound to everything that the run depends on, whatever its own parameters.
        progress: called after every step with the steps done, the total number of steps and the loss, which is private.

    Raises:
        InputError: a budget that cannot be met, documents of pairs, or a checkpoint of another run.
        DeniableError: the loss became NaN or infinite, or a checkpoint cannot be written.
    """
    if space.fingerprint is None:
        raise make_space_error(space)
    if documents.premises is not None:
        raise InputError(f"The model {PRIVATE_TEXT_KIND} is for single texts, not pairs: leave out the premises.")
    key = generate_key() if key is None else key
    if checkpoint is not None:
        run_facts = {"data": documents.fingerprint, "space": space.fingerprint, **dataclasses.asdict(options)}
        checkpoint = checkpoint.bind({"model": PRIVATE_TEXT_KIND, **run_facts})
        key = checkpoint.load_key(key)
    network = FrozenMean(torch.tensor(space.vectors, dtype=torch.float32), len(documents.classes))
    settings = options.plan_settings(space.vectors.shape[1])
    run = _start_run(network, fill_places(network, documents, options.places, key), settings, key)
    run_training(run, key, checkpoint, lambda done, loss: progress(done, run.steps, loss))
    network.net.output.load_state_dict(run.result)
    return _build_model(network.eval(), documents.classes, (space.fingerprint, space.source), options, settings)


def _build_model(
    network: FrozenMean,
    classes: tuple[str, ...],
    space: tuple[str, str],
    options: PrivateTextOptions,
    settings: DPSGDSettings,
) -> TextModel:
    """Return a trained network with what it guarantees; ``space`` is its fingerprint and its source."""
    verdict = build_training_verdict(settings.plan, options.delta, EMPTY_PLACE)
    return TextModel(
        PRIVATE_TEXT_KIND,
        network,
        classes,
        pairs=False,
        space_fingerprint=space[0],
        space_source=space[1],
        facts=_describe_run(options, settings),
        guarantee=verdict.guarantee,
        verdict=verdict,
    )


def _start_run(network: FrozenMean, places: tuple[Tensor, Tensor], settings: DPSGDSettings, key: bytes) -> DPSGDRun:
    """Return the training of the last layer on the mean vectors and labels of all places."""
    layer = network.net.output
    return DPSGDRun(
        layer,
        *places,
        settings,
        key,
        forward=lambda means, generator: layer(means),  # noqa: ARG005 - no noise on the inputs
        views=lambda means, labels, generator: means[:, None],  # noqa: ARG005 - the text itself
    )


def fill_places(network: FrozenMean, documents: Documents, places: int, key: bytes) -> tuple[Tensor, Tensor]:
    """Return the mean vectors (N, d) and labels (N,) of N places.

    Of more documents than places a random choice has one, empty records included: a choice among those alone that can
    be used would give one record's place to another when it is made empty.

    Args:
        network: gives the vectors and the maximum number of words.
        documents: n documents, any of them empty.
        places: N.
        key: of the run.
    """
    rows = make_generator(key, "places").permutation(len(documents))[:places]
    lengths = documents.texts.lengths[rows]
    is_empty = (lengths == 0) | (lengths > network.max_words) | (documents.labels[rows] == EMPTY_LABEL)
    filled = np.flatnonzero(~is_empty)
    inputs = torch.zeros(places, network.net.output.in_features)
    labels = torch.full((places,), EMPTY_LABEL)
    if len(filled):
        texts = documents.texts.take(rows[filled])
        words, offsets = torch.from_numpy(texts.words.astype(np.int64)), torch.from_numpy(texts.offsets[:-1])
        inputs[filled] = network.average_vectors(words, offsets)
        labels[filled] = torch.from_numpy(documents.labels[rows[filled]])
    return inputs, labels


def _describe_run(options: PrivateTextOptions, settings: DPSGDSettings) -> dict[str, Any]:
    """Return the public facts of a run, as JSON values: no number of records is among them."""
    return {
        "places": options.places,
        "accounting": describe_accounting(settings.plan, options.delta),
        "options": {
            "expected batch size": settings.plan.rate * options.places,
            "learning rate": settings.learning_rate,
            "averaging decay": settings.averaging_decay,
        },
        "epsilon chosen": CHOSEN_FROM_DATA if options.chosen_from_data else CHOSEN_BY_OWNER,
    }
