"""Scores of many texts in pieces, on all cores."""

from collections.abc import Callable

import numpy as np

from deniable.parallel import count_cores, parallel_map, report_progress_to
from deniable.robust.text.documents import IndexedTexts

_MIN_WORDS_FOR_THREADS = 1 << 15
"""Words below which threads cost more than they save."""


def process_in_slices(process_slice: Callable[[slice], None], texts: IndexedTexts) -> None:
    """Call ``process_slice`` with slices that together are all of R texts.

    Args:
        process_slice: writes the scores of some of the texts to where they belong; what it makes of a text must not depend on
            the others.
        texts: R texts.
    """
    if len(texts.words) < _MIN_WORDS_FOR_THREADS:
        process_slice(slice(0, len(texts)))
        return
    bounds = np.linspace(0, len(texts), 8 * count_cores() + 1).astype(np.int64).tolist()
    with report_progress_to(lambda done, total: None):  # noqa: ARG005 - who watches, watches what the scores are for
        parallel_map(process_slice, map(slice, bounds[:-1], bounds[1:]))
