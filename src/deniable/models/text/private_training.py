"""Training a text classifier by DP-SGD (Abadi et al. 2016): one linear layer on means of frozen word vectors."""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from deniable.accounting.planning import build_training_verdict, describe_accounting, plan_training
from deniable.accounting.training import TrainingPlan
from deniable.core.errors import InputError
from deniable.core.guarantees import EMPTY_PLACE
from deniable.core.randomness import generate_key, make_generator
from deniable.learning.clipping import EMPTY_LABEL
from deniable.learning.dp_sgd import DPSGDRun, DPSGDSettings
from deniable.learning.loop import Checkpoint, run_training
from deniable.models.text.documents import Documents
from deniable.models.text.model import TextModel, get_space_identity
from deniable.models.text.networks.means import FrozenMean
from deniable.models.text.options import PrivateTextOptions
from deniable.space import Space
from deniable.text.release_certificate import CHOSEN_BY_OWNER, CHOSEN_FROM_DATA

PRIVATE_TEXT_KIND = "dp-fasttext"
_DEFAULT_STEPS, _DEFAULT_BATCH_SIZE = 60, 4_096
_MAX_LEARNING_RATE = 4.0
_AVERAGING_DECAY = 0.9


def plan_private_training(options: PrivateTextOptions, dimensions: int) -> DPSGDSettings:
    """Return the settings of DP-SGD that spend at most the budget, for vectors of so many dimensions.

    Raises:
        InputError: the budget cannot be met.
    """
    places = options.places
    batch_size = options.batch_size or min(places, _DEFAULT_BATCH_SIZE)
    steps = _DEFAULT_STEPS if options.epochs is None else math.ceil(options.epochs * places / batch_size)
    plan = plan_training(places, batch_size, steps, options.epsilon, options.delta, clip=options.clip)
    rate = options.learning_rate or choose_learning_rate(plan, dimensions)
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
            it. It is bound to everything that the run depends on.
        progress: called after every step with the steps done, the total number of steps and the loss, which is private.

    Raises:
        InputError: a budget that cannot be met, documents of pairs, or a checkpoint of another run.
        DeniableError: the loss became NaN or infinite, or a checkpoint cannot be written.
    """
    identity = get_space_identity(space)
    if documents.premises is not None:
        raise InputError(f"The model {PRIVATE_TEXT_KIND} is for single texts, not pairs: leave out the premises.")
    key = generate_key() if key is None else key
    if checkpoint is not None:
        run_facts = {"data": documents.fingerprint, "space": space.fingerprint, **dataclasses.asdict(options)}
        checkpoint = checkpoint.bind({"model": PRIVATE_TEXT_KIND, **run_facts})
        key = checkpoint.load_key(key)
    network = FrozenMean(torch.tensor(space.vectors, dtype=torch.float32), len(documents.classes))
    settings, layer = plan_private_training(options, space.vectors.shape[1]), network.net.output
    run = DPSGDRun(
        layer,
        *fill_places(network, documents, options.places, key),
        settings,
        key,
        forward=lambda means, generator: layer(means),  # noqa: ARG005 - no noise on the inputs
        views=lambda means, labels, generator: means[:, None],  # noqa: ARG005 - the text itself
    )
    run_training(run, key, checkpoint, lambda done, loss: progress(done, run.steps, loss))
    layer.load_state_dict(run.result)
    facts = {  # all public: no number of records is among them
        "places": options.places,
        "accounting": describe_accounting(settings.plan, options.delta),
        "options": {
            "expected batch size": settings.plan.rate * options.places,
            "learning rate": settings.learning_rate,
            "averaging decay": settings.averaging_decay,
        },
        "epsilon chosen": CHOSEN_FROM_DATA if options.chosen_from_data else CHOSEN_BY_OWNER,
    }
    verdict = build_training_verdict(settings.plan, options.delta, EMPTY_PLACE)
    return TextModel(PRIVATE_TEXT_KIND, network.eval(), documents.classes, *identity, facts, verdict)


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
        with torch.no_grad():
            inputs[filled] = network.net.embeddings(words, offsets)  # the means of the words' vectors
        labels[filled] = torch.from_numpy(documents.labels[rows[filled]])
    return inputs, labels
