"""The FastText form of a text classifier (Joulin et al. 2017): the mean of word embeddings, and one linear layer."""

import itertools
from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError
from deniable.measure.attackers.language_model import WordNumbers
from deniable.measure.labels import ClassCodes
from deniable.space.grammar import fold_word, split_words

try:
    import torch
    from torch import nn
except ImportError:
    raise InputError("The FastText classifier needs torch, which is missing: install deniable[train].") from None

TextOffsets = npt.NDArray[np.int64]


class FastTextNetwork(nn.Module):
    """Words (N,) of B texts -> logits (B, classes).

    Args:
        embeddings: initial embeddings (size, dimensions); small, as in fastText, whose output weights start at 0 too.
        classes: number of classes.
    """

    def __init__(self, embeddings: torch.Tensor, classes: int) -> None:
        super().__init__()
        size, dimensions = embeddings.shape
        self.embeddings = nn.EmbeddingBag(size, dimensions, mode="mean", _weight=embeddings)
        # torch's own initial weights would be drawn from its global generator.
        self.output = nn.utils.skip_init(nn.Linear, dimensions, classes)  # type: ignore[no-untyped-call]
        with torch.no_grad():
            self.output.weight.zero_()
            self.output.bias.zero_()

    def forward(self, words: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
        """Return logits of texts whose words are joined end to end, each beginning at ``starts`` (B,)."""
        bags = self.embeddings(words, starts)  # (B, dimensions); zeros for a text without words
        logits: torch.Tensor = self.output(bags)  # (B, classes)
        return logits


class FastTextClassifier:
    """Trained by Adam with torch's default learning rate, as in Carvalho et al. 2021, Appendix C.

    Texts are cut into words, and words folded to lower case, as for the mechanisms; words that no training text has are
    left out.

    Args:
        seed: public; initial embeddings and order of the texts follow from it.
        dimensions: length of an embedding.
        epochs: passes over the texts.
        batch_size: texts in one step.
    """

    def __init__(self, seed: int = 0, *, dimensions: int = 16, epochs: int = 20, batch_size: int = 64) -> None:
        self._seed, self._dimensions, self._epochs, self._batch_size = seed, dimensions, epochs, batch_size
        self._number_of_word: dict[str, int] = {}

    def fit(self, texts: Sequence[str], codes: ClassCodes, classes: int) -> Self:
        """See `deniable.measure.classifiers.TextClassifier`."""
        tokenized_texts = _tokenize(texts)
        words = dict.fromkeys(itertools.chain.from_iterable(tokenized_texts))
        self._number_of_word = {word: number for number, word in enumerate(words)}
        return self.fit_words(*self._number_words(tokenized_texts), codes, classes=classes, size=len(words))

    def probabilities(self, texts: Sequence[str]) -> FloatArray:
        """See `deniable.measure.classifiers.TextClassifier`."""
        return self.probabilities_of_words(*self._number_words(_tokenize(texts)))

    def _number_words(self, tokenized_texts: Sequence[Sequence[str]]) -> tuple[WordNumbers, TextOffsets]:
        """Return the numbers of known words, and where each text begins."""
        numbers = [
            [self._number_of_word[word] for word in text if word in self._number_of_word] for text in tokenized_texts
        ]
        words = np.fromiter(itertools.chain.from_iterable(numbers), dtype=np.int32)
        return words, np.cumsum([0, *map(len, numbers)], dtype=np.int64)

    def fit_words(
        self, words: WordNumbers, offsets: TextOffsets, codes: ClassCodes, *, classes: int, size: int
    ) -> Self:
        """Learn from texts given as numbers.

        Args:
            words: (N,) the words of R texts end to end, numbers below ``size``.
            offsets: (R + 1,) where each text begins.
            codes: (R,) classes, numbers below ``classes``.
            classes: number of classes.
            size: number of words.
        """
        # One thread: a step is too small to share, and results then do not depend on the number of cores.
        torch.set_num_threads(1)
        generator = torch.Generator().manual_seed(self._seed)
        initial_embeddings = torch.empty(max(size, 1), self._dimensions)
        self._network = FastTextNetwork(
            initial_embeddings.uniform_(-1 / self._dimensions, 1 / self._dimensions, generator=generator), classes
        )
        optimizer = torch.optim.Adam(self._network.parameters(), fused=True)
        text_count, labels = len(codes), torch.from_numpy(np.asarray(codes))
        for _ in range(self._epochs):
            order = torch.randperm(text_count, generator=generator).numpy()
            for start in range(0, text_count, self._batch_size):
                batch_rows = order[start : start + self._batch_size]
                bags = [words[offsets[row] : offsets[row + 1]] for row in batch_rows]
                starts = np.cumsum([0, *map(len, bags[:-1])], dtype=np.int32)
                logits = self._network(torch.from_numpy(np.concatenate(bags)), torch.from_numpy(starts))
                loss = nn.functional.cross_entropy(logits, labels[batch_rows])
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
        return self

    def probabilities_of_words(self, words: WordNumbers, offsets: TextOffsets) -> FloatArray:
        """Return (R, classes) for texts given as numbers, see `fit_words`."""
        with torch.no_grad():
            logits = self._network(torch.from_numpy(words), torch.from_numpy(offsets[:-1].astype(np.int32)))
            probabilities: FloatArray = torch.softmax(logits.double(), dim=1).numpy()
        return probabilities


def _tokenize(texts: Sequence[str]) -> list[list[str]]:
    return [[fold_word(word) for word in split_words(text)[1::2]] for text in texts]
