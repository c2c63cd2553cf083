"""The convolutional network of Jia et al. 2019, section 5.1, for classes of one text."""

import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from deniable.core.parallel import compile_loop
from deniable.models.text.documents import Documents, IndexedTexts, RowIndices, TextOffsets, WordIds
from deniable.models.text.interval_bounds import TensorOrBox, apply_layer, apply_linear, apply_monotone, apply_relu
from deniable.models.text.networks.base import Scorer, TextBatch, process_in_slices
from deniable.models.text.networks.projected import DistinctWords, ProjectedNetwork

_FloatArray = npt.NDArray[np.float32]


def average_convolutions(texts: IndexedTexts, taps: _FloatArray) -> _FloatArray:
    """Return the means (R, h) over the words of each text of max(0, taps of the word and its neighbours).

    Args:
        texts: R texts, none empty.
        taps: (V, 3, h), what the taps of the word before, the word itself and the word behind make of each word.
    """
    means = np.zeros((len(texts), taps.shape[2]), dtype=np.float32)

    def convolve_slice(part: slice) -> None:
        _add_convolved_means(texts.words, texts.offsets[part.start : part.stop + 1], taps, means[part])

    process_in_slices(convolve_slice, texts)
    return means


@functools.partial(compile_loop, relaxed=True)
def _add_convolved_means(
    words: WordIds, offsets: TextOffsets, taps: _FloatArray, out: _FloatArray
) -> None:  # pragma: no cover
    """Add the mean of each text to its row of out."""
    zeros = np.zeros(out.shape[1], dtype=np.float32)
    for text in range(offsets.size - 1):
        start, end = offsets[text], offsets[text + 1]
        sums = out[text]
        for position in range(start, end):
            before = taps[words[position - 1], 0] if position > start else zeros
            own = taps[words[position], 1]
            behind = taps[words[position + 1], 2] if position + 1 < end else zeros
            for unit in range(out.shape[1]):
                sums[unit] += max(before[unit] + own[unit] + behind[unit], np.float32(0))
        for unit in range(out.shape[1]):
            sums[unit] /= np.float32(end - start)


CONVOLUTION_UNITS = 100
"""Units of every layer."""


class ConvolutionalNetwork(ProjectedNetwork):
    """Linear, ReLU, a convolution of width 3, ReLU, the mean over words, dropout 0.2, linear, ReLU, linear.

    A convolution over words is the sum of what three taps make of three neighbours, so each distinct word meets each
    tap once, and a text is looked up and added. Nothing is added behind the ends of a text.
    """

    max_words = 20_000
    takes_pairs = False

    def __init__(self, vectors: Tensor, classes: int) -> None:
        super().__init__(
            vectors,
            classes,
            projection_size=CONVOLUTION_UNITS,
            feature_size=CONVOLUTION_UNITS,
            dropout=([CONVOLUTION_UNITS], 0.2),
        )
        self.convolution = nn.Conv1d(CONVOLUTION_UNITS, CONVOLUTION_UNITS, 3, padding=1, bias=False)
        self.bias = nn.Parameter(torch.zeros(CONVOLUTION_UNITS))  # of the convolution, added where its taps are
        self.hidden = nn.Linear(CONVOLUTION_UNITS, CONVOLUTION_UNITS)

    def features(
        self, words: TensorOrBox, distinct_words: DistinctWords, batch: TextBatch, dropout_factors: Sequence[Tensor]
    ) -> TensorOrBox:
        """See `ProjectedNetwork.features`."""
        present, neighbours = batch.present, _find_neighbours(distinct_words)

        def add_neighbours(taps: Tensor) -> Tensor:  # (D + 1, 3 * 100) -> (b, L, 100)
            parts = zip(taps.view(-1, 3, CONVOLUTION_UNITS).unbind(1), neighbours, strict=True)
            before, own, behind = (part.index_select(0, rows) for part, rows in parts)  # (b L, 100) each
            return (
                before.add_(own).add_(behind).view(*present.shape, CONVOLUTION_UNITS)
            )  # in place: memory is what takes time here

        position_weights = (present / present.sum(dim=1, keepdim=True)).to(self.bias)  # (b, L)

        def average_positions(hidden: Tensor) -> Tensor:  # (b, L, 100) -> (b, 100)
            return (position_weights.unsqueeze(1) @ hidden).squeeze(1) * dropout_factors[0]

        at_words = apply_relu(apply_monotone(self._apply_taps(words), add_neighbours))
        return self._apply_hidden_layer(apply_monotone(at_words, average_positions))

    def _apply_taps(self, words: TensorOrBox) -> TensorOrBox:
        """Return the outputs of the three taps for each word, (D, 100) -> (D, 300)."""
        weight = self.convolution.weight.permute(2, 0, 1).reshape(3 * CONVOLUTION_UNITS, CONVOLUTION_UNITS)
        return apply_linear(
            apply_relu(words), weight, functional.pad(self.bias, (CONVOLUTION_UNITS, CONVOLUTION_UNITS))
        )

    def _apply_hidden_layer(self, pooled: TensorOrBox) -> TensorOrBox:
        """Return the last hidden units (b, 100)."""
        return apply_relu(apply_layer(pooled, self.hidden))

    @torch.no_grad()
    def make_scorer(self, documents: Documents) -> Scorer:  # noqa: ARG002 - a text has no premise
        """See `TextNetwork.make_scorer`; the taps of all words are computed once and looked up."""
        vectors = self.projection.vectors
        taps = self._apply_taps(self.projection.linear(vectors)).view(len(vectors), 3, CONVOLUTION_UNITS).cpu().numpy()

        @torch.no_grad()
        def score(versions: IndexedTexts, rows: RowIndices) -> npt.NDArray[np.float32]:  # noqa: ARG001 - as above
            pooled = torch.from_numpy(average_convolutions(versions, taps)).to(vectors.device)
            logits: npt.NDArray[np.float32] = self.output(self._apply_hidden_layer(pooled)).cpu().numpy()
            return logits

        return score


def _find_neighbours(distinct_words: DistinctWords) -> tuple[Tensor, Tensor, Tensor]:
    """Return the indices of the distinct words before, at and behind every position (b L,)."""
    before = functional.pad(distinct_words.places, (1, -1), value=len(distinct_words.word_ids))
    behind = functional.pad(distinct_words.places, (-1, 1), value=len(distinct_words.word_ids))
    return before.flatten(), distinct_words.places.flatten(), behind.flatten()
