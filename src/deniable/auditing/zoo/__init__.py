"""Mechanisms whose claims are known to be false, each with its evidence, and correct ones as controls."""

from deniable.auditing.zoo import (
    adept,
    adept_unclipped,
    copy,
    correct,
    dptext,
    laplace_in_ball,
    numpy_laplace,
    own_output_sets,
    public_seed,
    tem_input_for_bottom,
    tem_wrong_bottom,
    unknown_unchanged,
)
from deniable.auditing.zoo.entry import EntryVerdicts, ZooEntry, examine_entry

ZOO_ENTRIES: tuple[ZooEntry, ...] = (
    adept.ENTRY,
    adept_unclipped.ENTRY,
    dptext.ENTRY,
    laplace_in_ball.ENTRY,
    tem_wrong_bottom.ENTRY,
    tem_input_for_bottom.ENTRY,
    own_output_sets.ENTRY,
    public_seed.ENTRY,
    unknown_unchanged.ENTRY,
    numpy_laplace.ENTRY,
    copy.ENTRY,
    *correct.CONTROL_ENTRIES,
)
"""A new entry is a file with an `ZooEntry`, listed here."""

__all__ = ["ZOO_ENTRIES", "EntryVerdicts", "ZooEntry", "examine_entry"]
