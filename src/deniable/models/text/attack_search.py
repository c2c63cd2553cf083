"""The loop of all attacks: they query a classifier on texts of many documents at once, and stop when a class flips.

An attack on one document is a generator, here called a search: it yields texts to score, is sent their margins, and
ends when it has nothing left to try. An attack runs the searches of many documents in step, with one call of the
scorer for each round, and counts the queries.

Every draw replaces a word of the *original* document, and a text has at most one draw per position. Under a mechanism
each attacked text is therefore one that the mechanism can release, word by word. Xu et al. 2021 (section 6.3) perturb
the current word of a child again and again: the last word of such a chain follows another law than the mechanism's,
about which epsilon says nothing.
"""

import abc
import contextlib
import dataclasses
from collections.abc import Generator, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from deniable.core.errors import InputError
from deniable.core.parallel import get_progress_reporter
from deniable.core.randomness import Streams, check_key, derive_stream_start
from deniable.measure.intervals import Estimate, estimate_share
from deniable.models.text.documents import Documents, IndexedTexts, RowIndices, WordIds, concatenate_texts
from deniable.models.text.networks.base import Scorer
from deniable.models.text.substitutions import MAX_DRAWN_WORDS, SubstituteSource, Substitutions, find_replaceable_words

Margins = npt.NDArray[np.float64]
"""(k,) margins of texts: the logit of the true class minus the largest other; a text is classified right above 0."""
AttackSearch = Generator[WordIds, Margins, None]
"""The search of one document: yields texts (c, L) to score and is sent their margins (c,)."""
TEXTS_PER_ROUND = 60
"""Texts of one document scored together, unless an attack sets another number."""
MAX_SCORED_WORDS = 1_000_000
"""About how many words are scored together."""


@dataclasses.dataclass(frozen=True, eq=False)
class AttackTargets:
    """Documents to attack.

    Attributes:
        texts: R texts.
        margins: (R,) of these texts.
        stream_names: derived from the words of each document. All draws for it depend on key and name alone, and not
            on the other documents or their order.
        key: 32 bytes.
    """

    texts: IndexedTexts
    margins: Margins
    stream_names: Sequence[str]
    key: bytes = dataclasses.field(repr=False)

    def make_streams(self, purpose: str, lengths: Sequence[int]) -> Streams:
        """Return each document's stream for one purpose, with a number of draws for each."""
        return Streams(
            self.key, [derive_stream_start(self.key, "attack", purpose, name) for name in self.stream_names], lengths
        )


def select_targets(documents: Documents, rows: RowIndices, margins: Margins, key: bytes) -> AttackTargets:
    """Return some of the documents as targets.

    Args:
        documents: all of them.
        rows: (R,) the rows of those to attack.
        margins: (n,) of all documents.
        key: 32 bytes.
    """
    parts = [documents.texts] if documents.premises is None else [documents.texts, documents.premises]
    stream_names = ["/".join(texts[row].astype("<i4").tobytes().hex() for texts in parts) for row in rows.tolist()]
    return AttackTargets(documents.texts.take(rows), margins[rows], stream_names, key)


@dataclasses.dataclass(frozen=True, eq=False)
class WordChanges:
    """Single words of one text to replace.

    Attributes:
        positions: (c,) in the text.
        words: (c,) the new words.
    """

    positions: RowIndices
    words: WordIds

    def apply_each(self, text: WordIds, start: int, stop: int) -> WordIds:
        """Return versions (stop - start, L) of a text (L,), each with one of the changes start ... stop - 1."""
        versions = np.repeat(text[None], len(self.positions[start:stop]), axis=0)
        versions[np.arange(len(versions)), self.positions[start:stop]] = self.words[start:stop]
        return versions


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


