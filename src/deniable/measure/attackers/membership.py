"""Membership attacks on a model's outputs: which records was it trained on?"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import special, stats
from sklearn.neural_network import MLPClassifier

from deniable.errors import InputError, positive
from deniable.measure.roc import Membership, roc

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_EPOCHS, _BATCH = 20, 64

_OWN_VARIANCE = 32
"""Shadow models on each side from which on a record has a variance of its own. With few models Carlini et al. fit one
variance to all records; on film reviews this found more members also with 15 models on each side."""

_LEAST_VARIANCE = 1e-12
"""Of a confidence that no shadow model changes, so that the likelihood stays finite."""


def shadow_attack(
    shadow_in: npt.ArrayLike, shadow_out: npt.ArrayLike, target_in: npt.ArrayLike, target_out: npt.ArrayLike, seed: int
) -> Membership:
    """Return how well a network trained on a shadow model's outputs finds the target model's members.

    Shokri et al. (2017) in the setting of the TEM paper, Appendix C: one network for all classes, two hidden layers
    of 64 rectified linear units, on the raw outputs; 20 epochs of batches of 64 with Adam.

    Args:
        shadow_in: (a, classes) the shadow model's probabilities for the records that it was trained on.
        shadow_out: (b, classes) for records that it was not trained on.
        target_in: (m, classes) the target model's probabilities for its own training records.
        target_out: (n, classes) for records that it was not trained on.
        seed: public; of the network's weights and batches.

    Raises:
        InputError: an array is empty, not finite, or has another number of classes than the first.
    """
    inside = shadow_scores(shadow_in, shadow_out, target_in, seed)
    return roc(inside, shadow_scores(shadow_in, shadow_out, target_out, seed), attack="shadow")


def shadow_scores(shadow_in: npt.ArrayLike, shadow_out: npt.ArrayLike, records: npt.ArrayLike, seed: int) -> Array:
    """Return (n,) how likely the network of `shadow_attack` takes each record for a member.

    Args:
        shadow_in: (a, classes) as in `shadow_attack`.
        shadow_out: (b, classes) as in `shadow_attack`.
        records: (n, classes) the target model's probabilities.
        seed: public.

    Raises:
        InputError: as in `shadow_attack`.
    """
    return learn_shadow(shadow_in, shadow_out, seed)(records)


def learn_shadow(shadow_in: npt.ArrayLike, shadow_out: npt.ArrayLike, seed: int) -> Callable[[npt.ArrayLike], Array]:
    """Return the network of `shadow_attack`: a function from probabilities (n, classes) to scores (n,).

    One network serves many target models.

    Args:
        shadow_in: (a, classes) as in `shadow_attack`.
        shadow_out: (b, classes) as in `shadow_attack`.
        seed: public.

    Raises:
        InputError: as in `shadow_attack`.
    """
    sides = _outputs(shadow_in, shadow_out)
    features = np.concatenate(sides)
    truth = np.repeat([1, 0], [len(sides[0]), len(sides[1])])
    # No weight decay: the TEM paper's network has PyTorch's defaults, which scikit-learn's differ from only here.
    network = MLPClassifier((64, 64), alpha=0.0, batch_size=min(_BATCH, len(features)), random_state=seed)
    for _ in range(_EPOCHS):  # epoch by epoch, as `fit` stops early and warns otherwise
        network.partial_fit(features, truth, classes=[0, 1])

    def scores(records: npt.ArrayLike) -> Array:
        found: Array = network.predict_proba(_outputs(sides[0], records)[1])[:, 1]
        return found

    return scores


def _outputs(*given: npt.ArrayLike) -> list[Array]:
    """Return a model's outputs as arrays (records, classes), or raise `InputError`."""
    sides = [np.asarray(side, dtype=np.float64) for side in given]
    if any(
        side.ndim != 2 or not side.size or side.shape[1:] != sides[0].shape[1:] or not np.isfinite(side).all()  # noqa: PLR2004 - rows and classes
        for side in sides
    ):
        raise InputError(
            "The outputs of a model must be finite arrays (records, classes) with the same classes everywhere. "
            f"Got shapes {', '.join(str(side.shape) for side in sides)}."
        )
    return sides


def lira_scores(confidences: npt.ArrayLike, members: npt.ArrayLike, target: npt.ArrayLike) -> Array:
    """Return (n,) the log likelihood ratio of "member" to "not a member" for each record under the target model.

    The online attack of Carlini et al. (2022): confidences p of the true class, scaled as ln(p / (1 - p)), are taken
    as normal, with one mean over the shadow models trained with the record and one over those trained without it.
    The variances are each record's own from 32 models on each side on, and else one for all records on each side.

    The shadow models must tell nothing of the target's members but by what they learned. A record with more models
    on one side than another record gets scores of another spread, so the numbers must not depend on the target.

    Args:
        confidences: (S, n) of the true class under each shadow model, in [0, 1].
        members: (S, n) whether the model was trained with the record.
        target: (n,) confidences under the target model.

    Raises:
        InputError: shapes that do not fit, a number outside [0, 1], a record without shadow models on one side, or
            only one model on one side for every record.
    """
    shadows, trained, attacked = _checked(confidences, members, target)
    logits, reached = _logits(shadows), _logits(attacked)
    means, deviations = zip(*(_normal(logits, side) for side in (trained, ~trained)), strict=True)
    within, without = (
        stats.norm.logpdf(reached, mean, deviation) for mean, deviation in zip(means, deviations, strict=True)
    )
    scores: Array = within - without
    return scores


