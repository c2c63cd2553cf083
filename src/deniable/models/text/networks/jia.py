"""The networks of Jia et al. 2019, section 5.1: a convolutional one and a bag of words, and decomposable attention."""

import functools
from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from deniable.core.parallel import compile_loop
from deniable.models.interval_bounds import (
    TensorOrBox,
    apply_layer,
    apply_linear,
    apply_monotone,
    apply_relu,
    apply_softmax,
    average_by_weights,
    concatenate_features,
    match_kind,
)
from deniable.models.text.documents import Documents, IndexedTexts, RowIndices, TextOffsets, WordIds
from deniable.models.text.networks.base import (
    DistinctWords,
    ProjectedNetwork,
    Scorer,
    TextBatch,
    process_in_slices,
    sum_rows_at,
)

_FloatArray = npt.NDArray[np.float32]


@functools.partial(compile_loop, relaxed=True)
def _add_convolved_means(
    words: WordIds, offsets: TextOffsets, taps: _FloatArray, out: _FloatArray
) -> None:  # pragma: no cover
    """Add to a row of out (R, h) for each text the mean over its words of max(0, taps of the word and its neighbours).

    Args:
        words: of all texts.
        offsets: (R + 1,) of the texts, none of them empty.
        taps: (V, 3, h), what the taps of the word before, the word itself and the word behind make of each word.
        out: zeros.
    """
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
        present, places, nothing = batch.present, distinct_words.places, len(distinct_words.word_ids)
        # The indices of the distinct words before, at and behind every position (b L,).
        shifted = (functional.pad(places, shift, value=nothing).flatten() for shift in ((1, -1), (0, 0), (-1, 1)))
        neighbours = tuple(shifted)

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
        return apply_relu(apply_layer(apply_monotone(at_words, average_positions), self.hidden))

    def _apply_taps(self, words: TensorOrBox) -> TensorOrBox:
        """Return the outputs of the three taps for each word, (D, 100) -> (D, 300)."""
        weight = self.convolution.weight.permute(2, 0, 1).reshape(3 * CONVOLUTION_UNITS, CONVOLUTION_UNITS)
        return apply_linear(
            apply_relu(words), weight, functional.pad(self.bias, (CONVOLUTION_UNITS, CONVOLUTION_UNITS))
        )

    @torch.no_grad()
    def make_scorer(self, documents: Documents) -> Scorer:  # noqa: ARG002 - a text has no premise
        """See `TextNetwork.make_scorer`; the taps of all words are computed once and looked up."""
        vectors = self.projection.vectors
        taps = self._apply_taps(self.projection.linear(vectors)).view(len(vectors), 3, CONVOLUTION_UNITS).cpu().numpy()

        @torch.no_grad()
        def score(versions: IndexedTexts, rows: RowIndices) -> npt.NDArray[np.float32]:  # noqa: ARG001 - as above
            means = np.zeros((len(versions), CONVOLUTION_UNITS), dtype=np.float32)

            def convolve_slice(part: slice) -> None:
                _add_convolved_means(versions.words, versions.offsets[part.start : part.stop + 1], taps, means[part])

            process_in_slices(convolve_slice, versions)
            pooled = torch.from_numpy(means).to(vectors.device)
            logits: npt.NDArray[np.float32] = self.output(apply_relu(apply_layer(pooled, self.hidden))).cpu().numpy()
            return logits

        return score


BAG_UNITS = 300
"""Size of a projected word."""

BAG_LAYERS = 3


class BagOfWords(ProjectedNetwork):
    """Linear and ReLU on every word, the mean over words, and three layers with ReLU and dropout 0.1.

    Jia et al. add the words of a sentence; those of a review are too many for that, and their mean is taken.
    """

    max_words = 20_000
    takes_pairs = False

    def __init__(self, vectors: Tensor, classes: int) -> None:
        width = BAG_UNITS * (2 if self.takes_pairs else 1)
        super().__init__(
            vectors, classes, projection_size=BAG_UNITS, feature_size=width, dropout=([width] * BAG_LAYERS, 0.1)
        )
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(BAG_LAYERS))

    def features(
        self, words: TensorOrBox, distinct_words: DistinctWords, batch: TextBatch, dropout_factors: Sequence[Tensor]
    ) -> TensorOrBox:
        """See `ProjectedNetwork.features`."""
        lengths = batch.present.sum(dim=1)
        pooled = apply_monotone(
            apply_relu(words), lambda rows: self._pool_sums(sum_rows_at(rows, distinct_words.places), lengths)
        )
        if self.takes_pairs:
            premise, premise_distinct, _ = self.project_premise(batch)
            pooled = concatenate_features(
                match_kind(pooled, sum_rows_at(premise.relu(), premise_distinct.places)), pooled
            )  # (b, 600)
        return self._apply_hidden_layers(pooled, dropout_factors)

    def _pool_sums(self, sums: Tensor, lengths: Tensor) -> Tensor:
        """Return the pooled vectors (b, 300) from sums over the words of texts of lengths (b,)."""
        return sums if self.takes_pairs else sums / lengths.unsqueeze(1)

    def _apply_hidden_layers(self, pooled: TensorOrBox, dropout_factors: Sequence[Tensor]) -> TensorOrBox:
        """Return the last hidden units (b, width)."""
        for layer, factors in zip(self.layers, dropout_factors, strict=True):
            pooled = apply_monotone(apply_relu(apply_layer(pooled, cast("nn.Linear", layer))), factors.mul)
        return pooled

    @torch.no_grad()
    def make_scorer(self, documents: Documents) -> Scorer:
        """See `TextNetwork.make_scorer`; all words and all premises are projected once."""
        table = self.projection.linear(self.projection.vectors).relu()  # (V, 300)
        dropout_factors = [torch.ones((), device=table.device)] * BAG_LAYERS
        premise_sums = (
            table[:0] if documents.premises is None else _sum_word_rows(documents.premises, table)
        )  # (n, 300)

        @torch.no_grad()
        def score(versions: IndexedTexts, rows: RowIndices) -> npt.NDArray[np.float32]:
            pooled = self._pool_sums(
                _sum_word_rows(versions, table), torch.from_numpy(versions.lengths).to(table.device)
            )
            if self.takes_pairs:
                pooled = torch.cat([premise_sums[torch.from_numpy(rows)], pooled], dim=1)
            logits: npt.NDArray[np.float32] = (
                self.output(self._apply_hidden_layers(pooled, dropout_factors)).cpu().numpy()
            )
            return logits

        return score


