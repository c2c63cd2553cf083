"""The sharpest bound for one given pair of texts, from the exact laws of the words in which they differ."""

import functools

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError
from deniable.robust.text.documents import WordIds
from deniable.robust.text.smoothing.costs import compute_integer_tables
from deniable.space.metrics import FloatArray
from deniable.words import WordMechanism, law

_LOSS_GRID = 1e-3
"""Nats between losses that are told apart; they are rounded up, so that the bound holds."""
_EPSILON_LEVELS = 400


def bound_pair_probability(
    mechanism: WordMechanism, text: WordIds, other: WordIds, probability: float, grid: float = _LOSS_GRID
) -> float:
    """Return a lower bound on Q(A) for the law Q of one text and any event of chance >= p under another's.

    The privacy losses of the differing words are composed as distributions (Koskela et al. 2020; dp-accounting, rounded
    towards more loss). With delta(e) = sup_S P(S) - e^e Q(S), and delta' for Q and P exchanged::

        Q(A) >= e^-e (p - delta(e))          Q(A) >= 1 - e^e (1 - p) - delta'(e)          for every e >= 0

    which together are the curve of Neyman and Pearson. It tells how sharp the bounds for whole sets of texts are.

    Args:
        mechanism: with integer tables.
        text: (L,) words of the text with law P.
        other: (L,) words of the text with law Q.
        probability: p in [0, 1].
        grid: nats between losses.

    Raises:
        InputError: texts of different lengths.
        NotTractable: draws do not come from integer tables.
    """
    import dp_accounting.pld.pld_pmf as library  # noqa: PLC0415 - a second to import

    if len(text) != len(other):
        raise InputError(f"Texts of one length are compared. Got {len(text)} and {len(other)} words.")
    points = mechanism.space.point_by_word[np.stack([text, other])]  # (2, L)
    changed = points[:, points[0] != points[1]]
    if not changed.size:
        return probability
    rows = compute_integer_tables(mechanism, changed.ravel()).reshape(2, changed.shape[1], -1) / law.TABLE_TOTAL
    deltas = []
    for own, against in ((rows[0], rows[1]), (rows[1], rows[0])):
        singles = [
            library.create_pmf(_bin_losses(p, q, grid), grid, 0.0, pessimistic_estimate=True).to_dense_pmf()
            for p, q in zip(own, against, strict=True)
        ]
        composed = functools.reduce(lambda first, other: first.compose(other), singles)
        max_loss = float(np.abs(np.log(own) - np.log(against)).max(axis=1).sum())
        levels = np.linspace(0.0, max_loss, _EPSILON_LEVELS)
        deltas.append(np.maximum(np.asarray(composed.get_delta_for_epsilon(levels.tolist())), 0.0))
    bounds = np.exp(-levels) * (probability - deltas[0]), 1 - np.exp(levels) * (1 - probability) - deltas[1]
    return float(np.clip(np.max(bounds), 0.0, probability))


def _bin_losses(p: FloatArray, q: FloatArray, grid: float) -> dict[int, float]:
    """Return the mass under p of every loss ln p - ln q, rounded up to whole steps of the grid."""
    steps: npt.NDArray[np.int64] = np.ceil((np.log(p) - np.log(q)) / grid + 1e-9).astype(np.int64)
    masses = np.bincount(steps - steps.min(), weights=p)
    return {int(steps.min()) + index: float(mass) for index, mass in enumerate(masses) if mass > 0}
