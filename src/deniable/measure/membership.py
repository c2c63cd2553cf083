"""Membership inference: can an attacker tell on which records a text classifier was trained?"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from scipy import special

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, check_count, import_extra, make_parameter_error
from deniable.core.parallel import parallel_map
from deniable.measure.classifiers import ClassifierMaker, build_classifier
from deniable.measure.labels import BooleanMask, ClassCodes
from deniable.measure.roc import MembershipResult, compute_roc

MIN_RECORDS = 8
"""Records that a membership attack needs."""
MIN_MODELS = {"lira": 6, "rmia": 4, "shadow": 4}
"""Attack -> models that it needs, the target and its twin included. A likelihood ratio needs two shadow models trained
with a record and two trained without it."""
_SHADOW_EPOCHS, _SHADOW_BATCH_SIZE = 20, 64
_MIN_MODELS_FOR_OWN_VARIANCE = 32
"""With so many shadow models on each side, every record has its own variance. With fewer Carlini et al. 2022 fit one
variance to all records; on film reviews that found more members also with 15 models on each side."""
_LEAST_VARIANCE = 1e-12
"""Least variance of a scaled confidence, so that the likelihood stays finite where all shadow models agree."""


def measure_membership(
    texts: Sequence[str],
    codes: npt.ArrayLike,
    *,
    private: Sequence[str] | None = None,
    classifier: str | ClassifierMaker = "tfidf",
    attack: str = "lira",
    shadows: int = 16,
    seed: int = 0,
) -> dict[str, MembershipResult]:
    """Return how well an attacker who has the records tells those that a classifier was trained on from the others.

    Models are trained in pairs, each pair on the two halves of one random split of the records, so that every record
    is in the training set of exactly half of the models. Each model in turn is the target, and the models of the
    other pairs are its shadow models. The target's twin is not among them: its training set is the complement of the
    target's, and would give the members away. Without it every record has as many shadow models trained with it
    as without it. The scores of all targets are pooled; the intervals are over records, given the trained models.

    Args:
        texts: (n,) the records.
        codes: (n,) their classes, numbers from 0.
        private: (n,) the same records privatized; the models are then trained on these. They are attacked twice,
            with the original records and with the privatized ones, since a model that was trained on no original says
            little about it. The shadow models are trained on these same private texts, where an attacker with
            the originals alone would have to privatize them anew: "original" errs on the attacker's side.
        classifier: a name in `deniable.measure.classifiers.CLASSIFIERS`, or a function from a seed to a classifier.
        attack: "lira", see `compute_lira_scores`, "rmia", see `compute_rmia_scores`, or "shadow", see
            `fit_shadow_network`, which is trained on one model of the next pair.
        shadows: number of models to train, even.
        seed: public; of the halves, the classifiers and the attack.

    Returns:
        "original" -> the attack with the texts; with ``private`` also "private" -> the attack with those.

    Raises:
        InputError: lists of different lengths, too few records, a code that is no whole number, an odd or too small
            number of models, or an unknown classifier or attack.
    """
    checked_codes = _check_records(texts, codes, private)
    classes = int(checked_codes.max()) + 1
    build_classifier(classifier, seed)  # refuses an unknown name before anything is trained
    if attack not in MIN_MODELS:
        raise InputError(f"Unknown attack {attack!r}. Known: {', '.join(MIN_MODELS)}.")
    check_count("measure_membership", "shadows", shadows, minimum=MIN_MODELS[attack])
    if shadows % 2:
        raise make_parameter_error("measure_membership", "shadows", "an even int", shadows)
    rng = np.random.default_rng(seed)
    members = np.zeros((shadows, len(texts)), dtype=np.bool_)
    for first in range(0, shadows, 2):  # two models have the halves of one random split
        members[first, rng.permutation(len(texts))[: len(texts) // 2]] = True
        members[first + 1] = ~members[first]
    seeds = rng.integers(2**31, size=(2, shadows)).tolist()
    records = {"original": texts} if private is None else {"original": texts, "private": private}
    training_texts = texts if private is None else private

    def compute_outputs(model: int) -> list[FloatArray]:
        rows = np.flatnonzero(members[model]).tolist()
        fitted_classifier = build_classifier(classifier, seeds[0][model]).fit(
            [training_texts[row] for row in rows], checked_codes[rows], classes
        )
        return [fitted_classifier.probabilities(record_texts) for record_texts in records.values()]

    outputs_by_model = parallel_map(compute_outputs, range(shadows))
    return {
        name: _attack_all_models(np.stack(probabilities), checked_codes, members, attack, seeds[1])
        for name, probabilities in zip(records, zip(*outputs_by_model, strict=True), strict=True)
    }


def _check_records(texts: Sequence[str], codes: npt.ArrayLike, private: Sequence[str] | None) -> ClassCodes:
    """Return the codes as an array; raise `InputError` where the table cannot be attacked."""
    checked_codes = np.asarray(codes)
    lengths = [len(texts), len(checked_codes), *([] if private is None else [len(private)])]
    if len(set(lengths)) > 1:
        raise InputError(
            f"The texts, codes and private texts must have the same length. Got {', '.join(map(str, lengths))}: "
            "give one of each for every record."
        )
    if len(texts) < MIN_RECORDS:
        raise InputError(f"Membership needs at least {MIN_RECORDS} records. Got {len(texts)}: give more rows.")
    if checked_codes.ndim != 1 or checked_codes.dtype.kind not in "iu" or checked_codes.min() < 0:
        raise InputError("The codes must be whole numbers from 0 on: give the class of each record.")
    return checked_codes.astype(np.int64)


def _attack_all_models(
    probabilities: FloatArray, codes: ClassCodes, members: BooleanMask, attack: str, seeds: list[int]
) -> MembershipResult:
    """Return the attack on every model in turn, from probabilities (models, records, classes)."""
    confidences = probabilities[:, np.arange(len(codes)), codes]
    compute_scores = compute_lira_scores if attack == "lira" else compute_rmia_scores

    def attack_model(target: int) -> FloatArray:
        if attack == "shadow":
            shadow = (target + 2) % len(members)
            outputs, is_member = probabilities[shadow], members[shadow]
            network = fit_shadow_network(outputs[is_member], outputs[~is_member], seeds[target])
            return network(probabilities[target])
        # Neither the target nor its twin.
        shadows = np.flatnonzero(np.arange(len(members)) // 2 != target // 2)
        return compute_scores(confidences[shadows], members[shadows], confidences[target])

    scores = np.stack(parallel_map(attack_model, range(len(members))))
    records = np.broadcast_to(np.arange(len(codes)), members.shape)
    groups = records[members], records[~members]
    return compute_roc(scores[members], scores[~members], groups=groups, attack=attack)


def fit_shadow_network(shadow_in: FloatArray, shadow_out: FloatArray, seed: int) -> Callable[[FloatArray], FloatArray]:
    """Return a network trained to tell members by a shadow model's outputs.

    Shokri et al. 2017 in the setting of Carvalho et al. 2021, Appendix C: one network for all classes, two hidden
    layers of 64 rectified linear units, on the raw outputs; 20 epochs of batches of 64 with Adam. One network serves
    many target models.

    Args:
        shadow_in: (a, classes) the shadow model's probabilities for the records that it was trained on.
        shadow_out: (b, classes) its probabilities for other records.
        seed: public; the network's weights and batches follow from it.

    Returns:
        function from a target model's probabilities (n, classes) to scores (n,), higher for likelier members.

    Raises:
        InputError: scikit-learn is not installed.
    """
    features = np.concatenate([shadow_in, shadow_out])
    truth = np.repeat([1, 0], [len(shadow_in), len(shadow_out)])
    # No weight decay, as in PyTorch's defaults, which the paper used; scikit-learn's differ from them only here.
    neural_network = import_extra("sklearn.neural_network", "The attack with a shadow model", "measure")
    network = neural_network.MLPClassifier(
        (64, 64), alpha=0.0, batch_size=min(_SHADOW_BATCH_SIZE, len(features)), random_state=seed
    )
    for _ in range(_SHADOW_EPOCHS):  # epoch by epoch, as `fit` stops early and warns otherwise
        network.partial_fit(features, truth, classes=[0, 1])
    return lambda records: network.predict_proba(records)[:, 1]


def compute_lira_scores(confidences: FloatArray, members: BooleanMask, target: FloatArray) -> FloatArray:
    """Return (n,) the log likelihood ratio of "member" to "not a member" for each record under the target model.

    The online attack of Carlini et al. 2022: confidences p of the true class, scaled as ln(p / (1 - p)), are modelled
    as normal, with one mean over the shadow models trained with the record and one over those trained without it.
    With 32 models or more on each side every record has its own variances; with fewer all records share them.

    The choice of shadow models must tell nothing of the target's members. A record with more models on one side than
    another record has scores of another variance, so these numbers must not depend on the target.

    Args:
        confidences: (S, n) confidences of the true class under each shadow model, in [0, 1].
        members: (S, n) whether the model was trained on the record; for each record some were, and others not.
        target: (n,) confidences under the target model.
    """
    epsilon = np.finfo(np.float64).eps
    logits, target_logits = (special.logit(np.clip(side, epsilon, 1 - epsilon)) for side in (confidences, target))
    log_likelihoods = []
    for side in (members, ~members):
        means, degrees_of_freedom = logits.mean(axis=0, where=side), side.sum(axis=0) - 1
        squares = ((logits - means) ** 2).sum(axis=0, where=side)
        if degrees_of_freedom.min() + 1 < _MIN_MODELS_FOR_OWN_VARIANCE:
            squares, degrees_of_freedom = squares.sum(), degrees_of_freedom.sum()
        deviations = np.sqrt(np.maximum(squares / degrees_of_freedom, _LEAST_VARIANCE))
        # But for the constant of the normal density, which both have.
        log_likelihoods.append(-0.5 * ((target_logits - means) / deviations) ** 2 - np.log(deviations))
    scores: FloatArray = log_likelihoods[0] - log_likelihoods[1]
    return scores


def compute_rmia_scores(confidences: FloatArray, members: BooleanMask, target: FloatArray) -> FloatArray:
    """Return (n,) the share of the records that each record dominates under the target model.

    The online attack of Zarifzadeh, Liu and Shokri 2024: x dominates z where the ratio of p(x | target) / p(x)
    to p(z | target) / p(z) is at least 1, over all records z, members or not, since the attacker cannot tell. p(x) is
    the mean confidence over models trained with x and over models trained without it, the two weighing the same. For
    one target the order of the scores is that of p(x | target) / p(x): the shares put the scores of several targets on
    one scale.

    Args:
        confidences: see `compute_lira_scores`.
        members: likewise.
        target: likewise.
    """
    mean_confidences = (confidences.mean(axis=0, where=members) + confidences.mean(axis=0, where=~members)) / 2
    ratios = target / np.maximum(mean_confidences, np.finfo(np.float64).tiny)
    shares: FloatArray = np.searchsorted(np.sort(ratios), ratios, side="right") / len(ratios)
    return shares
