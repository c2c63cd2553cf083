"""Membership inference: can an attacker tell which records a text classifier was trained on?"""

from collections.abc import Callable, Collection, Sequence

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import BoolArray, FloatArray
from deniable.core.errors import InputError, make_parameter_error
from deniable.core.parallel import parallel_map
from deniable.measure.attackers.membership_scores import compute_lira_scores, compute_rmia_scores, compute_shadow_scores
from deniable.measure.classifiers import CLASSIFIERS
from deniable.measure.labels import ClassCodes
from deniable.measure.roc import MembershipResult, compute_roc

_MIN_RECORDS = 8


def measure_membership(
    texts: Sequence[str],
    codes: npt.ArrayLike,
    classes: int,
    *,
    private: Sequence[str] | None = None,
    classifier: str = "tfidf",
    attack: str = "lira",
    shadows: int = 16,
    seed: int = 0,
) -> dict[str, MembershipResult]:
    """Return how well an attacker who holds the records finds those that a classifier was trained on.

    Models are trained in pairs, the second of a pair on the half of the records that the first left out, so that
    every record is in exactly half of the models. Each model in turn is the target and the models of the other
    pairs are its shadows. Its twin is none of them: it would tell the target's members by what it was not trained
    on, and without it every record has as many shadow models with as without it. The scores of all targets are
    pooled; the intervals are over records, given the models trained.

    Args:
        texts: (n,) the records.
        codes: (n,) their classes, numbers below ``classes``.
        classes: how many there are.
        private: (n,) the same records privatized; the models are then trained on these. They are attacked twice,
            with the original records and with the privatized ones, since a model that never saw an original says
            little about it. The shadow models learn from these same private texts, where someone who holds the
            originals alone would have to draw his own: "original" errs on the attacker's side.
        classifier: a name in `CLASSIFIERS`.
        attack: "lira", "rmia" or "shadow", see `deniable.measure.attackers.measure_membership`; the last trains its network
            on one model of the next pair.
        shadows: models to train, an even number.
        seed: public; of the halves, the classifiers and the attack.

    Returns:
        "original" -> the attack with the texts; with ``private`` also "private" -> the attack with those.

    Raises:
        InputError: lists of different lengths, too few records, a code that is no class, an odd or too small number
            of models, or an unknown classifier or attack.
    """
    checked_codes = _check_records(texts, codes, classes, private)
    _check_known("classifier", classifier, CLASSIFIERS)
    _check_known("attack", attack, _SCORERS)
    min_models = _MIN_MODELS[attack]
    if isinstance(shadows, bool) or not isinstance(shadows, int) or shadows < min_models or shadows % 2:
        raise make_parameter_error(
            "membership", "shadows", f"an even int of at least {min_models} for {attack!r}", shadows
        )
    rng = np.random.default_rng(seed)
    members = _draw_halves(len(texts), shadows, rng)
    seeds = rng.integers(2**31, size=(2, shadows)).tolist()
    records = {"original": texts} if private is None else {"original": texts, "private": private}
    training_texts = texts if private is None else private

    def compute_outputs(model: int) -> list[FloatArray]:
        rows = np.flatnonzero(members[model]).tolist()
        fitted_classifier = CLASSIFIERS[classifier](seeds[0][model]).fit(
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
    """Return the codes, after checks of the table."""
    checked_codes = np.asarray(codes)
    lengths = [len(texts), len(checked_codes), *([] if private is None else [len(private)])]
    if len(set(lengths)) > 1:
        raise InputError(
            f"The texts, codes and private texts must be as many. Got {', '.join(map(str, lengths))}: align them."
        )
    if len(texts) < _MIN_RECORDS:
        raise InputError(f"Membership needs at least {_MIN_RECORDS} records. Got {len(texts)}: give more rows.")
    if (
        checked_codes.ndim != 1
        or checked_codes.dtype.kind not in "iu"
        or checked_codes.min() < 0
        or checked_codes.max() >= classes
    ):
        raise InputError(f"The codes must be whole numbers from 0 to {classes - 1}: give the class of each record.")
    return checked_codes.astype(np.int64)


def _check_known(name: str, value: str, known_names: Collection[str]) -> None:
    """Raise `InputError` if a name is in no registry."""
    if value not in known_names:
        raise make_parameter_error("membership", name, f"one of {', '.join(map(repr, known_names))}", value)


def _draw_halves(records: int, models: int, rng: np.random.Generator) -> BoolArray:
    """Return (models, records) who is trained on what: models 2k and 2k + 1 on the two halves of one random split."""
    members = np.zeros((models, records), dtype=np.bool_)
    for first in range(0, models, 2):
        members[first, rng.permutation(records)[: records // 2]] = True
        members[first + 1] = ~members[first]
    return members


def _attack_all_models(
    probabilities: FloatArray, codes: ClassCodes, members: BoolArray, attack: str, seeds: list[int]
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
    probabilities: FloatArray, codes: ClassCodes, members: BoolArray, target: int, seed: int
) -> FloatArray:
    del seed  # nothing is drawn
    confidences, shadow_models = (
        probabilities[:, np.arange(len(codes)), codes],
        _list_shadow_models(len(members), target),
    )
    return compute_lira_scores(confidences[shadow_models], members[shadow_models], confidences[target])


def _score_with_rmia(
    probabilities: FloatArray, codes: ClassCodes, members: BoolArray, target: int, seed: int
) -> FloatArray:
    del seed  # nothing is drawn
    confidences, shadow_models = (
        probabilities[:, np.arange(len(codes)), codes],
        _list_shadow_models(len(members), target),
    )
    return compute_rmia_scores(confidences[shadow_models], members[shadow_models], confidences[target])


def _score_with_shadow_network(
    probabilities: FloatArray, codes: ClassCodes, members: BoolArray, target: int, seed: int
) -> FloatArray:
    del codes  # the TEM paper's network sees the outputs alone
    shadow = (target + 2) % len(members)
    outputs, is_member = probabilities[shadow], members[shadow]
    return compute_shadow_scores(outputs[is_member], outputs[~is_member], probabilities[target], seed)


_SCORERS: dict[str, Callable[[FloatArray, ClassCodes, BoolArray, int, int], FloatArray]] = {
    "lira": _score_with_lira,
    "rmia": _score_with_rmia,
    "shadow": _score_with_shadow_network,
}

_MIN_MODELS = {"lira": 6, "rmia": 4, "shadow": 4}
"""A likelihood ratio needs two shadow models with a record and two without it, beside the target and its twin."""
