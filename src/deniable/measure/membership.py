"""Membership inference: can an attacker tell on which records a text classifier was trained?"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, make_parameter_error
from deniable.core.parallel import parallel_map
from deniable.measure.attackers.membership_scores import compute_lira_scores, compute_rmia_scores, compute_shadow_scores
from deniable.measure.classifiers import ClassifierMaker, build_classifier
from deniable.measure.labels import BooleanMask, ClassCodes
from deniable.measure.roc import MembershipResult, compute_roc

MIN_RECORDS = 8
"""Records that a membership attack needs."""


def measure_membership(
    texts: Sequence[str],
    codes: npt.ArrayLike,
    classes: int,
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
        codes: (n,) their classes, numbers below ``classes``.
        classes: how many there are.
        private: (n,) the same records privatized; the models are then trained on these. They are attacked twice,
            with the original records and with the privatized ones, since a model that was trained on no original says
            little about it. The shadow models are trained on these same private texts, where an attacker with
            the originals alone would have to privatize them anew: "original" errs on the attacker's side.
        classifier: a name in `deniable.measure.classifiers.CLASSIFIERS`, or a function from a seed to a classifier.
        attack: "lira", "rmia" or "shadow", see `deniable.measure.attackers.membership_scores`; the last trains its
            network on one model of the next pair.
        shadows: number of models to train, even.
        seed: public; of the halves, the classifiers and the attack.

    Returns:
        "original" -> the attack with the texts; with ``private`` also "private" -> the attack with those.

    Raises:
        InputError: lists of different lengths, too few records, a code that is no class, an odd or too small number
            of models, or an unknown classifier or attack.
    """
    checked_codes = _check_records(texts, codes, classes, private)
    build_classifier(classifier, seed)  # refuses an unknown name before anything is trained
    if attack not in _SCORERS:
        raise InputError(f"Unknown attack {attack!r}. Known: {', '.join(_SCORERS)}.")
    min_models = MIN_MODELS[attack]
    if isinstance(shadows, bool) or not isinstance(shadows, int) or shadows < min_models or shadows % 2:
        raise make_parameter_error(
            "measure_membership", "shadows", f"an even int of at least {min_models} for {attack!r}", shadows
        )
    rng = np.random.default_rng(seed)
    members = _draw_halves(len(texts), shadows, rng)
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


def _check_records(
    texts: Sequence[str], codes: npt.ArrayLike, classes: int, private: Sequence[str] | None
) -> ClassCodes:
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
    if (
        checked_codes.ndim != 1
        or checked_codes.dtype.kind not in "iu"
        or checked_codes.min() < 0
        or checked_codes.max() >= classes
    ):
        raise InputError(f"The codes must be whole numbers from 0 to {classes - 1}: give the class of each record.")
    return checked_codes.astype(np.int64)


def _draw_halves(records: int, models: int, rng: np.random.Generator) -> BooleanMask:
    """Return (models, records), True for training records: models 2k and 2k + 1 have the halves of one random split."""
    members = np.zeros((models, records), dtype=np.bool_)
    for first in range(0, models, 2):
        members[first, rng.permutation(records)[: records // 2]] = True
        members[first + 1] = ~members[first]
    return members


def _attack_all_models(
    probabilities: FloatArray, codes: ClassCodes, members: BooleanMask, attack: str, seeds: list[int]
) -> MembershipResult:
    """Return the attack on every model in turn, from probabilities (models, records, classes)."""
    compute_scores = _SCORERS[attack]
    scores_by_target = parallel_map(
        lambda target: compute_scores(probabilities, codes, members, target, seeds[target]), range(len(members))
    )
    scores, records = np.stack(scores_by_target), np.broadcast_to(np.arange(len(codes)), members.shape)
    groups = records[members], records[~members]
    return compute_roc(scores[members], scores[~members], groups=groups, attack=attack)


def _list_shadow_models(models: int, target: int) -> list[int]:
    """Return the models that are neither the target nor its twin."""
    return [model for model in range(models) if model // 2 != target // 2]


def _score_with_lira(
    probabilities: FloatArray, codes: ClassCodes, members: BooleanMask, target: int, seed: int
) -> FloatArray:
    del seed  # nothing is drawn
    confidences = probabilities[:, np.arange(len(codes)), codes]
    shadow_models = _list_shadow_models(len(members), target)
    return compute_lira_scores(confidences[shadow_models], members[shadow_models], confidences[target])


def _score_with_rmia(
    probabilities: FloatArray, codes: ClassCodes, members: BooleanMask, target: int, seed: int
) -> FloatArray:
    del seed  # nothing is drawn
    confidences = probabilities[:, np.arange(len(codes)), codes]
    shadow_models = _list_shadow_models(len(members), target)
    return compute_rmia_scores(confidences[shadow_models], members[shadow_models], confidences[target])


def _score_with_shadow_network(
    probabilities: FloatArray, codes: ClassCodes, members: BooleanMask, target: int, seed: int
) -> FloatArray:
    del codes  # the network of Carvalho et al. 2021 reads the model's outputs alone
    shadow = (target + 2) % len(members)
    outputs, is_member = probabilities[shadow], members[shadow]
    return compute_shadow_scores(outputs[is_member], outputs[~is_member], probabilities[target], seed)


_SCORERS: dict[str, Callable[[FloatArray, ClassCodes, BooleanMask, int, int], FloatArray]] = {
    "lira": _score_with_lira,
    "rmia": _score_with_rmia,
    "shadow": _score_with_shadow_network,
}

MIN_MODELS = {"lira": 6, "rmia": 4, "shadow": 4}
"""Attack -> models that it needs, the target and its twin included. A likelihood ratio needs two shadow models trained
with a record and two trained without it."""
