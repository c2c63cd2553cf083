"""What a trained DPText releases, and the attackers that read it. Needs torch."""

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from deniable.auditing import audit, verify
from deniable.core.arrays import FloatArray
from deniable.measure.intervals import DEFAULT_CONFIDENCE, Estimate, estimate_share
from deniable.measure.labels import ClassCodes
from deniable.published.dptext.mechanism import InvalidDraws
from deniable.published.dptext.representation import Representation, fit_representation
from deniable.published.dptext.training import (
    BOX_LOWER,
    BOX_UPPER,
    AttributeRecords,
    NoiseVariant,
    RepresentationOptions,
)
from deniable.rewriting.ranking import NormOrder, RankingSuccess, evaluate_success, get_norm_order
from deniable.rewriting.tokens import Vocabulary
from studies.dptext_attack import (
    SAME_WIDTH,
    AttributeAttacker,
    NoiseLaw,
    fit_attribute_attacker,
    get_noise_law,
    rank_true_texts,
)
from studies.flights import load_parts
from studies.rows import Row, row_of, rows_of
from studies.runner import Context

BOTH = (1 + DEFAULT_CONFIDENCE) / 2
"""Confidence of each of two attackers' intervals, so that that of the better one holds too."""
_VALIDATION_PARTS = 3
"""One in so many of the vectors to learn from decides between two classifiers."""
_ITERATIONS = 500
_FARTHEST = 300
"""Encodings among which the pair of an audit is looked for."""
_LEAST_COUNT = 2
"""Occurrences of a word of the encoder's vocabulary."""


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


def find_farthest(encodings: FloatArray, order: NormOrder) -> tuple[FloatArray, FloatArray]:
    """Return two encodings that are farthest apart in a norm, of those farthest from the middle."""
    far = np.linalg.norm(encodings - encodings.mean(axis=0), ord=order, axis=1).argsort()[-_FARTHEST:]
    apart = np.linalg.norm(encodings[far, None] - encodings[far], ord=order, axis=2)
    one, other = np.unravel_index(int(apart.argmax()), apart.shape)
    return encodings[far[one]], encodings[far[other]]


def name_cell(curve: str, epsilon: float | None) -> str:
    """Return the name that seeds of one training follow from."""
    way, _, adversary = curve.rpartition(", ")
    return f"{way}, {adversary}" if epsilon is None else f"{way}, epsilon {epsilon:g}, {adversary}"


def release_vectors(
    context: Context,
    curve: str,
    epsilon: float | None,
    noise: tuple[NoiseVariant, InvalidDraws],
    has_adversary: bool,  # noqa: FBT001 - part of a cell
) -> Released:
    """Train one model, and return what it makes of the other texts, each released once."""
    sizes = context.sizes
    train, known, test = load_parts(context)
    name = name_cell(curve, epsilon)
    options = RepresentationOptions(
        variant=noise[0],
        epsilon=epsilon or 1.0,
        invalid=noise[1],
        dimensions=sizes.dimensions,
        hidden=sizes.hidden,
        adversary=sizes.adversary if has_adversary else 0.0,
        reconstruction=sizes.reconstruction,
        epochs=sizes.epochs,
    )
    vocabulary = Vocabulary.build(train.texts, min_count=_LEAST_COUNT)
    records = AttributeRecords(train.texts, train.task, train.city[:, None])
    model = fit_representation(records, vocabulary, options, seed=context.derive_seed("training", name))
    of_known, of_test = model.encode(known.texts), model.encode(test.texts)
    mechanism = model.make_mechanism(context.derive_seed("noise", name))
    return Released(
        model, get_noise_law(model), mechanism.sample(of_known), mechanism.sample(of_test), of_known, of_test
    )


def name_intents(context: Context, released: Released, curve: str, epsilon: float | None) -> Row:
    """Return how often the intent of the tested texts is named by who learned from released vectors."""
    _, known, test = load_parts(context)
    seed = context.derive_seed("classifier", name_cell(curve, epsilon)) % 2**32
    task = measure_classifier(released, known.task, test.task, context.sizes.trees, seed)
    return row_of(curve, epsilon, "intent named", task)


def name_classes(context: Context, released: Released, curve: str, epsilon: float | None) -> list[Row]:
    """Return how often intent and city of the tested texts are named by who learned from released vectors."""
    sizes = context.sizes
    _, known, test = load_parts(context)
    name = name_cell(curve, epsilon)
    seed = context.derive_seed("classifier", name) % 2**32
    city = measure_classifier(released, known.city, test.city, sizes.trees, seed, BOTH)
    random = np.random.default_rng(context.derive_seed("width", name))
    by_law = measure_by_law(released, known.city, test.city, sizes.chosen, random)
    return [
        name_intents(context, released, curve, epsilon),
        row_of(curve, epsilon, "city named, learned", city),
        row_of(curve, epsilon, "city named, law known", by_law),
        row_of(curve, epsilon, "city named", max(city, by_law, key=lambda estimate: estimate.value)),
    ]


def find_texts(context: Context, released: Released, curve: str, epsilon: float | None) -> list[Row]:
    """Return how often the text behind a release is found by who lists all tested texts, and the signs of the noise."""
    name, (_, _, test) = name_cell(curve, epsilon), load_parts(context)
    random = np.random.default_rng(context.derive_seed("who", name))
    seed = context.derive_seed("noise of who", name)
    success, city = identify_texts(released, test.city, context.sizes.identified, random, seed)
    noise = released.test - np.clip(released.test_encodings, BOX_LOWER, BOX_UPPER)
    bounds = rows_of(
        curve,
        epsilon,
        text_found_permitted=success.max_success_rate,
        epsilon_by_texts_found=success.epsilon_lower_bound,
    )
    return [
        row_of(curve, epsilon, "text found", success.success_rate),
        *(bounds if epsilon is not None else ()),
        row_of(curve, epsilon, "city named, texts listed", city),
        *rows_of(curve, epsilon, below_the_input=(noise < 0).mean(), the_input_itself=(noise == 0).mean()),
    ]


def check_claim(context: Context, released: Released, curve: str, epsilon: float) -> list[Row]:
    """Return what is known of the claim: the law's own loss, and what samples say at two texts far apart."""
    model, name = released.model, name_cell(curve, epsilon)
    farthest = find_farthest(released.test_encodings, get_norm_order(model.make_mechanism()))
    exact = verify(model.make_mechanism(), dimension=model.dimensions)
    verdict = audit(
        model.make_mechanism(context.derive_seed("noise of audit", name)).sample,
        *farthest,
        claim=model.epsilon,
        samples=context.sizes.audit_samples,
        batched=True,
        seed=context.derive_seed("audit", name),
    )
    return rows_of(
        curve,
        epsilon,
        epsilon_claimed=model.epsilon,
        epsilon_over_its_bound=model.epsilon / epsilon,
        epsilon_by_law=exact.epsilon,
        proved=exact.status == "proved",
        epsilon_by_audit=verdict.lower_bound,
        refuted_by_audit=verdict.status == "refuted",
    )
