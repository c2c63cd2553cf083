"""Membership scores: how likely each record is to be one that a model was trained on, judged by the model's outputs.

All scores are higher for likelier members.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import special

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, check_positive, import_extra
from deniable.measure.labels import BooleanMask

_SHADOW_EPOCHS, _SHADOW_BATCH_SIZE = 20, 64

_MIN_MODELS_FOR_OWN_VARIANCE = 32
"""With so many shadow models on each side, every record has its own variance. With fewer Carlini et al. 2022 fit one
variance to all records; on film reviews that found more members also with 15 models on each side."""

_LEAST_VARIANCE = 1e-12
"""Least variance of a scaled confidence, so that the likelihood stays finite where all shadow models agree."""


def compute_shadow_scores(
    shadow_in: npt.ArrayLike, shadow_out: npt.ArrayLike, records: npt.ArrayLike, seed: int
) -> FloatArray:
    """Return the scores (n,) of records under a target model by the network of `fit_shadow_network`.

    Args:
        shadow_in: (a, classes) see `fit_shadow_network`.
        shadow_out: (b, classes) see `fit_shadow_network`.
        records: (n, classes) the target model's probabilities.
        seed: public; see `fit_shadow_network`.

    Raises:
        InputError: see `fit_shadow_network`.
    """
    return fit_shadow_network(shadow_in, shadow_out, seed)(records)


def fit_shadow_network(
    shadow_in: npt.ArrayLike, shadow_out: npt.ArrayLike, seed: int
) -> Callable[[npt.ArrayLike], FloatArray]:
    """Return a network trained to tell members by a shadow model's outputs.

    Shokri et al. 2017 in the setting of Carvalho et al. 2021, Appendix C: one network for all classes, two hidden
    layers of 64 rectified linear units, on the raw outputs; 20 epochs of batches of 64 with Adam. One network serves
    many target models.

    Args:
        shadow_in: (a, classes) the shadow model's probabilities for the records that it was trained on.
        shadow_out: (b, classes) its probabilities for other records.
        seed: public; the network's weights and batches follow from it.

    Returns:
        function from a target model's probabilities (n, classes) to scores (n,).

    Raises:
        InputError: an array is empty, not finite, or has another number of classes than the first; or scikit-learn
            is not installed.
    """
    sides = _check_outputs(shadow_in, shadow_out)
    features = np.concatenate(sides)
    truth = np.repeat([1, 0], [len(sides[0]), len(sides[1])])
    # No weight decay, as in PyTorch's defaults, which the paper used; scikit-learn's differ from them only here.
    neural_network = import_extra("sklearn.neural_network", "The attack with a shadow model", "measure")
    network = neural_network.MLPClassifier(
        (64, 64), alpha=0.0, batch_size=min(_SHADOW_BATCH_SIZE, len(features)), random_state=seed
    )
    for _ in range(_SHADOW_EPOCHS):  # epoch by epoch, as `fit` stops early and warns otherwise
        network.partial_fit(features, truth, classes=[0, 1])

    def score_records(records: npt.ArrayLike) -> FloatArray:
        member_probabilities: FloatArray = network.predict_proba(_check_outputs(sides[0], records)[1])[:, 1]
        return member_probabilities

    return score_records


def _check_outputs(*outputs: npt.ArrayLike) -> list[FloatArray]:
    """Return a model's outputs as arrays (records, classes), or raise `InputError`."""
    sides = [np.asarray(side, dtype=np.float64) for side in outputs]
    if any(
        side.ndim != 2 or not side.size or side.shape[1:] != sides[0].shape[1:] or not np.isfinite(side).all()  # noqa: PLR2004 - rows and classes
        for side in sides
    ):
        raise InputError(
            "The outputs of a model must be finite arrays (records, classes) with the same classes everywhere. "
            f"Got shapes {', '.join(str(side.shape) for side in sides)}."
        )
    return sides


def compute_lira_scores(confidences: npt.ArrayLike, members: npt.ArrayLike, target: npt.ArrayLike) -> FloatArray:
    """Return (n,) the log likelihood ratio of "member" to "not a member" for each record under the target model.

    The online attack of Carlini et al. 2022: confidences p of the true class, scaled as ln(p / (1 - p)), are modelled
    as normal, with one mean over the shadow models trained with the record and one over those trained without it.
    With 32 models or more on each side every record has its own variances; with fewer all records share them.

    The choice of shadow models must tell nothing of the target's members. A record with more models on one side than
    another record has scores of another variance, so these numbers must not depend on the target.

    Args:
        confidences: (S, n) confidences of the true class under each shadow model, in [0, 1].
        members: (S, n) whether the model was trained on the record.
        target: (n,) confidences under the target model.

    Raises:
        InputError: shapes that do not fit, a number outside [0, 1], a record without shadow models on one side, or
            only one model on one side for every record.
    """
    shadow_confidences, is_member, target_confidences = _check_attack_arrays(confidences, members, target)
    logits, target_logits = _compute_logits(shadow_confidences), _compute_logits(target_confidences)
    means, deviations = zip(*(_fit_normals(logits, side) for side in (is_member, ~is_member)), strict=True)
    # (but for the constant of the normal density, which both have)
    member_log_likelihoods, nonmember_log_likelihoods = (
        -0.5 * ((target_logits - mean) / deviation) ** 2 - np.log(deviation)
        for mean, deviation in zip(means, deviations, strict=True)
    )
    scores: FloatArray = member_log_likelihoods - nonmember_log_likelihoods
    return scores


