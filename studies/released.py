"""What a trained DPText releases, and the attackers that read it. Needs torch."""

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.measure.intervals import DEFAULT_CONFIDENCE, Estimate, estimate_share
from deniable.measure.labels import ClassCodes
from deniable.published.dptext.representation import Representation
from deniable.published.dptext.training import BOX_LOWER, BOX_UPPER
from deniable.rewriting.ranking import RankingSuccess, evaluate_success
from studies.dptext_attack import (
    SAME_WIDTH,
    AttributeAttacker,
    NoiseLaw,
    fit_attribute_attacker,
    rank_true_texts,
)

BOTH = (1 + DEFAULT_CONFIDENCE) / 2
"""Confidence of each of two attackers' intervals, so that that of the better one holds too."""
_VALIDATION_PARTS = 3
"""One in so many of the vectors to learn from decides between two classifiers."""
_ITERATIONS = 500
_FARTHEST = 300
"""Encodings among which the pair of an audit is looked for."""


@dataclasses.dataclass(frozen=True, eq=False)
class Released:
    """What a model makes of the texts that it was not trained on.

    Attributes:
        model: the encoder and its noise.
        law: of that noise.
        known: (k, n) released vectors to learn from.
        test: (m, n) released vectors to be measured on.
        known_encodings: (k, n) encodings behind ``known``.
        test_encodings: (m, n) encodings behind ``test``.
    """

    model: Representation
    law: NoiseLaw
    known: FloatArray
    test: FloatArray
    known_encodings: FloatArray
    test_encodings: FloatArray


def measure_classifier(
    released: Released,
    known: ClassCodes,
    test: ClassCodes,
    trees: int,
    seed: int,
    confidence: float = DEFAULT_CONFIDENCE,
) -> Estimate:
    """Return how often a classifier names a class of unseen texts, having learned from released vectors of others.

    Of logistic regression and a forest, the one that does better on a third of what there is to learn from.
    """
    features, asked = _compute_features(released, released.known), _compute_features(released, released.test)
    last = len(known) // _VALIDATION_PARTS
    scores: list[tuple[int, Callable[[int, int], Any]]] = []
    for build in (_build_regression, _build_forest):
        predicted = _fit(build(trees, seed), features[last:], known[last:]).predict(features[:last])
        scores.append((int((predicted == known[:last]).sum()), build))
    best = _fit(max(scores, key=lambda score: score[0])[1](trees, seed), features, known)
    return estimate_share(int((best.predict(asked) == test).sum()), len(test), confidence)


def _compute_features(released: Released, vectors: FloatArray) -> FloatArray:
    """Return (k, 3 n): the numbers scaled to the noise, cut off at the box, and whether they lie in it."""
    is_inside = (vectors >= BOX_LOWER) & (vectors <= BOX_UPPER)
    return np.hstack([vectors / (1 + released.law.scale), vectors.clip(BOX_LOWER, BOX_UPPER), is_inside])


def _fit(model: Any, features: FloatArray, codes: ClassCodes) -> Any:  # noqa: ANN401 - scikit-learn's
    """Return a model that was fitted; an optimum that is reached only nearly is good enough."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(features, codes)


def _build_regression(_trees: int, _seed: int) -> Any:  # noqa: ANN401 - scikit-learn's
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=_ITERATIONS))


def _build_forest(trees: int, seed: int) -> Any:  # noqa: ANN401 - scikit-learn's
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(trees, min_samples_leaf=3, random_state=seed)


def measure_by_law(
    released: Released, known: ClassCodes, test: ClassCodes, chosen: int, random: np.random.Generator
) -> Estimate:
    """Return how often a class is named by the likelihood of other texts' encodings, the law of the noise known.

    Args:
        released: vectors and encodings.
        known: (k,) classes of the texts to learn from.
        test: (m,) true classes.
        chosen: vectors by which the attacker chooses a width.
        random: which they are.
    """
    own = random.permutation(len(released.known_encodings))[:chosen]
    attacker: AttributeAttacker = fit_attribute_attacker(
        released.known_encodings, known, released.law, released.known[own], own.tolist()
    )
    return estimate_share(int((attacker.predict(released.test) == test).sum()), len(test), BOTH)


def identify_texts(
    released: Released, classes: ClassCodes, trials: int, random: np.random.Generator, noise_seed: int
) -> tuple[RankingSuccess, Estimate]:
    """Return how often the text behind a fresh release is found, and how often its class is named.

    Both by who has a list of all tested texts, and nothing else of the one released.
    """
    candidates, first = np.unique(released.test_encodings, axis=0, return_index=True)
    truths = random.integers(len(first), size=trials)
    drawn = released.model.make_mechanism(noise_seed).sample(candidates[truths])
    ranks = rank_true_texts(drawn, truths, candidates, released.law)
    success = evaluate_success(int((ranks == 1).sum()), len(ranks), len(candidates), epsilon=released.model.epsilon)
    known = classes[first]
    named = AttributeAttacker(candidates, known, released.law, SAME_WIDTH).predict(drawn)
    return success, estimate_share(int((named == known[truths]).sum()), len(truths))


def find_farthest(encodings: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return two encodings that are farthest apart in l1, of those farthest from the middle."""
    far = np.abs(encodings - encodings.mean(axis=0)).sum(axis=1).argsort()[-_FARTHEST:]
    apart = np.abs(encodings[far, None] - encodings[far]).sum(axis=2)
    one, other = np.unravel_index(int(apart.argmax()), apart.shape)
    return encodings[far[one]], encodings[far[other]]
