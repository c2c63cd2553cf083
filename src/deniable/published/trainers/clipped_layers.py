"""Each layer of a network is clipped to the norm C, and gets the noise for C.

Clipping layer by layer needs no norm over all of them. With M layers the whole gradient then has norm C sqrt(M), and
that is what the noise must be made for; or each layer is clipped to C / sqrt(M) (McMahan et al. 2018).
"""

import functools

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.published.trainers.dp_sgd import TrainerCase, calibrate_plan, clip_rows, make_entries, train_on_all

_LAYERS = 4
PLAN = calibrate_plan(16, 1)
CASE = TrainerCase(records=(np.zeros(2 * _LAYERS),) * 15, canary=np.ones(2 * _LAYERS))


def _clip_layers(gradients: FloatArray) -> FloatArray:
    layers = np.split(gradients, _LAYERS, axis=1)
    return np.concatenate([clip_rows(layer).sum(axis=0) for layer in layers])


def _clip_layers_to_shares(gradients: FloatArray) -> FloatArray:
    layers = np.split(gradients, _LAYERS, axis=1)
    return np.concatenate([clip_rows(layer, _LAYERS**-0.5).sum(axis=0) for layer in layers])


train = functools.partial(train_on_all, plan=PLAN, sum_gradients=_clip_layers)
train_mended = functools.partial(train_on_all, plan=PLAN, sum_gradients=_clip_layers_to_shares)

ENTRY, TWIN = make_entries(
    "clipped-layers",
    CASE,
    train,
    train_mended,
    source="cf. McMahan et al. 2018",
    flaw="each of four layers is clipped to C, with noise for a whole gradient: one record moves the sum by 2 C",
    facts_status="refuted",
)
