"""The greedy attack: the best single changes, put together in order of what they gain."""

import numpy as np

from deniable.robust.text.attacks.moves import WordChanges, make_replacements
from deniable.robust.text.attacks.outcome import Margins, TextAttackResult
from deniable.robust.text.attacks.search import TEXTS_PER_ROUND, AttackSearch, check_int_at_least, run_attack
from deniable.robust.text.attacks.targets import AttackTargets
from deniable.robust.text.copies import SubstituteSource
from deniable.robust.text.documents import Documents, RowIndices, WordIds
from deniable.robust.text.network import Scorer


def run_greedy_attack(
    scorer: Scorer,
    documents: Documents,
    source: SubstituteSource,
    key: bytes,
    *,
    tries: int = 8,
    workers: int | None = None,
) -> TextAttackResult:
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
        InputError: an option outside its domain, or what `deniable.robust.text.attacks.search.run_attack` refuses.
    """
    check_int_at_least("greedy", "tries", tries, 1)
    replacements = make_replacements(source)

    def start_searches(targets: AttackTargets) -> list[AttackSearch]:
        singles = replacements.list_single_changes(targets, tries, workers)
        starts = zip(targets.texts, singles, targets.margins.tolist(), strict=True)
        return [_search_greedy(text, changes, margin) for text, changes, margin in starts]

    return run_attack(scorer, documents, replacements, key, start_searches, lambda lengths: tries * lengths)


def _search_greedy(text: WordIds, changes: WordChanges, margin: float) -> AttackSearch:
    """Search from one text (L,) of some margin."""
    margins = np.empty(len(changes.positions))
    for start in range(0, len(margins), TEXTS_PER_ROUND):
        versions = changes.apply_each(text, start, start + TEXTS_PER_ROUND)
        margins[start : start + TEXTS_PER_ROUND] = yield versions
    order = _rank_best_changes(changes.positions, margins, margin)
    for rank, change in enumerate(order.tolist()):
        version = changes.apply_each(text, change, change + 1)
        score = (yield version)[0] if rank else margins[change]  # the first is known already
        if score < margin:
            text, margin = version[0], score


def _rank_best_changes(positions: RowIndices, margins: Margins, limit: float) -> RowIndices:
    """Return which change of each position is the best, of those below the limit, the lowest margin first."""
    order = np.argsort(margins, kind="stable")
    order = order[margins[order] < limit]
    _, first = np.unique(positions[order], return_index=True)
    return order[np.sort(first)]
