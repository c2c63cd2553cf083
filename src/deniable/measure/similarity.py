"""Similarity of private texts to their originals: words, distances in the space, mean vectors, word sets.

The part-of-speech taggers of spaCy and NLTK are optional: with one of them shares are also given by part of speech.
"""

import dataclasses
import importlib
import itertools
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError
from deniable.measure.intervals import Estimate, estimate_clustered_mean, estimate_clustered_share, estimate_mean
from deniable.space import Space
from deniable.space.grammar import fold_word
from deniable.text.batches import PrivatizedBatch

PartOfSpeechTagger = Callable[[list[str]], list[str]]
"""Maps the words of one text, as they are spelled in it, to their parts of speech."""

_UNIVERSAL_TAG_NAMES = {
    "ADJ": "adjective",
    "ADP": "preposition",
    "ADV": "adverb",
    "AUX": "verb",
    "CCONJ": "conjunction",
    "DET": "determiner",
    "INTJ": "interjection",
    "NOUN": "noun",
    "NUM": "number",
    "PART": "particle",
    "PRON": "pronoun",
    "PROPN": "proper noun",
    "SCONJ": "conjunction",
    "VERB": "verb",
}
"""Universal part-of-speech tag -> name."""

_PENN_TAG_NAMES = {
    "CC": "conjunction",
    "CD": "number",
    "DT": "determiner",
    "EX": "pronoun",
    "IN": "preposition",
    "JJ": "adjective",
    "MD": "verb",
    "NN": "noun",
    "NNP": "proper noun",
    "NNPS": "proper noun",
    "PDT": "determiner",
    "POS": "particle",
    "PRP": "pronoun",
    "RB": "adverb",
    "RP": "particle",
    "TO": "particle",
    "UH": "interjection",
    "VB": "verb",
    "WDT": "determiner",
    "WP": "pronoun",
    "WRB": "adverb",
}
"""Penn Treebank tag, or the two letters that it begins with -> name."""


def find_tagger() -> PartOfSpeechTagger | None:
    """Return an installed part-of-speech tagger, or None.

    spaCy with an English model is tried first, then NLTK with its perceptron. They see the words alone, without the
    punctuation between them, so that they err a little more often than on whole sentences.
    """
    return _load_spacy_tagger() or _load_nltk_tagger()


def _load_spacy_tagger() -> PartOfSpeechTagger | None:
    try:
        spacy = importlib.import_module("spacy")
        models = [name for name in spacy.util.get_installed_models() if name.startswith("en_core_web")]
        if not models:
            return None
        model = spacy.load(min(models, key=len), exclude=["parser", "ner", "lemmatizer"])
    except (ImportError, OSError):
        return None

    def tag_words(words: list[str]) -> list[str]:
        document = model(spacy.tokens.Doc(model.vocab, words=words))
        return [_UNIVERSAL_TAG_NAMES.get(token.pos_, "other") for token in document]

    return tag_words


def _load_nltk_tagger() -> PartOfSpeechTagger | None:
    try:
        nltk = importlib.import_module("nltk")
        nltk.pos_tag(["a"])
    except (ImportError, LookupError):  # LookupError: the data of the perceptron are not installed
        return None

    def tag_words(words: list[str]) -> list[str]:
        tags = [tag.removesuffix("$") for _, tag in nltk.pos_tag(words)]  # PRP$ is his, WP$ is whose
        return [_PENN_TAG_NAMES.get(tag, _PENN_TAG_NAMES.get(tag[:2], "other")) for tag in tags]

    return tag_words


@dataclasses.dataclass(frozen=True)
class TextSimilarity:
    """How similar private texts are to their originals; the intervals are over texts.

    Attributes:
        unchanged: share of words that stay as they are; a word that the vocabulary lacks counts as changed.
        moved: mean distance between a word and the one drawn for it, in the space's metric, over the words of the
            vocabulary.
        cosine: mean over texts of the cosine between a text's mean word vector before and after; texts without a
            known word, or with a mean of zero, are left out.
        unrelated: the same between a text and the private version of the next one, for comparison with `cosine`:
            mean vectors of any two texts are far from orthogonal. None for a single text.
        overlap: mean over texts of the Jaccard index of their word sets before and after.
        parts: share of words unchanged by part of speech, most frequent first; empty without a tagger.
        texts: number of texts with at least one word.
        words: number of words in all texts.
    """

    unchanged: Estimate
    moved: Estimate
    cosine: Estimate
    unrelated: Estimate | None
    overlap: Estimate
    parts: dict[str, Estimate]
    texts: int
    words: int


