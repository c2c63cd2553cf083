"""Training DPText through its noise: for a task, against readers of private attributes (Beigi et al. 2019)."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from deniable.core.errors import InputError, check_count, check_number_within, make_parameter_error
from deniable.learning.loop import AdamRun, select_batch
from deniable.measure.labels import ClassCodes
from deniable.published.dptext.mechanism import InvalidDraws
from deniable.published.dptext.network import NOISE_VARIANTS, DPTextNetwork, NoiseVariant
from deniable.rewriting.tokens import PAD, Vocabulary
from deniable.rewriting.training import pad_token_rows

_MAX_COUNT = 100_000
_MAX_VALUE = 1e6
"""Largest epsilon and learning rate; the smallest is its inverse."""
_GRADIENT_CLIP = 1.0
"""l2 norm to which a gradient is clipped: noise of a large scale makes some very large."""


@dataclasses.dataclass(frozen=True)
class RepresentationOptions:
    """What can be chosen of a training run.

    Attributes:
        variant: ``published``: epsilon is learned below a bound, with the sampler of the papers; ``fixed``: Laplace
            noise with an epsilon that is not trained; ``none``: no noise, the adversary only.
        epsilon: the bound on a learned epsilon, or epsilon itself; without effect where there is no noise.
        invalid: of the published sampler, see `deniable.published.dptext.mechanism.DPText`.
        dimensions: n, of a representation.
        embedded: size of a word's embedding.
        hidden: units of the encoder and of every reader.
        adversary: weight of the private attributes' losses against the encoder (alpha); 0 for no adversary.
        reconstruction: weight of the auto-encoder's loss, the text's words from its noisy vector.
        epochs: passes over the records.
        batch_size: records of a step.
        learning_rate: learning rate of the optimizer.

    Raises:
        InputError: a value is outside its domain.
    """

    variant: NoiseVariant = "fixed"
    epsilon: float = 1.0
    invalid: InvalidDraws = "redraw"
    dimensions: int = 16
    embedded: int = 32
    hidden: int = 64
    adversary: float = 1.0
    reconstruction: float = 0.1
    epochs: int = 30
    batch_size: int = 64
    learning_rate: float = 3e-3

    def __post_init__(self) -> None:
        if self.variant not in NOISE_VARIANTS:
            raise make_parameter_error("training", "variant", f"one of {', '.join(NOISE_VARIANTS)}", self.variant)
        if self.invalid not in {"redraw", "zero"}:
            raise make_parameter_error("training", "invalid", "'redraw' or 'zero'", self.invalid)
        for name in ("epsilon", "learning_rate"):
            check_number_within("training", name, getattr(self, name), 1 / _MAX_VALUE, _MAX_VALUE)
        for name in ("adversary", "reconstruction"):
            check_number_within("training", name, getattr(self, name), 0, _MAX_COUNT)
        for name in ("dimensions", "embedded", "hidden", "epochs", "batch_size"):
            check_count("training", name, getattr(self, name), maximum=_MAX_COUNT)


@dataclasses.dataclass(frozen=True, eq=False)
class AttributeRecords:
    """Texts with the class of a task, which is to be predicted from them, and private attributes, which are not.

    Attributes:
        texts: k of them.
        task: (k,) class of the task, from 0.
        private: (k, T) class of each private attribute, from 0.

    Raises:
        InputError: there are no texts, not as many classes as texts, or classes that are no whole numbers from 0.
    """

    texts: Sequence[str]
    task: ClassCodes
    private: ClassCodes

    def __post_init__(self) -> None:
        if not len(self.texts):
            raise InputError("Training needs at least 1 text. Got 0: give more rows.")
        if self.task.shape != (len(self.texts),) or self.private.shape[:1] != self.task.shape or self.private.ndim != 2:  # noqa: PLR2004 - records by attributes
            raise InputError(
                f"{len(self.texts)} texts need as many classes of the task and rows of private attributes. Got arrays "
                f"of shape {self.task.shape} and {self.private.shape}: give one of each per text."
            )
        for name in ("task", "private"):
            codes = getattr(self, name)
            if codes.dtype.kind not in "bui" or (codes.size and codes.min() < 0):
                raise make_parameter_error(
                    "training", name, "an array of whole numbers from 0", codes.ravel()[:3].tolist()
                )
            object.__setattr__(self, name, codes.astype(np.int64))  # of booleans and shorter integers too


def pad_vocabulary_texts(vocabulary: Vocabulary, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Return the token ids (k, L) of texts, and their numbers (k,); an empty text counts as one `PAD`."""
    return pad_token_rows([vocabulary.to_ids(text) or [PAD] for text in texts], width=1)


def prepare_representation_run(
    network: DPTextNetwork,
    vocabulary: Vocabulary,
    records: AttributeRecords,
    options: RepresentationOptions,
    key: bytes,
) -> AdamRun:
    """Return a training run that has not begun.

    Args:
        network: trained in place.
        vocabulary: of its words.
        records: to learn from.
        options: see `RepresentationOptions`.
        key: 32 bytes; batches and noise follow from it.
    """
    tokens, lengths = pad_vocabulary_texts(vocabulary, records.texts)
    task, private = torch.from_numpy(records.task), torch.from_numpy(records.private)
    count = len(records.texts)
    steps = options.epochs * (count // min(options.batch_size, count))
    device = next(network.parameters()).device

    def loss(number: int, rng: torch.Generator) -> Tensor:
        rows = select_batch(count, options.batch_size, number, key)
        longest = int(lengths[rows].max())
        words, batch_lengths = tokens[rows, :longest].to(device), lengths[rows]
        task_logits, attribute_logits, word_logits = network(words, batch_lengths, options.adversary, rng)
        total = functional.cross_entropy(task_logits, task[rows].to(device))
        for attribute, logits in enumerate(attribute_logits):
            total = total + functional.cross_entropy(logits, private[rows, attribute].to(device))
        return total + options.reconstruction * _compute_word_loss(word_logits, words, batch_lengths.to(device))

    return AdamRun(network, loss, steps, options.learning_rate, key, clip_norm=_GRADIENT_CLIP)


def _compute_word_loss(logits: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
    """Return the mean negative log-likelihood of the words (b, L) of texts of lengths (b,), given logits (b, V)."""
    negative_log_likelihoods = -functional.log_softmax(logits, dim=1).gather(1, words)  # (b, L)
    present = torch.arange(words.shape[1], device=words.device) < lengths.unsqueeze(1)
    return (negative_log_likelihoods * present).sum() / present.sum()
