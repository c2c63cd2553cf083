"""Trainers whose flaw is what one record does to a sum: through the divisor, or a clip of the wrong thing."""

import functools
from typing import Any

import numpy as np

from deniable.accounting.training import TrainingPlan
from deniable.auditing.training.observation import TrainingStep
from deniable.core.arrays import FloatArray
from deniable.published.trainers.dp_sgd import (
    BrokenTrainer,
    Steps,
    calibrate_plan,
    clip_rows,
    draw_noise,
    list_entries,
    release_once,
    sum_clipped,
)

_SIZE, _MICRO_BATCHES, _LAYERS = 16, 4, 4


def _scale_drawn_mean(gradients: FloatArray) -> FloatArray:
    """L times the mean over the batch that was drawn, whose noise is that of a sum: for the expected size L.

    The mean over b records moves by up to 2 C / b when a record comes or goes: all others pull one way, the record the
    other way, and the divisor changes with it. Noise of C sigma / L is made for a mean whose divisor L is public.
    Opacus takes its divisor from the private number of records, which shows in small data (Opacus #571, #819).
    """
    return _SIZE * sum_clipped(gradients) / len(gradients)


def _scale_nominal_mean(gradients: FloatArray) -> FloatArray:
    """Return the same with the public divisor L."""
    return _SIZE * sum_clipped(gradients) / _SIZE


DRAWN_BATCH_SIZE = BrokenTrainer(
    "drawn-batch-size",
    "cf. Opacus #571, #819",
    "a mean over the batch that was drawn moves by up to 2 C / b, with noise for C / L",
    release_once(_scale_drawn_mean),
    release_once(_scale_nominal_mean),
    records=(np.array([1.0]),) * 15,
    canary=np.array([-1.0]),
)

_RECORDS, _BATCH_SIZE = 9, 4
_EPOCH_PLAN = TrainingPlan("shuffled", _RECORDS, _BATCH_SIZE, 3, calibrate_plan(_RECORDS, 1).noise_multiplier, 1.0)


def _train_one_epoch(records: list[Any], seed: int, *, divides_by_own_size: bool) -> Steps:
    """The last batch of an epoch is short, and its sum is divided by its own size.

    Noise of C sigma / L is made for the mean of L records. Where the last batch has b of them, and the mean is over
    these, a record in it counts L / b times as much as the noise can hide. The epoch is in the order of the file, which
    the claim does not rest on.
    """
    gradients = np.stack(records)
    noise = draw_noise(seed, _EPOCH_PLAN.noise_multiplier, (_EPOCH_PLAN.steps, 1))
    yield _EPOCH_PLAN
    for step, start in enumerate(range(0, _RECORDS, _BATCH_SIZE)):
        batch = np.arange(start, min(start + _BATCH_SIZE, _RECORDS))
        divisor = len(batch) if divides_by_own_size else _BATCH_SIZE
        # L times the mean, whose noise is that of a sum.
        total = _BATCH_SIZE * sum_clipped(gradients[batch]) / divisor
        yield TrainingStep(total + noise[step], batch, total, _EPOCH_PLAN.noise_multiplier)


SHORT_LAST_BATCH = BrokenTrainer(
    "short-last-batch",
    "loops that average over the batch at hand",
    "the last batch has one record, and its mean the noise for four: the record counts four times",
    functools.partial(_train_one_epoch, divides_by_own_size=True),
    functools.partial(_train_one_epoch, divides_by_own_size=False),
    records=(np.array([0.0]),) * (_RECORDS - 1),
    canary=np.array([1.0]),
    other=np.array([0.0]),
)


def _clip_mean(gradients: FloatArray) -> FloatArray:
    """L times the clipped mean gradient, whose noise is that of a sum: for the gradient of one example.

    It is quick, and the norm of what is released is bounded by C as the paper of DP-SGD says. But one record can turn
    the mean around, and so moves it by 2 C, where the mean of clipped gradients moves by C / L. For micro-batches this
    is Section 5.6 of Ponomareva et al. 2023, "How to DP-fy ML" (micro-batches of k need noise 2 k times as large);
    Opacus was asked for it (#25).
    """
    return _SIZE * clip_rows(gradients.sum(axis=0) / _SIZE)


