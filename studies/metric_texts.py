"""What becomes of reviews under one law: words that change, classes that stay, and a classifier that learns."""

import dataclasses
import importlib
import importlib.util
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import BoolArray, FloatArray
from deniable.measure.classifiers import TfIdfClassifier
from deniable.measure.intervals import Estimate, estimate_clustered_mean, estimate_clustered_share, estimate_mean
from deniable.space import Space
from studies.reviews import Corpus, Offsets, Words

_PARTS = {"NOUN": 1, "PROPN": 1, "VERB": 2, "AUX": 2, "ADJ": 4, "ADV": 8}
"""Universal part of speech -> its bit."""
_CLASSES = 2


def place_vectors(space: Space, source: Space) -> FloatArray:
    """Return the vectors (n, d), of unit length, that another space has for the words of a space; 0 for the others."""
    vectors = np.zeros((len(space), source.vectors.shape[1]))
    places = np.array([source.index_by_word.get(word, -1) for word in space.words])
    vectors[places >= 0] = source.vectors[places[places >= 0]]
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1.0)


def find_parts_of_speech(space: Space) -> npt.NDArray[np.uint8] | None:
    """Return the parts of speech (n,) that LemmInflect's lexicon lists for each word, as bits; None without it."""
    if importlib.util.find_spec("lemminflect") is None:
        return None
    lemminflect = importlib.import_module("lemminflect")
    return np.array(
        [sum({_PARTS.get(part, 0) for part in lemminflect.getAllLemmas(word)}) for word in space.words], dtype=np.uint8
    )


def find_hidden_words(space: Space) -> BoolArray:
    """Return which words (n,) belong to a hidden class."""
    is_hidden = np.zeros(len(space), dtype=np.bool_)
    for hidden_class in space.hidden_classes:
        is_hidden[hidden_class.members] = True
    return is_hidden


@dataclasses.dataclass(frozen=True, eq=False)
class Outcome:
    """A corpus and the words drawn for it.

    Attributes:
        space: of both.
        corpus: the originals.
        outputs: (N,) words drawn.
        is_hidden: (n,) words of the space that belong to a hidden class.
    """

    space: Space
    corpus: Corpus
    outputs: Words
    is_hidden: BoolArray

    @property
    def is_changed(self) -> BoolArray:
        """(N,) whether a known word, of no hidden class, became another."""
        words = self.corpus.words
        is_changed: BoolArray = (words != self.outputs) & ~self.corpus.is_unknown & ~self.is_hidden[words]
        return is_changed

    def sum_by_text(self, values: npt.ArrayLike) -> FloatArray:
        """Return the sums (R,) of values (N,) over the words of each text."""
        lengths = np.diff(self.corpus.offsets)
        row_of = np.repeat(np.arange(len(lengths)), lengths)
        return np.bincount(row_of, np.asarray(values, dtype=np.float64), len(lengths)).astype(np.float64)

    def estimate_changed_cosine(self, vectors: FloatArray, beyond: int = 0) -> Estimate:
        """Return the mean cosine of changed words, of ranks beyond one, to their originals, both having vectors."""
        is_changed = self.is_changed & (self.corpus.words >= beyond)
        words, outputs = self.corpus.words[is_changed], self.outputs[is_changed]
        cosines = np.zeros(len(self.outputs))
        pairs, pair_of = np.unique(words.astype(np.int64) * len(self.space) + outputs, return_inverse=True)
        left, right = pairs // len(self.space), pairs % len(self.space)
        chunks = np.array_split(np.arange(len(pairs)), len(pairs) // 100_000 + 1)
        products = [np.einsum("nd,nd->n", vectors[left[chunk]], vectors[right[chunk]]) for chunk in chunks]
        cosines[is_changed] = np.concatenate(products)[pair_of]
        has_vector: BoolArray = np.asarray(vectors.any(axis=1))
        is_counted = is_changed & has_vector[self.corpus.words] & has_vector[self.outputs]
        return estimate_clustered_mean(self.sum_by_text(cosines * is_counted), self.sum_by_text(is_counted))

    def estimate_same_part(self, parts: npt.NDArray[np.uint8]) -> Estimate:
        """Return the share of changed words, of those with a part of speech, whose output can be the same part."""
        is_counted = self.is_changed & (parts[self.corpus.words] > 0)
        is_same = is_counted & ((parts[self.corpus.words] & parts[self.outputs]) > 0)
        return estimate_clustered_share(self.sum_by_text(is_same), self.sum_by_text(is_counted))

    def estimate_same_class(self) -> Estimate | None:
        """Return the share of words of a hidden class that come out as one of it; None where there are none."""
        points = self.space.point_by_word
        is_counted = self.is_hidden[self.corpus.words]
        is_same = is_counted & (points[self.corpus.words] == points[self.outputs])
        if not is_counted.any():
            return None
        return estimate_clustered_share(self.sum_by_text(is_same), self.sum_by_text(is_counted))


def estimate_accuracy(private: Corpus, draws: Sequence[Words], public: Corpus) -> Estimate:
    """Return the mean share of original texts whose class is guessed, by one classifier for each draw of private ones.

    Args:
        private: whose classes are learned.
        draws: words (N,) drawn for it.
        public: original texts.
    """
    originals = split_texts(*public.original())
    hits = np.zeros(len(public.codes))
    for words in draws:
        classifier = TfIdfClassifier(analyzer=np.ndarray.tolist, token_pattern=None)
        classifier.fit(split_texts(words, private.offsets), private.codes, _CLASSES)  # type: ignore[arg-type]
        hits += classifier.probabilities(originals).argmax(axis=1) == public.codes  # type: ignore[arg-type]
    return estimate_mean(hits / len(draws), bounds=(0.0, 1.0))


def split_texts(words: Words, offsets: Offsets) -> list[Words]:
    """Return the words of each text (R,) from those of all (N,)."""
    return np.split(words, offsets[1:-1])
