"""The words of the private texts are the vocabulary of the model.

Each word has a parameter, and every sum gets its noise. But the model has a parameter for a rare word, a name for
instance, exactly if some record has it: nothing hides which words there are. Tokenizers, labels and categories that are
read from the data do the same.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from deniable.auditing.training.observation import TrainingStep
from deniable.published.trainers.dp_sgd import (
    Steps,
    TrainerCase,
    calibrate_plan,
    draw_noise,
    make_entries,
    sum_clipped,
)

PUBLIC_VOCABULARY = ("bad", "film", "good")
PLAN = calibrate_plan(16, 1)
CASE = TrainerCase(records=("good film", "bad film") * 7, canary="good film zebedee", runs=400)


def _train(records: list[Any], seed: int, *, list_words: Callable[[list[str]], list[str]]) -> Steps:
    words = list_words(records)
    counts = np.array([[text.split().count(word) for word in words] for text in records], dtype=np.float64)
    total = sum_clipped(counts)
    yield PLAN
    for noise in draw_noise(seed, PLAN.noise_multiplier, (PLAN.steps, len(words))):
        yield TrainingStep(total + noise, np.arange(len(records)), total, PLAN.noise_multiplier)


train = functools.partial(_train, list_words=lambda texts: sorted({word for text in texts for word in text.split()}))
train_mended = functools.partial(_train, list_words=lambda _: sorted(PUBLIC_VOCABULARY))

ENTRY, TWIN = make_entries(
    "private-vocabulary",
    CASE,
    train,
    train_mended,
    source="tokenizers that are fitted before private training",
    flaw="the vocabulary is that of the private texts: the model has a parameter for a word exactly if a record has it",
    facts_status="not refuted",
)
