"""What becomes of reviews under one law: words, whole texts, classifiers, and an attacker who reads the context."""

import dataclasses
import importlib
import importlib.util
import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from deniable.core.arrays import BoolArray, FloatArray
from deniable.core.intervals import (
    Estimate,
    estimate_clustered_mean,
    estimate_clustered_share,
    estimate_mean,
    estimate_share,
)
from deniable.core.randomness import Streams, derive_key_from_seed, derive_stream_start
from deniable.measure.attackers.language_model import number_words
from deniable.measure.classifiers import TfIdfClassifier
from deniable.measure.contextual_recovery import fit_weighted_language_model, measure_contextual_recovery
from deniable.measure.recovery import measure_recovery
from deniable.space import Space
from deniable.text.batches import PrivatizedBatch
from deniable.words import WordMechanism
from studies.reviews import Corpus, Words

_PARTS = {"NOUN": 1, "PROPN": 1, "VERB": 2, "AUX": 2, "ADJ": 4, "ADV": 8}
"""Universal part of speech -> its bit."""
_CLASSES = 2
_LEAST_COUNT = 0.1
"""What an attacker counts for every word, seen or not."""


@dataclasses.dataclass(frozen=True, eq=False)
class Encoder:
    """Vectors of the words of a space, from that space or another.

    Attributes:
        vectors: (n, d) of unit length, 0 for a word without a vector.
        idf: (n,) ln of how many texts there are for each that has the word.
        raw: (n, d) as they are.
    """

    vectors: FloatArray
    idf: FloatArray
    raw: FloatArray


def build_encoder(space: Space, source: Space, corpus: Corpus) -> Encoder:
    """Return the vectors that another space has for the words of a space, and the words' weights in a corpus."""
    raw = np.zeros((len(space), source.vectors.shape[1]))
    places = np.array([source.index_by_word.get(word, -1) for word in space.words])
    raw[places >= 0] = source.vectors[places[places >= 0]]
    norms = np.linalg.norm(raw, axis=1, keepdims=True)
    vectors = raw / np.where(norms > 0, norms, 1.0)
    texts = len(corpus.codes)
    row_of = np.repeat(np.arange(texts), np.diff(corpus.offsets))
    pairs = np.unique(row_of.astype(np.int64) * len(space) + corpus.words)
    counts = np.bincount(pairs % len(space), minlength=len(space))
    return Encoder(vectors, np.log((1 + texts) / (1 + counts)), raw)


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


def draw_outputs(mechanism: WordMechanism, corpus: Corpus, seed: int) -> Words:
    """Return the words (N,) drawn for those of a corpus."""
    key = derive_key_from_seed(seed)
    starts = [derive_stream_start(key, corpus.name, str(text)) for text in range(len(corpus.codes))]
    return mechanism.draw_words(corpus.words, Streams(key, starts, np.diff(corpus.offsets).tolist()))


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

    def estimate_kept(self) -> Estimate:
        """Return the share of known words that stay as they are."""
        is_known = ~self.corpus.is_unknown
        is_kept = is_known & (self.corpus.words == self.outputs)
        return estimate_clustered_share(self.sum_by_text(is_kept), self.sum_by_text(is_known))

    def estimate_changed_cosine(self, encoder: Encoder) -> Estimate:
        """Return the mean cosine of changed words to their originals, both having vectors."""
        is_changed = self.is_changed
        words, outputs = self.corpus.words[is_changed], self.outputs[is_changed]
        cosines = np.zeros(len(self.outputs))
        pairs, pair_of = np.unique(words.astype(np.int64) * len(self.space) + outputs, return_inverse=True)
        left, right = pairs // len(self.space), pairs % len(self.space)
        cosines[is_changed] = np.einsum("nd,nd->n", encoder.vectors[left], encoder.vectors[right])[pair_of]
        has_vector: BoolArray = np.asarray(encoder.vectors.any(axis=1))
        is_counted = is_changed & has_vector[self.corpus.words] & has_vector[self.outputs]
        return estimate_clustered_mean(self.sum_by_text(cosines * is_counted), self.sum_by_text(is_counted))

    def estimate_text_cosine(self, encoder: Encoder) -> Estimate:
        """Return the mean cosine of texts to their originals, a text being the idf-weighted sum of its vectors."""
        shape = len(self.corpus.codes), len(self.space)
        weighted = encoder.idf[:, None] * encoder.raw
        is_known = (~self.corpus.is_unknown).astype(np.float64)
        before = sparse.csr_array((is_known, self.corpus.words, self.corpus.offsets), shape=shape) @ weighted
        after = sparse.csr_array((np.ones(len(is_known)), self.outputs, self.corpus.offsets), shape=shape) @ weighted
        norms = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
        products = np.einsum("rd,rd->r", before, after)[norms > 0] / norms[norms > 0]
        return estimate_mean(np.clip(products, -1.0, 1.0), bounds=(-1.0, 1.0))

    def estimate_letter_cosine(self, texts: int) -> Estimate:
        """Return the mean cosine of the first texts to their originals, by tf-idf of runs of 3 letters within words."""
        from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415 - loads a second

        originals = join_words(self.space, *self.corpus.head(texts).original())
        private = join_words(self.space, self.outputs, self.corpus.offsets[: texts + 1])
        vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True)
        products = vectorizer.fit_transform(originals).multiply(vectorizer.transform(private)).sum(axis=1)
        return estimate_mean(np.clip(np.asarray(products).ravel(), 0.0, 1.0), bounds=(0.0, 1.0))

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

    def measure_contextual_success(
        self, mechanism: WordMechanism, public: Corpus, texts: int, seed: int
    ) -> tuple[Estimate, Estimate]:
        """Return the share of known words of the first texts that an attacker names, in context and without.

        The attacker has the original texts of another corpus, a trigram model of them, and the mechanism.
        """
        head = self.corpus.head(texts)
        batch = PrivatizedBatch(
            new_texts=[],
            offsets=head.offsets,
            words=head.words,
            outputs=self.outputs[: len(head.words)],
            unknown_mask=head.is_unknown,
            unknown_count=int(head.is_unknown.sum()),
            kept_counts=np.zeros(texts, dtype=np.int64),
        )
        sequences = np.split(number_words(self.space, public.words, public.is_unknown), public.offsets[1:-1])
        model, weight = fit_weighted_language_model(mechanism, sequences, seed=seed)
        in_context = measure_contextual_recovery(mechanism, batch, model, weight=weight, seed=seed)
        counts = _LEAST_COUNT + np.bincount(public.words[~public.is_unknown], minlength=len(self.space))
        return in_context.share, measure_recovery(mechanism, batch, prior=counts, seed=seed).share


def join_words(space: Space, words: Words, offsets: npt.NDArray[np.int64]) -> list[str]:
    """Return the texts (R,) of words (N,)."""
    spelled = [space.words[number] for number in words]
    return [" ".join(spelled[start:end]) for start, end in itertools.pairwise(offsets)]


def train_classifier(space: Space, words: Words, corpus: Corpus, offsets: npt.NDArray[np.int64]) -> TfIdfClassifier:
    """Return a classifier of the texts of a corpus, in their original or a private form."""
    return TfIdfClassifier().fit(join_words(space, words, offsets), corpus.codes, _CLASSES)


def estimate_accuracy(classifier: TfIdfClassifier, texts: Sequence[str], corpus: Corpus) -> Estimate:
    """Return the share of texts whose class is named."""
    hits = classifier.probabilities(texts).argmax(axis=1) == corpus.codes
    return estimate_share(int(hits.sum()), len(hits))
