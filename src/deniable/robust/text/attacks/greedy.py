"""The greedy attack: the best single changes, put together in order of what they gain."""

import numpy as np

from deniable.robust.text.attacks.moves import Changes, moves_of
from deniable.robust.text.attacks.outcome import Attacked, Margins
from deniable.robust.text.attacks.search import ROUND, Search, attacked, whole
from deniable.robust.text.attacks.targets import Targets
from deniable.robust.text.copies import Source
from deniable.robust.text.documents import Documents, Rows, Words
from deniable.robust.text.network import Scorer


def greedy(
    scorer: Scorer, documents: Documents, source: Source, key: bytes, *, tries: int = 8, workers: int | None = None
) -> Attacked:
    """Score every change of one word, then take the best of each position while they lower the margin.

    It finds the worst text of sets where the margin is a sum over words; elsewhere two changes may help only together.

    Args:
        scorer: of versions of the documents.
        documents: with the labels to lead away from; those classified wrongly are left as they are.
        source: sets of substitutions, of which all are scored, or a mechanism.
        key: 32 bytes; what is drawn for a document follows from the key and the document.
        tries: draws of a mechanism for each position, >= 1.
        workers: threads that draw for the mechanism; the result does not depend on them.

    Raises:
        InputError: an option outside its domain, or what `deniable.robust.text.attacks.search.attacked` refuses.
    """
    whole("greedy", "tries", tries, 1)
    moves = moves_of(source)

    def begin(given: Targets) -> list[Search]:
        singles = moves.singles(given, tries, workers)
        starts = zip(given.texts, singles, given.margins.tolist(), strict=True)
        return [_search(text, changes, margin) for text, changes, margin in starts]

    return attacked(scorer, documents, moves, key, begin, lambda lengths: tries * lengths)


def _search(text: Words, changes: Changes, margin: float) -> Search:
    """Search from one text (L,) of some margin."""
    margins = np.empty(len(changes.positions))
    for start in range(0, len(margins), ROUND):
        versions = changes.applied(text, start, start + ROUND)
        margins[start : start + ROUND] = yield versions
    order = _in_order(changes.positions, margins, margin)
    for rank, change in enumerate(order.tolist()):
        version = changes.applied(text, change, change + 1)
        score = (yield version)[0] if rank else margins[change]  # the first is known already
        if score < margin:
            text, margin = version[0], score


def _in_order(positions: Rows, margins: Margins, limit: float) -> Rows:
    """Return which change of each position is the best, of those below the limit, the lowest margin first."""
    order = np.argsort(margins, kind="stable")
    order = order[margins[order] < limit]
    _, first = np.unique(positions[order], return_index=True)
    return order[np.sort(first)]