@dataclasses.dataclass(frozen=True)
class TextAttack(abc.ABC):
    """An attack on a classifier of texts by queries only: it replaces words until a document is classified wrongly.

    It uses logits and no gradients. A document is attacked where it is classified correctly, with a margin above 0.
    A new attack is a subclass, and one entry in `deniable.models.text.attacks.TEXT_ATTACKS`.
    """

    @abc.abstractmethod
    def start_searches(
        self, targets: AttackTargets, source: SubstituteSource, workers: int | None
    ) -> list[AttackSearch]:
        """Return the searches of some documents, for which words are drawn together."""

    @abc.abstractmethod
    def count_draws(self, lengths: RowIndices) -> RowIndices:
        """Return the number of words that `start_searches` draws for texts of lengths (n,): it bounds memory."""

    def count_round_texts(self) -> int:
        """Return the maximum number of texts that one search yields at a time."""
        return TEXTS_PER_ROUND

    def __call__(
        self, scorer: Scorer, documents: Documents, source: SubstituteSource, key: bytes, *, workers: int | None = None
    ) -> TextAttackResult:
        """Attack all documents that are classified correctly and have a word that can be replaced.

        Args:
            scorer: of versions of the documents.
            documents: n documents with their true labels; those classified wrongly are not attacked.
            source: sets of substitutions, or a mechanism.
            key: 32 bytes; the draws for a document depend on the key and the document only.
            workers: threads that draw for the mechanism; the result does not depend on them.

        Raises:
            InputError: an invalid key, a word that the source does not know, no word that can be replaced, no
                documents, or a scorer that does not return logits.
        """
        check_key(key)
        has_replaceable = _has_replaceable_word(documents.texts, source)
        lengths, count = documents.texts.lengths, len(documents)
        state = _AttackState(scorer, documents, list(documents.texts), np.zeros(count), np.zeros(count, dtype=np.int64))
        for rows in _split_into_windows(np.arange(count), lengths, MAX_SCORED_WORDS):
            state.margins[rows] = state.score(documents.texts.take(rows), rows)
        correct = state.margins > 0
        report, attacked_rows = get_progress_reporter(), np.flatnonzero(correct & has_replaceable)
        report(0, len(attacked_rows))
        done = 0
        for window in _split_into_windows(attacked_rows, self.count_draws(lengths), MAX_DRAWN_WORDS):
            targets = select_targets(documents, window, state.margins, key)
            searches = dict(zip(window.tolist(), self.start_searches(targets, source, workers), strict=True))
            for rows in _split_into_windows(window, self.count_round_texts() * lengths, MAX_SCORED_WORDS):
                _run_searches(state, {row: searches.pop(row) for row in rows.tolist()})
                done += len(rows)
                report(done, len(attacked_rows))
        changes = [int((result != text).sum()) for result, text in zip(state.best, documents.texts, strict=True)]
        return TextAttackResult(
            concatenate_texts(state.best),
            state.margins,
            correct,
            correct & (state.margins <= 0),
            state.queries,
            np.array(changes, dtype=np.int64),
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
            lowest = int(np.argmin(row_margins))
            if row_margins[lowest] < state.margins[row]:
                state.best[row], state.margins[row] = row_texts[lowest].copy(), row_margins[lowest]
            if row_margins[lowest] > 0:
                with contextlib.suppress(StopIteration):  # the search has ended
                    next_pending[row] = searches[row].send(row_margins)
        pending = next_pending


def _has_replaceable_word(texts: IndexedTexts, source: SubstituteSource) -> npt.NDArray[np.bool_]:
    """Return whether each text (n,) has a word that can become another one."""
    size = len(source.choices) if isinstance(source, Substitutions) else len(source.space)
    if len(texts.words) and texts.words.max() >= size:
        raise InputError(
            f"The documents have a word with id {texts.words.max()}, and the replacements have {size:,} words: read "
            "both with the same space."
        )
    counts_before = np.concatenate([[0], np.cumsum(find_replaceable_words(source, texts.words))])[texts.offsets]
    has_replaceable: npt.NDArray[np.bool_] = np.diff(counts_before) > 0
    if not has_replaceable.any():
        raise InputError("No word of the documents can be replaced: choose other substitutions, or other documents.")
    return has_replaceable


def _split_into_windows(rows: RowIndices, sizes: RowIndices, window_size: int) -> Iterator[RowIndices]:
    """Yield rows in runs whose sizes, looked up in ``sizes``, add up to about ``window_size``."""
    for first, last in Streams(b"", [], sizes[rows].tolist()).batches(window_size):
        yield rows[first:last]
