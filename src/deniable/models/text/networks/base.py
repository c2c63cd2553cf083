"""The contract of a text classifier's network: batches of documents, logits, certified bounds, and fast scores."""

import abc
import dataclasses
from collections.abc import Callable
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from deniable.core.parallel import count_cores, hide_progress, parallel_map
from deniable.models.text.documents import Documents, IndexedTexts, RowIndices
from deniable.models.text.substitutions import Substitutions

Scorer = Callable[[IndexedTexts, RowIndices], npt.NDArray[np.float32]]
"""From R texts, and the document (R,) that each is a version of, to logits (R, K), without gradients."""


@dataclasses.dataclass(frozen=True, eq=False)
class TextBatch:
    """A batch of documents, padded to one length.

    Attributes:
        words: int64 (b, L) word ids, 0 behind the end of a text.
        present: bool (b, L), whether there is a word.
        labels: int64 (b,).
        premise: int64 (b, P), as ``words``; None where a document is one text.
        premise_present: bool (b, P).
    """

    words: Tensor
    present: Tensor
    labels: Tensor
    premise: Tensor | None = None
    premise_present: Tensor | None = None


def make_text_batch(documents: Documents, device: torch.device | None = None) -> TextBatch:
    """Return all documents side by side."""
    words, present = pad_texts(documents.texts, device)
    premise = (None, None) if documents.premises is None else pad_texts(documents.premises, device)
    return TextBatch(words, present, torch.from_numpy(documents.labels).to(device), *premise)


def pad_texts(texts: IndexedTexts, device: torch.device | None = None) -> tuple[Tensor, Tensor]:
    """Return the words (b, L) of texts and whether there is one (b, L)."""
    lengths = texts.lengths
    present = np.arange(max(lengths, default=0)) < lengths[:, None]  # (b, L)
    words = np.zeros(present.shape, dtype=np.int64)
    words[present] = texts.words
    return torch.from_numpy(words).to(device), torch.from_numpy(present).to(device)


class TextNetwork(nn.Module, abc.ABC):
    """A classifier of texts over the words of a space.

    A model is one file: a subclass with `forward`, `compute_logits_and_bounds` and `make_scorer`, and one row in
    `deniable.models.text.networks.TEXT_NETWORKS`.
    """

    max_words: ClassVar[int]
    """Maximum number of words of a text."""
    takes_pairs: ClassVar[bool]
    """Whether a document is a pair of premise and text."""
    rng: torch.Generator | None = None
    """Generator of dropout in training; None for no dropout."""

    @abc.abstractmethod
    def forward(self, batch: TextBatch) -> Tensor:
        """Return logits (b, K)."""

    @abc.abstractmethod
    def compute_logits_and_bounds(
        self, batch: TextBatch, sets: Substitutions, scale: float = 1.0
    ) -> tuple[Tensor, Tensor]:
        """Return logits, and lower bounds over all substitutions on the label's logit minus each class's, (b, K) each.

        The bounds hold for every text in which every word is one of its choices, and are 0 for the label itself. By
        interval bound propagation (Jia et al. 2019, section 3), the last linear layer folded into the difference
        (Gowal et al. 2018, section 3).

        Args:
            batch: documents with labels.
            sets: the choices of every word.
            scale: in [0, 1], by which the box of every word is shrunk around the word itself (Jia et al. 2019, section
                4.1); 1 for a certificate.
        """

    def compute_margin_bounds(self, batch: TextBatch, sets: Substitutions, scale: float = 1.0) -> Tensor:
        """Return the bounds of `compute_logits_and_bounds` alone."""
        return self.compute_logits_and_bounds(batch, sets, scale)[1]

    @abc.abstractmethod
    def make_scorer(self, documents: Documents) -> Scorer:
        """Return the scorer for attacks and smoothing: the network in evaluation mode, on versions of documents.

        Args:
            documents: whose premises go with the versions of their texts.
        """


_MIN_WORDS_FOR_THREADS = 1 << 15
"""Number of words below which threads cost more than they save."""


def process_in_slices(process_slice: Callable[[slice], None], texts: IndexedTexts) -> None:
    """Call ``process_slice`` with slices that together are all of R texts.

    Args:
        process_slice: writes the scores of some of the texts in their places; those of a text must not depend on the
            other texts.
        texts: R texts.
    """
    if len(texts.words) < _MIN_WORDS_FOR_THREADS:
        process_slice(slice(0, len(texts)))
        return
    bounds = np.linspace(0, len(texts), 8 * count_cores() + 1).astype(np.int64).tolist()
    with hide_progress():  # the caller reports its own
        parallel_map(process_slice, map(slice, bounds[:-1], bounds[1:]))
