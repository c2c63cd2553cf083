"""The zoo: mechanisms whose claims are known to be false, each with its evidence, and correct ones as controls."""

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


def load_zoo_entries() -> tuple[tuple[ZooEntry, ...], tuple[str, ...]]:
    """Return the entries that can run here, and the names of those that cannot, for lack of torch."""
    if importlib.util.find_spec("torch") is None:
        return ZOO_ENTRIES, TORCH_ENTRY_NAMES
    from deniable.published.adept.text_entries import ADEPT_TEXT_ENTRIES  # noqa: PLC0415 - torch is an extra, and slow
    from deniable.published.dpal.zoo import DPAL_ENTRIES  # noqa: PLC0415 - the same

    return (*ZOO_ENTRIES, *DPAL_ENTRIES, *ADEPT_TEXT_ENTRIES), ()
