"""The zoo: mechanisms whose claims are known to be false, each with its evidence, and correct ones as controls."""

from deniable.published import controls
from deniable.published.adept import entry as adept
from deniable.published.adept import unclipped
from deniable.published.dptext import entry as dptext
from deniable.published.entry import ZooEntry
from deniable.published.packages import (
    copied_input,
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
"""A new entry is a file with a `ZooEntry`, listed here."""