def rmia_scores(
    confidences: npt.ArrayLike,
    members: npt.ArrayLike,
    target: npt.ArrayLike,
    population: npt.ArrayLike | None = None,
    gamma: float = 1.0,
) -> Array:
    """Return (n,) the share of the population that each record dominates under the target model.

    The online attack of Zarifzadeh, Liu and Shokri (2024): x dominates z where the ratio of p(x | target) / p(x)
    to p(z | target) / p(z) is at least gamma. p(x) is the mean confidence over models trained with x and over
    models trained without it, the two weighing the same. For one target the order of the scores is that of
    p(x | target) / p(x): the population puts the scores of several targets on one scale.

    Args:
        confidences: (S, n) of the true class under each shadow model, in [0, 1].
        members: (S, n) whether the model was trained with the record.
        target: (n,) confidences under the target model.
        population: indices of the records that x is held against; None for all of them, members or not, since
            the attacker cannot tell.
        gamma: greater than 0.

    Raises:
        InputError: shapes that do not fit, a number outside [0, 1], a record without shadow models on one side, no
            population, or a gamma that is not positive.
    """
    shadows, trained, attacked = _checked(confidences, members, target)
    bar = positive("RMIA", "gamma", gamma)
    usual = (_means(shadows, trained) + _means(shadows, ~trained)) / 2
    ratios = attacked / np.maximum(usual, np.finfo(np.float64).tiny)
    chosen = np.arange(len(ratios)) if population is None else np.asarray(population)
    if not len(chosen) or chosen.dtype.kind not in "iu" or chosen.min() < 0 or chosen.max() >= len(ratios):
        raise InputError(f"The population must be indices of the {len(ratios)} records, at least 1: give other ones.")
    return np.searchsorted(np.sort(ratios[chosen]), ratios / bar, side="right") / len(chosen)


def _checked(confidences: npt.ArrayLike, members: npt.ArrayLike, target: npt.ArrayLike) -> tuple[Array, Mask, Array]:
    """Return the arrays of an attack with shadow models, after checks."""
    shadows, attacked = np.asarray(confidences, dtype=np.float64), np.asarray(target, dtype=np.float64)
    trained = np.asarray(members)
    if shadows.ndim != 2 or trained.shape != shadows.shape or attacked.shape != shadows.shape[1:] or not shadows.size:  # noqa: PLR2004 - models and records
        raise InputError(
            "The confidences and members must be arrays (models, records) and the target one (records,), not empty. "
            f"Got shapes {shadows.shape}, {trained.shape} and {attacked.shape}."
        )
    if trained.dtype != np.bool_:
        raise InputError(f"The members must be an array of truth values. Got {trained.dtype}: give booleans.")
    if not all(((side >= 0) & (side <= 1)).all() for side in (shadows, attacked)):
        raise InputError("The confidences must lie in [0, 1]. Got others: give probabilities of the true class.")
    counts = trained.sum(axis=0)
    if not counts.min() or counts.max() == len(trained):
        raise InputError(
            "Each record needs a shadow model trained with it and one trained without it. "
            f"Got none on one side for record {int(((counts == 0) | (counts == len(trained))).argmax())}."
        )
    return shadows, trained, attacked


def _logits(confidences: Array) -> Array:
    """Return ln(p / (1 - p)), finite also for certainty."""
    least = np.finfo(np.float64).eps
    found: Array = special.logit(np.clip(confidences, least, 1 - least))
    return found


def _means(values: Array, chosen: Mask) -> Array:
    """Return (n,) means of values (S, n) over the chosen models."""
    found: Array = values.mean(axis=0, where=chosen)
    return found


def _normal(logits: Array, chosen: Mask) -> tuple[Array, Array]:
    """Return means (n,) and standard deviations (n,) or (1,) of the logits (S, n) over the chosen models."""
    means = _means(logits, chosen)
    squares = ((logits - means) ** 2).sum(axis=0, where=chosen)
    freedom = chosen.sum(axis=0) - 1
    if freedom.min() + 1 < _OWN_VARIANCE:
        squares, freedom = squares.sum(keepdims=True), freedom.sum(keepdims=True)
    if not freedom.any():
        raise InputError("A likelihood ratio needs 2 shadow models on each side of some record: train more of them.")
    return means, np.sqrt(np.maximum(squares / freedom, _LEAST_VARIANCE))
