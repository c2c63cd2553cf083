"""Claims of published packages and of textbook code that are false: claim, flaw and evidence.

- ``laplace-in-ball``: multivariate Laplace noise with its direction drawn in the ball instead of on the sphere.
- ``tem-wrong-bottom``, ``tem-input-for-bottom``: TEM with another law for distant words.
- ``own-output-sets``: an exponential mechanism whose outputs are restricted to the input's own nearest neighbours.
- ``public-seed``: a correct mechanism whose noise comes from the same public seed in every run.
- ``unknown-unchanged``: a correct mechanism, and words outside its vocabulary are released as they are.
- ``numpy-laplace``: the textbook Laplace mechanism in floating point, whose last bits reveal the input.
"""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from deniable.auditing.verification import verify
from deniable.core.arrays import FloatArray
from deniable.core.guarantees import Verdict
from deniable.published.entry import ZooEntry, audit_claim, audit_nearest_words, make_matrix_sampler
from deniable.space import Space
from deniable.vectors import Box, Laplace
from deniable.words.calibrated_exponential import CalibratedExponential

_TWO_WORDS = Space(["near", "far"], np.array([[0.0], [1.0]]))


def _verify_ball() -> Verdict:
    """In one dimension the noise passes half the distance with probability E_2(epsilon d / 2) / 2."""
    flip_probability = special.expn(2, 0.5) / 2
    probabilities = np.array([[1 - flip_probability, flip_probability], [flip_probability, 1 - flip_probability]])
    return verify(probabilities, space=_TWO_WORDS, epsilon=1.0)


def _audit_ball(seed: int) -> Verdict:
    random = np.random.default_rng(seed)

    def mechanism(word: str) -> str:
        noise = random.uniform(-1, 1) * random.gamma(1, 1)
        return _TWO_WORDS.words[int(abs(_TWO_WORDS.vectors[_TWO_WORDS.index_of(word), 0] + noise) > 0.5)]  # noqa: PLR2004 - half way

    return audit_claim(mechanism, "near", "far", samples=8_000, seed=seed)


TEM_EPSILON = 4.0
_BETA = 0.001


@functools.cache
def load_frequent_words() -> Space:
    """Return the thousand most frequent words of GloVe."""
    return Space.glove(1_000, hide=(), metric="euclidean")


def _normalize_rows(weights: FloatArray) -> FloatArray:
    matrix: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return matrix


def compute_tem_weights() -> tuple[FloatArray, FloatArray]:
    """Return the unnormalised weights (n, n) of the words of L_w, 0 elsewhere, and those (n,) of bottom.

    Bottom has the score -gamma + (2/epsilon) ln(n / |L_w|), not ln of what lies beyond L_w.
    """
    distances = load_frequent_words().distances(range(len(load_frequent_words())))
    count = len(distances)
    gamma = 2 / TEM_EPSILON * np.log((1 - _BETA) * (count - 1) / _BETA)
    is_near = distances <= gamma
    near_counts = is_near.sum(axis=1)
    word_weights = np.where(is_near, np.exp(-TEM_EPSILON / 2 * distances), 0.0)
    bottom_weights = np.where(near_counts < count, np.exp(-TEM_EPSILON / 2 * gamma) * count / near_counts, 0.0)
    return word_weights, bottom_weights


@functools.cache
def compute_wrong_bottom_law() -> FloatArray:
    """Return P (n, n) of TEM whose bottom element has that score."""
    word_weights, bottom_weights = compute_tem_weights()
    is_beyond = word_weights == 0
    return _normalize_rows(word_weights + is_beyond * (bottom_weights / np.maximum(is_beyond.sum(axis=1), 1))[:, None])


@functools.cache
def compute_input_for_bottom_law() -> FloatArray:
    """Return P (n, n) of TEM that returns the input when the bottom element is drawn."""
    word_weights, bottom_weights = compute_tem_weights()
    return _normalize_rows(word_weights + np.diag(bottom_weights))


def _make_tem_entry(name: str, source: str, flaw: str, compute_law: Callable[[], FloatArray]) -> ZooEntry:
    """Return the entry of a law (n, n) of frequent words; its loss is in outputs too rare to sample."""
    return ZooEntry(
        name=name,
        source=source,
        claim="4-metric-DP, 1,000 words",
        flaw=flaw,
        audit_samples=lambda seed: audit_nearest_words(
            make_matrix_sampler(compute_law(), load_frequent_words(), seed), load_frequent_words(), TEM_EPSILON, seed
        ),
        expected_of_samples="not refuted",
        verify_law=lambda: verify(compute_law(), space=load_frequent_words(), epsilon=TEM_EPSILON),
    )


_NEIGHBOUR_COUNT = 20


@functools.cache
def compute_own_sets_law() -> FloatArray:
    """Return P (n, n), proportional to exp(-d / 2) over each word's own nearest neighbours."""
    distances = load_frequent_words().distances(range(len(load_frequent_words())))
    limit = np.partition(distances, _NEIGHBOUR_COUNT - 1, axis=1)[:, _NEIGHBOUR_COUNT - 1 : _NEIGHBOUR_COUNT]
    return _normalize_rows(np.where(distances <= limit, np.exp(-0.5 * distances), 0.0))


