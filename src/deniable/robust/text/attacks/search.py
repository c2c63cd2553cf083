"""What all attacks share: they ask a classifier about texts, many documents at once, and stop at a flip.

An attack on one document is a generator, here called a search: it yields texts to score, is sent their margins, and
ends where it has nothing left to try. `attacked` runs the searches of many documents in step, with one call of the
scorer for each round, and counts what was asked.
"""

import dataclasses
from collections.abc import Callable, Generator

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError, bad_parameter
from deniable.parallel import reporter
from deniable.randomness import check_key
from deniable.robust.text.attacks.moves import Moves
from deniable.robust.text.attacks.outcome import Attacked, Margins
from deniable.robust.text.attacks.targets import Targets, targets
from deniable.robust.text.copies import WINDOW
from deniable.robust.text.documents import Documents, Rows, Texts, Words, texts
from deniable.robust.text.network import Scorer

Search = Generator[Words, Margins, None]
"""Of one document: yields texts (c, L) to score and is sent their margins (c,)."""
ROUND = 60
"""Texts of one document scored together, where an attack does not say how many."""
SCORED = 1_000_000
"""Words of all texts scored together, at most, but for a longer document."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Task:
    """Who is asked about which documents, and what was found so far: the arrays are written to.

    Attributes:
        scorer: of versions of the documents.
        documents: n documents.
        best: the text of least margin of each.
        margins: (n,) of these texts.
        queries: (n,) texts scored.
    """

    scorer: Scorer
    documents: Documents
    best: list[Words]
    margins: Margins
    queries: Rows

    def score(self, versions: Texts, rows: Rows) -> Margins:
        """Return the margins (R,) of versions of the documents in ``rows`` (R,)."""
        logits = np.array(self.scorer(versions, rows), dtype=np.float64)  # (R, K), our own: it is written to
        classes = len(self.documents.classes)
        if logits.shape != (len(rows), classes) or not np.isfinite(logits).all():
            raise InputError(
                f"A scorer must return finite logits of shape {(len(rows), classes)}, texts by classes. "
                f"Got {np.isfinite(logits).sum()} finite ones of shape {logits.shape}: mend the model."
            )
        at, labels = np.arange(len(rows)), self.documents.labels[rows]
        own = logits[at, labels]
        logits[at, labels] = -np.inf
        margins: Margins = own - logits.max(axis=1)
        self.queries[:] += np.bincount(rows, minlength=len(self.queries))
        return margins

    def keep(self, row: int, versions: Words, margins: Margins) -> bool:
        """Keep the best version (c, L) of one document if it is better than all before; say whether it flips."""
        least = int(np.argmin(margins))
        if margins[least] < self.margins[row]:
            self.best[row], self.margins[row] = versions[least].copy(), margins[least]
        return bool(margins[least] <= 0)


def attacked(
    scorer: Scorer,
    documents: Documents,
    moves: Moves,
    key: bytes,
    begin: Callable[[Targets], list[Search]],
    draws: Callable[[Rows], Rows],
    texts_a_round: int = ROUND,
) -> Attacked:
    """Run the searches of all documents that are classified rightly and have a word that can change.

    Args:
        scorer: of versions of the documents.
        documents: n documents.
        moves: what may stand in a word's place.
        key: 32 bytes, from which all draws follow.
        begin: makes the searches of some documents, which are drawn for together.
        draws: how many words ``begin`` draws for texts of some lengths (n,): it bounds memory.
        texts_a_round: most texts that one search yields at a time.

    Raises:
        InputError: a key that is none, a word that the moves do not know, no word that can change, no documents, or a
            scorer that returns something else than logits.
    """
    check_key(key)
    can_change = _can_change(documents, moves)
    lengths = documents.texts.lengths
    none = np.zeros(len(documents), dtype=np.int64)
    task = _Task(scorer, documents, list(documents.texts), none.astype(np.float64), none)
    for rows in _windows(np.arange(len(documents)), lengths, SCORED):
        task.margins[rows] = task.score(documents.texts.take(rows), rows)
    right = task.margins > 0
    report, aims = reporter(), np.flatnonzero(right & can_change)
    report(0, len(aims))
    done = 0
    for drawn in _windows(aims, draws(lengths), WINDOW):
        searches = dict(zip(drawn.tolist(), begin(targets(documents, drawn, task.margins, key)), strict=True))
        for rows in _windows(drawn, texts_a_round * lengths, SCORED):
            _run(task, {row: searches.pop(row) for row in rows.tolist()})
            done += len(rows)
            report(done, len(aims))
    changed = [int((found != text).sum()) for found, text in zip(task.best, documents.texts, strict=True)]
    flipped = right & (task.margins <= 0)
    return Attacked(texts(task.best), task.margins, right, flipped, task.queries, np.array(changed, dtype=np.int64))


def _run(task: _Task, searches: dict[int, Search]) -> None:
    """Run searches, by the row of their document, in step until each has flipped its document or has ended."""
    asked = {row: first for row, search in searches.items() if (first := next(search, None)) is not None}
    while asked:
        rows = np.array(list(asked), dtype=np.int64)
        counts = np.array([len(versions) for versions in asked.values()], dtype=np.int64)
        lengths = np.repeat(task.documents.texts.lengths[rows], counts)
        versions = Texts(np.concatenate([held.ravel() for held in asked.values()]), np.cumsum(np.append(0, lengths)))
        margins = np.split(task.score(versions, np.repeat(rows, counts)), np.cumsum(counts)[:-1])
        following = {}
        for (row, held), got in zip(asked.items(), margins, strict=True):
            if not task.keep(row, held, got) and (more := _answer(searches[row], got)) is not None:
                following[row] = more
        asked = following


def _answer(search: Search, margins: Margins) -> Words | None:
    """Send a search its margins, and return what it asks next; None where it has ended."""
    try:
        return search.send(margins)
    except StopIteration:
        return None


def _can_change(documents: Documents, moves: Moves) -> npt.NDArray[np.bool_]:
    """Return whether each document (n,) has a word that can become another one."""
    words, offsets = documents.texts.words, documents.texts.offsets
    if len(words) and words.max() >= moves.known:
        raise InputError(
            f"The documents hold the word number {words.max()}, the moves know {moves.known:,} words: "
            "read both with the same space."
        )
    before = np.concatenate([[0], np.cumsum(moves.movable(words))])[offsets]  # (n + 1,) movable words up to each text
    found: npt.NDArray[np.bool_] = np.diff(before) > 0
    if not found.any():
        raise InputError("No word of the documents can change: name other substitutions, or other documents.")
    return found


def _windows(rows: Rows, sizes: Rows, most: int) -> list[Rows]:
    """Return rows in runs whose sizes, looked up in ``sizes``, add up to at most ``most``, or of one row alone."""
    out: list[list[int]] = []
    room = 0
    for row, size in zip(rows.tolist(), sizes[rows].tolist(), strict=True):
        if not out or size > room:
            out.append([])
            room = most
        out[-1].append(row)
        room -= size
    return [np.array(run, dtype=np.int64) for run in out]


def whole(owner: str, name: str, value: object, least: int) -> None:
    """Raise `InputError` unless an option is an int of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise bad_parameter(owner, name, f"an int of at least {least}", value)