def measure_similarity(
    space: Space, texts: Sequence[str], batch: PrivatizedBatch, *, tagger: PartOfSpeechTagger | None = None
) -> TextSimilarity:
    """Return how similar private texts are to their originals.

    Args:
        space: the space of the mechanism.
        texts: R original texts.
        batch: the private texts, from `deniable.measure.batches.privatize_texts`.
        tagger: function from words to parts of speech, such as `find_tagger()` returns.

    Raises:
        InputError: the texts are not those of ``batch``, no word is known, or a tagger returns too few tags.
    """
    spelled_texts = [space.split_words(text)[1::2] for text in texts]
    if [len(words) for words in spelled_texts] != batch.lengths:
        raise InputError(
            "The texts are not the originals of the batch: give both in the same order, without kept or dropped words."
        )
    if batch.unknown_mask.all():
        raise InputError(f"None of the {len(batch.words)} words of the texts is in the vocabulary: use other vectors.")
    lengths, is_unchanged, is_known = np.diff(batch.offsets), ~batch.changed_mask, ~batch.unknown_mask
    row_of = np.repeat(np.arange(len(texts)), lengths)
    sums_before, sums_after = _sum_vectors(space.vectors, batch)
    return TextSimilarity(
        unchanged=estimate_clustered_share(*_sum_per_text(row_of, is_unchanged)),
        moved=_estimate_moved_distance(space, batch, row_of),
        cosine=_estimate_cosine(sums_before, sums_after),
        unrelated=_estimate_unrelated_cosine(sums_before, sums_after),
        overlap=_estimate_overlap(space, spelled_texts, batch),
        parts=_estimate_parts_of_speech(spelled_texts, is_unchanged, row_of, tagger) if tagger else {},
        texts=int((lengths > 0).sum()),
        words=int(is_known.size),
    )


def _sum_per_text(row_of: npt.NDArray[np.int64], values: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the sums of values (N,) over the words of each text, and how many they are."""
    sums = np.bincount(row_of, np.asarray(values, dtype=np.float64)).astype(np.float64)
    return sums, np.bincount(row_of).astype(np.float64)


def _estimate_moved_distance(space: Space, batch: PrivatizedBatch, row_of: npt.NDArray[np.int64]) -> Estimate:
    is_known = ~batch.unknown_mask
    distances = _compute_pair_distances(space, batch.words[is_known], batch.outputs[is_known])
    estimate = estimate_clustered_mean(*_sum_per_text(row_of[is_known], distances))
    return dataclasses.replace(estimate, low=max(estimate.low, 0.0))


def _compute_pair_distances(space: Space, words: npt.NDArray[np.int32], outputs: npt.NDArray[np.int32]) -> FloatArray:
    """Return the distances (N,) between N pairs of words, each pair of points computed once."""
    point_pairs = np.stack([space.point_by_word[words], space.point_by_word[outputs]])
    pairs, pair_of_word = np.unique(point_pairs, axis=1, return_inverse=True)
    start_points, run_starts = np.unique(pairs[0], return_index=True)
    ends = np.split(pairs[1], run_starts[1:])

    def read_block(first: int, distances: FloatArray) -> list[FloatArray]:
        return [row[points] for row, points in zip(distances, ends[first:], strict=False)]

    blocks = space.map_row_blocks(read_block, start_points)
    distances = np.concatenate([np.empty(0), *itertools.chain.from_iterable(blocks)])
    distances_of_words: FloatArray = distances[pair_of_word.ravel()]
    return distances_of_words


def _sum_vectors(vectors: FloatArray, batch: PrivatizedBatch) -> tuple[FloatArray, FloatArray]:
    """Return the sums (R, d) of the vectors of each text's known words, and of the words drawn."""
    shape = len(batch.texts), len(vectors)
    is_known = (~batch.unknown_mask).astype(np.float64)
    before = sparse.csr_array((is_known, batch.words, batch.offsets), shape=shape) @ vectors
    after = sparse.csr_array((np.ones(len(is_known)), batch.outputs, batch.offsets), shape=shape) @ vectors
    return before, after


def _estimate_cosine(before: FloatArray, after: FloatArray) -> Estimate:
    """Return the mean cosine between rows; those of sums are those of means."""
    lengths = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    products = np.einsum("rd,rd->r", before, after)[lengths > 0] / lengths[lengths > 0]
    return estimate_mean(np.clip(products, -1.0, 1.0), bounds=(-1.0, 1.0))


def _estimate_unrelated_cosine(before: FloatArray, after: FloatArray) -> Estimate | None:
    """Return the mean cosine between a text and the private version of the next one that has words, if there is one."""
    has_vectors = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1) > 0
    if has_vectors.sum() < 2:  # noqa: PLR2004 - a text and the next
        return None
    return _estimate_cosine(before[has_vectors], np.roll(after[has_vectors], -1, axis=0))


def _estimate_overlap(space: Space, spelled_texts: Sequence[Sequence[str]], batch: PrivatizedBatch) -> Estimate:
    shares = []
    for words, (start, end) in zip(spelled_texts, itertools.pairwise(batch.offsets), strict=True):
        if words:
            words_before, words_after = (
                set(map(fold_word, words)),
                {space.words[number] for number in batch.outputs[start:end]},
            )
            shares.append(len(words_before & words_after) / len(words_before | words_after))
    return estimate_mean(shares, bounds=(0.0, 1.0))


def _estimate_parts_of_speech(
    spelled_texts: Sequence[list[str]],
    is_unchanged: npt.NDArray[np.bool_],
    row_of: npt.NDArray[np.int64],
    tagger: PartOfSpeechTagger,
) -> dict[str, Estimate]:
    tags = [tag for words in spelled_texts if words for tag in tagger(words)]
    if len(tags) != len(is_unchanged):
        raise InputError(f"The tagger must return one tag a word. Got {len(tags)} for {len(is_unchanged)} words.")
    names, codes, counts = np.unique(np.array(tags), return_inverse=True, return_counts=True)
    return {
        str(names[code]): estimate_clustered_share(*_sum_per_text(row_of[codes == code], is_unchanged[codes == code]))
        for code in np.argsort(-counts, kind="stable")
    }