def compute_rmia_scores(
    confidences: npt.ArrayLike,
    members: npt.ArrayLike,
    target: npt.ArrayLike,
    population: npt.ArrayLike | None = None,
    gamma: float = 1.0,
) -> FloatArray:
    """Return (n,) the share of the population that each record dominates under the target model.

    The online attack of Zarifzadeh, Liu and Shokri 2024: x dominates z where the ratio of p(x | target) / p(x)
    to p(z | target) / p(z) is at least gamma. p(x) is the mean confidence over models trained with x and over
    models trained without it, the two weighing the same. For one target the order of the scores is that of
    p(x | target) / p(x): the population puts the scores of several targets on one scale.

    Args:
        confidences: (S, n) confidences of the true class under each shadow model, in [0, 1].
        members: (S, n) whether the model was trained on the record.
        target: (n,) confidences under the target model.
        population: indices of the records that each record is compared with; None for all of them, members or not,
            since the attacker cannot tell.
        gamma: threshold of the ratio, > 0.

    Raises:
        InputError: shapes that do not fit, a number outside [0, 1], a record without shadow models on one side, no
            population, or a gamma that is not positive.
    """
    shadow_confidences, is_member, target_confidences = _check_attack_arrays(confidences, members, target)
    threshold = check_positive("compute_rmia_scores", "gamma", gamma)
    mean_confidences = (
        _compute_means(shadow_confidences, is_member) + _compute_means(shadow_confidences, ~is_member)
    ) / 2
    ratios = target_confidences / np.maximum(mean_confidences, np.finfo(np.float64).tiny)
    population_rows = np.arange(len(ratios)) if population is None else np.asarray(population)
    if (
        not len(population_rows)
        or population_rows.dtype.kind not in "iu"
        or population_rows.min() < 0
        or population_rows.max() >= len(ratios)
    ):
        raise InputError(f"The population must be indices of the {len(ratios)} records, at least 1: give such indices.")
    return np.searchsorted(np.sort(ratios[population_rows]), ratios / threshold, side="right") / len(population_rows)


def _check_attack_arrays(
    confidences: npt.ArrayLike, members: npt.ArrayLike, target: npt.ArrayLike
) -> tuple[FloatArray, BooleanMask, FloatArray]:
    """Return the arrays of an attack with shadow models; raise `InputError` where they do not match."""
    shadow_confidences, target_confidences = (
        np.asarray(confidences, dtype=np.float64),
        np.asarray(target, dtype=np.float64),
    )
    is_member = np.asarray(members)
    if (
        shadow_confidences.ndim != 2  # noqa: PLR2004 - models and records
        or is_member.shape != shadow_confidences.shape
        or target_confidences.shape != shadow_confidences.shape[1:]
        or not shadow_confidences.size
    ):
        raise InputError(
            "The confidences and members must be arrays (models, records) and the target one (records,), not empty. "
            f"Got shapes {shadow_confidences.shape}, {is_member.shape} and {target_confidences.shape}."
        )
    if is_member.dtype != np.bool_:
        raise InputError(f"The members must be an array of booleans. Got {is_member.dtype}: give booleans.")
    if not all(((side >= 0) & (side <= 1)).all() for side in (shadow_confidences, target_confidences)):
        raise InputError(
            "The confidences must lie in [0, 1]. Got numbers outside: give probabilities of the true class."
        )
    counts = is_member.sum(axis=0)
    if not counts.min() or counts.max() == len(is_member):
        raise InputError(
            "Each record needs a shadow model trained with it and one trained without it. "
            f"Got none on one side for record {int(((counts == 0) | (counts == len(is_member))).argmax())}."
        )
    return shadow_confidences, is_member, target_confidences


def _compute_logits(confidences: FloatArray) -> FloatArray:
    """Return ln(p / (1 - p)), finite also for p of 0 and 1."""
    epsilon = np.finfo(np.float64).eps
    logits: FloatArray = special.logit(np.clip(confidences, epsilon, 1 - epsilon))
    return logits


def _compute_means(values: FloatArray, models: BooleanMask) -> FloatArray:
    """Return (n,) means of values (S, n) over the models of the mask."""
    means: FloatArray = values.mean(axis=0, where=models)
    return means


def _fit_normals(logits: FloatArray, models: BooleanMask) -> tuple[FloatArray, FloatArray]:
    """Return means (n,) and standard deviations (n,) or (1,) of the logits (S, n) over the models of the mask."""
    means = _compute_means(logits, models)
    squares = ((logits - means) ** 2).sum(axis=0, where=models)
    degrees_of_freedom = models.sum(axis=0) - 1
    if degrees_of_freedom.min() + 1 < _MIN_MODELS_FOR_OWN_VARIANCE:
        squares, degrees_of_freedom = squares.sum(keepdims=True), degrees_of_freedom.sum(keepdims=True)
    if not degrees_of_freedom.any():
        raise InputError("A likelihood ratio needs 2 shadow models on each side of some record: train more of them.")
    return means, np.sqrt(np.maximum(squares / degrees_of_freedom, _LEAST_VARIANCE))