def _average_clipped(gradients: FloatArray) -> FloatArray:
    """Return L times the mean of clipped gradients."""
    return _SIZE * (sum_clipped(gradients) / _SIZE)


CLIPPED_MEAN = BrokenTrainer(
    "clipped-mean",
    "cf. Ponomareva et al. 2023, Section 5.6; Opacus #25",
    "the mean of a batch is clipped, not each gradient: one record moves it by 2 C, with noise for C / L",
    release_once(_clip_mean),
    release_once(_average_clipped),
    records=(np.array([1.0]),) * 15,
    canary=np.array([-100.0]),
    runs=1_000,
)


def _clip_accumulated(gradients: FloatArray) -> FloatArray:
    """Gradients of micro-batches are added up as training frameworks do, and their sum is clipped once.

    ``loss.backward()`` adds to the gradients that are there, and clipping before ``optimizer.step()`` looks right. The
    clipped sum has norm C, but one record can turn it around: it moves by 2 C, with noise for C. Opacus #219 says why
    gradients cannot be added before they are clipped.
    """
    total = np.zeros(gradients.shape[1])
    for micro_batch in np.array_split(gradients, _MICRO_BATCHES):
        total += micro_batch.sum(axis=0)
    return clip_rows(total)


def _accumulate_clipped(gradients: FloatArray) -> FloatArray:
    total = np.zeros(gradients.shape[1])
    for micro_batch in np.array_split(gradients, _MICRO_BATCHES):
        total += sum_clipped(micro_batch)
    return total


ACCUMULATED_GRADIENTS = BrokenTrainer(
    "accumulated-gradients",
    "what Opacus #219 warns of",
    "gradients of micro-batches are added before they are clipped: one record turns the sum around, by 2 C",
    release_once(_clip_accumulated),
    release_once(_accumulate_clipped),
    records=(np.array([1.0]),) * 15,
    canary=np.array([-100.0]),
)


def _clip_layers(gradients: FloatArray, norm: float = 1.0) -> FloatArray:
    """Each layer of a network is clipped to the norm C, and gets the noise for C.

    Clipping layer by layer needs no norm over all of them. With M layers the whole gradient then has norm C sqrt(M),
    and that is what the noise must be made for; or each layer is clipped to C / sqrt(M) (McMahan et al. 2018).
    """
    layers = np.split(gradients, _LAYERS, axis=1)
    return np.concatenate([clip_rows(layer, norm).sum(axis=0) for layer in layers])


CLIPPED_LAYERS = BrokenTrainer(
    "clipped-layers",
    "cf. McMahan et al. 2018",
    "each of four layers is clipped to C, with noise for a whole gradient: one record moves the sum by 2 C",
    release_once(_clip_layers),
    release_once(functools.partial(_clip_layers, norm=_LAYERS**-0.5)),
    records=(np.zeros(2 * _LAYERS),) * 15,
    canary=np.ones(2 * _LAYERS),
)


def _add_to_mean(gradients: FloatArray) -> FloatArray:
    """The clipped sum is added to where backward passes have left the gradient itself.

    A loop that takes gradients of single examples from a backward pass, clips them and adds them to ``p.grad`` forgets
    that the pass has put the mean gradient there, which nobody clips (an issue of
    Differentially-Private-Deep-Learning, #7, asks about that). Its twin begins with zeros.
    """
    total: FloatArray = gradients.mean(axis=0)
    total += sum_clipped(gradients)
    return total


UNCLIPPED_REMAINDER = BrokenTrainer(
    "unclipped-remainder",
    "cf. Differentially-Private-Deep-Learning #7",
    "the mean gradient, which nobody clipped, stays in what the clipped sum is added to",
    release_once(_add_to_mean),
    release_once(sum_clipped),
    records=(np.array([0.0]),) * 15,
    canary=np.array([100.0]),
    runs=1_000,
)

ENTRIES = list_entries(
    DRAWN_BATCH_SIZE, SHORT_LAST_BATCH, CLIPPED_MEAN, ACCUMULATED_GRADIENTS, CLIPPED_LAYERS, UNCLIPPED_REMAINDER
)
