"""Flaws around private prediction: what is called public depends on private rows, and noise that can be repeated.

- ``shared-padding``: public and private rows share one padded batch in bfloat16.
- ``default-seed``: tokens are drawn with a seed that everybody knows.
"""

from collections.abc import Sequence

import numpy as np
from scipy import special

from deniable.core.arrays import FloatArray
from deniable.published.samplers.private_prediction import PrivatePrediction
from deniable.published.samplers.toy import BrokenSampler, compute_logits, compute_one, make_entry, make_prompt

_EPSILON, _DELTA, _TOKENS, _PLACES = 1.0, 1e-5, 100, 8
_KEY = bytes(range(32))
"""Public here, so that verdicts repeat: a verdict on laws needs no secret."""
REFERENCE = PrivatePrediction(compute_one, _EPSILON, _DELTA, _TOKENS, _PLACES, key=_KEY)


def draw_from_shared_batch(records: Sequence[str], prefix: Sequence[int]) -> FloatArray:
    """The textbook program: one batch of all private prompts and the public one, padded to the longest.

    A record that is longer than all others widens the batch, and with it the public logits, from which each difference
    is taken and which no clip bounds. The clip is that of the claim.
    """
    rows = compute_logits([make_prompt(record, prefix) for record in [*records, None]])
    public, clip = rows[-1], _PLACES * REFERENCE.token_epsilon / 2
    differences = np.clip(rows[:-1] - public, -clip, clip)
    law: FloatArray = special.softmax(public + differences.sum(axis=0) / _PLACES)
    return law


_SHORT = tuple(f"the visit of {name} was short" for name in ("ann", "bob", "eve"))
_LONG = "the patient came back three times with pain and left with a letter for another doctor in the town"
PADDING_PAIRS = tuple(([*_SHORT, _LONG], [*_SHORT], prefix) for prefix in ((), (5,), (9, 12, 3)))

SHARED_PADDING = BrokenSampler(
    "shared-padding",
    "invink 0.1.0 (docs/language_packages.md)",
    "public and private rows share one padded batch: the longest record moves the public logits, which nobody clips",
    draw_from_shared_batch,
    REFERENCE.law,
    PADDING_PAIRS,
    {"claim": "zcdp", "epsilon": _EPSILON, "delta": _DELTA, "tokens": _TOKENS},
)

_DEFAULT_SEED = 42


def draw_with_default_seed(records: Sequence[str], prefix: Sequence[int]) -> FloatArray:
    """The next token for one who knows the seed: for each guess of the records one token is certain."""
    weights = _LARGER.law(records, prefix)
    uniform = np.random.default_rng(_DEFAULT_SEED).random(len(prefix) + 1)[-1]
    sums = np.cumsum(weights)
    law = np.zeros(len(weights))
    law[np.searchsorted(sums, uniform * sums[-1], "right")] = 1.0
    return law


_LARGER = PrivatePrediction(compute_one, 10.0, _DELTA, 10, 2, key=_KEY)

DEFAULT_SEED = BrokenSampler(
    "default-seed",
    "invink 0.1.0 (docs/language_packages.md)",
    "tokens are drawn with a default seed: who knows it knows which records give which text",
    draw_with_default_seed,
    _LARGER.law,
    tuple(([record], []) for record in (*_SHORT, _LONG)),
    {"claim": "zcdp", "epsilon": 10.0, "delta": _DELTA, "tokens": 10},
    steps=4,
)

_BIASES = np.random.default_rng(11).normal(size=64)


def draw_from_tilted(records: Sequence[str], prefix: Sequence[int]) -> FloatArray:  # noqa: ARG001 - not used: that is why
    """The model's law, tilted by biases that were released before: a function of what is public."""
    law: FloatArray = special.softmax(compute_one(None, prefix) + _BIASES)
    return law


ENTRIES = (
    *SHARED_PADDING.entries,
    *DEFAULT_SEED.entries,
    make_entry(SHARED_PADDING, "tilted", "control: deniable", "", draw_from_tilted),
)