def _audit_own_sets(seed: int) -> Verdict:
    space = load_frequent_words()
    sampler = make_matrix_sampler(compute_own_sets_law(), space, seed)
    return audit_claim(sampler, "monday", "january", distance=space.distance, samples=5_000, batched=True, seed=seed)


def make_seeded_mechanism() -> Laplace:
    """Return the mechanism as each run of a program with a default seed makes it anew, with the same noise."""
    return Laplace(epsilon=1.0, domain=Box(0.0, 1.0), seed=42)


def _audit_seeded(seed: int) -> Verdict:
    return audit_claim(
        lambda x: float(make_seeded_mechanism().sample(np.array([x]))[0]), 0.0, 1.0, samples=200, seed=seed
    )


_KNOWN, _ALL = 500, 510
"""Words that the mechanism knows, and words that texts hold."""


@functools.cache
def make_limited_mechanism() -> CalibratedExponential:
    """Return a mechanism that knows some of the words that texts hold."""
    return CalibratedExponential(Space.glove(_KNOWN, hide=(), metric="euclidean"), epsilon=1.0)


def _verify_unknown() -> Verdict:
    """The law over all words: the mechanism's own, and a 1 for every word that it does not know."""
    mechanism, probabilities = make_limited_mechanism(), np.eye(_ALL)
    probabilities[:_KNOWN, :_KNOWN] = [mechanism.probabilities(word) for word in mechanism.space.words]
    return verify(probabilities, space=Space.glove(_ALL, hide=(), metric="euclidean"), epsilon=1.0)


def _audit_unknown(seed: int) -> Verdict:
    def run_program(word: str) -> str:
        return make_limited_mechanism()(word) if word in make_limited_mechanism().space else word

    all_words = Space.glove(_ALL, hide=(), metric="euclidean")
    unknown = all_words.words[_KNOWN:]
    pair = min(itertools.combinations(unknown, 2), key=lambda words: all_words.distance(*words))
    return audit_claim(run_program, *pair, distance=all_words.distance, samples=6_000, seed=seed)


def _audit_floats(seed: int) -> Verdict:
    random = np.random.default_rng(seed)
    options: dict[str, Any] = {"samples": 20_000, "method": "precision", "batched": True, "seed": seed}
    return audit_claim(lambda x: x + random.laplace(size=x.shape), np.zeros(1), np.ones(1), **options)


ENTRIES = (
    ZooEntry(
        name="laplace-in-ball",
        source="papers that draw the direction 'in the unit ball', read literally",
        claim="1-metric-DP, 2 words, 1 apart",
        flaw="the density of the noise has a pole at 0: 1.6 times the claim at distance 1, 5 times at 0.02",
        audit_samples=_audit_ball,
        verify_law=_verify_ball,
    ),
    _make_tem_entry(
        "tem-wrong-bottom",
        "mldp-text 0.1.2, TEM (docs/peers.md)",
        "far words get a share that jumps with the number of near ones, in outputs too rare to sample",
        compute_wrong_bottom_law,
    ),
    _make_tem_entry(
        "tem-input-for-bottom",
        "pypantera 1.0.2, TEM (docs/peers.md)",
        "words beyond gamma never come out, and which those are depends on the input",
        compute_input_for_bottom_law,
    ),
    ZooEntry(
        name="own-output-sets",
        source="pypantera 1.0.2, CusText; mldp-text 0.1.2, SynTF; if claimed for any two words (docs/peers.md)",
        claim="1-metric-DP, 1,000 words",
        flaw="a word outside the other's set tells the two apart for certain",
        audit_samples=_audit_own_sets,
        verify_law=lambda: verify(compute_own_sets_law(), space=load_frequent_words(), epsilon=1.0),
    ),
    ZooEntry(
        name="public-seed",
        source="dp-diffractor 0.2.1, default seed 42 (docs/peers.md)",
        claim="1-DP, n = 1",
        flaw="who knows the seed subtracts the noise",
        audit_samples=_audit_seeded,
        verify_law=lambda: verify(make_seeded_mechanism(), dimension=1),
    ),
    ZooEntry(
        name="unknown-unchanged",
        source="mldp-text 0.1.2, dp-diffractor 0.2.1, pypantera 1.0.2 in TEM (docs/peers.md)",
        claim="1-metric-DP, 510 words",
        flaw="a rare name or drug that the vocabulary lacks is published as it is",
        audit_samples=_audit_unknown,
        verify_law=_verify_unknown,
    ),
    ZooEntry(
        name="numpy-laplace",
        source="the textbook sampler (Mironov 2012)",
        claim="1-DP, n = 1",
        flaw="the last bits of a float show what the noise was added to",
        audit_samples=_audit_floats,
    ),
)
