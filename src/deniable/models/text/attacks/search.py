"""The loop of all attacks: they query a classifier on texts of many documents at once, and stop when a class flips.

An attack on one document is a generator, here called a search: it yields texts to score, is sent their margins, and
ends when it has nothing left to try. `run_attack` runs the searches of many documents in step, with one call of the
scorer for each round, and counts the queries.
"""

import dataclasses
from collections.abc import Callable, Generator

import numpy as np
import numpy.typing as npt

from deniable.core.errors import InputError
from deniable.core.parallel import get_progress_reporter
from deniable.core.randomness import check_key
from deniable.measure.intervals import Estimate, estimate_share
from deniable.models.text.attacks.replacements import AttackTargets, Margins, Replacements, select_targets
from deniable.models.text.documents import Documents, IndexedTexts, RowIndices, WordIds, concatenate_texts
from deniable.models.text.networks.base import Scorer
from deniable.models.text.substitutions import MAX_DRAWN_WORDS


@dataclasses.dataclass(frozen=True, eq=False)
class TextAttackResult:
    """The texts that an attack ends with, one for each of n documents.

    Attributes:
        texts: for each document the text that flipped its class, else the one of least margin; the document itself
            where no margin was below its own, and where it was not attacked.
        margins: (n,) of these texts.
        correct_before: (n,) whether the document itself is classified correctly; only such documents are attacked.
        flipped: (n,) whether the attack found a text that is classified wrongly.
        queries: (n,) number of texts scored, the document itself included.
        changed_words: (n,) number of words in which the text differs from the document.
    """

    texts: IndexedTexts
    margins: Margins
    correct_before: npt.NDArray[np.bool_]
    flipped: npt.NDArray[np.bool_]
    queries: RowIndices
    changed_words: RowIndices

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self.texts)

    def clean_accuracy(self) -> Estimate:
        """Return the share of documents that are classified correctly."""
        return estimate_share(int(self.correct_before.sum()), len(self))

    def adversarial_accuracy(self) -> Estimate:
        """Return the share of documents that are classified correctly and that the attack did not flip.

        It is an upper bound on the accuracy under the worst texts: another attack may flip more.
        """
        return estimate_share(int((self.correct_before & ~self.flipped).sum()), len(self))


AttackSearch = Generator[WordIds, Margins, None]
"""The search of one document: yields texts (c, L) to score and is sent their margins (c,)."""
TEXTS_PER_ROUND = 60
"""Texts of one document scored together, unless an attack sets another number."""
MAX_SCORED_WORDS = 1_000_000
"""Maximum number of words scored together, but for a longer document."""


@dataclasses.dataclass(frozen=True, eq=False)
class _AttackState:
    """The scorer, the documents, and the best texts so far: the arrays are written to.

    Attributes:
        scorer: of versions of the documents.
        documents: n documents.
        best: the text of least margin of each.
        margins: (n,) of these texts.
        queries: (n,) texts scored.
    """

    scorer: Scorer
    documents: Documents
    best: list[WordIds]
    margins: Margins
    queries: RowIndices

    def score(self, versions: IndexedTexts, rows: RowIndices) -> Margins:
        """Return the margins (R,) of versions of the documents in ``rows`` (R,)."""
        logits = np.array(self.scorer(versions, rows), dtype=np.float64)  # (R, K), a copy: it is written to
        classes = len(self.documents.classes)
        if logits.shape != (len(rows), classes) or not np.isfinite(logits).all():
            raise InputError(
                f"A scorer must return finite logits of shape {(len(rows), classes)}, texts by classes. "
                f"Got {np.isfinite(logits).sum()} finite ones of shape {logits.shape}: fix the model."
            )
        indices, labels = np.arange(len(rows)), self.documents.labels[rows]
        label_logits = logits[indices, labels]
        logits[indices, labels] = -np.inf
        margins: Margins = label_logits - logits.max(axis=1)
        self.queries[:] += np.bincount(rows, minlength=len(self.queries))
        return margins

    def keep_best(self, row: int, versions: WordIds, margins: Margins) -> bool:
        """Keep the best version (c, L) of one document if it is the best so far; return whether it flips the class."""
        lowest = int(np.argmin(margins))
        if margins[lowest] < self.margins[row]:
            self.best[row], self.margins[row] = versions[lowest].copy(), margins[lowest]
        return bool(margins[lowest] <= 0)


