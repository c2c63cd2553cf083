r"""Noisy counts of the words and phrases of each class, which may be any that occur in private texts.

A key is a class with one to three tokens in a row. Each unit counts at most m keys, a uniform choice among those in its
records, made from its own records and fresh randomness alone, with the integer weight::

    w = isqrt(floor(B^2 / m)),   so that the l2 norm of its contribution is at most sqrt(m w^2) <= B

Every key that some unit counts gets discrete Gaussian noise Z of parameter s, and is released, with its noisy sum, if
that is at least the threshold tau::

    m (1 - Phi((tau - w - 1) / s)) <= delta_select

**Theorem.** If sums of norm B with this noise, composed with everything else that is released, are (epsilon,
delta)-DP, then the whole with the released keys is (epsilon, delta + delta_select)-DP for one unit more or less.

*Proof.* Let D' be D with one unit more, M and M' the laws of everything released from them, U the keys that only this
unit counts, and E the event that a key of U is released from D'. A key of U has sum w + Z, and for integers t >= 1::

    P[Z >= t] = sum over k >= t of exp(-k^2 / 2 s^2) / sum over all k  <=  1 - Phi((t - 1) / s)

since the first sum is at most the integral from t - 1, and the second at least s sqrt(2 pi) by Poisson's summation
formula. U has at most m keys, so p = P[E] <= delta_select. Let Q be M' given that E does not happen: noise of
different keys is independent, so Q is the law of the sums of D' at the keys of D, of which the premise speaks, with
what follows from them. For every event A, M'(A) = (1 - p) Q(A) + p R(A) with some law R. Hence::

    M'(A) - e^epsilon M(A) <= (1 - p) (Q(A) - e^epsilon M(A)) + p       <= delta + p
    M(A) - e^epsilon M'(A) <= (1 - p) (M(A) - e^epsilon Q(A)) + p M(A)  <= delta + p

The choices of the other units have the same law in D and D', and all of this holds for each of them. At most m keys
have other sums in D than under Q, and only these count as coordinates of the measurement: the others have the same
law in both.

Thresholds on noisy counts go back to Korolova, Kenthapadi, Mishra and Ntoulas (2009); Gaussian noise and a bound on
keys per unit are those of Wilson et al. (2020) and Gopi et al. (2020).
"""

import collections
import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from randomgen import AESCounter

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import check_count, check_positive
from deniable.persons.budget import NOISE_STEPS, Budget
from deniable.persons.collection import UnitRows
from deniable.persons.noisy_sums import add_noise
from deniable.text.tokens import split_tokens

MAX_ORDER = 3
"""Longest phrase that is counted, in tokens."""
_SAFETY = 1 + 2.0**-20
"""Factor on the threshold's distance, far above the error of a normal quantile in float64."""

_Key = tuple[int, tuple[str, ...]]


@dataclasses.dataclass(frozen=True, eq=False)
class NgramCounts:
    """Released keys with their noisy counts, by class and alphabet.

    Attributes:
        codes: (k,) classes.
        ngrams: k phrases of one to `MAX_ORDER` tokens.
        counts: (k,) noisy numbers of units that count the phrase.
        threshold: least count that is released.
        deviation: of the noise on a count.
    """

    codes: IntArray
    ngrams: tuple[tuple[str, ...], ...]
    counts: FloatArray
    threshold: float
    deviation: float


def compute_selection_threshold(key_weight: int, keys_per_unit: int, selection_delta: float) -> int:
    """Return tau, from which on a noisy integer sum is released.

    Args:
        key_weight: w, what a unit adds to a key.
        keys_per_unit: m.
        selection_delta: in (0, 1), the largest probability that a key of one unit alone is released.

    Raises:
        InputError: a parameter outside its domain.
    """
    check_count("the selection of keys", "keys_per_unit", keys_per_unit)
    check_positive("the selection of keys", "selection_delta", selection_delta, upper=1.0)
    from scipy.special import ndtri_exp

    quantile = max(-float(ndtri_exp(math.log(selection_delta / keys_per_unit))), 0.0)
    return key_weight + 1 + math.ceil(quantile * NOISE_STEPS * _SAFETY)


def measure_ngram_counts(
    budget: Budget,
    name: str,
    texts: Sequence[str],
    labels: IntArray,
    units: UnitRows,
    generator: AESCounter,
) -> NgramCounts:
    """Return the noisy counts of phrases that enough units count.

    Args:
        budget: it holds the measurement, of which a unit changes at most m coordinates, and a delta of the selection.
        name: of the measurement.
        texts: n records.
        labels: (n,) their classes; -1 for a record that has none, which counts nothing.
        units: of the records.
        generator: of choices and noise.
    """
    keys_per_unit = budget.get_measurement(name).coordinates
    key_weight = math.isqrt(budget.compute_norm_bound(name) ** 2 // keys_per_unit)
    threshold = compute_selection_threshold(key_weight, keys_per_unit, budget.selection_delta)
    tally = _count_keys(texts, labels, units, keys_per_unit, generator)
    keys = sorted(tally)
    noisy_sums = add_noise(np.array([tally[key] * key_weight for key in keys], dtype=np.int64), generator)
    places = np.flatnonzero(noisy_sums >= threshold)
    return NgramCounts(
        np.array([keys[place][0] for place in places.tolist()], dtype=np.int64),
        tuple(keys[place][1] for place in places.tolist()),
        noisy_sums[places] / key_weight,
        threshold / key_weight,
        NOISE_STEPS / key_weight,
    )


def _count_keys(
    texts: Sequence[str], labels: IntArray, units: UnitRows, keys_per_unit: int, generator: AESCounter
) -> collections.Counter[_Key]:
    """Return by how many units each key is counted; a unit counts ``keys_per_unit`` of its keys at most."""
    tally = collections.Counter[_Key]()
    for unit in range(len(units)):
        keys: set[_Key] = set()
        for row in units.rows[units.offsets[unit] : units.offsets[unit + 1]].tolist():
            if labels[row] >= 0:
                keys.update(_list_keys(texts[row], int(labels[row])))
        listed = list(keys)
        if len(listed) > keys_per_unit:
            # The keys of the smallest of so many random words are a uniform choice.
            chosen = np.argpartition(generator.random_raw(len(listed)), keys_per_unit)[:keys_per_unit]
            listed = [listed[place] for place in chosen.tolist()]
        tally.update(listed)
    return tally


def _list_keys(text: str, label: int) -> list[_Key]:
    """Return the keys of one text; some may stand there twice."""
    tokens = split_tokens(text)
    return [
        (label, ngram)
        for order in range(1, MAX_ORDER + 1)
        for ngram in zip(*(tokens[shift:] for shift in range(order)), strict=False)
    ]
