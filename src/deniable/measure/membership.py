"""Membership inference: can an attacker tell which records a text classifier was trained on?"""

from collections.abc import Callable, Collection, Sequence

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError, bad_parameter
from deniable.measure.attackers.membership import lira_scores, rmia_scores, shadow_scores
from deniable.measure.classifiers import CLASSIFIERS
from deniable.measure.labels import Codes
from deniable.measure.roc import Membership, roc
from deniable.parallel import each

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_FEWEST_RECORDS = 8


def membership(
    texts: Sequence[str],
    codes: npt.ArrayLike,
    classes: int,
    *,
    private: Sequence[str] | None = None,
    classifier: str = "tfidf",
    attack: str = "lira",
    shadows: int = 16,
    seed: int = 0,
) -> dict[str, Membership]:
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
        attack: "lira", "rmia" or "shadow", see `deniable.measure.attackers.membership`; the last trains its network
            on one model of the next pair.
        shadows: models to train, an even number.
        seed: public; of the halves, the classifiers and the attack.

    Returns:
        "original" -> the attack with the texts; with ``private`` also "private" -> the attack with those.

    Raises:
        InputError: lists of different lengths, too few records, a code that is no class, an odd or too small number
            of models, or an unknown classifier or attack.
    """
    numbers = _checked(texts, codes, classes, private)
    _known("classifier", classifier, CLASSIFIERS)
    _known("attack", attack, _ATTACKS)
    fewest = _FEWEST_MODELS[attack]
    if isinstance(shadows, bool) or not isinstance(shadows, int) or shadows < fewest or shadows % 2:
        raise bad_parameter("membership", "shadows", f"an even int of at least {fewest} for {attack!r}", shadows)
    rng = np.random.default_rng(seed)
    members = _halves(len(texts), shadows, rng)
    seeds = rng.integers(2**31, size=(2, shadows)).tolist()
    records = {"original": texts} if private is None else {"original": texts, "private": private}
    trained_on = texts if private is None else private

    def outputs(model: int) -> list[Array]:
        rows = np.flatnonzero(members[model]).tolist()
        fitted = CLASSIFIERS[classifier](seeds[0][model]).fit([trained_on[row] for row in rows], numbers[rows], classes)
        return [fitted.probabilities(held) for held in records.values()]

    found = each(outputs, range(shadows))
    return {
        name: _pooled(np.stack(probabilities), numbers, members, attack, seeds[1])
        for name, probabilities in zip(records, zip(*found, strict=True), strict=True)
    }


def _checked(texts: Sequence[str], codes: npt.ArrayLike, classes: int, private: Sequence[str] | None) -> Codes:
    """Return the codes, after checks of the table."""
    numbers = np.asarray(codes)
    lengths = [len(texts), len(numbers), *([] if private is None else [len(private)])]
    if len(set(lengths)) > 1:
        raise InputError(
            f"The texts, codes and private texts must be as many. Got {', '.join(map(str, lengths))}: align them."
        )
    if len(texts) < _FEWEST_RECORDS:
        raise InputError(f"Membership needs at least {_FEWEST_RECORDS} records. Got {len(texts)}: give more rows.")
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= classes:
        raise InputError(f"The codes must be whole numbers from 0 to {classes - 1}: give the class of each record.")
    return numbers.astype(np.int64)


def _known(name: str, value: str, known: Collection[str]) -> None:
    """Raise `InputError` if a name is in no registry."""
    if value not in known:
        raise bad_parameter("membership", name, f"one of {', '.join(map(repr, known))}", value)


def _halves(records: int, models: int, rng: np.random.Generator) -> Mask:
    """Return (models, records) who is trained on what: models 2k and 2k + 1 on the two halves of one random split."""
    members = np.zeros((models, records), dtype=np.bool_)
    for first in range(0, models, 2):
        members[first, rng.permutation(records)[: records // 2]] = True
        members[first + 1] = ~members[first]
    return members


def _pooled(probabilities: Array, codes: Codes, members: Mask, attack: str, seeds: list[int]) -> Membership:
    """Return the attack on every model in turn, from probabilities (models, records, classes)."""
    score = _ATTACKS[attack]
    found = each(lambda target: score(probabilities, codes, members, target, seeds[target]), range(len(members)))
    scores, records = np.stack(found), np.broadcast_to(np.arange(len(codes)), members.shape)
    groups = records[members], records[~members]
    return roc(scores[members], scores[~members], groups=groups, attack=attack)


def _others(models: int, target: int) -> list[int]:
    """Return the models that are neither the target nor its twin."""
    return [model for model in range(models) if model // 2 != target // 2]


def _lira(probabilities: Array, codes: Codes, members: Mask, target: int, seed: int) -> Array:
    del seed  # nothing is drawn
    confidences, others = probabilities[:, np.arange(len(codes)), codes], _others(len(members), target)
    return lira_scores(confidences[others], members[others], confidences[target])


def _rmia(probabilities: Array, codes: Codes, members: Mask, target: int, seed: int) -> Array:
    del seed  # nothing is drawn
    confidences, others = probabilities[:, np.arange(len(codes)), codes], _others(len(members), target)
    return rmia_scores(confidences[others], members[others], confidences[target])


def _shadow(probabilities: Array, codes: Codes, members: Mask, target: int, seed: int) -> Array:
    del codes  # the TEM paper's network sees the outputs alone
    shadow = (target + 2) % len(members)
    outputs, trained = probabilities[shadow], members[shadow]
    return shadow_scores(outputs[trained], outputs[~trained], probabilities[target], seed)


_ATTACKS: dict[str, Callable[[Array, Codes, Mask, int, int], Array]] = {
    "lira": _lira,
    "rmia": _rmia,
    "shadow": _shadow,
}

_FEWEST_MODELS = {"lira": 6, "rmia": 4, "shadow": 4}
"""A likelihood ratio needs two shadow models with a record and two without it, beside the target and its twin."""
