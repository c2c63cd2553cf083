"""Trainers whose flaw is what else is taken from the records: a scale, a vocabulary, the choice of a checkpoint."""

import functools
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.accounting.training import TrainingPlan
from deniable.auditing.training.observation import Model, TrainingStep
from deniable.core.arrays import FloatArray
from deniable.published.trainers.dp_sgd import (
    BrokenTrainer,
    calibrate_plan,
    list_entries,
    release_once,
    sum_clipped,
    train_on_all,
)


def _scale_by_largest(features: FloatArray) -> FloatArray:
    """Features are scaled by the largest one of the private data.

    Whoever fits a scaler (mean and deviation, smallest and largest value) to the records before training lets one
    record change the features of all the others. Each gradient is clipped, but all of them move. Ranges and scales are
    public, or a release of their own that is paid for.
    """
    return sum_clipped(features / np.abs(features).max())


PRIVATE_NORMALIZER = BrokenTrainer(
    "private-normalizer",
    "scalers that are fitted before private training",
    "features are scaled by the largest of the private data: one record changes the clipped gradients of all",
    release_once(_scale_by_largest),
    release_once(sum_clipped),  # of features on a public scale of 1
    records=(np.array([1.0]),) * 15,
    canary=np.array([-1000.0]),
    runs=1_000,
)


def _count_words(texts: npt.NDArray[np.str_], words: Sequence[str]) -> FloatArray:
    counts = [[text.split().count(word) for word in words] for text in texts.tolist()]
    return sum_clipped(np.array(counts, dtype=np.float64))


def _count_all_words(texts: npt.NDArray[np.str_]) -> FloatArray:
    """The words of the private texts are the vocabulary of the model.

    Each word has a parameter, and every sum gets its noise. But the model has a parameter for a rare word, a name for
    instance, exactly if some record has it: nothing hides which words there are. Tokenizers, labels and categories that
    are read from the data do the same.
    """
    return _count_words(texts, sorted({word for text in texts.tolist() for word in text.split()}))


PRIVATE_VOCABULARY = BrokenTrainer(
    "private-vocabulary",
    "tokenizers that are fitted before private training",
    "the vocabulary is that of the private texts: the model has a parameter for a word exactly if a record has it",
    release_once(_count_all_words),
    release_once(functools.partial(_count_words, words=("bad", "film", "good"))),
    records=("good film", "bad film") * 7,
    canary="good film zebedee",
    runs=400,
    facts_status="not refuted",
)


def _train_and_choose(
    records: list[Any], seed: int, *, choose_checkpoint: Callable[[FloatArray], int]
) -> Generator[TrainingPlan | TrainingStep, None, Model]:
    """The checkpoint with the least loss on the private data is the model.

    All checkpoints together are as private as claimed, and so would be one of them that is named in advance. Which of
    them fits the records best is a question to the records, that nobody counted, and loss is not clipped: a record with
    a large loss picks the checkpoint that noise happened to drive its way. Papernot and Steinke 2022 count what such
    choices cost.
    """
    checkpoints = np.zeros((0, 1))
    for item in train_on_all(records, seed, plan=calibrate_plan(16, 16)):
        yield item
        if isinstance(item, TrainingStep):
            parameters = checkpoints[-1:].sum(axis=0) + item.released
            checkpoints = np.vstack([checkpoints, parameters])
    losses = -(checkpoints @ np.stack(records).T)
    model = checkpoints[choose_checkpoint(losses)]
    return lambda canaries: np.stack(canaries) @ model


BEST_CHECKPOINT = BrokenTrainer(
    "best-checkpoint",
    "cf. Papernot and Steinke 2022",
    "the checkpoint is chosen by its loss on the private data: the choice is an answer that nobody counted",
    functools.partial(_train_and_choose, choose_checkpoint=lambda losses: int(losses.sum(axis=1).argmin())),
    functools.partial(_train_and_choose, choose_checkpoint=lambda _: -1),
    records=(np.array([-1.0]),),
    canary=np.array([3.0]),
    runs=2_000,
    facts_status="not refuted",
)

ENTRIES = list_entries(PRIVATE_NORMALIZER, PRIVATE_VOCABULARY, BEST_CHECKPOINT)
