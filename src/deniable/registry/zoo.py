"""The zoo: mechanisms and trainers whose claims are known to be false, each with its evidence, and correct ones."""

import dataclasses
import importlib.util

from deniable.published import controls
from deniable.published.adept import entry as adept
from deniable.published.adept import unclipped
from deniable.published.dptext import copied_input
from deniable.published.dptext import entry as dptext
from deniable.published.entry import ZooEntry
from deniable.published.packages import (
    laplace_in_ball,
    numpy_laplace,
    own_output_sets,
    public_seed,
    tem_input_for_bottom,
    tem_wrong_bottom,
    unknown_unchanged,
)
from deniable.published.trainers import (
    accumulated_gradients,
    best_checkpoint,
    clipped_layers,
    clipped_mean,
    drawn_batch_size,
    floating_point_noise,
    independent_micro_batches,
    noise_per_micro_batch,
    private_normalizer,
    private_vocabulary,
    resumed_training,
    shared_noise,
    short_last_batch,
    shuffled_batches,
    skipped_empty_batches,
    unclipped_remainder,
)

ZOO_ENTRIES: tuple[ZooEntry, ...] = (
    adept.ENTRY,
    unclipped.ENTRY,
    dptext.ENTRY,
    laplace_in_ball.ENTRY,
    tem_wrong_bottom.ENTRY,
    tem_input_for_bottom.ENTRY,
    own_output_sets.ENTRY,
    public_seed.ENTRY,
    unknown_unchanged.ENTRY,
    numpy_laplace.ENTRY,
    copied_input.ENTRY,
    *controls.CONTROL_ENTRIES,
)
"""Entries that run without extras. A new entry is a file with a `ZooEntry`, listed here."""

TORCH_ENTRY_NAMES = (
    "dpal-differences",
    "dpal-recovery",
    "dpal-parameters",
    "dpal-labels",
    "dpal-sensitivity",
    "dpal-independent",
    "dpal-labels-fresh",
    "adept-texts",
    "adept-true-texts",
    "adept-gaussian-texts",
)
"""Entries that need torch, of the extra ``train``: by name, because they cannot be imported without it."""

TRAINER_ENTRIES: tuple[ZooEntry, ...] = tuple(
    entry
    for trainer in (
        shuffled_batches,
        independent_micro_batches,
        skipped_empty_batches,
        drawn_batch_size,
        short_last_batch,
        clipped_mean,
        accumulated_gradients,
        clipped_layers,
        unclipped_remainder,
        private_normalizer,
        private_vocabulary,
        best_checkpoint,
        floating_point_noise,
        shared_noise,
        noise_per_micro_batch,
        resumed_training,
    )
    for entry in (trainer.ENTRY, trainer.TWIN)
)
"""Trainers, each before its mended twin. A new one is a file with both, listed here."""


def load_trainer_entries() -> tuple[tuple[ZooEntry, ...], tuple[str, ...]]:
    """Return the trainers, and the names of those whose facts cannot be judged here, for lack of dp-accounting."""
    if importlib.util.find_spec("dp_accounting") is not None:
        return TRAINER_ENTRIES, ()
    entries = tuple(dataclasses.replace(entry, verify_law=None, exact_status=None) for entry in TRAINER_ENTRIES)
    return entries, tuple(entry.name for entry in TRAINER_ENTRIES if entry.verify_law)


def load_zoo_entries() -> tuple[tuple[ZooEntry, ...], tuple[str, ...]]:
    """Return the entries that can run here, and the names of those that cannot, for lack of torch."""
    if importlib.util.find_spec("torch") is None:
        return ZOO_ENTRIES, TORCH_ENTRY_NAMES
    from deniable.published.adept.text_entries import ADEPT_TEXT_ENTRIES
    from deniable.published.dpal.zoo import DPAL_ENTRIES

    return (*ZOO_ENTRIES, *DPAL_ENTRIES, *ADEPT_TEXT_ENTRIES), ()
