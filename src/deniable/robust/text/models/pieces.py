"""Scores of many texts in pieces, on all cores."""

from collections.abc import Callable

import numpy as np

from deniable.parallel import cores, each, watched
from deniable.robust.text.documents import Texts

_ALONE = 1 << 15
"""Words below which threads cost more than they save."""


def in_pieces(work: Callable[[slice], None], held: Texts) -> None:
    """Call ``work`` with slices that together are all of R texts.

    Args:
        work: writes the scores of some of the texts to where they belong; what it makes of a text must not depend on
            the others.
        held: R texts.
    """
    if len(held.words) < _ALONE:
        work(slice(0, len(held)))
        return
    bounds = np.linspace(0, len(held), 8 * cores() + 1).astype(np.int64).tolist()
    with watched(lambda done, total: None):  # noqa: ARG005 - who watches, watches what the scores are for
        each(work, map(slice, bounds[:-1], bounds[1:]))
