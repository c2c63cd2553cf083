"""Certified training as the program of Jia et al. 2019 does it: the worse end of a whole batch. Needs torch."""

import dataclasses

import torch
from torch import Tensor
from torch.nn import functional

from deniable.core.randomness import derive_key_from_seed
from deniable.learning.loop import AdamRun, Checkpoint, LengthBucketSampler, build_with_seed, run_training
from deniable.models.text.documents import Documents
from deniable.models.text.model import TextModel, get_space_identity
from deniable.models.text.networks import build_text_network
from deniable.models.text.networks.base import TextBatch, TextNetwork, make_text_batch
from deniable.models.text.options import TextTrainingOptions
from deniable.models.text.substitutions import Substitutions
from studies.substituted_words import Bench


def compute_batch_loss(
    network: TextNetwork, batch: TextBatch, sets: Substitutions, *, kappa: float, scale: float
) -> Tensor:
    """Return (1 - kappa) times the usual loss plus kappa times that of the worse end of all intervals of a batch.

    With intervals [l_i, u_i] of the logits of class 1 less class 0::

        max( mean_i of loss(l_i, y_i), mean_i of loss(u_i, y_i) )

    The worst case of a text of class 1 is l_i, and of one of class 0 u_i: each of the two means has the worst case of
    one class and the *best* case of the other. The published equation has the worst case of each text.
    """
    state = None if network.rng is None else network.rng.get_state()
    _, margins = network.compute_logits_and_bounds(_relabel(batch, 0), sets, scale)
    if network.rng is not None and state is not None:
        network.rng.set_state(state)  # both ends meet the same dropout
    logits, lows = network.compute_logits_and_bounds(_relabel(batch, 1), sets, scale)
    labels = batch.labels.to(logits.dtype)
    ends = (lows[:, 0], -margins[:, 1])
    worse = torch.stack([functional.binary_cross_entropy_with_logits(end, labels) for end in ends]).max()
    return (1 - kappa) * functional.cross_entropy(logits, batch.labels) + kappa * worse


def _relabel(batch: TextBatch, label: int) -> TextBatch:
    return dataclasses.replace(batch, labels=torch.full_like(batch.labels, label))


def train_by_batches(bench: Bench, documents: Documents, options: TextTrainingOptions, title: str) -> TextModel:
    """Return a model of two classes that is trained by `compute_batch_loss`, everything else as in `fit_text_model`."""
    seed = bench.context.derive_seed(bench.name, "train", title)
    key = derive_key_from_seed(seed)
    path = bench.context.scratch(f"{bench.name} {title}.checkpoint")
    checkpoint = None if path is None else Checkpoint(path, bench.sizes.interval).bind({"title": title, "seed": seed})
    key = key if checkpoint is None else checkpoint.load_key(key)
    network = build_with_seed(0, lambda: build_text_network(bench.network, bench.space, 2, pairs=False))
    sampler = LengthBucketSampler(documents.texts.lengths, options.batch_size, key)
    steps = (options.epochs or 1) * sampler.batches_per_epoch

    def loss(number: int, rng: torch.Generator) -> Tensor:
        network.rng = rng
        batch = make_text_batch(documents.take(sampler(number)), torch.device("cpu"))
        progress = min(1.0, number / max(1.0, options.ramp * steps))
        return compute_batch_loss(network, batch, bench.sets, kappa=options.kappa * progress, scale=progress)

    run = AdamRun(
        network,
        loss,
        steps,
        options.learning_rate,
        key,
        weight_decay=options.weight_decay,
        clip_norm=options.clip,
    )
    run_training(run, key, checkpoint)
    return TextModel(bench.network, network.eval(), documents.classes, *get_space_identity(bench.space), {"seed": seed})