def run_attack(
    scorer: Scorer,
    documents: Documents,
    replacements: Replacements,
    key: bytes,
    start_searches: Callable[[AttackTargets], list[AttackSearch]],
    count_draws: Callable[[RowIndices], RowIndices],
    texts_per_round: int = TEXTS_PER_ROUND,
) -> TextAttackResult:
    """Run the searches of all documents that are classified correctly and have a word that can be replaced.

    Args:
        scorer: of versions of the documents.
        documents: n documents.
        replacements: the words that may replace a word.
        key: 32 bytes, which determine all draws.
        start_searches: makes the searches of some documents, for which words are drawn together.
        count_draws: number of words that ``start_searches`` draws for texts of lengths (n,): it bounds memory.
        texts_per_round: maximum number of texts that one search yields at a time.

    Raises:
        InputError: an invalid key, a word that the replacements do not know, no word that can be replaced, no
            documents, or a scorer that does not return logits.
    """
    check_key(key)
    has_replaceable = _has_replaceable_word(documents, replacements)
    lengths = documents.texts.lengths
    zeros = np.zeros(len(documents), dtype=np.int64)
    state = _AttackState(scorer, documents, list(documents.texts), zeros.astype(np.float64), zeros)
    for rows in _split_into_windows(np.arange(len(documents)), lengths, MAX_SCORED_WORDS):
        state.margins[rows] = state.score(documents.texts.take(rows), rows)
    correct = state.margins > 0
    report, attacked_rows = get_progress_reporter(), np.flatnonzero(correct & has_replaceable)
    report(0, len(attacked_rows))
    done = 0
    for window in _split_into_windows(attacked_rows, count_draws(lengths), MAX_DRAWN_WORDS):
        searches = dict(
            zip(window.tolist(), start_searches(select_targets(documents, window, state.margins, key)), strict=True)
        )
        for rows in _split_into_windows(window, texts_per_round * lengths, MAX_SCORED_WORDS):
            _run_searches(state, {row: searches.pop(row) for row in rows.tolist()})
            done += len(rows)
            report(done, len(attacked_rows))
    changed_words = [int((result != text).sum()) for result, text in zip(state.best, documents.texts, strict=True)]
    flipped = correct & (state.margins <= 0)
    return TextAttackResult(
        concatenate_texts(state.best),
        state.margins,
        correct,
        flipped,
        state.queries,
        np.array(changed_words, dtype=np.int64),
    )


def _run_searches(state: _AttackState, searches: dict[int, AttackSearch]) -> None:
    """Run searches, by the row of their document, in step until each has flipped its class or has ended."""
    pending = {row: first_texts for row, search in searches.items() if (first_texts := next(search, None)) is not None}
    while pending:
        rows = np.array(list(pending), dtype=np.int64)
        counts = np.array([len(versions) for versions in pending.values()], dtype=np.int64)
        lengths = np.repeat(state.documents.texts.lengths[rows], counts)
        versions = IndexedTexts(
            np.concatenate([row_texts.ravel() for row_texts in pending.values()]), np.cumsum(np.append(0, lengths))
        )
        margins = np.split(state.score(versions, np.repeat(rows, counts)), np.cumsum(counts)[:-1])
        next_pending = {}
        for (row, row_texts), row_margins in zip(pending.items(), margins, strict=True):
            if (
                not state.keep_best(row, row_texts, row_margins)
                and (next_texts := _send_margins(searches[row], row_margins)) is not None
            ):
                next_pending[row] = next_texts
        pending = next_pending


def _send_margins(search: AttackSearch, margins: Margins) -> WordIds | None:
    """Send a search its margins, and return its next texts; None where it has ended."""
    try:
        return search.send(margins)
    except StopIteration:
        return None


def _has_replaceable_word(documents: Documents, replacements: Replacements) -> npt.NDArray[np.bool_]:
    """Return whether each document (n,) has a word that can become another one."""
    words, offsets = documents.texts.words, documents.texts.offsets
    if len(words) and words.max() >= replacements.vocabulary_size:
        raise InputError(
            f"The documents have a word with id {words.max()}, and the replacements have "
            f"{replacements.vocabulary_size:,} words: read both with the same space."
        )
    counts_before = np.concatenate([[0], np.cumsum(replacements.is_replaceable(words))])[
        offsets
    ]  # (n + 1,) replaceable words up to each text
    has_replaceable: npt.NDArray[np.bool_] = np.diff(counts_before) > 0
    if not has_replaceable.any():
        raise InputError("No word of the documents can be replaced: choose other substitutions, or other documents.")
    return has_replaceable


def _split_into_windows(rows: RowIndices, sizes: RowIndices, max_size: int) -> list[RowIndices]:
    """Return rows in runs whose sizes, looked up in ``sizes``, add up to at most ``max_size``, or with a single row."""
    windows: list[list[int]] = []
    capacity_left = 0
    for row, size in zip(rows.tolist(), sizes[rows].tolist(), strict=True):
        if not windows or size > capacity_left:
            windows.append([])
            capacity_left = max_size
        windows[-1].append(row)
        capacity_left -= size
    return [np.array(window, dtype=np.int64) for window in windows]
