r"""Word vectors that were trained on private texts, under TEM (Carvalho et al. 2021, Sections 4.1 and 6).

The paper says that TEM "allows the safe use of sensitive embeddings". Theorem 2 compares two words under one set of
vectors. Where one text is left out, all vectors move, and one word w alone, at distance 0 from itself, has two laws::

    max over y of |ln P(y|w) - ln P'(y|w)|,   P(y|w) proportional to exp(-(epsilon / 2) min(|v_w - v_y|, gamma))

which no epsilon of the words bounds. Mended: vectors from noisy sums (`deniable.persons.word_vectors`).
"""

import functools
from collections.abc import Sequence

import numpy as np

from deniable.auditing.verification import verify
from deniable.core.arrays import FloatArray, IntArray
from deniable.core.guarantees import Verdict
from deniable.persons.budget import Budget, Measurement
from deniable.persons.word_vectors import CONTEXT_MEASUREMENT, VectorOptions, adapt_vectors
from deniable.published.entry import ZooEntry, audit_claim, make_matrix_sampler
from deniable.space import Space
from deniable.words.tem import TEM

_WINDOW, _DIMENSIONS = 5, 8
_WORDS, _TEXTS, _LENGTH = 60, 40, 30
_EPSILON, _CLAIM = 3.0, 0.1
_MENDED = VectorOptions(epsilon=1.0, delta=1e-6)
_TWO_COLLECTIONS = Space(["with", "without"], np.array([[0.0], [1.0]]))


def count_pairs(texts: Sequence[IntArray], size: int, window: int = _WINDOW) -> FloatArray:
    """Return the symmetric counts (n, n) of words that stand at most ``window`` words apart.

    Args:
        texts: word numbers below n; -1 for an unknown word.
        size: n.
        window: in words.
    """
    counts = np.zeros((size, size))
    for text in texts:
        for distance in range(1, min(window, len(text) - 1) + 1):
            left, right = text[:-distance], text[distance:]
            is_known = (left >= 0) & (right >= 0)
            np.add.at(counts, (left[is_known], right[is_known]), 1.0)
    return counts + counts.T


def embed_pairs(counts: FloatArray, dimensions: int) -> FloatArray:
    r"""Return vectors (n, d), U sqrt(S) of the positive pointwise mutual information (Levy and Goldberg 2014).

    That is max(0, ln(c_ij c / (c_i c_j))), of which U S V' are the d largest singular values.

    Args:
        counts: c (n, n), symmetric.
        dimensions: d.
    """
    from scipy.sparse.linalg import svds

    totals = np.maximum(counts.sum(axis=1), 1.0)
    ratios = counts * totals.sum() / np.outer(totals, totals)
    information = np.log(np.maximum(ratios, 1.0))
    start = np.ones(len(counts)) / np.sqrt(len(counts))  # the same vectors in every run
    left, sizes, _ = svds(information, k=dimensions, v0=start)
    vectors: FloatArray = left * np.sqrt(sizes)
    return vectors


def make_mechanism(counts: FloatArray, words: Sequence[str], epsilon: float, dimensions: int = _DIMENSIONS) -> TEM:
    """Return TEM on vectors that were trained on the texts behind some counts."""
    return TEM(Space(words, embed_pairs(counts, dimensions)), epsilon=epsilon)


@functools.cache
def _load_toy() -> tuple[Space, tuple[IntArray, ...]]:
    """Return public words, and texts of them, of which the last joins words that hardly any other text joins."""
    random = np.random.default_rng(5)
    shares = 1 / np.arange(1, _WORDS + 1)
    texts = [random.choice(_WORDS, _LENGTH, p=shares / shares.sum()) for _ in range(_TEXTS)]
    return Space.glove(_WORDS, hide=(), metric="euclidean"), (*texts, np.arange(_WORDS - 1, _WORDS - 1 - _LENGTH, -1))


@functools.cache
def _compute_two_laws() -> tuple[FloatArray, int]:
    """Return the laws (2, n) of one word with the last text and without it, and the output that tells most."""
    public, texts = _load_toy()
    laws = np.stack(
        [
            make_mechanism(count_pairs(kept, _WORDS), public.words, _EPSILON).probabilities(public.words[-1])
            for kept in (texts, texts[:-1])
        ]
    )
    return laws, int(np.argmax(np.abs(np.log(laws[0]) - np.log(laws[1]))))


def _list_event_probabilities() -> FloatArray:
    """Return the law (2, 2) of whether the telling output comes out."""
    laws, output = _compute_two_laws()
    return np.column_stack([laws[:, output], 1 - laws[:, output]])


def _audit_sensitive(seed: int) -> Verdict:
    sampler = make_matrix_sampler(_list_event_probabilities(), _TWO_COLLECTIONS, seed)
    return audit_claim(sampler, "with", "without", claim=_CLAIM, samples=20_000, batched=True, seed=seed)


def _verify_mended() -> Verdict:
    size = _load_toy()[0].vectors.size
    return Budget(_MENDED.epsilon, _MENDED.delta, "record", (Measurement(CONTEXT_MEASUREMENT, 1.0, size),)).verify()


def _audit_mended(seed: int) -> Verdict:
    public, texts = _load_toy()
    written = [" ".join(public.words[number] for number in text) for text in texts]
    random = np.random.default_rng(seed)

    def release(collection: str) -> str:
        kept = written if collection == "with" else written[:-1]
        vectors = adapt_vectors(kept, public, _MENDED)
        law = TEM(vectors.make_space("euclidean", hide=()), epsilon=_EPSILON).probabilities(public.words[-1])
        return public.words[int(random.choice(_WORDS, p=law / law.sum()))]

    return audit_claim(release, "with", "without", claim=_MENDED.epsilon, delta=_MENDED.delta, samples=200, seed=seed)


ENTRIES = (
    ZooEntry(
        name="tem-private-vectors",
        source="Carvalho et al. 2021, Sections 4.1 and 6: safe use of sensitive embeddings",
        claim="0.1-DP, one text of the vectors",
        flaw="vectors from private texts: leaving out one text changes what one and the same word is drawn as",
        audit_samples=_audit_sensitive,
        verify_law=lambda: verify(_list_event_probabilities(), space=_TWO_COLLECTIONS, epsilon=_CLAIM),
    ),
    ZooEntry(
        name="tem-noisy-vectors",
        source="control: deniable",
        claim="(1, 1e-06)-DP, one text",
        flaw="",
        audit_samples=_audit_mended,
        verify_law=_verify_mended,
    ),
)