class PairedBagOfWords(BagOfWords):
    """The network of Jia et al. for entailment: a sum for each sentence, both concatenated, and layers of 600."""

    takes_pairs = True


def _sum_word_rows(texts: IndexedTexts, table: Tensor) -> Tensor:
    """Return the sums (R, h) of the rows of a table (V, h) over the words of texts."""
    words = torch.from_numpy(texts.words.astype(np.int64)).to(table.device)
    return functional.embedding_bag(words, table, torch.from_numpy(texts.offsets[:-1]).to(table.device), mode="sum")


ATTENTION_UNITS = 100
"""Units of every layer."""


class DecomposableAttention(ProjectedNetwork):
    """Each word of a sentence is compared with a weighted mean of the other's words, and the comparisons are added.

    With a_i of the premise and b_j of the text, projected words, and networks F, G and H of two layers (one for F)::

        e_ij = F(a_i) . F(b_j)              beta_i, alpha_j = means of b and of a, by softmax of e    (equations 1, 2)
        v_1 = sum_i G([a_i, beta_i])        v_2 = sum_j G([b_j, alpha_j])                             (3, 4, 5)
        logits = H([v_1, v_2])                                                                        (6)

    F has one layer, not two, because each more widens the boxes of all weights. Dropout 0.2 meets the layers of H.
    """

    max_words = 500
    takes_pairs = True

    def __init__(self, vectors: Tensor, classes: int) -> None:
        super().__init__(
            vectors,
            classes,
            projection_size=ATTENTION_UNITS,
            feature_size=ATTENTION_UNITS,
            dropout=([2 * ATTENTION_UNITS, ATTENTION_UNITS], 0.2),
        )
        self.attend = nn.Linear(ATTENTION_UNITS, ATTENTION_UNITS)
        self.compare = nn.ModuleList(
            [nn.Linear(2 * ATTENTION_UNITS, ATTENTION_UNITS), nn.Linear(ATTENTION_UNITS, ATTENTION_UNITS)]
        )
        self.aggregate = nn.Linear(2 * ATTENTION_UNITS, ATTENTION_UNITS)

    def features(
        self, words: TensorOrBox, distinct_words: DistinctWords, batch: TextBatch, dropout_factors: Sequence[Tensor]
    ) -> TensorOrBox:
        """See `ProjectedNetwork.features`."""
        premise, premise_distinct, premise_present = self.project_premise(batch)
        attended = apply_relu(apply_layer(words, self.attend))  # (D + 1, 100)
        keys = apply_relu(apply_layer(premise, self.attend))[premise_distinct.places]  # (b, P, 100)
        a = match_kind(words, premise[premise_distinct.places])  # (b, P, 100)
        b = apply_monotone(words, lambda rows: rows[distinct_words.places])  # (b, L, 100)
        scores = apply_linear(apply_monotone(attended, lambda rows: rows[distinct_words.places]), keys)  # (b, L, P)
        to_premise = apply_softmax(scores, premise_present.unsqueeze(1))
        to_text = apply_softmax(apply_monotone(scores, lambda rows: rows.mT), batch.present.unsqueeze(1))  # (b, P, L)
        alpha = average_by_weights(to_premise, a, premise_present)  # (b, L, 100)
        beta = average_by_weights(to_text, b, batch.present)  # (b, P, 100)
        both = concatenate_features(
            self._compare_words(a, beta, premise_present), self._compare_words(b, alpha, batch.present)
        )
        return apply_monotone(
            apply_relu(apply_layer(apply_monotone(both, dropout_factors[0].mul), self.aggregate)),
            dropout_factors[1].mul,
        )

    def _compare_words(self, own: TensorOrBox, other: TensorOrBox, present: Tensor) -> TensorOrBox:
        """Return the sum (b, 100) of G over the words that are present."""
        hidden = concatenate_features(own, other)  # (b, L, 200)
        for layer in self.compare:
            hidden = apply_relu(apply_layer(hidden, cast("nn.Linear", layer)))
        return apply_monotone(hidden, lambda activations: (activations * present.unsqueeze(-1)).sum(dim=1))
